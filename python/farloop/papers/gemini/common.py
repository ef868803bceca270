"""Measurements of several of GEMINI's figures. Rates in bit/s, times in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from farloop import metrics
from farloop.judging.testbed import base_round_trip, rates, round_trip

if TYPE_CHECKING:
    from farloop.results.run import Comparison, Run

SETTLED = 5.0
"""Flows inside a datacenter are measured from here on, or from half of a run that is shorter than twice as long."""

SETTLED_ACROSS = 10.0
"""The same for flows that meet in the WAN."""


@dataclass(frozen=True)
class TestbedScale:
    """At which scale a figure is run, against the paper's testbed.

    Attributes:
        figure: The figure, which is also its claim.
        rates: Link rates over the paper's.
        times: Round-trip times, T and all that goes with them over the paper's.
        settled: Start of all measurements, in seconds, or from half of a run that is shorter than twice as long.
    """

    figure: str
    settled: float
    rates: float = 1.0
    times: float = 1.0


Points = dict[int, tuple[float, float]]
"""Throughput, and round-trip time over that without queues, by threshold in packets."""


def sweep(comparison: Comparison, where: str, algorithm: str, settled: float = SETTLED) -> Points:
    """The runs of an algorithm inside ("intra") or across ("inter") by threshold, from their cases "WHERE, K = N"."""
    runs = {
        int(run.case.rpartition("=")[2]): run
        for run in comparison.runs
        if run.algorithm == algorithm and run.case.startswith(f"{where}, K = ")
    }
    return {k: throughput_and_inflation(runs[k], settled) for k in sorted(runs)}


def throughput_and_inflation(run: Run, settled: float = SETTLED) -> tuple[float, float]:
    """Aggregate throughput, and the mean round-trip time over that without queues."""
    start = min(settled, run.duration / 2)
    return sum(rates(run, start).values()), metrics.ratio(round_trip(run, start), base_round_trip(run))


def delay_and_throughput(run: Run, settled: float = SETTLED_ACROSS) -> tuple[float, float]:
    """Mean round-trip time and aggregate throughput, of flows that meet in the WAN."""
    start = min(settled, run.duration / 2)
    return round_trip(run, start), sum(rates(run, start).values())
