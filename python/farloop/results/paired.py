"""Statistics of an algorithm's flows over several seeds, and of two algorithms under the same traffic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from farloop import statistics
from farloop.results import flow_completion
from farloop.results.protocols import ComparedRuns, RunNumbers
from farloop.results.size_classes import MEDIAN, SizeClasses, SplitAtMedian
from farloop.results.tables import Floats
from farloop.statistics import Interval

PERCENTS = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
"""Percentiles of the slowdown that summaries have, and their shares."""

CAPTION = (
    "The traffic of a seed is the same under every algorithm, so algorithms are compared seed by seed: the geometric mean of the ratios, "
    "with its 95 % confidence interval. An interval with 1 in it tells no difference. Unfinished flows count by their age."
)


@dataclass(frozen=True)
class Pairing:
    """One algorithm against another one, over the same seeds.

    Attributes:
        label: The one.
        base: The other one, the first of the comparison.
        ratios: Ratio of the one's number to the other's, by name; numbers that both have under every seed, and that are not 0.
    """

    label: str
    base: str
    ratios: dict[str, Interval]

    def row(self) -> dict[str, Any]:
        """As summary.json has it."""
        named = {name: interval.row() for name, interval in self.ratios.items()}
        return {"against": self.base, "ratios": {k: {"ratio": row.pop("mean"), **row} for k, row in named.items()}}


def comparisons(comparison: ComparedRuns) -> list[Pairing]:
    """Every other algorithm against the first; none without several seeds and algorithms.

    Where there are several others their intervals hold together, number by number.
    """
    groups = list(comparison.groups.items()) if len(comparison.seeds) > 1 else []
    if len(groups) < 2 or any(run.case != groups[0][1][0].case for _, runs in groups for run in runs):
        return []
    (base, first), *others = groups
    confidence = statistics.correct_confidence(len(others))
    comparisons_of_runs = []
    for label, runs in others:
        of_seed = {run.seed: run for run in first}
        pairs = [(run, of_seed[run.seed]) for run in runs if run.seed in of_seed]
        comparisons_of_runs.append(Pairing(label, base, _ratios(pairs, confidence)))
    return comparisons_of_runs


def _ratios(pairs: Sequence[tuple[RunNumbers, RunNumbers]], confidence: float) -> dict[str, Interval]:
    intervals: dict[str, Interval] = {}
    for name, number in _NUMBERS.items():
        both = [(number(own), number(other)) for own, other in pairs]
        known = [(a, b) for a, b in both if a is not None and b is not None]
        if known and len(known) == len(both):
            a, b = zip(*known, strict=True)
            intervals[name] = statistics.paired_ratio(a, b, confidence=confidence)
    for kind in flow_completion.KINDS:
        own, other = ([_slowdowns(pair[i], kind, unfinished=True) for pair in pairs] for i in (0, 1))
        if pairs and all(values.size for values in (*own, *other)):
            means = ([float(values.mean()) for values in each] for each in (own, other))
            intervals[f"{kind}: mean slowdown"] = statistics.paired_ratio(*means, confidence=confidence)
            for name, share in PERCENTS.items():
                intervals[f"{kind}: {name}"] = statistics.paired_percentiles(own, other, share, confidence=confidence)
    return {name: interval for name, interval in intervals.items() if interval.estimate is not None}


def _throughput(kind: str) -> Callable[[RunNumbers], float | None]:
    return lambda run: run.summary["mean_throughput"][kind]


def _longest_queue(run: RunNumbers) -> float | None:
    worst = run.summary["worst"]["max_queue"]
    return None if worst is None else float(worst["max_queue"])


_NUMBERS: dict[str, Callable[[RunNumbers], float | None]] = {
    "intra: throughput": _throughput("intra"),
    "cross: throughput": _throughput("cross"),
    "longest queue": _longest_queue,
}
"""Numbers of whole runs that are compared, by name."""


@dataclass(frozen=True)
class Pooled:
    """The slowdown of the flows of several runs together, which differ in their seed.

    Attributes:
        flows: Number of flows.
        intervals: Mean and percentiles by name; empty where no flow counts.
    """

    flows: int
    intervals: dict[str, Interval]


def pool_slowdowns(
    runs: Sequence[RunNumbers], kind: str, size: str = "", sizes: SizeClasses | None = None, *, unfinished: bool = False
) -> Pooled:
    """Mean and percentiles of the slowdown of the flows of several runs together, which differ in their seed.

    Args:
        runs: The runs.
        kind: "intra" or "cross".
        size: The name of a class of sizes; empty for all flows.
        sizes: The classes that it is one of; by default those of the runs.
        unfinished: Count unfinished flows by their age, which bounds every number from below; otherwise only finished flows count.
    """
    each = [_slowdowns(run, kind, size, sizes or run.sizes, unfinished=unfinished) for run in runs]
    clusters = [values for values in each if values.size]
    if not clusters:
        return Pooled(0, {})
    intervals = {"mean": statistics.mean_of_clusters(clusters, floor=1.0)}
    intervals |= {name: statistics.percentile(clusters, share, floor=1.0) for name, share in PERCENTS.items()}
    return Pooled(sum(int(values.size) for values in clusters), intervals)


def pooled_rows(runs: Sequence[RunNumbers]) -> dict[str, Any]:
    """`pool_slowdowns` by kind and size, as summary.json has it."""
    rows: dict[str, Any] = {}
    for kind in flow_completion.KINDS:
        every = pool_slowdowns(runs, kind)
        if not every.flows:
            rows[kind] = None
            continue
        classes = {size: pool_slowdowns(runs, kind, size) for size in runs[0].sizes.names}
        halves = {size: pool_slowdowns(runs, kind, size, MEDIAN) for size in MEDIAN.names}
        rows[kind] = SplitAtMedian(
            {
                "all": _pooled_row(every),
                "classes": {size: {"flows": of.flows, **_pooled_row(of)} for size, of in classes.items()},
                **{size: _pooled_row(of) for size, of in halves.items() if of.flows},
            }
        )
    return rows


def _pooled_row(pooled_flows: Pooled) -> dict[str, Any]:
    return {name: _interval_row(interval) for name, interval in pooled_flows.intervals.items()}


def _interval_row(interval: Interval) -> dict[str, Any]:
    row = interval.row()
    return {"value": row.pop("mean"), **row}


def _slowdowns(
    run: RunNumbers, kind: str, size: str = "", sizes: SizeClasses = MEDIAN, *, unfinished: bool = False
) -> Floats:
    values = (
        flow_completion.bound_slowdowns(run.flows, run.duration) if unfinished else flow_completion.slowdowns(run.flows)
    )
    chosen = flow_completion.is_kind(run.flows, kind) & ~np.isnan(values)
    if size:
        chosen &= sizes.masks(flow_completion.column(run.flows, "size_bytes"))[size]
    slowdowns: Floats = values[chosen]
    return slowdowns
