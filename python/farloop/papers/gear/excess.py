"""Gear, §III-C: what intra flows yield for the cross flow until it hears of a load of 110 %."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.measure import require_duration, shares
from farloop.judging.schedule import Need
from farloop.views.figures.panels import throughput_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

CROSS = "cross"

INTRA_FLOWS = {"5:1": 5, "9:1": 9}
"""Intra flows of each case; one cross flow is beside them."""

WATCHED = (0.03, 0.05)
"""From when the cross flow's packets arrive, 25 ms and a few IRTTs after the start, until its first ACK."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """The part of the bandwidth that intra flows lack of their fair part while the cross flow keeps its rate."""
    judging = Judging(comparison, claims["gear/excess"])
    for case in INTRA_FLOWS:
        name = f"yielded_{case.replace(':', '_')}"
        text = f"at {case} intra flows yield an additional {100 * judging.claim.paper[name]:.2f} % of the bandwidth"
        judging.near(name, text, [Need(case, "gear")], _yielded_share)
    return [judging.finding()]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """One panel per ratio."""
    return {"excess": throughput_panels(comparison.runs, "A load of 110 %, brought to 100 %", columns=2)}


def _yielded_share(run: Run) -> tuple[float, str]:
    run = require_duration(run, WATCHED[1])
    count = INTRA_FLOWS[run.case]
    flows = [*(f"intra{i + 1}" for i in range(count)), CROSS]
    part = shares(run, flows, *WATCHED)
    own, fair = sum(part[flow] for flow in flows if flow != CROSS), count / (count + 1)
    return fair - own, f"intra flows have {100 * own:.2f} %, a fair part is {100 * fair:.2f} %"
