"""GEMINI, Fig. 4 and Table II: completion times and places of loss of transports with one signal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.schedule import Need, scheduled_runs
from farloop.judging.testbed import (
    COLOURS,
    ENOUGH,
    SCHEMES,
    Completion,
    Losses,
    bars,
    longest_runs,
    numbers_text,
    runs_by_prefix,
)
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

INSIDE = 0.8
"""More than this part of the losses is inside the datacenters (§II-B)."""

FEW = 1e-4
"""Loss rates of schemes with ECN stay below this where the WAN has no delay (§II-B)."""

MANY = 1e-3
"""BBR loses more than this (§II-B)."""

QUEUED = ("Cubic", "Cubic+ECN", "DCTCP")
"""Schemes without a signal from the WAN but loss."""

MARKED = ("Cubic+ECN", "DCTCP")
"""Schemes that answer to marks."""

SIMILAR = 2.0
"""Loss rates that differ by less than this factor are similar."""

APART = "a connection for each flow"
"""The case without persistent connections, for comparison."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Small and large flows against Vegas, losses by place, with and without the WAN's delay."""
    judging = Judging(comparison, claims["gemini/fig04-table2"])
    far, near_by = longest_runs(runs_by_prefix(comparison, "10 ms")), longest_runs(runs_by_prefix(comparison, "0 ms"))
    cells = {name: Completion.from_run(run).cells() for name, run in far.items()}
    losses = {name: Losses.from_run(run) for name, run in far.items()}
    local = {name: Losses.from_run(run) for name, run in near_by.items()}
    judging.measure(lambda: {f"{n}, {c} (s)": v for n, row in cells.items() for c, v in row.items()})
    judging.measure(lambda: {f"{n}, loss in DCN": x.dcn for n, x in losses.items()})
    judging.measure(lambda: {f"{n}, loss in WAN": x.wan for n, x in losses.items()})
    judging.measure(lambda: {f"{n}, loss in DCN without WAN delay": x.dcn for n, x in local.items()})
    needs = {"10 ms": _needs(comparison, "10 ms"), "0 ms": _needs(comparison, "0 ms")}
    all_far = [n for group in needs["10 ms"].values() for n in group]

    def select_needs(*names: str) -> list[Need]:
        return [n for name in names for n in needs["10 ms"].get(name, [])]

    def slower(name: str) -> tuple[bool, str]:
        over = {c: metrics.ratio(cells[name][c], cells["Vegas"][c]) for c in ("small, average", "small, p99")}
        return all(r > 1 for r in over.values()), f"over Vegas: {numbers_text(over)}"

    for name in (*QUEUED, "BBR"):
        text = f"{name}: small flows are slower than with Vegas, on average and at the 99th percentile"
        judging.order(text, select_needs(name, "Vegas"), lambda *_, name=name: slower(name))

    def is_slowest(*_: Run) -> tuple[bool, str]:
        large = {n: cells[n]["large, average"] for n in cells}
        return max(large, key=lambda n: large[n]) == "Vegas", f"s: {numbers_text(large)}"

    judging.order("Vegas has the slowest large flows", all_far, is_slowest)

    def scales_up(*_: Run) -> tuple[bool, str]:
        over = {c: metrics.ratio(cells["Vegas-10"][c], cells["Vegas"][c]) for c in ("large, average", "small, average")}
        return over["large, average"] < 1 < over["small, average"], f"over Vegas: {numbers_text(over)}"

    judging.order(
        "Vegas-10 speeds up large flows and slows down small ones", select_needs("Vegas", "Vegas-10"), scales_up
    )

    def bbr(*_: Run) -> tuple[bool, str]:
        judging.measured["bbr_loss"] = losses["BBR"].total
        return losses["BBR"].total > MANY, f"{100 * losses['BBR'].total:.3g} %"

    judging.order("BBR loses more than 0.1 %", select_needs("BBR"), bbr)

    def loses_inside(*_: Run) -> tuple[bool, str]:
        shares = {n: x.share for n, x in losses.items() if x.total * x.sent >= ENOUGH}
        few = [n for n in losses if n not in shares]
        rest = f"; too few lost to say: {', '.join(few)}" if few else ""
        return bool(shares) and all(s > INSIDE for s in shares.values()), f"{numbers_text(shares)}{rest}"

    judging.order("more than 80 % of the losses are inside the datacenters", all_far, loses_inside)
    judging.near(
        "cubic_paced_loss",
        "Cubic with pacing loses as much inside datacenters",
        select_needs("Cubic paced"),
        lambda *_: (losses["Cubic paced"].dcn, losses["Cubic paced"].format_loss()),
        better="lower",
    )

    def is_similar(*_: Run) -> tuple[bool, str]:
        paced, raw = losses["Cubic paced"], losses["Cubic"]
        near = raw.dcn / SIMILAR <= paced.dcn <= raw.dcn * SIMILAR
        return near and paced.enough and raw.enough, f"{paced.format_loss()} against {raw.format_loss()}"

    text = "with pacing Cubic loses similarly much inside datacenters as without"
    judging.order(text, select_needs("Cubic paced", "Cubic"), is_similar)

    def loses_few(*_: Run) -> tuple[bool, str]:
        evidence = ", ".join(f"{n} {local[n].format_loss()}" for n in MARKED)
        return all(local[n].dcn < FEW for n in MARKED), evidence

    text = "without the WAN's delay schemes with ECN lose less than 1e-4 inside datacenters"
    judging.order(text, [n for name in MARKED for n in needs["0 ms"].get(name, [])], loses_few)
    apart = {n: Completion.from_run(run).cells() for n, run in longest_runs(runs_by_prefix(comparison, APART)).items()}
    judging.measure(lambda: {f"{n}, {c}, {APART} (s)": v for n, row in apart.items() for c, v in row.items()})
    unfinished = {n: Completion.from_run(run).unfinished for n, run in far.items()}
    flows = ", ".join(f"{n} {run.flows.num_rows}" for n, run in far.items())
    return [judging.finding(note=f"flows: {flows}; unfinished: {numbers_text(unfinished, 'd')}")]


