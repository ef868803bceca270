"""GEMINI, Fig. 4 and Table II: completion times and places of loss of transports with one signal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from farloop import metrics
from farloop.figures.panels import grid
from farloop.papers.claims import Claim, Finding, Statement, near
from farloop.papers.testbed import COLOURS, Completion, Losses, bars, legend, longest, named, said
from farloop.results import Comparison

INSIDE = 0.8
"""More than this part of the losses is inside the datacenters (§II-B)."""

FEW = 1e-4
"""Loss rates of schemes with ECN stay below this where the WAN has no delay (§II-B)."""

MANY = 1e-3
"""BBR loses more than this (§II-B)."""

QUEUED = ("Cubic", "Cubic+ECN", "DCTCP")
"""Schemes without a signal from the WAN but loss."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Small and large flows against Vegas, losses by place, with and without the WAN's delay."""
    claim = claims["gemini/fig04-table2"]
    far, near_by = longest(named(comparison, "10 ms")), longest(named(comparison, "0 ms"))
    cells = {name: Completion.of(run).cells() for name, run in far.items()}
    losses = {name: Losses.of(run) for name, run in far.items()}
    local = {name: Losses.of(run) for name, run in near_by.items()}
    measured: dict[str, Any] = {f"{n}, {c} (s)": v for n, row in cells.items() for c, v in row.items()}
    measured |= {f"{n}, loss in DCN": x.dcn for n, x in losses.items()}
    measured |= {f"{n}, loss in WAN": x.wan for n, x in losses.items()}
    measured |= {f"{n}, loss in DCN without WAN delay": x.dcn for n, x in local.items()}
    statements: list[Statement] = []
    large = {n: cells[n]["large, average"] for n in cells}
    if "Vegas" in cells:
        for name in [n for n in (*QUEUED, "BBR") if n in cells]:
            over = {c: metrics.ratio(cells[name][c], cells["Vegas"][c]) for c in ("small, average", "small, p99")}
            text = f"{name}: small flows are slower than with Vegas, on average and at the 99th percentile"
            statements.append(Statement(text, all(r > 1 for r in over.values()), f"over Vegas: {said(over)}"))
        slowest = max(large, key=lambda n: large[n])
        statements.append(Statement("Vegas has the slowest large flows", slowest == "Vegas", f"s: {said(large)}"))
    if "Vegas" in cells and "Vegas-10" in cells:
        over = {c: metrics.ratio(cells["Vegas-10"][c], cells["Vegas"][c]) for c in ("large, average", "small, average")}
        text = "Vegas-10 speeds up large flows and slows down small ones"
        holds = over["large, average"] < 1 < over["small, average"]
        statements.append(Statement(text, holds, f"over Vegas: {said(over)}"))
    if "BBR" in losses:
        measured["bbr_loss"] = losses["BBR"].total
        text = "BBR loses more than 0.1 %"
        statements.append(
            Statement(text, measured["bbr_loss"] > MANY, f"{100 * measured['bbr_loss']:.3g} %", number=True)
        )
    shares = {n: x.share for n, x in losses.items() if x.total > 0}
    text = "more than 80 % of the losses are inside the datacenters"
    statements.append(Statement(text, bool(shares) and all(s > INSIDE for s in shares.values()), said(shares)))
    if "Cubic paced" in losses:
        measured["cubic_paced_loss"] = losses["Cubic paced"].dcn
        statements.append(
            near(
                claim,
                "cubic_paced_loss",
                losses["Cubic paced"].dcn,
                "Cubic with pacing loses as much inside datacenters",
            )
        )
    marked = {n: x.dcn for n, x in local.items() if n in ("Cubic+ECN", "DCTCP")}
    if marked:
        text = "without the WAN's delay schemes with ECN lose less than 1e-4 inside datacenters"
        statements.append(Statement(text, all(x < FEW for x in marked.values()), said(marked)))
    unfinished = {n: Completion.of(run).unfinished for n, run in far.items()}
    note = f"flows: {', '.join(f'{n} {run.flows.num_rows}' for n, run in far.items())}; unfinished: {said(unfinished, 'd')}"
    return [Finding(claim.id, statements, measured, note=note)]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Fig. 4, (a) to (d), and Table II as bars."""
    far, local = longest(named(comparison, "10 ms")), longest(named(comparison, "0 ms"))
    cells = {name: Completion.of(run).cells() for name, run in far.items() if name != "Cubic paced"}
    figure, axes = grid(4, "Flow completion times, WebSearch across the WAN at 90 %", columns=2, shared=False)
    for axis, cell in zip(axes, next(iter(cells.values()), {}), strict=False):
        axis.bar(list(cells), [1e3 * row[cell] for row in cells.values()], color=[COLOURS.get(n) for n in cells])
        axis.set_title(cell, fontsize=8)
        axis.set_ylabel("FCT (ms)", fontsize=8)
        axis.tick_params(axis="x", labelrotation=20, labelsize=6)
    table, panels = grid(2, "Packet loss rates", columns=2, shared=False)
    for axis, runs, title in ((panels[0], far, "10 ms"), (panels[1], local, "WAN delay 0")):
        losses = {name: Losses.of(run) for name, run in runs.items()}
        bars(axis, {name: {"DCN": 1e5 * x.dcn, "WAN": 1e5 * x.wan} for name, x in losses.items()})
        axis.set_title(title, fontsize=8)
        axis.set_ylabel("loss rate (1e-5)", fontsize=8)
    legend(table, panels[0])
    return {"fig04": figure, "table2": table}
