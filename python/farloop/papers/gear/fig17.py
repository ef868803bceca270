"""Gear, Fig. 17: telemetry at top-of-rack switches only, under Gear and Poseidon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.measure import require_duration, throughput
from farloop.judging.schedule import scheduled_runs
from farloop.judging.traffic import paused_time
from farloop.views.figures.panels import throughput_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

RACK_A = ("intra-a1", "intra-a2", "cross-a1", "cross-a2")
ALL = (*RACK_A, "intra-b1", "intra-b2", "cross-b1", "cross-b2")

JOIN = 2.0
"""When the flows of the second rack start."""

EARLY = (0.5, JOIN)
"""When flows that converge quickly have done so; "by 0.5 s" as in Fig. 12."""

LAST = 0.5
"""Seconds at the end of the run that count as eventually; the state is stable if they are like the same time before."""

FAIR = 0.95
"""Jain's index from which shares count as fair, as in Fig. 10."""

UNMOVED = 0.1
"""A flow whose throughput changes by less than this part stays as it is, as in Fig. 10."""

FAIR_SHARE = 25e9
"""A quarter of a rack's uplink, in bit/s; after the join, too: the four cross flows then have core->tor-c to themselves."""

STARVED = 0.1
"""Flows with less than this part of a fair share are starved."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Fairness before and after the bottleneck moves; what is left to the cross flows under Poseidon."""
    judging = Judging(comparison, claims["gear/fig17"])
    for run in comparison.runs:
        for phase, flows, window in (("rack a", RACK_A, EARLY), ("end", ALL, _last_window(run))):
            for kind in ("intra", "cross"):
                name = f"{run.label}, {phase}: mean {kind} (Gbps)"
                judging.measure(lambda n, *of: {n: _mean(*of) / 1e9}, name, run, _select_flows(flows, kind), *window)
    gear = scheduled_runs(comparison, algorithm="gear")[-1:]
    poseidon = scheduled_runs(comparison, algorithm="poseidon-partial")[:1]

    def is_fair(run: Run, flows: tuple[str, ...], window: tuple[float, float]) -> tuple[bool, str]:
        index = _jain(require_duration(run, window[1]), flows, *window)
        rates = "/".join(f"{throughput(run, f, *window) / 1e9:.1f}" for f in flows)
        evidence = f"Jain's index {index:.3f} over {window[0]:g} to {window[1]:g} s, fair from {FAIR}; {rates} Gbps"
        return index >= FAIR, evidence

    def stable(run: Run) -> tuple[bool, str]:
        start, end = _last_window(require_duration(run, JOIN + 2 * LAST))
        rates = {f: throughput(run, f, start, end) for f in ALL}
        change = {f: abs(metrics.ratio(rates[f], throughput(run, f, start - LAST, start)) - 1) for f in ALL}
        moved, least = max(change, key=lambda f: change[f]), min(rates, key=lambda f: rates[f])
        evidence = (
            f"{'/'.join(f'{r / 1e9:.1f}' for r in rates.values())} Gbps from {start:g} s (Jain's index {_jain(run, ALL, start, end):.3f}); "
            f"{moved} moves most, by {100 * change[moved]:.2g} %, stable below {100 * UNMOVED:g} %; "
            f"{least} has least, starved below {STARVED * FAIR_SHARE / 1e9:g} Gbps"
        )
        return change[moved] < UNMOVED and rates[least] > STARVED * FAIR_SHARE, evidence

    def is_paused(run: Run) -> tuple[bool, str]:
        total = paused_time(run)
        return total > 0, f"ports were paused for {total:.3g} s in total"

    def is_starved(run: Run) -> tuple[bool, str]:
        run = require_duration(run, EARLY[1])
        intra, cross = (_mean(run, _select_flows(RACK_A, kind), *EARLY) for kind in ("intra", "cross"))
        evidence = (
            f"cross {cross / 1e9:.3g}, intra {intra / 1e9:.3g} Gbps each, a fair share is {FAIR_SHARE / 1e9:g} Gbps"
        )
        return cross < STARVED * FAIR_SHARE, evidence

    text = "Gear converges quickly while the bottleneck has telemetry"
    judging.order(text, gear, lambda run: is_fair(run, RACK_A, EARLY))
    judging.order("Gear stabilizes, no flow starved, when the bottleneck has none", gear, stable)
    judging.order("PFC presses the congestion back", gear, is_paused)
    judging.order("Poseidon starves the cross flows", poseidon, is_starved)
    return [judging.finding()]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """One panel per algorithm, as in the paper."""
    longest = max(run.duration for run in comparison.runs)
    runs = [run for run in comparison.runs if run.duration == longest]
    return {"fig17": throughput_panels(runs, "Telemetry at top-of-rack switches only", columns=2)}


def _last_window(run: Run) -> tuple[float, float]:
    return run.duration - LAST, run.duration


def _select_flows(flows: Sequence[str], kind: str) -> list[str]:
    return [f for f in flows if f.startswith(kind)]


def _jain(run: Run, flows: tuple[str, ...], start: float, end: float) -> float:
    return metrics.jain([throughput(run, f, start, end) for f in flows])


def _mean(run: Run, flows: list[str], start: float, end: float) -> float:
    return sum(throughput(run, f, start, end) for f in flows) / len(flows)
