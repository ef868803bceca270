"""Measurements of the figures of Ultra Ethernet: completion times of flows that start together, in microseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from farloop.judging.claims import Judging, read_claims
from farloop.judging.measure import completion_times
from farloop.judging.schedule import Need, own_scenario
from farloop.palette import CROSS
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

MEAN, LAST = "mean (us)", "last (us)"


def mean_and_last(run: Run) -> tuple[float, float]:
    """Mean and largest completion time of a run's flows, in microseconds.

    Raises:
        UndecidedError: a flow is not over.
    """
    times = 1e6 * completion_times(run)
    return float(np.mean(times)), float(np.max(times))


def judge_against_htsim(judging: Judging, name: str, need: Need) -> None:
    """States that mean and last completion time are those of uet-htsim, which the claim has under this name."""
    judging.near(f"{name}: {MEAN}", f"{name}: mean completion time", [need], lambda run: mean_and_last(run)[0])
    judging.near(f"{name}: {LAST}", f"{name}: the last flow is over", [need], lambda run: mean_and_last(run)[1])


def draw_bars(comparison: Comparison, title: str, panels: Mapping[str, Sequence[tuple[str, Need]]]) -> Figure:
    """Completion times as bars (mean) and marks (last) beside those of uet-htsim.

    Args:
        comparison: The runs, of all seeds.
        title: Of the picture.
        panels: By title, what each has: the name under which the claims have it, and its run.
    """
    own = own_scenario(comparison.figure)
    published = {k: v for claim in read_claims(own.parsed if own else {}) for k, v in claim.paper.items()}
    figure, axes = grid(len(panels), title, columns=len(panels), shared=False)
    for axis, (caption, rows) in zip(axes, panels.items(), strict=True):
        for place, (name, need) in enumerate(rows):
            runs = [r for r in comparison.runs if Need(r.case, r.algorithm) == need]
            ours = np.mean([mean_and_last(r) for r in runs], axis=0) if runs else (np.nan, np.nan)
            theirs = published.get(f"{name}: {MEAN}", np.nan), published.get(f"{name}: {LAST}", np.nan)
            for shift, (mean, last), colour, label in (
                (-0.2, ours, CROSS[0], "farloop"),
                (0.2, theirs, "0.6", "uet-htsim"),
            ):
                first = place == 0
                axis.bar(place + shift, mean, 0.38, color=colour, label=f"{label}, mean" if first else None)
                axis.plot(place + shift, last, "_", color="0.1", markersize=9, label="last" if first else None)
        axis.set_title(caption, fontsize=8)
        words = [name.removeprefix(f"{caption}, ").replace(", ", ",\n") for name, _ in rows]
        axis.set_xticks(range(len(rows)), words, fontsize=6.5)
    axes[0].set_ylabel("completion time (us)", fontsize=8)
    legend_below(figure, axes)
    return figure
