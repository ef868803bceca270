"""Gear, Fig. 11: only flows inside one datacenter; one joins each second, then one leaves each second."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.measure import group_by_algorithm, throughput
from farloop.judging.schedule import scheduled_runs
from farloop.units import seconds
from farloop.views.figures.panels import throughput_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

MAIN = "main"
"""The case with the paper's times."""

GOOD = 0.9
"""Jain's index from which fairness counts as good: shares that scatter by a third. The bound is ours; the paper gives none."""

OSCILLATING = ("dctcp", "annulus")
CALM = ("hpcc", "gemini")
SLIGHTLY = 3.0
"""Up to this factor more oscillation is "slightly higher"."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Least fairness over the phases with two flows or more, and oscillation, per algorithm."""
    judging = Judging(comparison, claims["gear/fig11"])
    needs = [n for n in scheduled_runs(comparison) if n.case == MAIN] or scheduled_runs(comparison)

    def is_fair(*runs: Run) -> tuple[bool, str]:
        fairness = {run.algorithm: _least_jain(run) for run in runs}
        evidence = (
            "least Jain's index: " + ", ".join(f"{n} {v:.3f}" for n, v in fairness.items()) + f"; good from {GOOD}"
        )
        return all(value >= GOOD for value in fairness.values()), evidence

    def swings(runs: Iterable[Run]) -> tuple[dict[str, float], str]:
        swing = {run.algorithm: _oscillation(run) for run in runs}
        return swing, "variation of throughput: " + ", ".join(f"{n} {100 * v:.2g} %" for n, v in swing.items())

    def slightly_more(*runs: Run) -> tuple[bool, str]:
        swing, evidence = swings(runs)
        calm = max(swing[n] for n in CALM)
        return calm < swing["gear"] < SLIGHTLY * calm, evidence

    def oscillates_most(*runs: Run) -> tuple[bool, str]:
        swing, evidence = swings(runs)
        others = max(v for n, v in swing.items() if n not in OSCILLATING)
        return min(swing[n] for n in OSCILLATING) > others, evidence

    judging.order("all algorithms show good fairness", needs, is_fair)
    compared = [n for n in needs if n.algorithm in ("gear", *CALM)]
    judging.order("Gear oscillates slightly more than HPCC and GEMINI", compared, slightly_more)
    judging.order("DCTCP and Annulus oscillate most", needs, oscillates_most)
    judging.measure(lambda: {f"{r.algorithm}_least_jain": _least_jain(r) for r in judging.have(needs)})
    judging.measure(lambda: {f"{r.algorithm}_variation": _oscillation(r) for r in judging.have(needs)})
    fast = needs and needs[0].case != MAIN
    return [judging.finding(note="joins and departures 5 times as fast as in the paper" if fast else "")]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """One panel per algorithm, as in the paper."""
    runs = [_longest_run(group) for group in group_by_algorithm(comparison).values()]
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


def _longest_run(group: list[Run]) -> Run:
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
