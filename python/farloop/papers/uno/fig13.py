"""Uno, Fig. 13: completion times while a long-haul link loses all packets, by load balancer, with coding and without."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from farloop.judging.claims import Claim, Finding, Judging, UndecidedError
from farloop.judging.schedule import Need
from farloop.papers.uno.common import bars, make_below_test, mean, times

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

BALANCERS = ("spraying", "uno", "plb")
"""Any path for each packet, ten paths in turn, or one path that a timeout changes."""

CODINGS = ("plain", "coded")

SOONER = (
    (("uno", "coded"), ("uno", "plain")),
    (("spraying", "coded"), ("spraying", "plain")),
    (("uno", "coded"), ("spraying", "coded")),
    (("uno", "coded"), ("plb", "coded")),
)
"""Which is ahead of which in the artifact."""


def need(balancer: str, coding: str) -> Need:
    """The run over a load balancer."""
    return Need(f"{balancer}, {coding}", "uno")


def number_name(run: Need) -> str:
    """The number's name in the claim."""
    return f"{run.case}: mean (ms)"


def mean_ms(run: Run) -> float:
    """The mean completion time of all flows in milliseconds."""
    return 1e3 * mean(times(run))


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Means beside the artifact's, and which load balancer is ahead."""
    judging = Judging(comparison, claims["uno/fig13"])
    for run in (need(balancer, coding) for balancer in BALANCERS for coding in CODINGS):
        judging.near(number_name(run), f"{run.case}: mean completion time", [run], mean_ms, better="lower")
    for first, second in SOONER:
        text = f"{', '.join(first)} ends sooner than {', '.join(second)}"
        judging.order(text, [need(*first), need(*second)], make_below_test(mean_ms, ".3g", " ms"))
    return [judging.finding(unit="ms", note="the artifact's numbers are means over five seeds of our runs")]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Means by load balancer, beside the artifact's."""
    needs = [need(balancer, coding) for balancer in BALANCERS for coding in CODINGS]
    numbers: dict[str, float] = {}
    for own in needs:
        try:
            values = [mean_ms(run) for run in comparison.runs if Need(run.case, run.algorithm) == own]
        except UndecidedError:
            continue
        if values:
            numbers[number_name(own)] = float(np.mean(values))
    panels = {"eight flows": [(number_name(run), run) for run in needs]}
    title = "Flows of 5 MB across while a long-haul link loses all packets"
    return {"fig13": bars(comparison, numbers, title, "mean completion time (ms)", panels)}
