"""Confidence intervals of numbers over seeds: of means, ratios, percentiles and comparisons.

Every seed is an independent replication, a cluster of flows that may depend on each other in any way. The coverage of each interval is
measured (`scripts/studies/interval_coverage.py`), and published in docs/statistics.md.

A mean has Student's t interval, and Hall's (Journal of the Royal Statistical Society B 54(1), 1992), which corrects for the skewness that
means of slowdowns have; its ends are the farther ones of both. Two degrees of freedom less than seeds are counted, since the skewness is
estimated, too. A number that is a mean over flows is a ratio of two sums over seeds (Cochran, Sampling Techniques, 3rd ed., 6.4).

A percentile has Woodruff's (Journal of the American Statistical Association 47(260), 1952): the interval of the share of flows up to it,
which is a mean over clusters, carried over to values. Where that share could as well be 1, or where seeds are too few for it
(`least_seeds`) or flows beyond it (`MIN_FLOWS_BEYOND`), there is none.

Two algorithms are compared seed by seed, as the traffic of a seed is the same under both: the mean of the logarithm of their ratio has an
interval of a mean. Where k comparisons are read together each takes the k-th part of the 5 % (Bonferroni), so that with 95 % confidence
all of them hold. It needs neither equal variances nor independence, which Tukey's and Dunnett's intervals do, and algorithms under the
same traffic have neither. Where all are compared with the first place, which the same numbers chose, k - 1 comparisons are counted for k
algorithms: the one that is the best in truth could lose k - 1 comparisons, so that with 95 % confidence the first place is not
significantly better (the argument of Hsu's multiple comparisons with the best, Annals of Statistics 9(5), 1981).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from farloop.deprecation import forward_method

Floats = npt.NDArray[np.float64]

CONFIDENCE = 0.95

FEW = 5
"""Seeds before a percentile has an interval; intervals of means from fewer are widened, since a skewness of so few is none."""

_OF_FEW = 0.45
"""Of the 5 % outside what is left outside then: so wide they cover what they say, by measurement."""

SEVERAL = 10
"""Seeds from which on a paired ratio has the interval of its mean logarithm as it is."""

_OF_SEVERAL = 0.8
"""As `_OF_FEW`, for paired ratios from fewer: skewness is poorly known there, and both ends count."""

MIN_TAIL_SEEDS = 10
"""Seeds before a percentile of the tail has an interval: with fewer, those that exist cover the truth too seldom."""

TAIL = 0.9
"""From which share on a percentile is one of the tail."""

MIN_FLOWS_BEYOND = 20
"""Flows of all seeds that lie beyond a percentile before it has an interval."""

MAX_RATIO = 100
"""The largest ratio between the ends of the interval of a ratio."""

_LEVELS = (0.95, 0.98, 0.99, 0.995)
"""Shares above a percentile at which flows are looked at, too, for how much they depend on each other."""

_ENOUGH = 5
"""Flows that are expected beyond such a share."""

_QUANTILES = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Student's t, two-sided 95 %, for 1 to 30 degrees of freedom (NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2)."""


