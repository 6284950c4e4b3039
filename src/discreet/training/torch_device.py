"""Where torch computes: the processor, or a GPU. Parameters and sums stay in main memory between rounds.

torch is imported when a network is made, or a GPU asked for: methods without a network do not wait for it. Commands
with an option `--device` choose here; all others, such as nodes and audits, follow the environment's DISCREET_DEVICE.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.errors import DiscreetError

if TYPE_CHECKING:
    import torch

DEVICES = ("cpu", "cuda", "auto")
VARIABLE = "DISCREET_DEVICE"
_chosen: ContextVar[str | None] = ContextVar("device", default=None)

T = TypeVar("T")


def use_device(name: str) -> None:
    """Compute on `cpu`, `cuda`, or `auto`: a GPU if there is one.

    Raises:
        DiscreetError: there is no such device.
    """
    if name not in DEVICES:
        raise DiscreetError(f"--device (or {VARIABLE}) is one of {', '.join(DEVICES)}, not '{name}'")
    there = name != "cpu" and _finds_gpu()
    if name == "cuda" and not there:
        raise DiscreetError(
            f"--device cuda (or {VARIABLE}): torch finds no GPU here; leave it out, or install torch for CUDA"
        )
    _chosen.set("cuda" if there else "cpu")


def _finds_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def chosen_device() -> torch.device:
    """Where networks are made."""
    import torch

    if _chosen.get() is None:
        use_device(os.environ.get(VARIABLE) or "cpu")
    return torch.device(_chosen.get() or "cpu")


def moved(values: T, device: torch.device) -> T:
    """A tensor, or what holds tensors (a mapping, a list, a frozen dataclass), on a device; the rest stays as it is."""
    if device.type == "cpu":
        return values
    found: T = _moved(values, device)
    return found


def _moved(values: Any, device: torch.device) -> Any:
    from torch import Tensor

    if isinstance(values, Tensor):
        return values.to(device)
    if isinstance(values, Mapping):
        return {name: _moved(value, device) for name, value in values.items()}
    if isinstance(values, list):
        return [_moved(value, device) for value in values]
    if hasattr(values, "__dataclass_fields__"):
        return replace(values, **{field.name: _moved(getattr(values, field.name), device) for field in fields(values)})
    return values
