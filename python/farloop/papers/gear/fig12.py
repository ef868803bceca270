"""Gear, Fig. 12: the two flows from other initial rates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.measure import balance_time, group_by_algorithm, ratio, require_duration, shares
from farloop.judging.schedule import Need, scheduled_runs
from farloop.views.figures.panels import throughput_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

BALANCED = (0.8, 1.25)
"""Ratios that count as "fairly balanced"."""

AVERAGED = 0.1
"""Seconds over which rates are averaged: two round trips of the cross flow."""

WATCHED = 2.0
"""Seconds for which the paper watches the flows."""

STARVED = 0.1
"""A flow with less than this part of the throughput gets almost nothing."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """When each run has become balanced for good."""
    judging = Judging(comparison, claims["gear/fig12"])
    paper = judging.claim.paper
    for run in comparison.runs:
        if _is_unequal(run.case):
            judging.measure(lambda r: {f"{r.case}: ratio at the end": ratio(r, r.duration - AVERAGED)}, run)
            continue
        judging.measure(lambda r: {f"{r.label}: balanced from (s)": _find_balance(r)}, run)
        judging.measure(lambda r: {f"{r.label}: ratio from then": ratio(r, paper["Gear_converged_s"])}, run)
    gear = [n for n in scheduled_runs(comparison, algorithm="gear") if not _is_unequal(n.case)]
    high = [n for n in gear if n.case == "66 Gbps"]
    slow, start, late = Need("10 Mbps", "hpcc"), Need("10 Mbps", "gear"), Need("66 Gbps", "hpcc")

    def is_balanced(run: Run) -> tuple[bool, str]:
        since = judging.measured["Gear_converged_s"] = _find_balance(require_duration(run, WATCHED))
        return since <= paper["Gear_converged_s"], f"{since:.3g} s"

    def converges(*runs: Run) -> tuple[bool, str]:
        times = ", ".join(f"{run.case}: {_find_balance(require_duration(run, WATCHED)):.3g} s" for run in runs)
        return all(_find_balance(run) <= WATCHED for run in runs), f"balanced from {times}"

    def gets_almost_nothing(run: Run) -> tuple[bool, str]:
        share = _cross_share(run)
        return share < STARVED, f"share {100 * share:.2g} %"

    def has_more(hpcc: Run, own: Run) -> tuple[bool, str]:
        return _cross_share(own) > _cross_share(hpcc), f"share {100 * _cross_share(own):.3g} %"

    def has_not_converged(run: Run) -> tuple[bool, str]:
        since = _find_balance(require_duration(run, WATCHED))
        judging.measured["HPCC_not_converged_by_s"] = min(since, run.duration)
        return since >= paper["HPCC_not_converged_by_s"], f"balanced after {since:.3g} s"

    judging.order("from 66 Gbps each, Gear is balanced by 0.5 s", high, is_balanced, number=True)
    others = [n for n in gear if n not in high]
    judging.order("from equal rates of 10 Mbps and 50 Gbps, Gear converges to fair shares", others, converges)
    judging.order("HPCC's cross flow gets almost nothing from 10 Mbps", [slow], gets_almost_nothing)
    judging.order("Gear's cross flow gets more than HPCC's from 10 Mbps", [slow, start], has_more)
    judging.order("HPCC has not converged at 2 s from 66 Gbps", [late], has_not_converged)
    return [judging.finding()]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Cases in rows, algorithms in columns, as in the paper."""
    algorithms = list(group_by_algorithm(comparison))
    cases = list(dict.fromkeys(run.case for run in comparison.runs if not _is_unequal(run.case)))
    ordered = [
        run
        for case in cases
        for name in algorithms
        for run in comparison.runs
        if (run.case, run.algorithm) == (case, name)
    ]
    pictures = {}
    if ordered:
        pictures["fig12"] = throughput_panels(
            ordered,
            "Throughput from several initial rates",
            caption=lambda run: f"{run.label} ({_balance_caption(run)})",
            columns=len(algorithms),
        )
    if unequal := [run for run in comparison.runs if _is_unequal(run.case)]:
        title = "Gear from unequal initial rates, intra and cross (not in the paper)"
        pictures["fig12-unequal"] = throughput_panels(unequal, title, caption=_shares_caption, columns=2)
    return pictures


def _is_unequal(case: str) -> bool:
    """Returns true for the cases beside the paper's in which the flows start at two rates."""
    return " and " in case


def _find_balance(run: Run) -> float:
    return balance_time(run, low=BALANCED[0], high=BALANCED[1], over=AVERAGED)


def _cross_share(run: Run) -> float:
    return shares(run, ("intra", "cross"))["cross"]


def _balance_caption(run: Run) -> str:
    since = _find_balance(run)
    return "not balanced at the end" if math.isinf(since) else f"balanced from {since:.2g} s"


def _shares_caption(run: Run) -> str:
    return f"{run.case} (at the end intra/cross {ratio(run, run.duration - AVERAGED):.2f})"
