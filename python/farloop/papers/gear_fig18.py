"""Gear, Fig. 18: GEMINI at 100 Gbps with a floor on F."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from farloop.figures.panels import throughput_panels
from farloop.papers.claims import Claim, Finding, Statement
from farloop.papers.measure import ratio
from farloop.results import Comparison, Run

FAIR = (0.67, 1.5)
"""Ratios that count as "tending to fairness"."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """The ratio intra/cross of each floor."""
    claim = claims["gear/fig18"]
    ratios = {_floor(run): ratio(run) for run in comparison.runs if run.algorithm == "gemini"}
    told = ", ".join(f"{floor:g}: {value:.2g}" for floor, value in sorted(ratios.items()))
    statements = []
    low = [v for f, v in ratios.items() if f <= 0.01]
    high = [v for f, v in ratios.items() if f > 0.05]
    if low:
        statements.append(Statement("with a floor of 0.01 or none the intra flow struggles", max(low) < FAIR[0], told))
    if 0.05 in ratios:
        fair = FAIR[0] <= ratios[0.05] <= FAIR[1]
        statements.append(Statement("a floor of 0.05 tends to fairness", fair, told))
        if high:
            statements.append(Statement("larger floors favour the intra flow", min(high) > ratios[0.05], told))
    return [Finding(claim.id, statements, {f"ratio at {f:g}": v for f, v in sorted(ratios.items())})]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """One panel per floor, as in the paper."""
    return {
        "fig18": throughput_panels(
            comparison.runs,
            "GEMINI with a floor on F",
            caption=lambda run: f"F at least {_floor(run):g} (ratio {ratio(run):.2f})",
            columns=5,
        )
    }


def _floor(run: Run) -> float:
    parameters = run.scenario["algorithm"].get(run.algorithm, {})
    return float(parameters.get("f_min", 0))
