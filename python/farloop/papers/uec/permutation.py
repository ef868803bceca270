"""Ultra Ethernet: a permutation under each path chooser, at full bisection, with a slow spine, and oversubscribed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.schedule import Need, scheduled_runs
from farloop.papers.uec.common import draw_bars, judge_against_htsim, mean_and_last

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

SLOW, OVERSUBSCRIBED = "slow spine", "4:1"
AVOIDING, SPREADING = ("bitmap", "mixed"), "oblivious"
"""Choosers that leave marked paths, and the one that spreads over all. REPS reuses what came back unmarked, so it adapts later."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Completion times beside those of uet-htsim, and which choosers avoid a slow spine."""
    judgings = [Judging(comparison, claims[f"uec/{name}"]) for name in ("permutation", "slow-spine", "oversubscribed")]
    for need in scheduled_runs(comparison):
        judge_against_htsim(judgings[_place(need)], need.case, need)

    def sooner(avoiding: Run, spreading: Run) -> tuple[bool, str]:
        (short, _), (long, _) = mean_and_last(avoiding), mean_and_last(spreading)
        return short < long, f"{short:.3g} us against {long:.3g} us"

    for name in AVOIDING:
        needs = [Need(f"{SLOW}, {chooser}", "nscc") for chooser in (name, SPREADING)]
        judgings[1].order(f"{SLOW}: {name} takes less time than {SPREADING} on average", needs, sooner)
    note = "128 flows of 1 MB at 400 Gbps, 64 entropy values"
    return [judging.finding(unit="us", note=note) for judging in judgings]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Completion times by chooser, one panel for each network."""
    rows: dict[str, list[tuple[str, Need]]] = {"full bisection": [], SLOW: [], OVERSUBSCRIBED: []}
    for need in scheduled_runs(comparison):
        list(rows.values())[_place(need)].append((need.case, need))
    return {"permutation": draw_bars(comparison, "A permutation of 1 MB under each path chooser", rows)}


def _place(need: Need) -> int:
    """Returns which of the three networks a run belongs to: full bisection, with a slow spine, or oversubscribed."""
    return 1 if need.case.startswith(SLOW) else 2 if need.case.startswith(OVERSUBSCRIBED) else 0