@dataclass(frozen=True)
class Interval:
    """A number, and its confidence interval.

    Attributes:
        estimate: The number; `None` where there is none.
        low: The lower end of its interval; `None` where seeds or flows are too few for one.
        high: The upper end; `None` with `low`.
        n: Number of seeds that have the number.
    """

    estimate: float | None
    low: float | None
    high: float | None
    n: int

    @property
    def exists(self) -> bool:
        """True if there is an interval."""
        return self.low is not None and self.high is not None

    @property
    def half_width(self) -> float | None:
        """From the estimate to the farther end: half the width of a symmetric interval; `None` where there is none."""
        if self.estimate is None or self.low is None or self.high is None:
            return None
        return max(self.high - self.estimate, self.estimate - self.low)

    def clamp_ends(self, floor: float | None, ceiling: float | None = None) -> Interval:
        """The same where the number can be no less than `floor` and no more than `ceiling`; an estimate beyond one stays inside.

        A wide interval stays: those that are left where wide ones are withheld cover the truth too seldom (docs/statistics.md).
        """
        if self.estimate is None or self.low is None or self.high is None:
            return self
        low = self.low if floor is None else max(self.low, min(floor, self.estimate))
        high = self.high if ceiling is None else min(self.high, max(ceiling, self.estimate))
        return replace(self, low=low, high=high)

    def ratio_text(self, text: Callable[[float], str]) -> str:
        """As `format`, for a ratio: where the ends are more than `MAX_RATIO` times apart the seeds leave its direction open."""
        if (
            self.estimate is not None
            and self.low is not None
            and self.high is not None
            and self.high > MAX_RATIO * self.low
        ):
            return f"{text(self.estimate)} (unsure)"
        return self.format(text)

    def format(self, text: Callable[[float], str]) -> str:
        """For people, such as "7.42 [6.9, 9.1]", a dash for no estimate.

        The estimate stands alone where there is no interval, and where it is the same number under every seed.
        """
        if self.estimate is None:
            return "–"
        return text(self.estimate) + (f" {self.range(text)}" if self.half_width else "")

    told = forward_method("Interval", "told", "format")
    within = forward_method("Interval", "within", "clamp_ends")

    def range(self, text: Callable[[float], str]) -> str:
        """The interval alone, such as "[6.9, 9.1]"; empty where there is none."""
        return "" if self.low is None or self.high is None else f"[{text(self.low)}, {text(self.high)}]"

    def leaves_out(self, value: float) -> bool | None:
        """Returns true if the value is outside the interval; `None` if there is no interval."""
        if self.low is None or self.high is None:
            return None
        return value < self.low or value > self.high

    def row(self) -> dict[str, Any]:
        """As summary.json has a mean over seeds."""
        return {"mean": self.estimate, "ci95": self.half_width, "low": self.low, "high": self.high, "n": self.n}


def correct_confidence(comparisons: int) -> float:
    """The confidence of each of several intervals that are to hold together with 95 % (Bonferroni)."""
    return 1 - (1 - CONFIDENCE) / max(1, comparisons)


def mean(
    values: Sequence[float] | Floats,
    *,
    floor: float | None = None,
    ceiling: float | None = None,
    confidence: float = CONFIDENCE,
) -> Interval:
    """The mean of numbers of independent runs, as seeds make them.

    Args:
        values: One number for each run. Where one is infinite, such as a time that never came, the mean is, and has no interval.
        floor: Lower bound of the number.
        ceiling: Upper bound of the number.
        confidence: Confidence of the interval.
    """
    x = np.asarray(values, dtype=float)
    if not x.size:
        return Interval(None, None, None, 0)
    if not np.isfinite(x).all():
        return Interval(float(x.mean()), None, None, int(x.size))
    middle, low, high = (float(band[0]) for band in mean_bands(x[:, None], confidence=confidence))
    if x.size < 2:
        return Interval(middle, None, None, 1)
    return Interval(middle, low, high, int(x.size)).clamp_ends(floor, ceiling)


def mean_bands(
    rows: npt.ArrayLike, *, floor: float | None = None, confidence: float = CONFIDENCE
) -> tuple[Floats, Floats, Floats]:
    """Like `mean`, of every column of a table with a row per run: means, lower ends, upper ends; ends are NaN for fewer than two rows."""
    x = np.asarray(rows, dtype=float)
    n = x.shape[0]
    if n < 2:
        nothing = np.full(x.shape[1], np.nan)
        return (x[0] if n else nothing), nothing, nothing
    middle = x.mean(axis=0)
    below, above = _reach(x - middle, n, confidence)
    low, high = middle - below, middle + above
    return middle, low if floor is None else np.maximum(low, np.minimum(floor, middle)), high


def mean_of_clusters(clusters: Sequence[Floats], *, floor: float | None = None) -> Interval:
    """The mean of the values of all clusters together: a ratio of two sums over clusters.

    Args:
        clusters: The values of each seed's run; those without any do not count.
        floor: Lower bound of the values.
    """
    known = [values for values in clusters if values.size]
    if not known:
        return Interval(None, None, None, 0)
    return ratio_of_sums([values.sum() for values in known], [values.size for values in known]).clamp_ends(floor)


def ratio_of_sums(above: Sequence[float], below: Sequence[float], *, confidence: float = CONFIDENCE) -> Interval:
    """The sum of the first numbers over that of the second ones, a pair for each independent run; `None` where the latter is 0."""
    a, b = np.asarray(above, dtype=float), np.asarray(below, dtype=float)
    if not a.size or b.sum() == 0:
        return Interval(None, None, None, int(a.size))
    ratio = float(a.sum() / b.sum())
    if a.size < 2:
        return Interval(ratio, None, None, 1)
    down, up = (float(reach[0]) for reach in _reach((a - ratio * b)[:, None], float(b.sum()), confidence))
    return Interval(ratio, ratio - down, ratio + up, int(a.size))


