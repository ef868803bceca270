"""Gear, Fig. 17: telemetry at top-of-rack switches only, under Gear and Poseidon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from farloop import metrics
from farloop.figures.panels import throughput_panels
from farloop.papers.claims import Claim, Finding, Statement
from farloop.papers.measure import first, throughput
from farloop.results import Comparison, Run

RACK_A = ("intra-a1", "intra-a2", "cross-a1", "cross-a2")
ALL = (*RACK_A, "intra-b1", "intra-b2", "cross-b1", "cross-b2")

JOIN = 2.0
"""When the flows of the second rack start."""

EARLY = (0.5, JOIN)
"""When flows that converge quickly have done so; "by 0.5 s" as in Fig. 12."""

LAST = 0.5
"""Seconds at the end of the run that count as eventually."""

FAIR = 0.95
"""Jain's index from which shares count as fair, as in Fig. 10."""

FAIR_SHARE = 25e9
"""A quarter of the uplink, in bit/s."""

STARVED = 0.1
"""Flows with less than this part of a fair share are starved."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Fairness before and after the bottleneck moves; what is left to the cross flows under Poseidon."""
    claim = claims["gear/fig17"]
    measured: dict[str, Any] = {}
    statements = []
    for run in comparison.runs:
        for phase, flows, (start, end) in (("rack a", RACK_A, _early(run)), ("end", ALL, _late(run))):
            for kind in ("intra", "cross"):
                rate = _mean(run, [f for f in flows if f.startswith(kind)], start, end)
                measured[f"{run.label}, {phase}: mean {kind} (Gbps)"] = rate / 1e9
    if gear := first(comparison, "gear", "to 6 s") or first(comparison, "gear"):
        for text, flows, window in (
            ("Gear converges quickly while the bottleneck has telemetry", RACK_A, _early(gear)),
            ("Gear converges eventually when the bottleneck has none", ALL, _late(gear)),
        ):
            index = _jain(gear, flows, *window)
            rates = "/".join(f"{throughput(gear, f, *window) / 1e9:.1f}" for f in flows)
            evidence = f"Jain's index {index:.3f} over {window[0]:g} to {window[1]:g} s, fair from {FAIR}; {rates} Gbps"
            statements.append(Statement(text, index >= FAIR, evidence))
        paused = gear.summary["pfc"]["paused"]
        statements.append(
            Statement("PFC presses the congestion back", paused > 0, f"ports were paused for {paused:.3g} s in total")
        )
    if poseidon := first(comparison, "poseidon-partial"):
        rate = _mean(poseidon, [f for f in RACK_A if f.startswith("cross")], *_early(poseidon))
        evidence = f"{rate / 1e9:.3g} Gbps each, a fair share is {FAIR_SHARE / 1e9:g} Gbps"
        statements.append(Statement("Poseidon starves the cross flows", rate < STARVED * FAIR_SHARE, evidence))
    return [Finding(claim.id, statements, measured)]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """One panel per algorithm, as in the paper."""
    longest = max(run.duration for run in comparison.runs)
    runs = [run for run in comparison.runs if run.duration == longest]
    return {"fig17": throughput_panels(runs, "Telemetry at top-of-rack switches only", columns=2)}


def _early(run: Run) -> tuple[float, float]:
    """A run that ends before then is measured over its second half."""
    return EARLY if run.duration >= JOIN else (run.duration / 2, run.duration)


def _late(run: Run) -> tuple[float, float]:
    return max(run.duration - LAST, run.duration / 2), run.duration


def _jain(run: Run, flows: tuple[str, ...], start: float, end: float) -> float:
    return metrics.jain([throughput(run, f, start, end) for f in flows])


def _mean(run: Run, flows: list[str], start: float, end: float) -> float:
    return sum(throughput(run, f, start, end) for f in flows) / len(flows)
