"""MRC: links, ports and switches that fail, what the queue pairs between two hosts still carry, and how long they take to go round it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.schedule import Need, scheduled_runs
from farloop.palette import CROSS
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

ALGORITHM = "mrc"
HEALTHY, STEPS, HALF = "healthy", "NIC links fail one by one", "four NIC links fail at once"
SPINE, LEAF, LINKS, LOSSY = "T1 dead", "T0 dead", "twenty T0-T1 links, eight at once", "a link loses 20 %, 16 EVs"
SPINE_STATELESS, SPINE_REROUTED, LOSSY_STATELESS, LEAF_OF_ONE_PLANE = (
    f"{SPINE}, without states",
    f"{SPINE}, routes that follow",
    f"{LOSSY}, without states",
    f"{LEAF}, one plane",
)
FAILURE = 1e-3
"""When the first part fails, in seconds."""
MS = 1e-3
MARGIN = 0.02
"""Part of the rate that "no steady loss" and "line rate" leave."""
LEFT = 0.95
"""Part of the rate after a failure at which it is gone round."""


def _need(case: str) -> Need:
    return Need(case, ALGORITHM)


def rate(run: Run, start: float, end: float) -> float:
    """Payload per second of all flows together over (start, end], in bit/s."""
    times, total = rates(run)
    chosen = total[(times > start + 1e-9) & (times <= end + 1e-9)]
    return float(np.mean(chosen))


def rates(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Times in seconds, and the throughput of all flows together in the interval before each, in bit/s."""
    names = run.flows["name"].to_pylist()
    series = [run.samples.get(f"flow/{name}", "throughput") for name in names]
    return series[0][0], np.sum([values for _, values in series], axis=0)


def round_trips_to_bypass(run: Run) -> float:
    """Time from the failure until the throughput is that of the end of the run again, in base round-trip times.

    It is known to a sampling interval, and counted to the end of the first one from which on the throughput stays.
    """
    times, total = rates(run)
    after = rate(run, run.duration - 2 * MS, run.duration)
    low = times[(times > FAILURE + 1e-9) & (times < FAILURE + 2 * MS) & (total < LEFT * after)]
    base = float(max(run.flows["base_rtt_ps"].to_pylist())) / 1e12
    return float(low.max() - FAILURE if len(low) else 0.0) / base


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """What is left of the rate after each failure, and the time until it is back; what the controls lose is measured."""
    return [
        _judge_ports(Judging(comparison, claims["mrc/ports"])),
        _judge_paths(Judging(comparison, claims["mrc/paths"])),
    ]


def _judge_ports(judging: Judging) -> Finding:
    for failed in (1, 2, 3, 4):
        start = (failed + 0.3) * MS

        def measure_left(run: Run, healthy: Run, start: float = start) -> float:
            return rate(run, start, start + 0.6 * MS) / rate(healthy, start, start + 0.6 * MS)

        name = f"rate with {failed} of 8 NIC links down"
        judging.near(name, f"{STEPS}: {name}", [_need(STEPS), _need(HEALTHY)], measure_left)
    judging.near(
        "rate with four NIC links down at once",
        f"{HALF}: half is left",
        _select_needs(HALF),
        compare_ends,
    )
    judging.near("rate with a T0 down", f"{LEAF}: a plane is lost", _select_needs(LEAF), compare_ends)
    return judging.finding(note="p of 8 equal planes; what is measured is that it is reached")


def _judge_paths(judging: Judging) -> Finding:
    for case in (SPINE, LINKS, LOSSY):

        def keeps(run: Run, healthy: Run) -> tuple[bool, str]:
            left = compare_ends(run, healthy)
            return left > 1 - MARGIN, f"{left:.4f} of the rate without failures"

        judging.order(f"{case}: no steady loss", _select_needs(case), keeps)

    def decide(run: Run) -> tuple[bool, str]:
        trips = round_trips_to_bypass(run)
        return trips < 20, f"{trips:.3g} base round-trip times"

    judging.order(f"{SPINE}: gone round within tens of round-trip times", [_need(SPINE)], decide)
    measure_controls(judging)
    return judging.finding(note='"a few tens of microseconds" in the text; the sampling interval is 20 us')


def measure_controls(judging: Judging) -> None:
    """Keeps what the negative controls lose, in packets and in Gbps: ours, no statements of the paper."""
    judging.measure(
        lambda run: {f"{SPINE_REROUTED}: round trips until it is gone round": round_trips_to_bypass(run)},
        judging.find(_need(SPINE_REROUTED)),
    )
    for case in (SPINE, SPINE_STATELESS, SPINE_REROUTED, LOSSY, LOSSY_STATELESS):
        judging.measure(lambda run, case=case: {f"{case}: packets lost": lost_packets(run)}, judging.find(_need(case)))
    for case in (LEAF, LEAF_OF_ONE_PLANE):
        judging.measure(
            lambda run, case=case: {f"{case}: Gbps at the end": rate(run, run.duration - 2 * MS, run.duration) / 1e9},
            judging.find(_need(case)),
        )


def lost_packets(run: Run) -> int:
    """Data packets that the network lost, of all flows."""
    return sum(run.flows["dropped"].to_pylist())


def _select_needs(case: str) -> list[Need]:
    return [_need(case), _need(HEALTHY)]


def compare_ends(run: Run, healthy: Run) -> float:
    """Rate over the last two milliseconds against that without failures."""
    return rate(run, run.duration - 2 * MS, run.duration) / rate(healthy, healthy.duration - 2 * MS, healthy.duration)


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Throughput over time, case by case."""
    needs = scheduled_runs(comparison)
    figure, axes = grid(len(needs), "Throughput between two hosts while parts fail", columns=4)
    for axis, need in zip(axes, needs, strict=False):
        runs = [r for r in comparison.runs if Need(r.case, r.algorithm) == need]
        if runs:
            times, total = rates(runs[0])
            axis.plot(1e3 * times, total / 1e9, color=CROSS[0], linewidth=0.8, label="all flows")
        axis.set_title(need.case, fontsize=7)
        axis.set_xlabel("ms", fontsize=7)
    axes[0].set_ylabel("Gbps", fontsize=8)
    legend_below(figure, axes)
    return {"failures": figure}
