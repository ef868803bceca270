"""Gear, Fig. 12: the two flows from other initial rates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from farloop.figures.panels import throughput_panels
from farloop.papers.claims import Claim, Finding, Statement
from farloop.papers.measure import balanced_from, by_algorithm, first, ratio, shares
from farloop.results import Comparison, Run

BALANCED = (0.8, 1.25)
"""Ratios that count as "fairly balanced"."""

AVERAGED = 0.1
"""Seconds over which rates are averaged: two round trips of the cross flow."""

STARVED = 0.1
"""A flow with less than this part of the throughput gets almost nothing."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """When each run has become balanced for good."""
    claim = claims["gear/fig12"]
    measured: dict[str, Any] = {}
    for run in comparison.runs:
        measured[f"{run.label}: balanced from (s)"] = _since(run)
        measured[f"{run.label}: ratio from then"] = ratio(run, claim.paper["Gear_converged_s"])
    statements: list[Statement] = []
    gear = by_algorithm(comparison).get("gear", [])
    if gear:
        worst = max(_since(run) for run in gear)
        measured["Gear_converged_s"] = worst
        statements.append(
            Statement(
                "Gear is balanced by 0.5 s from every initial rate",
                worst <= claim.paper["Gear_converged_s"],
                ", ".join(f"{run.case or run.label}: {_since(run):.3g} s" for run in gear),
                number=True,
            )
        )
    if slow := first(comparison, "hpcc", "10 Mbps"):
        share = shares(slow, ("intra", "cross"))["cross"]
        statements.append(
            Statement(
                "HPCC's cross flow gets almost nothing from 10 Mbps", share < STARVED, f"share {100 * share:.2g} %"
            )
        )
        if start := first(comparison, "gear", "10 Mbps"):
            own = shares(start, ("intra", "cross"))["cross"]
            statements.append(
                Statement(
                    "Gear's cross flow gets more than HPCC's from 10 Mbps", own > share, f"share {100 * own:.3g} %"
                )
            )
    if late := first(comparison, "hpcc", "66 Gbps"):
        since = _since(late)
        measured["HPCC_not_converged_by_s"] = min(since, late.duration)
        statements.append(
            Statement(
                "HPCC has not converged at 2 s from 66 Gbps",
                since >= claim.paper["HPCC_not_converged_by_s"],
                f"balanced after {since:.3g} s",
            )
        )
    return [Finding(claim.id, statements, measured)]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Cases in rows, algorithms in columns, as in the paper."""
    algorithms = list(by_algorithm(comparison))
    cases = list(dict.fromkeys(run.case for run in comparison.runs))
    ordered = [
        run
        for case in cases
        for name in algorithms
        for run in comparison.runs
        if (run.case, run.algorithm) == (case, name)
    ]
    return {
        "fig12": throughput_panels(
            ordered,
            "Throughput from several initial rates",
            caption=lambda run: f"{run.label} ({_told(run)})",
            columns=len(algorithms),
        )
    }


def _since(run: Run) -> float:
    return balanced_from(run, low=BALANCED[0], high=BALANCED[1], over=AVERAGED)


def _told(run: Run) -> str:
    since = _since(run)
    return "not balanced at the end" if math.isinf(since) else f"balanced from {since:.2g} s"
