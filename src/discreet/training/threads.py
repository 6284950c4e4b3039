"""Clients over threads: each thread computes one client at a time, and results come in the order of the clients."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import TypeVar

import torch

from discreet.training.network import Network

Result = TypeVar("Result")


def by_threads(network: Network, work: Callable[[Network, int], Result], count: int) -> Iterator[Result]:
    """`work(network, i)` for i from 0 to `count` − 1, in order, by as many threads as torch has.

    Within it each thread computes alone, so results do not depend on how many there are. A call with parameters writes
    them into the network for as long as it takes, so each thread has a network of its own. At most two results for
    each thread are held.
    """
    threads = min(torch.get_num_threads(), count) if network.device.type == "cpu" else 1
    if threads <= 1:
        yield from (work(network, number) for number in range(count))
        return
    free: SimpleQueue[Network] = SimpleQueue()
    for own in (network, *(network.twin() for _ in range(threads - 1))):
        free.put(own)

    def call(number: int) -> Result:
        own = free.get()
        try:
            return work(own, number)
        finally:
            free.put(own)

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    waiting: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(threads, "clients", initializer=torch.set_num_threads, initargs=(1,))
    try:
        for number in range(count):
            waiting.append(pool.submit(call, number))
            if len(waiting) >= 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(before)