def least_seeds(share: float) -> int:
    """With how many seeds a percentile has an interval at all: with 5, from the 90th on with 10."""
    return FEW if share < TAIL else MIN_TAIL_SEEDS


def percentile(clusters: Sequence[Floats], share: float, *, floor: float | None = None) -> Interval:
    """The percentile of the values of all clusters together, by Woodruff's interval.

    The dependence of values in a cluster is measured where the percentile lies and, from the 90th on, above it, too: a
    sample that looks even by chance would have an interval that is too narrow.

    Args:
        clusters: The values of each seed's run; those without any do not count.
        share: The percentile as a share, such as 0.99.
        floor: Lower bound of the values.
    """
    known = [values for values in clusters if values.size]
    if not known:
        return Interval(None, None, None, 0)
    pooled = np.concatenate(known)
    value = float(np.quantile(pooled, share))
    nothing = Interval(value, None, None, len(known))
    if len(known) < least_seeds(share) or pooled.size * min(share, 1 - share) < MIN_FLOWS_BEYOND - 1e-6:
        return nothing
    sizes = np.array([values.size for values in known], dtype=float)

    def count_deviations(level: float, at: float) -> Floats:
        return np.array([float((values <= at).sum()) for values in known]) - level * sizes

    here = count_deviations(share, value)
    down, up = (float(reach[0]) for reach in _reach(here[:, None], pooled.size, CONFIDENCE))
    more = 1.0
    if share >= TAIL:
        levels = [level for level in _LEVELS if level > share and pooled.size * (1 - level) >= _ENOUGH]
        effects = [
            _design_effect(count_deviations(q, at), q)
            for q, at in zip(levels, np.quantile(pooled, levels), strict=True)
        ]
        own = _design_effect(here, share)
        more = math.sqrt(max([own, *effects]) / own) if own > 0 else 1.0
    if share + more * up >= 1:
        return nothing
    low, high = np.quantile(pooled, [max(0.0, share - more * down), share + more * up])
    return Interval(value, min(float(low), value), max(float(high), value), len(known)).clamp_ends(floor)


def _design_effect(apart: Floats, share: float) -> float:
    """Returns the variance of a share over that of independent flows, but for a factor that all shares have in common."""
    return float((apart**2).sum()) / (share * (1 - share))


def paired_ratio(own: Sequence[float], other: Sequence[float], *, confidence: float = CONFIDENCE) -> Interval:
    """Returns the ratio to the other one: the geometric mean of the ratios seed by seed, with the interval of their mean logarithm.

    Args:
        own: A number for each seed.
        other: The same of another algorithm, under the same seeds in the same order.
        confidence: Confidence of the interval.

    Returns:
        Nothing where a number is not positive, or not finite.
    """
    a, b = np.asarray(own, dtype=float), np.asarray(other, dtype=float)
    if not a.size or not ((a > 0).all() and (b > 0).all()) or (np.isinf(a) | np.isinf(b)).any():
        return Interval(None, None, None, int(a.size))
    wider = 1 - (1 - confidence) * (_OF_SEVERAL if FEW <= a.size < SEVERAL else 1)
    interval = mean(np.log(a / b), confidence=wider)
    middle, low, high = (
        None if end is None else math.exp(min(end, _LARGEST))
        for end in (interval.estimate, interval.low, interval.high)
    )
    return Interval(middle, low, high, interval.n)


def paired_percentiles(
    own: Sequence[Floats], other: Sequence[Floats], share: float, *, confidence: float = CONFIDENCE
) -> Interval:
    """The paired ratio of a percentile of each seed's values; without an interval where the percentile would have none for so few seeds.

    Seeds without any values under one of the two do not count. A percentile of few values is biased, under both alike.
    """
    both = [(a, b) for a, b in zip(own, other, strict=True) if a.size and b.size]
    interval = paired_ratio(
        *([float(np.quantile(sample[i], share)) for sample in both] for i in (0, 1)), confidence=confidence
    )
    return interval if len(both) >= least_seeds(share) else replace(interval, low=None, high=None)


_LARGEST = 700.0
"""Logarithm of about the largest number."""


def paired_difference(own: Sequence[float], other: Sequence[float], *, confidence: float = CONFIDENCE) -> Interval:
    """Returns the difference from the other one: the mean of the differences seed by seed; see `paired_ratio`."""
    return mean(np.asarray(own, dtype=float) - np.asarray(other, dtype=float), confidence=confidence)


