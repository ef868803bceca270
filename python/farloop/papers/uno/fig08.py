"""Uno, Fig. 8: incasts from near, from far, and from both, under Uno and GEMINI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.measure import completion_times
from farloop.judging.schedule import Need, scheduled_runs
from farloop.palette import CROSS, INTRA
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

MIXES = ("near and far", "near", "far")

ALGORITHM = {"uno": "uno", "gemini": "uno-gemini"}

AFTER = 1.05
"""The picture ends at so many times the finish of the last flow."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Completion times and how close together they are, beside those of the artifact."""
    judging = Judging(comparison, claims["uno/fig08"])
    for need in scheduled_runs(comparison):
        name = need.case
        judging.near(
            f"{name}: mean (ms)",
            f"{name}: mean completion time",
            [need],
            lambda r: float(1e3 * completion_times(r).mean()),
        )
        judging.near(
            f"{name}: last (ms)",
            f"{name}: the last flow is over",
            [need],
            lambda r: float(1e3 * completion_times(r).max()),
        )
        judging.near(f"{name}: first over last", f"{name}: how close together flows end", [need], closeness)

    def pair(mix: str) -> list[Need]:
        return [Need(f"{mix}, {name}", ALGORITHM[name]) for name in ("uno", "gemini")]

    def closer(uno: Run, gemini: Run) -> tuple[bool, str]:
        own, other = closeness(uno), closeness(gemini)
        return own > other, f"first over last {own:.3f} against {other:.3f}"

    def is_later(uno: Run, gemini: Run) -> tuple[bool, str]:
        own, other = 1e3 * completion_times(uno).mean(), 1e3 * completion_times(gemini).mean()
        return bool(own > other), f"{own:.3g} ms against {other:.3g} ms"

    def sooner(uno: Run, gemini: Run) -> tuple[bool, str]:
        own, other = 1e3 * completion_times(uno).max(), 1e3 * completion_times(gemini).max()
        return bool(own < other), f"{own:.3g} ms against {other:.3g} ms"

    for mix in ("near and far", "far"):
        judging.order(f"{mix}: flows end closer together than under GEMINI", pair(mix), closer)
    judging.order("near: flows take longer than under GEMINI on average", pair("near"), is_later)
    judging.order("far: the last flow ends sooner than under GEMINI", pair("far"), sooner)
    return [judging.finding(note="the artifact's numbers are those of one run")]


def closeness(run: Run) -> float:
    """The first completion time over the last: 1 where all flows end together."""
    taken = completion_times(run)
    return float(taken.min() / taken.max())


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Throughput of each flow over time, until all flows are over, one panel for each case; of several seeds the first."""
    needs = scheduled_runs(comparison)
    figure, axes = grid(len(needs), "Eight flows of 1 GB to one host", columns=len(MIXES))
    last = 0.0
    for axis, need in zip(axes, needs, strict=True):
        axis.set_title(need.case, fontsize=8)
        run = next((r for r in comparison.runs if Need(r.case, r.algorithm) == need), None)
        if run is None:
            continue
        last = max(last, last_finish(run))
        labelled = set()
        sources = zip(run.flows["name"].to_pylist(), run.flows["source"].to_pylist(), strict=True)
        for flow, source in sources:
            kind = "near" if source.startswith("dc1-") else "far"
            colour = INTRA[0] if kind == "near" else CROSS[0]
            label = kind if kind not in labelled else None
            labelled.add(kind)
            at, rate = run.samples.get(f"flow/{flow}", "throughput")
            axis.plot(1e3 * at, rate / 1e9, color=colour, linewidth=0.8, label=label)
        axis.axhline(12.5, color="0.4", linestyle="--", linewidth=0.7)
        axis.set_ylim(0, 50)
        axis.set_xlabel("time (ms)", fontsize=8)
    if last:
        # All panels share their axis.
        axes[0].set_xlim(0, AFTER * 1e3 * last)
    axes[0].set_ylabel("throughput (Gbps)", fontsize=8)
    legend_below(figure, axes)
    return {"fig08": figure}


def last_finish(run: Run) -> float:
    """When the last flow finishes, in seconds; the end of the run if one does not."""
    finishes = run.flows["finish_ps"]
    return run.duration if finishes.null_count else float(finishes.to_numpy().max()) / 1e12
