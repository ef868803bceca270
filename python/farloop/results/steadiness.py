"""Test of whether a run's flows are those of a steady state: where its warm-up ends, and whether it still drifts after that.

The warm-up is found by MSER-5 (White, Cobb and Spratt, Winter Simulation Conference 2000). The rest is split into two halves of the
arrivals. Where their mean slowdown, or its 99th percentile, differs by more than 10 % and by more than both intervals, the run is not
steady: a longer one would have other numbers. The intervals are those of `farloop.statistics` over ten batches of consecutive arrivals in
each half, in place of seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from farloop import statistics
from farloop.results import flow_completion
from farloop.results.tables import Floats, Series
from farloop.statistics import Interval
from farloop.units import count_text, time_text

BATCH = 5
"""Of MSER-5."""

BATCHES = statistics.MIN_TAIL_SEEDS
"""Of a half: as many as a percentile of the tail needs."""

MIN_FLOWS = 2 * BATCHES * 10
"""Minimum number of flows for a verdict: ten in a batch."""

DRIFT = 0.1
"""Accepted difference of the halves, relative to the smaller one."""

LONG = 0.25
"""From which share of the flows on a warm-up is worth a word."""


@dataclass(frozen=True)
class Drift:
    """A number that differs between two parts of a run.

    Attributes:
        name: Name of the number.
        first: It, in the earlier part.
        second: It, in the later part.
    """

    name: str
    first: Interval
    second: Interval

    @property
    def is_real(self) -> bool:
        """True if it differs by more than `DRIFT` and by more than both intervals."""
        a, b = self.first, self.second
        if (
            a.estimate is None
            or b.estimate is None
            or a.low is None
            or a.high is None
            or b.low is None
            or b.high is None
        ):
            return False
        apart = a.high < b.low or b.high < a.low
        return apart and abs(a.estimate - b.estimate) > DRIFT * min(a.estimate, b.estimate)

    def in_words(self) -> str:
        """In words."""
        return f"{self.name} {self.first.format(_number_text)}, then {self.second.format(_number_text)}"


def _number_text(value: float) -> str:
    return f"{value:.3g}"


@dataclass(frozen=True)
class Stationarity:
    """Warm-up and drift of a run.

    Attributes:
        warm_up: Seconds at its beginning that MSER-5 finds to be warm-up.
        share: Share of the flows that began in it.
        begins: The mean slowdown before and after the end of the warm-up.
        halves: Mean slowdown and its 99th percentile in the first and the second half of the arrivals after it.
    """

    warm_up: float
    share: float
    begins: Drift
    halves: tuple[Drift, ...]

    @property
    def is_steady(self) -> bool:
        """True if the halves do not differ."""
        return not any(half.is_real for half in self.halves)

    @property
    def has_long_warm_up(self) -> bool:
        """True if the warm-up is long, and its flows differ from those after it.

        A single slow flow early in the run makes MSER-5 cut there, too.
        """
        return self.share > LONG and self.begins.is_real

    def in_words(self) -> str:
        """Returns the numbers that drift, in words."""
        return " and ".join(half.in_words() for half in self.halves if half.is_real)


class SteadyRun(Protocol):
    """A run of which it is known whether it is steady, as `farloop.Run`."""

    @property
    def label(self) -> str:
        """Its name."""

    @property
    def flows(self) -> pa.Table:
        """One row per flow."""

    @property
    def samples(self) -> Series:
        """Its series."""

    @property
    def steadiness(self) -> Stationarity | None:
        """Its warm-up and drift; `None` where its flows are too few."""


def steadiness(flows: pa.Table, end: float) -> Stationarity | None:
    """Measures the warm-up and drift of a run; `None` where fewer than 200 flows with a size began before its end, or hardly any finished.

    A flow that has not finished counts with its age, and at least with 1.

    Args:
        flows: The table of flows.
        end: When the run ended, in seconds.
    """
    began, ideal = (
        flow_completion.column(flows, "start_ps") / 1e12,
        flow_completion.column(flows, "ideal_fct_ps") / 1e12,
    )
    chosen = (began < end) & (ideal > 0) & (flow_completion.column(flows, "size_bytes") >= 0)
    cut = warm_up_of_flows(flows) if np.count_nonzero(chosen) >= MIN_FLOWS else None
    if cut is None:
        return None
    values = flow_completion.slowdowns(flows)
    age = np.maximum((end - began) / np.where(ideal > 0, ideal, np.nan), 1.0)
    values = np.where(np.isnan(values), age, values)[chosen]
    order = np.argsort(began[chosen], kind="stable")
    values, began = values[order], began[chosen][order]
    first = int(np.searchsorted(began, cut, side="left"))
    rest = values[first:]
    early, late = _batches(rest[: rest.size // 2]), _batches(rest[rest.size // 2 :])
    begins = Drift("mean slowdown", _mean(_batches(values[:first])), _mean(_batches(rest)))
    halves = tuple(Drift(name, of(early), of(late)) for name, of in _STATISTICS.items())
    return Stationarity(cut, first / values.size, begins, halves)


def _mean(batches: list[Floats]) -> Interval:
    return statistics.mean_of_clusters(batches, floor=1.0)


def _tail(batches: list[Floats]) -> Interval:
    return statistics.percentile(batches, 0.99, floor=1.0)


_STATISTICS: dict[str, Callable[[list[Floats]], Interval]] = {"mean slowdown": _mean, "p99 slowdown": _tail}


def _batches(values: Floats) -> list[Floats]:
    return [part for part in np.array_split(values, BATCHES) if part.size]


NOT_STEADY, WARM_UP = CODES = ("not-steady", "warm-up")
"""Codes of the cautions."""


def warnings(run: SteadyRun) -> list[tuple[str, str]]:
    """Returns what a user may believe wrongly of the flows of a run: codes and sentences."""
    own = run.steadiness
    texts = []
    if own is not None and not own.is_steady:
        text = f"not steady: from the first to the second half of the arrivals {own.in_words()}; a longer run would have other numbers"
        texts.append((NOT_STEADY, text))
    if own is not None and own.has_long_warm_up:
        before, after = (of.format(_number_text) for of in (own.begins.first, own.begins.second))
        text = (
            f"warm-up: {100 * own.share:.0f} % of the flows began in the first {time_text(own.warm_up)}, before the run is steady: "
            f"mean slowdown {before}, {after} after it; all statistics count them"
        )
        texts.append((WARM_UP, text))
    return texts


def warnings_together(runs: Sequence[SteadyRun]) -> list[tuple[str, str]]:
    """Those of several runs: of each kind that of the first run that has it, and how many others have it, too."""
    if len(runs) == 1:
        return warnings(runs[0])
    warnings_by_text: dict[str, list[tuple[str, str]]] = {}
    for run in runs:
        for code, text in warnings(run):
            warnings_by_text.setdefault(code, []).append((run.label, text))
    texts = []
    for code, each in warnings_by_text.items():
        label, text = each[0]
        more = f" (and in {count_text(len(each) - 1, 'other')} of {len(runs)} runs)" if len(each) > 1 else ""
        texts.append((code, f"{label}: {text}{more}"))
    return texts


def note(runs: Sequence[SteadyRun]) -> str:
    """Returns a note for the verdict on a claim about these runs; empty where all are steady, or have too few flows."""
    unsteady = [run for run in runs if run.steadiness is not None and not run.steadiness.is_steady]
    if not unsteady:
        return ""
    first = unsteady[0]
    text = first.steadiness.in_words() if first.steadiness is not None else ""
    return f"not steady in {len(unsteady)} of {count_text(len(runs), 'run')}, such as {first.label}: {text}"


def warm_up(run: SteadyRun) -> float:
    """Seconds at the beginning of a run that MSER-5 finds to be warm-up.

    It looks at the slowdowns of the finished flows in the order in which they began; where there are fewer than 20, at the throughput of
    all recorded flows over time.
    """
    warm_up_end = warm_up_of_flows(run.flows)
    if warm_up_end is not None:
        return warm_up_end
    recorded = [f"flow/{name}" for name in run.samples.objects("flow")]
    if not recorded:
        return 0.0
    series = [run.samples.get(name, "throughput") for name in recorded]
    shortest = min(times.size for times, _ in series)
    cut = mser5(np.sum([rates[:shortest] for _, rates in series], axis=0))
    return float(series[0][0][cut - 1]) if cut else 0.0


def warm_up_of_flows(flows: pa.Table) -> float | None:
    """Seconds at the beginning of a run that MSER-5 finds to be warm-up by its flows; `None` where fewer than 20 finished."""
    values, began = flow_completion.slowdowns(flows), flow_completion.column(flows, "start_ps") / 1e12
    known = ~np.isnan(values)
    if np.count_nonzero(known) < 4 * BATCH:
        return None
    values, began = values[known], began[known]
    order = np.argsort(began, kind="stable")
    cut = mser5(values[order])
    return float(began[order][cut]) if cut else 0.0


def mser5(values: npt.ArrayLike) -> int:
    """Returns the number of values at the beginning of a sequence that are warm-up, by MSER-5 (White, Cobb, Spratt 2000).

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
