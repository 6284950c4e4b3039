"""Tasks for tests."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from discreet.aggregation.task import Kind, NoiseKind, Task


def task(**terms: Any) -> Task:
    """A small task, or one with other terms."""
    defaults: dict[str, Any] = {
        "name": "clicks",
        "purpose": "how often each article is read",
        "kind": "multihot",
        "length": 5,
        "max_total": 2,
        "start": 1_700_000_000,
        "window_seconds": 3600,
        "windows": 24,
        "epsilon": 1.0,
    }
    return Task(**{**defaults, **terms})


@st.composite
def tasks(draw: st.DrawFn, max_length: int = 12, max_value: int = 300) -> Task:
    """Any task that is not large."""
    kind = draw(st.sampled_from(list(Kind)))
    length = 1 if kind in (Kind.COUNT, Kind.SUM) else draw(st.integers(1, max_length))
    largest = draw(st.integers(1, max_value)) if kind in (Kind.SUM, Kind.SUMVEC, Kind.SIGNEDVEC) else 1
    total = draw(st.integers(1, length * largest)) if kind in (Kind.MULTIHOT, Kind.SUMVEC, Kind.SIGNEDVEC) else None
    noise = draw(st.sampled_from(list(NoiseKind)))
    window = draw(st.integers(1, 2**40))
    return task(
        name=draw(st.text(min_size=1, max_size=20)),
        purpose=draw(st.text(max_size=20)),
        kind=kind,
        length=length,
        max_value=largest,
        max_total=total,
        start=draw(st.integers(0, 2**40)),
        window_seconds=window,
        send_seconds=draw(st.integers(1, window)),
        windows=draw(st.integers(1, 2**40)),
        epsilon=draw(st.floats(0.001, 100)),
        delta=draw(st.floats(1e-12, 0.01)) if noise is NoiseKind.GAUSSIAN else 0.0,
        noise=noise,
        min_batch=draw(st.integers(1, 2**40)),
    )
