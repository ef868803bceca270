"""Gear on a loaded fat-tree with 5:1 traffic: Figs. 7, 8, 14(a), Table I and the abstract's numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from farloop import metrics
from farloop.figures.panels import grid
from farloop.palette import CROSS, INTRA
from farloop.papers.claims import Claim, Finding, Statement, near
from farloop.papers.gear_fig06 import bars, distance, longest, order, ratios, scale_note
from farloop.papers.traffic import Flows, paused, statistics
from farloop.results import Comparison, Run

NEAR = (0.8, 1.25)
"""Normalised ratios that count as near 1, as in Fig. 9."""

WELL_ABOVE = 1.1
"""A slowdown that is at least this many times Gear's is well above it."""

RIVALS = {"hpcc": "HPCC", "dctcp": "DCTCP", "gemini": "GEMINI", "annulus": "Annulus"}
ABLATED = "gear-without-intra"

Statistics = dict[str, dict[str, dict[str, float]]]
"""Slowdowns by algorithm, class of size and statistic."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """One finding for each of the five claims."""
    web = {a: run for (point, a), run in longest(comparison).items() if point == "WebSearch"}
    note = scale_note(comparison)
    slowdowns = {a: {k: statistics(v) for k, v in Flows.of(run).slowdowns().items()} for a, run in web.items()}
    unfinished = "; intra flows unfinished at the end: " + ", ".join(
        f"{a} {Flows.of(run).unfinished()} of {int((~Flows.of(run).cross).sum())}" for a, run in web.items()
    )
    return [
        _fig07(claims["gear/fig07"], comparison, note),
        _table1(claims["gear/table1"], web, note),
        _fig08(claims["gear/fig08"], slowdowns, note + unfinished),
        _fig14a(claims["gear/fig14a"], slowdowns, note + unfinished),
        _headline(claims["gear/headline"], web, note),
    ]


def _fig07(claim: Claim, comparison: Comparison, note: str) -> Finding:
    table = {p: {a: r for a, r in row.items() if a != ABLATED} for p, row in ratios(comparison).items()}
    measured: dict[str, Any] = {f"{a}, {p}": r for p, row in table.items() for a, r in row.items()}
    statements = order(table, "under both workloads")
    gear = {p: row["gear"] for p, row in table.items() if "gear" in row}
    if gear:
        said = ", ".join(f"{p}: {r:.3g}" for p, r in gear.items())
        statements.append(
            Statement("Gear is near 1 under both workloads", all(NEAR[0] <= r <= NEAR[1] for r in gear.values()), said)
        )
    if "WebSearch" in table and "Hadoop" in table:
        web, hadoop = table["WebSearch"], table["Hadoop"]
        both = [a for a in web if a in hadoop]
        said = ", ".join(f"{a} {web[a]:.3g} to {hadoop[a]:.3g}" for a in both)
        smaller = all(distance(hadoop[a]) < distance(web[a]) for a in both)
        statements.append(
            Statement("unfairness is smaller for all under Hadoop", smaller, f"WebSearch to Hadoop: {said}")
        )
    return Finding(claim.id, statements, measured, note=note)


def _table1(claim: Claim, web: Mapping[str, Run], note: str) -> Finding:
    times = {a: paused(run) for a, run in web.items() if a in RIVALS or a == "gear"}
    measured: dict[str, Any] = {f"{a}: paused (s)": t for a, t in times.items()}
    statements: list[Statement] = []
    if "gear" in times:
        normalised = {RIVALS[a]: metrics.ratio(t, times["gear"]) for a, t in times.items() if a in RIVALS}
        measured |= normalised
        statements = [
            near(claim, n, r, f"{n} pauses {claim.paper[n]:g} times as long as Gear") for n, r in normalised.items()
        ]
    if "gear" in times and set(RIVALS) <= set(times):
        said = ", ".join(f"{n} {r:.3g}" for n, r in normalised.items())
        ranked = sorted(normalised, key=lambda n: claim.paper[n])
        values = [normalised[n] for n in ranked]
        holds = values == sorted(values) and all((normalised[n] > 1) == (claim.paper[n] > 1) for n in ranked)
        statements.append(Statement("the order is Annulus, Gear, HPCC, DCTCP, GEMINI", holds, f"over Gear: {said}"))
    return Finding(claim.id, statements, measured, note=note)


def _fig08(claim: Claim, slowdowns: Statistics, note: str) -> Finding:
    table = {a: s for a, s in slowdowns.items() if a != ABLATED}
    measured = _flat(table)
    statements: list[Statement] = []
    if "gear" in table:
        for kind in ("small", "large"):
            value = table["gear"][kind]["p99"]
            measured[f"Gear_{kind}_p99"] = value
            statements.append(near(claim, f"Gear_{kind}_p99", value, f"99th percentile of Gear's {kind} flows"))
        if "annulus" in table:
            lowest = {f"{k} {s}": min(table, key=lambda a: table[a][k][s]) for k, s in _cells()}
            said = ", ".join(f"{cell}: {a}" for cell, a in lowest.items())
            statements.append(Statement("Annulus is lowest", set(lowest.values()) == {"annulus"}, f"lowest {said}"))
        for name in ("dctcp", "gemini", "hpcc"):
            if name in table:
                over = {
                    s: metrics.ratio(table[name]["large"][s], table["gear"]["large"][s]) for s in ("avg", "p95", "p99")
                }
                said = ", ".join(f"{s} {r:.3g}" for s, r in over.items())
                holds = all(r >= WELL_ABOVE for r in over.values())
                statements.append(
                    Statement(
                        f"{name} is well above Gear for large flows", holds, f"over Gear's: {said}; from {WELL_ABOVE}"
                    )
                )
    return Finding(claim.id, statements, measured, note=note)


def _fig14a(claim: Claim, slowdowns: Statistics, note: str) -> Finding:
    measured: dict[str, Any] = {}
    statements: list[Statement] = []
    if "gear" in slowdowns and ABLATED in slowdowns:
        full, without = slowdowns["gear"], slowdowns[ABLATED]
        for kind in ("small", "large"):
            for name, table in (("full", full), ("without_intra", without)):
                number = f"{kind}_p99_{name}"
                measured[number] = table[kind]["p99"]
                statements.append(near(claim, number, measured[number], f"99th percentile, {kind} flows, {name}"))
        for kind, statistic in _cells():
            a, b = full[kind][statistic], without[kind][statistic]
            statements.append(
                Statement(f"without the intra logic {statistic} of {kind} flows grows", b > a, f"{a:.3g} to {b:.3g}")
            )
    return Finding(claim.id, statements, measured, note=note)


def _headline(claim: Claim, web: Mapping[str, Run], note: str) -> Finding:
    rivals = {RIVALS[a]: run for a, run in web.items() if a in RIVALS}
    measured: dict[str, Any] = {}
    statements: list[Statement] = []
    if "gear" in web and rivals:
        own, rate = paused(web["gear"]), Flows.of(web["gear"]).throughput()
        pauses = {n: metrics.ratio(paused(run), own) for n, run in rivals.items()}
        gains = {n: metrics.ratio(rate, Flows.of(run).throughput()) - 1 for n, run in rivals.items()}
        for name, values, text in (
            ("PFC_reduction", pauses, "PFC duration reduced up to 5 times"),
            ("throughput_gain", gains, "throughput up by up to 20 %"),
        ):
            best = max(values, key=lambda n: values[n] if math.isfinite(values[n]) else -math.inf)
            measured[name] = values[best]
            said = ", ".join(f"{n} {v:.3g}" for n, v in values.items())
            statements.append(near(claim, name, values[best], text, f"against each: {said}"))
        statements += [
            Statement(
                "Gear pauses less than some rival", measured["PFC_reduction"] > 1, f"{measured['PFC_reduction']:.3g}"
            ),
            Statement(
                "Gear carries more than some rival",
                measured["throughput_gain"] > 0,
                f"{measured['throughput_gain']:+.3g}",
            ),
        ]
    return Finding(claim.id, statements, measured, note=note)


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Fig. 7, Table I as bars, Fig. 8, and Fig. 14(a) where the ablation ran."""
    table = {p: {a: r for a, r in row.items() if a != ABLATED} for p, row in ratios(comparison).items()}
    pictures = {"fig07": bars(table, "flow sizes")}
    web = {a: run for (point, a), run in longest(comparison).items() if point == "WebSearch"}
    if web:
        slowdowns = {a: {k: statistics(v) for k, v in Flows.of(run).slowdowns().items()} for a, run in web.items()}
        pictures["table1"] = _pauses({a: paused(run) for a, run in web.items() if a != ABLATED})
        pictures["fig08"] = _slowdowns({a: s for a, s in slowdowns.items() if a != ABLATED})
        if ABLATED in slowdowns:
            pictures["fig14a"] = _slowdowns({a: s for a, s in slowdowns.items() if a in ("gear", ABLATED)})
    return pictures


