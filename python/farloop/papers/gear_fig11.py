"""Gear, Fig. 11: only flows inside one datacenter; one joins each second, then one leaves each second."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from farloop import metrics
from farloop.figures.panels import throughput_panels
from farloop.papers.claims import Claim, Finding, Statement
from farloop.papers.measure import by_algorithm, throughput
from farloop.results import Comparison, Run
from farloop.units import seconds

FAIR = 0.95
"""Jain's index from which shares count as fair."""

OSCILLATING_MOST = ("dctcp", "annulus")
CALM = ("hpcc", "gemini")
SLIGHTLY = 3.0
"""Up to this factor more oscillation is "slightly higher"."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Least fairness over the phases with two flows or more, and oscillation, per algorithm."""
    claim = claims["gear/fig11"]
    runs = {name: _slowest(group) for name, group in by_algorithm(comparison).items()}
    fairness = {name: _least_jain(run) for name, run in runs.items()}
    swing = {name: _oscillation(run) for name, run in runs.items()}
    statements = [
        Statement(
            "all algorithms are fair",
            all(value >= FAIR for value in fairness.values()),
            "least Jain's index: " + ", ".join(f"{n} {v:.3f}" for n, v in fairness.items()),
        )
    ]
    told = "variation of throughput: " + ", ".join(f"{n} {100 * v:.2g} %" for n, v in swing.items())
    calm = [swing[n] for n in CALM if n in swing]
    most = [swing[n] for n in OSCILLATING_MOST if n in swing]
    if "gear" in swing and calm:
        statements.append(
            Statement(
                "Gear oscillates slightly more than HPCC and GEMINI",
                max(calm) < swing["gear"] < SLIGHTLY * max(calm),
                told,
            )
        )
    if most and len(most) < len(swing):
        others = max(v for n, v in swing.items() if n not in OSCILLATING_MOST)
        statements.append(Statement("DCTCP and Annulus oscillate most", min(most) > others, told))
    measured = {f"{n}_least_jain": v for n, v in fairness.items()} | {f"{n}_variation": v for n, v in swing.items()}
    duration = min(run.duration for run in runs.values())
    note = "" if duration >= 7 else f"joins and departures {7 / duration:.0f} times as fast as in the paper"
    return [Finding(claim.id, statements, measured, note=note)]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """One panel per algorithm, as in the paper."""
    runs = [_slowest(group) for group in by_algorithm(comparison).values()]
    return {
        "fig11": throughput_panels(
            runs,
            "Flows inside one datacenter join and leave",
            caption=lambda run: (
                f"{run.algorithm} (least Jain {_least_jain(run):.3f}, variation {100 * _oscillation(run):.2g} %)"
            ),
            columns=3,
        )
    }


def _slowest(group: list[Run]) -> Run:
    return max(group, key=lambda run: run.duration)


def _phases(run: Run) -> list[tuple[float, float, list[str]]]:
    """Second halves of the times between joins and departures, with the flows that run then."""
    active = {}
    for flow in run.scenario["flow"]:
        stop = flow.get("stop", "none")
        active[flow["name"]] = (seconds(flow["start"]), run.duration if stop == "none" else seconds(stop))
    edges = sorted({t for span in active.values() for t in span})
    phases = []
    for start, end in itertools.pairwise(edges):
        flows = [name for name, (begin, stop) in active.items() if begin <= start and end <= stop]
        phases.append(((start + end) / 2, end, flows))
    return phases


def _least_jain(run: Run) -> float:
    return min(
        metrics.jain([throughput(run, flow, start, end) for flow in flows])
        for start, end, flows in _phases(run)
        if len(flows) > 1
    )


def _oscillation(run: Run) -> float:
    """Mean coefficient of variation of the sampled throughput over phases and flows."""
    values = [
        metrics.variation(*run.samples.get(f"flow/{flow}", "throughput"), start, end)
        for start, end, flows in _phases(run)
        for flow in flows
    ]
    return float(np.nanmean(values))
