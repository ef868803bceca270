"""Gear, Fig. 14(b): the throughput ratio without the logic for cross-datacenter flows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from farloop.figures.panels import throughput_panels
from farloop.papers.claims import Claim, Finding, Statement, near
from farloop.papers.measure import by_algorithm, ratio, spread
from farloop.results import Comparison

NUMBERS = {"gear": "ratio_full", "gear-without-cross": "ratio_without_cross"}


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Both ratios, as means over the start phases."""
    claim = claims["gear/fig14"]
    measured: dict[str, Any] = {}
    statements: list[Statement] = []
    for algorithm, group in by_algorithm(comparison).items():
        if algorithm not in NUMBERS:
            continue
        name = NUMBERS[algorithm]
        mean, low, high = spread(group, ratio)
        measured |= {name: mean, f"{name}_least": low, f"{name}_largest": high}
        said = f"{len(group)} start phase(s), {low:.3g} to {high:.3g}"
        statements.append(near(claim, name, mean, f"the ratio of {algorithm} is {claim.paper[name]}", said))
    if set(NUMBERS.values()) <= set(measured):
        full, without = measured["ratio_full"], measured["ratio_without_cross"]
        statements.append(
            Statement("without the cross logic the ratio falls", without < full, f"{full:.3g} to {without:.3g}")
        )
    note = "completion times without the intra logic, Fig. 14(a), need the fat-tree workload and are not judged here"
    return [Finding(claim.id, statements, measured, note=note)]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Throughput with and without the cross logic."""
    return {"fig14": throughput_panels(comparison.runs, "Gear with and without its cross-datacenter logic", columns=2)}