def _pauses(times: Mapping[str, float]) -> Figure:
    figure, axes = grid(1, "PFC pause duration, added over all ports")
    figure.set_size_inches(5, 2.6)
    axes[0].bar(list(times), [1e3 * t for t in times.values()], color=INTRA[0])
    axes[0].set_ylabel("paused (ms)", fontsize=8)
    return figure


def _slowdowns(table: Statistics) -> Figure:
    figure, axes = grid(2, "FCT slowdown of intra-datacenter flows", columns=2, shared=False)
    colours = [*INTRA[:3], *CROSS]
    width = 0.8 / max(1, len(table))
    for axis, kind in zip(axes, ("small", "large"), strict=True):
        for i, (algorithm, by_kind) in enumerate(table.items()):
            at = np.arange(3) + (i - (len(table) - 1) / 2) * width
            axis.bar(at, list(by_kind[kind].values()), width, color=colours[i % len(colours)], label=algorithm)
        axis.set_xticks(np.arange(3), ["avg", "p95", "p99"])
        axis.set_title(f"{kind} flows", fontsize=8)
    figure.legend(*axes[0].get_legend_handles_labels(), fontsize=6, loc="outside lower center", ncols=len(table) or 1)
    axes[0].set_ylabel("slowdown", fontsize=8)
    return figure


def _cells() -> list[tuple[str, str]]:
    return [(kind, statistic) for kind in ("small", "large") for statistic in ("avg", "p95", "p99")]


def _flat(table: Statistics) -> dict[str, Any]:
    return {f"{a}, {k}, {s}": v for a, kinds in table.items() for k, row in kinds.items() for s, v in row.items()}
