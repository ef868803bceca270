"""AccelToR, Fig. 15: a circuit's occupancy over seventy weeks whose destination rack loses packets, with and without the safe margin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from farloop.judging.claims import Claim, Finding, Judging, UndecidedError
from farloop.judging.schedule import Need, scheduled_runs
from farloop.palette import CROSS, INTRA
from farloop.papers.acceltor.common import HELD, SETTLED, occupancy_by_week
from farloop.results.tables import Floats
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

PAIR = ("tor1", "tor2")
"""The circuit that is looked at."""

WEEKS = 70

ENDS = 10
"""Weeks at the beginning and at the end that are compared."""

LOSS = "loss 0.01"
LARGE = ", 50 racks"
WITH, WITHOUT = "with margin", "without margin"


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """The stated loss: with the margin the occupancy stays, without it declines. A tenth of the loss, and none, beside."""
    judging = Judging(comparison, claims["acceltor/fig15"])
    large = any(n.case.endswith(LARGE) for n in scheduled_runs(comparison))
    needs = {name: Need(f"{name}, {LOSS}{LARGE if large else ''}", "newreno") for name in (WITH, WITHOUT)}
    own, other = needs[WITH], needs[WITHOUT]

    def stays(run: Run) -> tuple[bool, str]:
        share = weekly_values(run)[SETTLED:]
        judging.measured["with_margin"] = float(share.mean())
        return float(share.mean()) >= HELD, f"mean {share.mean():.3f}, least {share.min():.3f}"

    def declines(run: Run) -> tuple[bool, str]:
        first, last = beginning(run), end(run)
        return last < first, f"weeks {SETTLED + 1} to {SETTLED + ENDS}: {first:.3f}, last {ENDS}: {last:.3f}"

    def is_better(a: Run, b: Run) -> tuple[bool, str]:
        ends = end(a), end(b)
        return ends[0] > ends[1], f"last {ENDS} weeks: {ends[0]:.3f} and {ends[1]:.3f}"

    judging.order("with the margin the occupancy stays above 90 %", [own], stays, number=True)
    judging.order("without it declines", [other], declines)
    judging.order("with the margin it is higher", [own, other], is_better)
    judging.near("without_margin_after_70_weeks", "without the margin after 70 weeks", [other], end)
    for run in comparison.runs:
        judging.measure(lambda r: {f"{r.case}: first, last {ENDS} weeks": f"{beginning(r):.3f}, {end(r):.3f}"}, run)
    return [judging.finding(note=f"the circuit from {PAIR[0]} to {PAIR[1]}")]


def weekly_values(run: Run) -> Floats:
    """The circuit's occupancy in each of the weeks.

    Raises:
        UndecidedError: there are not so many.
    """
    shares = occupancy_by_week(run, *PAIR)
    if shares.size < WEEKS:
        raise UndecidedError(f"{shares.size} weeks of {WEEKS}")
    return shares[:WEEKS]


def beginning(run: Run) -> float:
    """The occupancy of the first weeks that are measured."""
    return float(weekly_values(run)[SETTLED : SETTLED + ENDS].mean())


def end(run: Run) -> float:
    """The occupancy of the last weeks."""
    return float(weekly_values(run)[-ENDS:].mean())


def draw(comparison: Comparison) -> dict[str, Figure]:
    """The paper's picture, a panel for each loss."""
    known = (LOSS, "loss 0.001", "no loss", f"{LOSS}, rescue", LOSS + LARGE)
    losses = [x for x in known if any(run.case.endswith(f", {x}") for run in comparison.runs)]
    figure, axes = grid(max(1, len(losses)), "A circuit whose destination rack loses packets")
    for axis, loss in zip(axes, losses, strict=False):
        for name, colour in ((WITH, CROSS[0]), (WITHOUT, INTRA[0])):
            for run in (r for r in comparison.runs if r.case == f"{name}, {loss}"):
                share = 100 * occupancy_by_week(run, *PAIR)[:WEEKS]
                axis.plot(np.arange(1, share.size + 1), share, color=colour, linewidth=1.0, label=name)
        axis.axhline(100 * HELD, color="0.5", linestyle=":", linewidth=0.8)
        axis.set_title(loss, fontsize=8)
        axis.set_xlabel("week", fontsize=8)
        axis.set_ylabel("occupancy (%)", fontsize=8)
        axis.set_ylim(0, 100)
    legend_below(figure, axes)
    return {"fig15": figure}