def _needs(comparison: Comparison, prefix: str) -> dict[str, list[Need]]:
    """The longest run of each scheme that the figure schedules."""
    needs: dict[str, list[Need]] = {}
    for need in scheduled_runs(comparison, prefix=prefix):
        name = "Cubic paced" if "Cubic paced" in need.case else SCHEMES.get(need.algorithm, need.algorithm)
        if name not in needs or "200 s" in need.case:
            needs[name] = [need]
    return needs


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Fig. 4, (a) to (d), and Table II as bars."""
    far, local = longest_runs(runs_by_prefix(comparison, "10 ms")), longest_runs(runs_by_prefix(comparison, "0 ms"))
    cells = {name: Completion.from_run(run).cells() for name, run in far.items() if name != "Cubic paced"}
    figure, axes = grid(4, "Flow completion times, WebSearch across the WAN at 90 %", columns=2, shared=False)
    for axis, cell in zip(axes, next(iter(cells.values()), {}), strict=False):
        axis.bar(list(cells), [1e3 * row[cell] for row in cells.values()], color=[COLOURS.get(n) for n in cells])
        axis.set_title(cell, fontsize=8)
        axis.set_ylabel("FCT (ms)", fontsize=8)
        axis.tick_params(axis="x", labelrotation=20, labelsize=6)
    table, panels = grid(2, "Packet loss rates", columns=2, shared=False)
    for axis, runs, title in ((panels[0], far, "10 ms"), (panels[1], local, "WAN delay 0")):
        losses = {name: Losses.from_run(run) for name, run in runs.items()}
        bars(axis, {name: {"DCN": 1e5 * x.dcn, "WAN": 1e5 * x.wan} for name, x in losses.items()})
        axis.set_title(title, fontsize=8)
        axis.set_ylabel("loss rate (1e-5)", fontsize=8)
    legend_below(table, [panels[0]])
    return {"fig04": figure, "table2": table}
