"""MLCC, Fig. 4: the queue of the receivers' DCI switch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.schedule import scheduled_runs
from farloop.palette import CROSS, INTRA
from farloop.papers.mlcc.common import DCI, paper_name, queue
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

SHOWN = ("dcqcn", "powertcp")
"""Algorithms in the paper's figure."""

HIGH = 10e6
"""Bytes from which a queue is at a high level: with the 25 Gbps of the bottleneck it takes 3.2 ms to pass, half of a round trip."""

SWINGS = 2
"""It rises and falls at least so often."""

DEPTH = 0.5
"""A fall to below this part of the peak before is a swing; the next one needs a rise to as many times the lowest queue."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Judges how high the queue goes, and how often."""
    judging = Judging(comparison, claims["mlcc/fig04"])
    for run in comparison.runs:
        judging.measure(_numbers, run)

    def is_high(run: Run) -> tuple[bool, str]:
        _, values = queue(run, DCI)
        return float(values.max()) >= HIGH, f"up to {values.max() / 1e6:.3g} MB, high from {HIGH / 1e6:g} MB"

    def swings(run: Run) -> tuple[bool, str]:
        count = _swings(run)
        return count >= SWINGS, f"rises to a high level and falls to half {count} times, oscillates from {SWINGS}"

    for name in SHOWN:
        needs = scheduled_runs(comparison, algorithm=name)
        judging.order(f"{name}: the queue reaches a high level", needs, is_high)
        judging.order(f"{name}: it falls and rises again", needs, swings)
    return [judging.finding(note="the queues to both spine switches together")]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Per algorithm: throughput of all flows, and the queue of the DCI switch."""
    runs = comparison.runs
    figure, axes = grid(2 * len(runs), "The queue of the receivers' DCI switch", columns=len(runs), shared=False)
    colours = [*CROSS[:4], *INTRA[:4]]
    for i, run in enumerate(runs):
        top, bottom = axes[i], axes[len(runs) + i]
        for n, flow in enumerate(run.samples.objects("flow")):
            times, values = run.samples.get(f"flow/{flow}", "throughput")
            smooth = metrics.smooth_values(values, 5)
            top.plot(1e3 * times, smooth / 1e9, color=colours[n % len(colours)], linewidth=0.8, label=flow)
        top.set_title(paper_name(run), fontsize=8)
        times, values = queue(run, DCI)
        bottom.plot(1e3 * times, values / 1e6, color="0.2", linewidth=0.9)
        bottom.set_xlabel("time (ms)", fontsize=8)
        for axis in (top, bottom):
            axis.set_xlim(0, 1e3 * run.duration)
            axis.set_ylim(bottom=0)
    axes[0].set_ylabel("throughput (Gbps)", fontsize=8)
    axes[len(runs)].set_ylabel("queue (MB)", fontsize=8)
    legend_below(figure, axes)
    return {"fig04": figure}


def _swings(run: Run) -> int:
    """Counts how often the queue rises to a high level and then falls to below half of its peak."""
    _, values = queue(run, DCI)
    count, peak, trough = 0, 0.0, 0.0
    falling = False
    for value in map(float, values):
        if falling:
            trough = min(trough, value)
            if value >= HIGH and trough <= DEPTH * value:
                falling, peak = False, value
        else:
            peak = max(peak, value)
            if peak >= HIGH and value < DEPTH * peak:
                falling, count, trough = True, count + 1, value
    return count


def _numbers(run: Run) -> dict[str, float]:
    _, values = queue(run, DCI)
    dropped = float(np.sum(run.ports["dropped_buffer"].to_numpy()))
    numbers = {
        "peak (MB)": float(values.max()) / 1e6,
        "mean (MB)": float(values.mean()) / 1e6,
        "swings": float(_swings(run)),
        "dropped (packets)": dropped,
    }
    return {f"{paper_name(run)}: {name}": value for name, value in numbers.items()}
