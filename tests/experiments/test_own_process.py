"""Processes of the demonstration: Ctrl-C while one starts is not lost, and none gets one."""

import signal
import threading

import pytest

from discreet.experiments.live_week.own_process import _interrupts_wait


@pytest.fixture
def interruptible():
    """SIGINT as in a terminal; a process that a script started in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_comes_after_the_block(interruptible):
    done = []

    def start():
        with _interrupts_wait():
            signal.raise_signal(signal.SIGINT)
            done.append("started")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert done == ["started"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, set())


def test_another_thread_has_no_handler_to_change():
    seen = []

    def work():
        with _interrupts_wait():
            seen.append(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, set()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [True]
