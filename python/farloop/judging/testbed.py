"""Measurements on GEMINI's testbeds (IEEE/ACM ToN 2022, §II-B, §IV-A). Rates in bit/s, times in seconds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from farloop import metrics
from farloop.judging.claims import UndecidedError
from farloop.palette import CROSS, INTRA
from farloop.results.flow_samples import aged_times, statistic
from farloop.results.tables import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from farloop.results.run import Comparison, Run

SCHEMES = {
    "gemini": "GEMINI",
    "cubic": "Cubic",
    "cubic-ecn": "Cubic+ECN",
    "dctcp": "DCTCP",
    "bbr": "BBR",
    "vegas": "Vegas",
    "vegas-10": "Vegas-10",
}
"""The paper's names of the algorithms."""

COLOURS = {
    "GEMINI": CROSS[0],
    "Cubic": INTRA[0],
    "Cubic+ECN": INTRA[1],
    "Cubic paced": INTRA[4],
    "DCTCP": INTRA[2],
    "BBR": CROSS[1],
    "Vegas": CROSS[2],
    "Vegas-10": CROSS[3],
}
"""A colour per scheme, the same in all figures."""

SMALL = 100e3
"""Flows below this size in bytes are small (caption of Fig. 4)."""

LARGE = 10e6
"""Flows above this size in bytes are large (caption of Fig. 4)."""


ENOUGH = 100.0
"""Lost packets that make a loss rate: fewer are one burst or two, and the next run may have none or twice as many."""


@dataclass(frozen=True)
class Losses:
    """Packets dropped per packet sent, by place, of the flows that start once hosts know each other.

    From when on that is, [settled][farloop.judging.testbed.settling_time] says. Losses are counted by flow, where it is lost by
    port: all ports' drops from then on divide it.

    Attributes:
        dcn: At the switches of the datacenters.
        wan: At the border routers.
        sent: Packets sent, repetitions included.
    """

    dcn: float
    wan: float
    sent: float = 0.0

    @classmethod
    def from_run(cls, run: Run) -> Losses:
        """Those of a run on the testbed, whose border routers are the spines of its fabrics: at the ports that have series."""
        since = settling_time(run)
        dropped = {"dcn": 0.0, "wan": 0.0}
        for port in run.samples.objects("port"):
            times, values = run.samples.get(f"port/{port}", "dropped")
            place = "wan" if "spine" in port.partition("->")[0] else "dcn"
            dropped[place] += float(values[times > since].sum())
        starts = run.flows["start_ps"].to_numpy() / 1e12
        sent, lost = (float(run.flows[c].to_numpy()[starts >= since].sum()) for c in ("packets", "dropped"))
        everywhere = sum(dropped.values())
        parts = {place: count / everywhere if everywhere > 0 else 0.0 for place, count in dropped.items()}
        return cls(**{place: metrics.ratio(lost, sent) * part for place, part in parts.items()}, sent=sent)

    @property
    def total(self) -> float:
        """At any place."""
        return self.dcn + self.wan

    @property
    def enough(self) -> bool:
        """True if enough packets are lost inside datacenters for a rate."""
        return self.dcn * self.sent >= ENOUGH

    def format_loss(self) -> str:
        """The loss inside datacenters in words: the rate, or an upper bound where too few are lost for a rate."""
        lost = round(self.dcn * self.sent)
        if self.enough:
            return f"{self.dcn:.2g} ({lost} packets)"
        return f"{lost} packets, below {metrics.ratio(ENOUGH, self.sent):.1g}"

    @property
    def share(self) -> float:
        """The part that is lost inside datacenters; NaN where nothing is lost."""
        return metrics.ratio(self.dcn, self.total)


