"""Precision asked for instead of runs: how sure a number over seeds is, how many more seeds it takes, and where the warm-up ends.

The number is the statistic of the flows of all seeds together, whose bias falls with every seed. Every seed is an independent replication,
a cluster of flows that may depend on each other in any way, and Student's t over the seeds gives a 95 % confidence interval. Of a
percentile it is Woodruff's (JASA 47(260), 1952): the interval of the share of flows up to it, which is a mean over clusters, carried over
to values; where that share could as well be 1, as with few flows beyond the percentile, there is no interval. Of a mean it is that of a
ratio of two sums over clusters (Cochran, Sampling Techniques, 3rd ed., 6.4), of a number that is no statistic of flows or samples the
plain one of a mean.

Seeds are added as in Law's sequential procedure (Simulation Modeling and Analysis, 5th ed., 9.4.1): from `LEAST` replications on, until
half the width over the estimate is at most γ/(1+γ) for a relative error of γ.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from farloop import completion, units
from farloop.errors import FarloopError, shown
from farloop.metrics import Array, student_t
from farloop.metrics import interval as mean_interval
from farloop.sweep.measures import Measure, measure
from farloop.tables import Floats

if TYPE_CHECKING:
    from farloop.results import Run

LEAST = 10
"""Replications before an interval is believed: with fewer, stopping at a width that is small by chance covers too seldom."""

MOST = 100
"""Replications where no other limit is set."""

GROWTH = 2.0
"""At most so many times as many replications in one step."""

BATCH = 5
"""Of MSER-5."""

NONE, MSER5 = "none", "mser-5"

_TARGET = re.compile(
    r"\s*(?P<metric>.+?)\s*(?:±|\+-|\+/-)\s*(?P<width>[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*(?P<percent>%)?\s*"
)


@dataclass(frozen=True)
class Target:
    """How narrow an interval is to be.

    Attributes:
        measure: Of what.
        half_width: Half its width; of the estimate where `is_relative`, else in the metric's unit.
        is_relative: Whether it is a part of the estimate.
        text: As it was written.
    """

    measure: Measure
    half_width: float
    is_relative: bool
    text: str

    @classmethod
    def read(cls, text: object) -> Target:
        """A target from "p99 slowdown ± 5 %" ("+-" does as well), or without a percent sign in the metric's unit.

        Raises:
            FarloopError: it is none; UnknownNameError: there is no such metric.
        """
        match = _TARGET.fullmatch(text) if isinstance(text, str) else None
        expected = 'expected a metric and a width, such as "p99 slowdown ± 5 %"'
        if match is None:
            raise FarloopError(f"{shown(repr(text))}: {expected}")
        try:
            width = float(match["width"]) / (100 if match["percent"] else 1)
        except ValueError:
            raise FarloopError(f"{shown(repr(text))}: {expected}") from None
        if not 0 < width < (1 if match["percent"] else math.inf):
            raise FarloopError(f"{shown(repr(text))}: {expected}, more than 0 and less than 100 %")
        of = measure(match["metric"])
        if of.sample is not None and of.percent is None and not of.is_mean:
            raise FarloopError(f"{shown(repr(text))}: the largest of all has no interval; {expected}")
        return cls(of, width, match["percent"] is not None, str(text).strip())

    def allowed(self, estimate: float) -> float:
        """Half the width that an interval around an estimate may have."""
        if not self.is_relative:
            return self.half_width
        return abs(estimate) * self.half_width / (1 + self.half_width)


@dataclass(frozen=True)
class Interval:
    """A number over seeds, and how sure it is.

    Attributes:
        estimate: The number; `None` where no seed has any.
        half_width: Half the width of its 95 % confidence interval; `None` where seeds or flows are too few for one.
        n: How many seeds have one.
    """

    estimate: float | None
    half_width: float | None
    n: int


def interval(of: Measure, numbers: Sequence[float | None], samples: Sequence[Floats]) -> Interval:
    """The interval of a metric, whose half width is that to the farther end where it is not symmetric.

    Args:
        of: The metric.
        numbers: Its value in each seed's run.
        samples: What it is a statistic of in each; nothing of a metric that is none.
    """
    known = np.array([number for number in numbers if number is not None], dtype=float)
    if of.sample is None:
        middle, half = mean_interval(known) if known.size else (None, math.nan)
        return Interval(middle, None if math.isnan(half) else half, int(known.size))
    clusters = [values for values in samples if values.size]
    pooled = of.pooled(clusters)
    if pooled is None or len(clusters) < 2:
        return Interval(pooled, None, len(clusters))
    if of.percent is not None:
        return Interval(pooled, _of_percentile(clusters, of.percent / 100, pooled), len(clusters))
    return Interval(pooled, _spread(clusters, pooled) if of.is_mean else None, len(clusters))


def _spread(clusters: Sequence[Floats], mean: float) -> float:
    """Half the width of the interval of the mean of all values of all clusters."""
    n = len(clusters)
    apart = [float((values - mean).sum()) for values in clusters]
    error = math.sqrt(sum(one**2 for one in apart) * n / (n - 1)) / sum(values.size for values in clusters)
    return student_t(n - 1) * error


def _of_percentile(clusters: Sequence[Floats], share: float, value: float) -> float | None:
    """Half the width of the interval of a percentile; nothing where it has no upper end."""
    half = _spread([(values <= value).astype(np.float64) for values in clusters], share)
    if share + half >= 1:
        return None
    low, high = np.quantile(np.concatenate(clusters), [max(0.0, share - half), share + half])
    return float(max(high - value, value - low))


def is_precise(target: Target, found: Interval, seeds: int) -> bool:
    """Whether enough is known after so many seeds; of a metric that no run has any value of there is nothing to know."""
    if seeds < LEAST:
        return False
    if found.estimate is None:
        return True
    return found.half_width is not None and found.half_width <= target.allowed(found.estimate)


def more_seeds(target: Target, found: Interval, seeds: int, most: int) -> int:
    """How many more seeds to take, if there are so many: none where the interval is narrow enough or the limit is reached.

    The width falls with the root of the number; one step at most doubles it.
    """
    if seeds >= most or is_precise(target, found, seeds):
        return 0
    if seeds < LEAST:
        return min(LEAST, most) - seeds
    allowed = target.allowed(found.estimate or 0.0)
    wanted = GROWTH * seeds
    if found.half_width is not None and allowed > 0:
        wanted = min(wanted, seeds * (found.half_width / allowed) ** 2)
    return min(most, max(seeds + 1, math.ceil(wanted))) - seeds


def mser5(values: Array) -> int:
    """How many values at the beginning of a sequence are warm-up, by MSER-5 (White, Cobb, Spratt 2000).

    The values are averaged in batches of 5; the cut is the one, in the first half, after which the variance of the rest over its length is
    least.
    """
    x = np.asarray(values, dtype=float)
    count = x.size // BATCH
    if count < 2:
        return 0
    means = x[: count * BATCH].reshape(count, BATCH).mean(axis=1)
    left = np.arange(count, 0, -1, dtype=float)
    # Around the mean of all, so that the difference of squares loses no digits.
    means -= means.mean()
    total, squares = (np.cumsum(v[::-1])[::-1] for v in (means, means**2))
    error = (squares - total**2 / left) / left**2
    return int(np.argmin(error[: count // 2 + 1])) * BATCH


def warm_up(rule: str, run: Run) -> float:
    """Seconds at the beginning of a run that are warm-up: none, a time that is given, or what MSER-5 finds.

    MSER-5 looks at the slowdowns of the finished flows in the order in which they began; where there are fewer than 20, at the throughput
    of all recorded flows over time.

    Args:
        rule: "none", "mser-5", or a time such as "2ms".
        run: The run.
    """
    if rule == NONE:
        return 0.0
    if rule != MSER5:
        return units.seconds(rule)
    values, began = completion.slowdowns(run.flows), completion.column(run.flows, "start_ps") / 1e12
    known = ~np.isnan(values)
    if np.count_nonzero(known) >= 4 * BATCH:
        values, began = values[known], began[known]
        order = np.argsort(began, kind="stable")
        cut = mser5(values[order])
        return float(began[order][cut]) if cut else 0.0
    recorded = [f"flow/{name}" for name in run.samples.objects("flow")]
    if not recorded:
        return 0.0
    series = [run.samples.get(name, "throughput") for name in recorded]
    shortest = min(times.size for times, _ in series)
    cut = mser5(np.sum([rates[:shortest] for _, rates in series], axis=0))
    return float(series[0][0][cut - 1]) if cut else 0.0


def check_warm_up(rule: object) -> str:
    """A rule for the warm-up.

    Raises:
        FarloopError: it is none.
    """
    if isinstance(rule, str):
        if rule in (NONE, MSER5):
            return rule
        try:
            time = units.seconds(rule)
        except ValueError:
            time = math.nan
        if 0 <= time < math.inf:
            return rule
    raise FarloopError(f'{shown(repr(rule))}: expected "{NONE}", "{MSER5}", or a time from 0 such as "2ms"')
