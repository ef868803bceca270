"""GEMINI, Table V: noise on samples of the round-trip time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from farloop import metrics
from farloop.figures.panels import grid
from farloop.palette import INTRA
from farloop.papers.claims import Claim, Finding, Statement
from farloop.papers.gemini_fig09 import measure
from farloop.papers.testbed import said
from farloop.results import Comparison

NO_EFFECT = 0.01
"""A change of the throughput by less than this part is none."""

SLIGHT = 0.1
"""A drop by less than this part is slight."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Throughput for each range of the noise."""
    claim = claims["gemini/table5"]
    rates = throughputs(comparison)
    measured: dict[str, Any] = {f"noise up to {x:g} ms: throughput (Mbps)": t / 1e6 for x, t in rates.items()}
    statements: list[Statement] = []
    if 0.0 in rates:
        change = {x: metrics.ratio(t, rates[0.0]) - 1 for x, t in rates.items() if x > 0}
        for least, most, part, text in (
            (0.0, 0.1, NO_EFFECT, "noise below 0.1 ms has no effect on the throughput"),
            (0.1, 1.0, SLIGHT, "noise up to 1 ms lowers it slightly at most"),
        ):
            chosen = {f"{x:g} ms": c for x, c in change.items() if least < x <= most}
            if chosen:
                statements.append(Statement(text, all(c > -part for c in chosen.values()), said(chosen, "+.4f")))
    return [Finding(claim.id, statements, measured, note="eight flows; throughput is payload, 941 Mbps at most")]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """The table as bars."""
    rates = throughputs(comparison)
    figure, (axis,) = grid(1, "Uniform noise on RTT samples")
    axis.bar([f"{x:g}" for x in rates], [t / 1e6 for t in rates.values()], color=INTRA[0], width=0.6)
    axis.set_xlabel("noise up to (ms)", fontsize=8)
    axis.set_ylabel("throughput (Mbps)", fontsize=8)
    return {"table5": figure}


def throughputs(comparison: Comparison) -> dict[float, float]:
    """Aggregate throughput by the range of the noise in ms, from the cases "X ms"."""
    return {float(run.case.removesuffix(" ms")): measure(run)[1] for run in comparison.runs}