@dataclass(frozen=True)
class Completion:
    """Completion times in seconds, by size; of flows that start once hosts know each other.

    A flow that has not finished counts with the time that it has had: the least that it takes.
    """

    small: Floats
    large: Floats
    all: Floats
    unfinished: int

    @classmethod
    def from_run(cls, run: Run) -> Completion:
        """Those of a run's flows, from their start to the arrival of their last byte."""
        column = {n: run.flows[n].to_numpy().astype(np.float64) for n in ("start_ps", "received_ps", "size_bytes")}
        counted = column["start_ps"] >= 1e12 * settling_time(run)
        column = {n: values[counted] for n, values in column.items()}
        time = aged_times(column["start_ps"], column["received_ps"], 1e12 * run.duration)
        size, unfinished = column["size_bytes"], int((~(column["received_ps"] >= 0)).sum())
        return cls(time[size < SMALL] / 1e12, time[size > LARGE] / 1e12, time / 1e12, unfinished)

    def cells(self) -> dict[str, float]:
        """The numbers of the paper's panels: averages, and the 99th percentile of small flows. NaN where there is no such flow."""
        return {
            "small, average": statistic(self.small, "mean"),
            "small, p99": statistic(self.small, "p99"),
            "large, average": statistic(self.large, "mean"),
            "all, average": statistic(self.all, "mean"),
        }


def settling_time(run: Run) -> float:
    """From when on a workload is measured, in seconds: half of the time in which flows start.

    By then most pairs of hosts have the slow start threshold of an earlier flow.
    """
    return float(run.flows["start_ps"].to_numpy().max()) / 2e12 if run.flows.num_rows else 0.0


def scheme(run: Run) -> str:
    """The paper's name of what a run used: the algorithm, or the variant that its case names."""
    if "Cubic paced" in run.case:
        return "Cubic paced"
    return SCHEMES.get(run.algorithm, run.algorithm)


def longest_runs(runs: Iterable[Run]) -> dict[str, Run]:
    """The run of each scheme whose traffic goes on for longest."""
    runs_by_name: dict[str, Run] = {}
    for run in runs:
        name = scheme(run)
        if name not in runs_by_name or arrivals(run) > arrivals(runs_by_name[name]):
            runs_by_name[name] = run
    return runs_by_name


def arrivals(run: Run) -> int:
    """Returns the number of flows of a run."""
    return int(run.flows.num_rows)


def runs_by_prefix(comparison: Comparison, prefix: str) -> list[Run]:
    """The runs whose case begins so."""
    return [run for run in comparison.runs if run.case.startswith(prefix)]


def recorded_flows(run: Run) -> list[str]:
    """The flows that have series.

    Raises:
        UndecidedError: there is none.
    """
    names = run.samples.objects("flow")
    if not names:
        raise UndecidedError("not recorded: series of flows")
    return names


def rates(run: Run, start: float, end: float = np.inf, flows: Sequence[str] | None = None) -> dict[str, float]:
    """Mean throughput of each recorded flow over (start, end]."""
    names = recorded_flows(run) if flows is None else flows
    return {f: metrics.mean(*run.samples.get(f"flow/{f}", "throughput"), start, end) for f in names}


def round_trip(run: Run, start: float, flows: Sequence[str] | None = None) -> float:
    """Mean round-trip time of the recorded flows from `start` on: of each flow over time, then over flows."""
    names = recorded_flows(run) if flows is None else flows
    return float(np.mean([metrics.mean(*run.samples.get(f"flow/{f}", "rtt"), start) for f in names]))


def base_round_trip(run: Run) -> float:
    """Mean of the flows' round-trip times without queues."""
    return float(run.flows["base_rtt_ps"].to_numpy().mean()) / 1e12


def spans(run: Run, flow: str, seconds: float) -> tuple[Floats, Floats]:
    """A flow's throughput over successive spans, each at its last time."""
    times, values = run.samples.get(f"flow/{flow}", "throughput")
    samples = max(1, round(seconds / float(np.median(np.diff(times))))) if times.size > 1 else 1
    whole = times.size // samples * samples
    return times[samples - 1 : whole : samples], values[:whole].reshape(-1, samples).mean(axis=1)


def bars(axis: Axes, table: Mapping[str, Mapping[str, float]]) -> None:
    """Groups of bars: one group per inner key, one bar per scheme."""
    groups = list(next(iter(table.values()))) if table else []
    width = 0.8 / max(1, len(table))
    for i, (name, row) in enumerate(table.items()):
        at = np.arange(len(groups)) + (i - (len(table) - 1) / 2) * width
        axis.bar(at, [row[g] for g in groups], width, color=COLOURS.get(name), label=name)
    axis.set_xticks(np.arange(len(groups)), groups)
    axis.tick_params(labelsize=7)


def numbers_text(values: Mapping[str, float], form: str = ".3g") -> str:
    """Names and numbers as evidence."""
    return ", ".join(f"{name} {value:{form}}" for name, value in values.items())
