"""Numbers that papers argue with: throughput, fairness, convergence, queues.

All take numpy arrays; times in seconds, rates in bit/s, sizes in bytes. A sample at time t of a rate describes the interval
since the sample before it, so a window (start, end] takes the samples with start < t <= end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Array = npt.ArrayLike

CONFIDENCE = 0.95

_QUANTILES = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Student's t, two-sided 95 %, for 1 to 30 degrees of freedom (NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2)."""

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


def interval(values: Array) -> tuple[float, float]:
    """Mean and half the width of its 95 % confidence interval (Student's t); the latter NaN for fewer than two values."""
    mean, half = intervals(np.asarray(values, float)[:, None])
    return float(mean[0]), float(half[0])


def intervals(rows: Array) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Like `interval`, of every column of a table with a row per replication."""
    x = np.asarray(rows, float)
    n = x.shape[0]
    if n == 0:
        return np.full(x.shape[1], np.nan), np.full(x.shape[1], np.nan)
    mean = x.mean(axis=0)
    if n == 1:
        return mean, np.full(x.shape[1], np.nan)
    return mean, student_t(n - 1) * x.std(axis=0, ddof=1) / math.sqrt(n)


def student_t(freedom: int) -> float:
    """The quantile of Student's t that leaves 2.5 % above it.

    Beyond the table by the expansion of Abramowitz and Stegun, 26.7.5, which is exact to five digits there.
    """
    if freedom <= len(_QUANTILES):
        return _QUANTILES[freedom - 1]
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return float(z + sum(term / freedom ** (i + 1) for i, term in enumerate(terms)))


def smoothed(values: Array, samples: int) -> npt.NDArray[np.float64]:
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
    a, b = smoothed(np.asarray(first, float)[inside], samples), smoothed(np.asarray(second, float)[inside], samples)
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


def thinned(
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
