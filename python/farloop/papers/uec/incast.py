"""Ultra Ethernet: incasts under senders' control (NSCC) and receivers' credit (RCCC)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.schedule import scheduled_runs
from farloop.papers.uec.common import draw_bars, judge_against_htsim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Completion times beside those of uet-htsim."""
    judging = Judging(comparison, claims["uec/incast"])
    for need in scheduled_runs(comparison):
        judge_against_htsim(judging, f"{need.case}, {need.algorithm}", need)
    return [judging.finding(unit="us", note="1 MB from each sender, at 400 Gbps")]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Completion times by incast and algorithm."""
    rows = {
        degree: [(f"{n.case}, {n.algorithm}", n) for n in scheduled_runs(comparison, prefix=degree)]
        for degree in ("2:1", "8:1")
    }
    return {"incast": draw_bars(comparison, "Incasts of 1 MB from each sender", rows)}
