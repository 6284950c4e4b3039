"""Trainings side by side: each in a process of its own, with the same result as one after the other."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import Any, TypeVar

from discreet import plugins
from discreet.training.torch_device import chosen_device, use_device

Given = TypeVar("Given")

_shared: list[Any] = []


def side_by_side(work: Any, shared: Any, given: Sequence[Given], jobs: int) -> Iterator[tuple[Given, Any]]:
    """What `work(shared, one)` finds for each of the given, as it is found; `work` is a function of a module.

    Processes start afresh (no fork: torch's threads would not survive one), and are given `shared` once. Each has as
    many threads as this one, since their number decides the order in which torch adds.
    """
    import torch

    context = multiprocessing.get_context("spawn")
    about = (shared, plugins.named_plugins(), torch.get_num_threads(), chosen_device().type)
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_start, initargs=about) as pool:
        waiting: dict[Future[Any], Given] = {pool.submit(_call, work, one): one for one in given}
        try:
            while waiting:
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    yield waiting.pop(future), future.result()
        finally:
            for future in waiting:
                future.cancel()


def _start(shared: Any, modules: Sequence[str], threads: int, device: str) -> None:
    import torch

    torch.set_num_threads(threads)
    use_device(device)
    plugins.name_plugins(modules)
    plugins.load_plugins()
    _shared[:] = [shared]


def _call(work: Any, one: Any) -> Any:
    return work(_shared[0], one)
