"""Ultra Ethernet: incasts under senders' control (NSCC) and receivers' credit (RCCC)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.schedule import scheduled
from farloop.papers.uec.common import as_simulated, beside

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Completion times beside those of uet-htsim."""
    judging = Judging(comparison, claims["uec/incast"])
    for need in scheduled(comparison):
        as_simulated(judging, f"{need.case}, {need.algorithm}", need)
    return [judging.finding(unit="us", note="1 MB from each sender, at 400 Gbps")]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Completion times by incast and algorithm."""
    rows = {
        degree: [(f"{n.case}, {n.algorithm}", n) for n in scheduled(comparison, prefix=degree)]
        for degree in ("2:1", "8:1")
    }
    return {"incast": beside(comparison, "Incasts of 1 MB from each sender", rows)}
