"""Precision asked for instead of runs: how sure a number over seeds is, how many more seeds it takes, and what of a run is warm-up.

The number is the statistic of the flows of all seeds together, whose bias falls with every seed; its interval is that of
`farloop.statistics`, by clusters for a statistic of flows or samples, of a mean for any other number.

Seeds are added as in Law's sequential procedure (Simulation Modeling and Analysis, 5th ed., 9.4.1): from `MIN_SEEDS` replications on, until
half the width over the estimate is at most γ/(1+γ) for a relative error of γ.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from farloop import statistics, units
from farloop.errors import FarloopError, clip_text
from farloop.results import steadiness
from farloop.results.size_classes import SizeClasses
from farloop.results.tables import Floats
from farloop.statistics import Interval
from farloop.studies.sweep.measures import Measure, measure

if TYPE_CHECKING:
    from farloop.results.run import Run

__all__ = ["Interval", "Target", "Unmet", "check_warm_up", "interval", "is_precise", "more_seeds", "warm_up"]

MIN_SEEDS = 10
"""Replications before an interval is believed: with fewer, stopping at a width that is small by chance covers too seldom."""

MAX_SEEDS = 100
"""Replications where no other limit is set."""

GROWTH = 2.0
"""At most so many times as many replications in one step."""

NONE, MSER5 = "none", "mser-5"

_TARGET = re.compile(
    r"\s*(?P<metric>.+?)\s*(?:±|\+-|\+/-)\s*(?P<width>[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*(?P<percent>%)?\s*"
)


@dataclass(frozen=True)
class Target:
    """Required width of an interval.

    Attributes:
        measure: Of what.
        half_width: Half its width; of the estimate where `is_relative`, else in the metric's unit.
        is_relative: True if it is a part of the estimate.
        text: As it was written.
    """

    measure: Measure
    half_width: float
    is_relative: bool
    text: str

    @classmethod
    def read(cls, text: object, sizes: SizeClasses | None = None) -> Target:
        """A target from "p99 slowdown ± 5 %" ("+-" does as well), or without a percent sign in the metric's unit.

        Args:
            text: The text.
            sizes: The classes of flow sizes that the study chose.

        Raises:
            FarloopError: it is none; UnknownNameError: there is no such metric.
        """
        match = _TARGET.fullmatch(text) if isinstance(text, str) else None
        expected = 'expected a metric and a width, such as "p99 slowdown ± 5 %"'
        if match is None:
            raise FarloopError(f"{clip_text(repr(text))}: {expected}")
        try:
            width = float(match["width"]) / (100 if match["percent"] else 1)
        except ValueError:
            raise FarloopError(f"{clip_text(repr(text))}: {expected}") from None
        if not 0 < width < (1 if match["percent"] else math.inf):
            raise FarloopError(f"{clip_text(repr(text))}: {expected}, more than 0 and less than 100 %")
        of = measure(match["metric"], sizes)
        if of.sample is not None and of.percent is None and not of.is_mean:
            raise FarloopError(f"{clip_text(repr(text))}: the largest of all has no interval; {expected}")
        return cls(of, width, match["percent"] is not None, str(text).strip())

    def allowed_half_width(self, estimate: float) -> float:
        """Half the width that an interval around an estimate may have."""
        if not self.is_relative:
            return self.half_width
        return abs(estimate) * self.half_width / (1 + self.half_width)


def interval(of: Measure, numbers: Sequence[float | None], samples: Sequence[Floats]) -> Interval:
    """The interval of a metric over the seeds of a point, which does not leave what the metric can be.

    Args:
        of: The metric.
        numbers: Its value in each seed's run.
        samples: The values in each run that it is a statistic of; none for other metrics.
    """
    if of.sample is None:
        known = [number for number in numbers if number is not None]
        return statistics.mean(known, floor=of.floor, ceiling=of.ceiling)
    clusters = [values for values in samples if values.size]
    if of.percent is not None:
        bounds = statistics.percentile(clusters, of.percent / 100)
    elif of.is_mean:
        bounds = statistics.mean_of_clusters(clusters)
    else:
        bounds = Interval(None, None, None, len(clusters))
    return replace(bounds, estimate=of.pool_samples(clusters)).clamp_ends(of.floor, of.ceiling)


def is_precise(target: Target, measured: Interval, seeds: int) -> bool:
    """Returns true if so many seeds suffice; a metric without a value in any run needs no more."""
    if seeds < MIN_SEEDS:
        return False
    if measured.estimate is None:
        return True
    return measured.half_width is not None and measured.half_width <= target.allowed_half_width(measured.estimate)


@dataclass(frozen=True)
class Unmet:
    """A point whose precision was not reached within the limit of seeds.

    Attributes:
        point: Its number, from 1, as in points.parquet.
        label: Name for people.
        target: The precision that was asked for.
        interval: Interval of the metric so far.
        seeds: After how many seeds.
    """

    point: int
    label: str
    target: Target
    interval: Interval
    seeds: int

    @property
    def needed(self) -> int | None:
        """About how many seeds it would take; `None` where nothing tells."""
        return seeds_needed(self.target, self.interval, self.seeds)

    @property
    def width(self) -> str:
        """Width of the interval, as the precision is written, such as "± 36 %"."""
        half = self.interval.half_width
        if half is None:
            return "no interval"
        # As it is asked for: an interval of ± γ is as wide as γ/(1+γ) of the estimate.
        share = half / abs(self.interval.estimate) if self.interval.estimate else math.inf
        relative = share / (1 - share) if share < 1 else math.inf
        if not self.target.is_relative:
            return f"± {half:.3g}"
        return f"± {100 * relative:.0f} %" if math.isfinite(relative) else "wider than the number itself"

    def in_words(self) -> str:
        """In words for people."""
        name = self.target.measure.name
        if self.interval.estimate is None:
            return f"{self.label}: {self.target.text} not reached: no run has a value of {name}"
        needed = "more flows or more seeds are needed" if self.needed is None else f"about {self.needed} would do"
        value = self.interval.format("{:.4g}".format)
        return f"{self.label}: {self.target.text} not reached: {name} {value}, {self.width}, after {self.seeds} seeds; {needed}"

    def row(self) -> dict[str, Any]:
        """As the study's manifest has it."""
        measured = self.interval
        return {
            "point": self.point,
            "label": self.label,
            "metric": self.target.measure.name,
            "asked": self.target.text,
            "estimate": measured.estimate,
            "low": measured.low,
            "high": measured.high,
            "width": self.width,
            "seeds": self.seeds,
            "needed": self.needed,
        }


