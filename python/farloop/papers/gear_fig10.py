"""Gear, Fig. 10: a second intra-datacenter flow joins at 1 s and leaves at 3 s."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from farloop import metrics
from farloop.figures.panels import throughput_panels
from farloop.papers.claims import Claim, Finding, Statement, near
from farloop.papers.measure import by_algorithm, first, shares, spread, throughput
from farloop.results import Comparison, Run

FLOWS = ("intra1", "cross", "intra2")
JOINED = (1.5, 3.0)
"""While three flows run, without the first half second after the join."""
BEFORE = (0.5, 1.0)

FAIR = 0.95
"""Jain's index from which three shares count as fair."""

UNMOVED = 0.1
"""A flow whose throughput changes by less than this part has not reacted."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Shares while three flows run; for Gear at several phases of the join."""
    claim = claims["gear/fig10"]
    runs = by_algorithm(comparison)
    measured: dict[str, Any] = {}
    for name, group in runs.items():
        measured[f"{name}_shares"] = [round(s, 3) for s in shares(group[0], FLOWS, *JOINED).values()]
    statements: list[Statement] = []
    note = ""
    if gear := runs.get("gear"):
        mean, low, high = spread(gear, _jain)
        measured |= {"Gear_jain": mean, "Gear_jain_least": low, "Gear_jain_largest": high}
        statements.append(
            Statement(
                "Gear moves all three flows to fair shares",
                low >= FAIR,
                f"Jain's index {mean:.3f} ({low:.3f} to {high:.3f} over {len(gear)} phase(s) of the join), fair from {FAIR}",
            )
        )
        note = "shares (intra1, cross, intra2) by phase of the join: " + ", ".join(
            f"{run.case} {'/'.join(f'{100 * s:.0f}' for s in shares(run, FLOWS, *JOINED).values())}" for run in gear
        )
    if hpcc := first(comparison, "hpcc"):
        change = {f: throughput(hpcc, f, *JOINED) / throughput(hpcc, f, *BEFORE) - 1 for f in ("intra1", "cross")}
        statements.append(
            Statement(
                "in HPCC only the intra flow reacts to the join",
                abs(change["cross"]) < UNMOVED < abs(change["intra1"]),
                f"intra {100 * change['intra1']:+.0f} %, cross {100 * change['cross']:+.0f} %",
            )
        )
    rivals = {n: shares(g[0], FLOWS, *JOINED)["cross"] for n, g in runs.items() if n != "gear"}
    if rivals:
        name = max(rivals, key=lambda n: rivals[n])
        measured["rival_cross_share"] = rivals[name]
        statements.append(
            near(
                claim,
                "rival_cross_share",
                rivals[name],
                "one rival lets the cross flow take about 80 %",
                f"it is {name}",
            )
        )
    return [Finding(claim.id, statements, measured, note=note)]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """One panel per algorithm, as in the paper; the phases of Gear's join in a picture of their own."""
    runs = by_algorithm(comparison)
    pictures = {
        "fig10": throughput_panels(
            [group[0] for group in runs.values()],
            "A flow joins at 1 s and leaves at 3 s",
            caption=lambda run: f"{run.algorithm} (Jain {_jain(run):.3f} with three flows)",
            columns=3,
        )
    }
    if len(runs.get("gear", [])) > 1:
        pictures["fig10-phases"] = throughput_panels(
            runs["gear"],
            "Gear, time of the join varied",
            caption=lambda run: f"1 s + {run.case} (Jain {_jain(run):.3f})",
            columns=3,
        )
    return pictures


def _jain(run: Run) -> float:
    return metrics.jain([throughput(run, flow, *JOINED) for flow in FLOWS])