def differs_significantly(own: Mapping[int, float], other: Mapping[int, float], *, comparisons: int = 1) -> bool | None:
    """Returns true if seeds show two algorithms or points to differ, by ratio, or by difference where a number is not positive.

    Args:
        own: A number by seed.
        other: That of the other one; the seeds that both have are compared.
        comparisons: Number of such comparisons that are read together.

    Returns:
        `None` for fewer than two seeds.
    """
    both = [seed for seed in own if seed in other]
    if len(both) < 2:
        return None
    a, b = [own[seed] for seed in both], [other[seed] for seed in both]
    confidence = correct_confidence(comparisons)
    if min(*a, *b) > 0:
        return paired_ratio(a, b, confidence=confidence).leaves_out(1.0)
    return paired_difference(a, b, confidence=confidence).leaves_out(0.0)


def _reach(deviations: Floats, weight: float, confidence: float) -> tuple[Floats, Floats]:
    """Returns how far an interval reaches below and above a mean over clusters, for each column of deviations.

    Args:
        deviations: Contribution of each cluster to the sum, less its expected one; a row per cluster, two at least.
        weight: Divisor of the sum.
        confidence: Confidence of the interval.
    """
    n = deviations.shape[0]
    squares = (deviations**2).sum(axis=0)
    # Of each cluster from the mean without it (the jackknife's): its own value draws the mean towards it, which shows where they are few.
    error = np.sqrt(squares * n / (n - 1)) * math.sqrt(n / (n - 1)) / weight
    t = student_t(n - 2, confidence) if n >= FEW else student_t(n - 1, 1 - (1 - confidence) * _OF_FEW)
    if n == 2:
        return t * error, t * error
    with np.errstate(divide="ignore", invalid="ignore"):
        cubes = ((deviations - deviations.mean(axis=0)) ** 3).mean(axis=0) / (squares / n) ** 1.5
    skewness = np.nan_to_num(cubes) * math.sqrt(n * (n - 1)) / (n - 2)
    below, above = _hall(t, skewness, n), -_hall(-t, skewness, n)
    return np.maximum(t, below) * error, np.maximum(t, above) * error


def _hall(t: float, skewness: Floats, n: int) -> Floats:
    """Where Hall's transformation of Student's ratio is t: its inverse, by the skewness of what the mean is of."""
    root = math.sqrt(n)
    # So small a skewness changes nothing, and would be divided by.
    skewed = np.where(np.abs(skewness) < 1e-6, 1e-6, skewness)
    bound: Floats = 3 * root / skewed * (np.cbrt(1 + skewed / root * (t - skewed / (6 * root))) - 1)
    return bound


@lru_cache(maxsize=256)
def student_t(freedom: int, confidence: float = CONFIDENCE) -> float:
    """The quantile of Student's t that leaves half of 1 - `confidence` above it.

    For 95 % and up to 30 degrees of freedom from the table, for other confidences by bisection of the distribution function. Beyond, by the
    expansion of Abramowitz and Stegun, 26.7.5, which is exact to five digits there for 95 %.
    """
    if freedom <= len(_QUANTILES):
        return _QUANTILES[freedom - 1] if confidence == CONFIDENCE else _student_t(freedom, 1 - confidence)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return float(z + sum(term / freedom ** (i + 1) for i, term in enumerate(terms)))


def _student_t(freedom: int, outside: float) -> float:
    low, high = 0.0, 1.0
    while _tail_probability(freedom, high) > outside:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _tail_probability(freedom, middle) > outside else (low, middle)
    return (low + high) / 2


def _tail_probability(freedom: int, t: float) -> float:
    """The probability of more than t on either side: finite sums (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    cosine2 = freedom / (freedom + t * t)
    sine = t / math.sqrt(freedom + t * t)
    term = total = 1.0
    if freedom % 2 == 0:
        for i in range(2, freedom - 1, 2):
            term *= cosine2 * (i - 1) / i
            total += term
        return 1 - sine * total
    if freedom == 1:
        return 1 - 2 / math.pi * math.atan(t)
    for i in range(3, freedom - 1, 2):
        term *= cosine2 * (i - 1) / i
        total += term
    return 1 - 2 / math.pi * (math.atan(t / math.sqrt(freedom)) + sine * math.sqrt(cosine2) * total)