def seeds_needed(target: Target, measured: Interval, seeds: int) -> int | None:
    """About how many seeds a precision needs, by the width after so many: it falls with their root. `None` where there is no width yet."""
    allowed = 0.0 if measured.estimate is None else target.allowed_half_width(measured.estimate)
    if measured.half_width is None or allowed <= 0:
        return None
    return max(MIN_SEEDS, math.ceil(seeds * (measured.half_width / allowed) ** 2))


def more_seeds(target: Target, measured: Interval, seeds: int, most: int) -> int:
    """Returns the number of further seeds to take: 0 where the interval is narrow enough or the limit is reached.

    The width falls with the root of the number; one step at most doubles it.
    """
    if seeds >= most or is_precise(target, measured, seeds):
        return 0
    if seeds < MIN_SEEDS:
        return min(MIN_SEEDS, most) - seeds
    needed = seeds_needed(target, measured, seeds)
    wanted = math.ceil(GROWTH * seeds)
    return min(most, max(seeds + 1, wanted if needed is None else min(wanted, needed))) - seeds


def warm_up(rule: str, run: Run) -> float:
    """Seconds at the beginning of a run that are warm-up: none, a time that is given, or what MSER-5 finds.

    Args:
        rule: "none", "mser-5", or a time such as "2ms".
        run: The run.
    """
    if rule == NONE:
        return 0.0
    return steadiness.warm_up(run) if rule == MSER5 else units.seconds(rule)


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
    raise FarloopError(f'{clip_text(repr(rule))}: expected "{NONE}", "{MSER5}", or a time from 0 such as "2ms"')
