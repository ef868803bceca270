"""Code that MLCC's figures share: queues over several ports, shares over time, completion times. Rates in bit/s, times in seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from farloop import metrics
from farloop.judging.claims import UndecidedError
from farloop.judging.schedule import Need, scheduled_runs
from farloop.palette import CROSS, INTRA
from farloop.results.flow_completion import Mask
from farloop.results.flow_samples import aged_times
from farloop.results.tables import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from farloop.results.run import Comparison, Run

NAMES = {
    "dcqcn": "DCQCN",
    "timely": "TIMELY",
    "timely-patched": "TIMELY, patched",
    "hpcc": "HPCC",
    "powertcp": "PowerTCP",
    "mlcc": "MLCC",
}
"""The paper's names of the algorithms."""

RIVALS = ("dcqcn", "timely", "hpcc", "powertcp")
"""The paper's rivals of MLCC, in its order."""

COLOURS = {
    "dcqcn": INTRA[0],
    "timely": INTRA[1],
    "timely-patched": INTRA[3],
    "hpcc": INTRA[2],
    "powertcp": CROSS[1],
    "mlcc": CROSS[0],
}
"""A colour per algorithm, the same in all figures."""

DCI = ("dc1-dci1->dc1-spine1", "dc1-dci1->dc1-spine2")
"""Where flows across wait in the receivers' DCI switch."""

LONG = ", long"
"""Suffix of the full scale's cases, where the quick scale has shorter ones."""


def paper_name(run: Run) -> str:
    """The paper's name of a run's algorithm."""
    return NAMES.get(run.algorithm, run.algorithm)


def queue(run: Run, ports: Sequence[str], metric: str = "queue") -> tuple[Floats, Floats]:
    """Times, and the bytes that wait at all of these ports together."""
    series = [run.samples.get(f"port/{port}", metric) for port in ports]
    return series[0][0], np.sum([values for _, values in series], axis=0)


def total(run: Run, flows: Iterable[str], start: float, end: float = np.inf) -> float:
    """Throughput of these flows together over (start, end]."""
    return sum(metrics.mean(*run.samples.get(f"flow/{f}", "throughput"), start, end) for f in flows)


def fairness(run: Run, flows: Sequence[str], over: float) -> tuple[Floats, Floats]:
    """Times, and Jain's index of the flows' throughput averaged over the last `over` seconds; NaN where none has any."""
    times, _ = run.samples.get(f"flow/{flows[0]}", "throughput")
    samples = max(1, round(over / float(np.median(np.diff(times)))))
    rates = np.array([metrics.smooth_values(run.samples.get(f"flow/{f}", "throughput")[1], samples) for f in flows])
    square = (rates * rates).sum(axis=0)
    index = np.full(times.shape, np.nan)
    known = square > 0
    index[known] = rates.sum(axis=0)[known] ** 2 / (len(flows) * square[known])
    return times, index


def holding_time(times: Floats, holds: Sequence[bool] | Mask, start: float) -> float:
    """Seconds after `start` from which on something holds until the end; infinite if it never does."""
    inside = times > start
    if not inside.any():
        raise UndecidedError(f"the run ends before {start:.3g} s")
    failing = np.flatnonzero(~np.asarray(holds, dtype=bool)[inside])
    if not failing.size:
        return 0.0
    after = times[inside]
    return float(after[failing[-1]] - start) if failing[-1] + 1 < after.size else float("inf")


def starts(run: Run) -> dict[str, float]:
    """When each flow of the run starts, of those that do."""
    rows = zip(run.flows["name"].to_pylist(), run.flows["start_ps"].to_pylist(), strict=True)
    return {name: ps / 1e12 for name, ps in rows if ps / 1e12 < run.duration}


def scheduled_cases(comparison: Comparison) -> list[Need]:
    """Returns the runs that the figure schedules for each of its points and algorithms: the long case, where the scale has it."""
    chosen = {(n.case.removesuffix(LONG), n.algorithm): n for n in scheduled_runs(comparison)}
    return list(chosen.values())


@dataclass(frozen=True)
class FlowTimes:
    """Flows of one kind: payload in bytes, and the time from their start to the arrival of their last byte.

    A flow that has not finished counts with the time that it had: the least that it takes.

    Attributes:
        size: Payload.
        time: Completion time.
        unfinished: Number of unfinished flows.
    """

    size: Floats
    time: Floats
    unfinished: int

    @classmethod
    def from_run(cls, run: Run, *, cross: bool | None, since: float) -> FlowTimes:
        """Those of a run's flows that start from `since` on: inside datacenters, across, or (`None`) all of them."""
        column = {
            n: run.flows[n].to_numpy().astype(np.float64)
            for n in ("start_ps", "received_ps", "size_bytes", "cross_datacenter")
        }
        chosen = column["start_ps"] >= 1e12 * since
        if cross is not None:
            chosen &= (column["cross_datacenter"] > 0) == cross
        start, received, size = (column[n][chosen] for n in ("start_ps", "received_ps", "size_bytes"))
        time = aged_times(start, received, 1e12 * run.duration)
        return cls(size, time / 1e12, int((~(received >= 0)).sum()))

    def mean(self) -> float:
        """The mean completion time.

        Raises:
            UndecidedError: there is no such flow.
        """
        if not self.time.size:
            raise UndecidedError("no flow to measure")
        return float(self.time.mean())


def reductions(own: Sequence[float], rivals: Sequence[float]) -> tuple[float, str]:
    """By how much the first are below the second, pair by pair: the mean over the pairs, and all of them in words.

    Raises:
        UndecidedError: there are not as many of both.
    """
    if not own or len(own) != len(rivals):
        raise UndecidedError("not both of them have run")
    each = [1 - metrics.ratio(a, b) for a, b in zip(own, rivals, strict=True)]
    percentages = ", ".join(f"{100 * r:.1f} %" for r in each)
    return float(np.mean(each)), f"by seed {percentages}"


def bars(axis: Axes, table: Mapping[str, Mapping[str, Sequence[float]]], label_of: Callable[[str], str]) -> None:
    """Groups of bars, one bar per algorithm: means, with the range of the values."""
    groups = list(next(iter(table.values()))) if table else []
    width = 0.8 / max(1, len(table))
    for i, (algorithm, row) in enumerate(table.items()):
        at = np.arange(len(groups)) + (i - (len(table) - 1) / 2) * width
        means = np.array([float(np.mean(row[g])) for g in groups])
        ends = [means - [min(row[g]) for g in groups], [max(row[g]) for g in groups] - means]
        axis.bar(
            at, means, width, yerr=np.array(ends), color=COLOURS.get(algorithm), label=label_of(algorithm), capsize=2
        )
    axis.set_xticks(np.arange(len(groups)), groups)
    axis.tick_params(labelsize=7)
