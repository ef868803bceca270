"""Gear, Fig. 14(b): the throughput ratio without the logic for cross-datacenter flows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.measure import ratio, spread
from farloop.judging.schedule import scheduled_runs
from farloop.units import count_text
from farloop.views.figures.panels import throughput_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

NUMBERS = {"gear": "ratio_full", "gear-without-cross": "ratio_without_cross"}


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Both ratios, as means over the start phases."""
    judging = Judging(comparison, claims["gear/fig14"])
    needs = {a: scheduled_runs(comparison, algorithm=a) for a in NUMBERS}

    def mean(*runs: Run) -> tuple[float, str]:
        value, low, high = spread(runs, ratio)
        name = NUMBERS[runs[0].algorithm]
        judging.measured |= {f"{name}_least": low, f"{name}_largest": high}
        return value, f"{count_text(len(runs), 'start phase')}, {low:.3g} to {high:.3g}"

    def falls(*runs: Run) -> tuple[bool, str]:
        full, without = (spread([r for r in runs if r.algorithm == a], ratio)[0] for a in NUMBERS)
        return without < full, f"{full:.3g} to {without:.3g}"

    for algorithm, name in NUMBERS.items():
        judging.near(name, f"the ratio of {algorithm} is {judging.claim.paper[name]}", needs[algorithm], mean)
    judging.order("without the cross logic the ratio falls", [n for group in needs.values() for n in group], falls)
    note = "completion times without the intra logic, Fig. 14(a), need the fat-tree workload: gear/fig14a"
    return [judging.finding(note=note)]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Throughput with and without the cross logic."""
    return {"fig14": throughput_panels(comparison.runs, "Gear with and without its cross-datacenter logic", columns=2)}
