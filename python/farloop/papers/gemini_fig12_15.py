"""GEMINI, Figs. 12 to 15: completion times of WebSearch flows, two traffic patterns on two testbeds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from farloop import metrics
from farloop.figures.panels import grid
from farloop.papers.claims import Claim, Finding, Statement, near
from farloop.papers.testbed import COLOURS, Completion, Losses, longest, named, said
from farloop.results import Comparison

FIGURES = {
    "fig12": "1 Gbps, pattern 1",
    "fig13": "10 Gbps, pattern 1",
    "fig14": "1 Gbps, pattern 2",
    "fig15": "10 Gbps, pattern 2",
}
"""The cases of each figure begin so."""

RIVALS = {"cubic": "Cubic", "dctcp": "DCTCP", "bbr": "BBR", "vegas": "Vegas"}
"""The names in the published numbers, and the schemes."""

Cells = dict[str, dict[str, dict[str, float]]]
"""Completion times in seconds by figure, scheme and panel."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Reductions against each rival, losses, and how far GEMINI is behind the second best scheme."""
    claim = claims["gemini/fig12-15"]
    table = cells(comparison)
    measured: dict[str, Any] = {
        f"{f}, {n}, {c} (s)": v for f, row in table.items() for n, cell in row.items() for c, v in cell.items()
    }
    losses = {f: {n: Losses.of(r) for n, r in longest(named(comparison, p)).items()} for f, p in FIGURES.items()}
    measured |= {f"{f}, {n}, loss": x.total for f, row in losses.items() for n, x in row.items()}
    statements: list[Statement] = []
    for key, rival in RIVALS.items():
        for kind in ("small", "large"):
            reductions = reduction(table, rival, f"{kind}, average")
            if reductions:
                best = max(reductions, key=lambda f: reductions[f])
                name = f"{kind}_vs_{key}"
                measured[name] = reductions[best]
                text = f"{kind} flows: up to {100 * claim.paper[name]:.0f} % below {rival}"
                statements.append(near(claim, name, reductions[best], text, f"by figure {said(reductions)}"))
    for rival, kind, figures in (
        ("Cubic", "small", ("fig12", "fig13")),
        ("DCTCP", "small", ("fig12", "fig13")),
        ("BBR", "small", ("fig12", "fig13")),
        ("Vegas", "large", tuple(FIGURES)),
        ("Cubic", "large", ("fig14", "fig15")),
    ):
        reductions = {f: r for f, r in reduction(table, rival, f"{kind}, average").items() if f in figures}
        if reductions:
            text = f"{kind} flows are faster than with {rival} ({', '.join(reductions)})"
            statements.append(Statement(text, all(r > 0 for r in reductions.values()), f"reduction {said(reductions)}"))
    own = {f: row["GEMINI"].total for f, row in losses.items() if "GEMINI" in row}
    if own:
        measured["loss_below"] = max(own.values())
        text = "GEMINI loses less than 1e-4 of its packets"
        statements.append(Statement(text, measured["loss_below"] < claim.paper["loss_below"], said(own)))
    behind = behind_second(table)
    if behind:
        worst = max(behind, key=lambda c: behind[c])
        measured["worst_behind_second"] = behind[worst]
        allowed = claim.range("worst_behind_second")[1]
        text = "GEMINI is the best or second best, or little behind the second best"
        statements.append(
            Statement(
                text,
                behind[worst] <= allowed,
                f"{100 * behind[worst]:.1f} % behind at {worst}, accepted {100 * allowed:.1f} %",
                number=True,
            )
        )
    return [Finding(claim.id, statements, measured, note=_note(comparison))]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Each figure with its four panels; completion times over GEMINI's."""
    pictures = {}
    for name, row in cells(comparison).items():
        figure, axes = grid(4, f"FCT over GEMINI's, {FIGURES[name]}", columns=2, shared=False)
        reference = row.get("GEMINI") or next(iter(row.values()))
        for axis, cell in zip(axes, reference, strict=True):
            values = [metrics.ratio(r[cell], reference[cell]) for r in row.values()]
            drawn = axis.bar(list(row), values, color=[COLOURS.get(n) for n in row])
            axis.bar_label(drawn, fmt="%.2f", fontsize=6)
            axis.set_title(f"{cell} ({1e3 * reference[cell]:.0f} ms)", fontsize=8)
            axis.margins(y=0.12)
            axis.tick_params(axis="x", labelrotation=30, labelsize=6)
        pictures[name] = figure
    return pictures


def cells(comparison: Comparison) -> Cells:
    """The panels' numbers of every figure that ran."""
    runs = {f: longest(named(comparison, prefix)) for f, prefix in FIGURES.items()}
    return {f: {n: Completion.of(run).cells() for n, run in row.items()} for f, row in runs.items() if row}


def reduction(table: Cells, rival: str, cell: str) -> dict[str, float]:
    """The part by which GEMINI's completion times are below a rival's, by figure."""
    return {
        f: 1 - metrics.ratio(row["GEMINI"][cell], row[rival][cell])
        for f, row in table.items()
        if "GEMINI" in row and rival in row and math.isfinite(row["GEMINI"][cell]) and math.isfinite(row[rival][cell])
    }


def behind_second(table: Cells) -> dict[str, float]:
    """How far GEMINI is behind the second best scheme in each panel; negative where it is the best or second best itself."""
    found = {}
    for figure, row in table.items():
        if "GEMINI" not in row or len(row) < 3:
            continue
        for cell, own in row["GEMINI"].items():
            others = sorted(r[cell] for n, r in row.items() if n != "GEMINI")
            # The second best of all schemes is, where GEMINI is not among the first two, the second of the others.
            found[f"{figure}, {cell}"] = metrics.ratio(own, others[1]) - 1
    return {c: v for c, v in found.items() if math.isfinite(v)}


def _note(comparison: Comparison) -> str:
    parts = []
    for figure, prefix in FIGURES.items():
        runs = longest(named(comparison, prefix))
        if runs:
            unfinished = sum(Completion.of(run).unfinished for run in runs.values())
            flows = next(iter(runs.values())).flows.num_rows
            parts.append(f"{figure} {flows} flows, {unfinished} unfinished over all schemes")
    return "; ".join(parts)
