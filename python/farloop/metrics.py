"""Numbers that papers argue with: throughput, fairness, convergence, queues.

All take numpy arrays; times in seconds, rates in bit/s, sizes in bytes. A sample at time t of a rate describes the interval
since the sample before it, so a window (start, end] takes the samples with start < t <= end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from farloop.deprecation import find_renamed

Array = npt.ArrayLike

_EDGE = 1e-9
"""Sampling times are exact picoseconds turned into floating point; a nanosecond decides which side of a window they are on."""


def window(times: Array, values: Array, start: float = 0.0, end: float = np.inf) -> npt.NDArray[np.float64]:
    """The samples in (start, end], times in seconds."""
    t, v = np.asarray(times, float), np.asarray(values, float)
    return v[(t > start + _EDGE) & (t <= end + _EDGE)]


def mean(times: Array, values: Array, start: float = 0.0, end: float = np.inf) -> float:
    """Mean of the evenly spaced samples in (start, end]; for a throughput, the mean rate in bit/s. NaN for an empty window."""
    inside = window(times, values, start, end)
    return float(inside.mean()) if inside.size else float("nan")


def percentile(times: Array, values: Array, percent: float, start: float = 0.0, end: float = np.inf) -> float:
    """The percentile (0 to 100) of the samples in (start, end], linearly interpolated. NaN for an empty window."""
    inside = window(times, values, start, end)
    return float(np.percentile(inside, percent)) if inside.size else float("nan")


def variation(times: Array, values: Array, start: float = 0.0, end: float = np.inf) -> float:
    """Coefficient of variation (standard deviation over mean) of the samples in (start, end]; NaN if the mean is not positive."""
    inside = window(times, values, start, end)
    if not inside.size or inside.mean() <= 0:
        return float("nan")
    return float(inside.std() / inside.mean())


def ratio(first: float, second: float) -> float:
    """First over second; infinite when only the second is zero, NaN when both are."""
    if second == 0:
        return float("nan") if first == 0 else float("inf")
    return first / second


def jain(shares: Array) -> float:
    """Jain's fairness index, (Σx)² / (n·Σx²): 1 for equal shares, 1/n when one takes all (Jain, Chiu, Hawe 1984).

    NaN for no shares, or when all are zero.
    """
    x = np.asarray(shares, float)
    square = float((x * x).sum())
    return float(x.sum() ** 2 / (x.size * square)) if square > 0 else float("nan")


def smooth_values(values: Array, samples: int) -> npt.NDArray[np.float64]:
    """Mean over each sample and the ones before it, `samples` in all (fewer at the start)."""
    v = np.asarray(values, float)
    total = np.concatenate([[0.0], np.cumsum(v)])
    last = np.arange(1, v.size + 1)
    first = np.maximum(last - samples, 0)
    return np.asarray((total[last] - total[first]) / (last - first), dtype=np.float64)


def convergence_time(
    times: Array, first: Array, second: Array, *, low: float, high: float, over: float, start: float = 0.0
) -> float:
    """When two rates have become balanced for good.

    The rates are averaged over the last `over` seconds. The answer is the time in seconds after `start` from which on the
    ratio first/second stays within [low, high] until the end; infinite if it never does.
    """
    t = np.asarray(times, float)
    inside = t > start + _EDGE
    t = t[inside]
    if t.size < 2:
        return float("inf")
    samples = max(1, round(over / float(np.median(np.diff(t)))))
    a, b = (
        smooth_values(np.asarray(first, float)[inside], samples),
        smooth_values(np.asarray(second, float)[inside], samples),
    )
    balanced = (a >= low * b) & (a <= high * b) & (a + b > 0)
    outside = np.flatnonzero(~balanced)
    if outside.size == 0:
        return float(t[0] - start)
    return float("inf") if outside[-1] == t.size - 1 else float(t[outside[-1] + 1] - start)


def slowdown(completion: Array, ideal: Array) -> npt.NDArray[np.float64]:
    """Flow completion times over those of the same flows alone in the empty network.

    Both in the same unit; NaN where a flow is unfinished (NaN or negative) or unlimited (ideal NaN or zero).
    """
    c, i = np.asarray(completion, float), np.asarray(ideal, float)
    known = (c >= 0) & (i > 0)
    return np.where(known, c / np.where(known, i, 1.0), np.nan)


def thin_values(
    times: npt.NDArray[np.float64],
    values: npt.NDArray[np.float64],
    how: Callable[..., npt.NDArray[np.float64]],
    points: int,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """At most `points` points: neighbours become one by `how` (a mean for rates, a maximum for queues), at their last time."""
    step = math.ceil(times.size / points) if times.size else 1
    if step <= 1:
        return times, values
    whole = times.size // step * step
    return times[step - 1 : whole : step], how(values[:whole].reshape(-1, step), axis=1)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        return find_renamed("farloop.metrics", {"smoothed": "smooth_values", "thinned": "thin_values"}, name, globals())
