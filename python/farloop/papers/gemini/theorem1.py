"""GEMINI, Theorem 1: at F's bound throughput is full, whatever K and whatever the number of flows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.schedule import scheduled_runs
from farloop.palette import CROSS, INTRA
from farloop.units import rate, size
from farloop.views.figures.panels import caption, grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

FULL = 0.995
"""Utilisation that counts as full."""

PORT = "port/left->right"

SEGMENT = 1538.0
"""Bytes that a full-size packet takes in a queue, framing included."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Utilisation over the second half of each run, which the theorem is about; beside it the least queue, and that of Eq. 9.

    The proof asks Qmin >= 0 (Eq. 9), which no queue can fail: what it is for is the throughput. So the least queues are numbers here.
    """
    judging = Judging(comparison, claims["gemini/theorem1"])
    needs = scheduled_runs(comparison)

    def is_full(*runs: Run) -> tuple[bool, str]:
        used = {run.case or run.label: _utilisation(run) for run in runs}
        slowest = min(used, key=lambda n: used[n])
        return all(
            part >= FULL for part in used.values()
        ), f"least utilisation {100 * used[slowest]:.2f} % at {slowest}"

    judging.order("throughput is full", needs, is_full)
    for run in comparison.runs:
        judging.measure(_least_queues, run)
    note = "steady state: the second half of the run; the queue is sampled every 100 µs"
    return [judging.finding(unit="B", note=note)]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """The queue over the last second of each run, with its least value."""
    figure, axes = grid(len(comparison.runs), "Bottleneck queue in the steady state", columns=3, shared=False)
    for axis, run in zip(axes, comparison.runs, strict=True):
        times, queue = run.samples.get(PORT, "queue")
        last = times > run.duration - 1
        axis.plot(times[last], queue[last] / 1e3, color=INTRA[0], linewidth=0.7)
        axis.axhline(_least_queue(run) / 1e3, color=CROSS[0], linewidth=0.7, linestyle="--")
        axis.set_ylim(bottom=0)
        caption(axis, f"{run.case or run.label} (utilisation {100 * _utilisation(run):.1f} %)")
        axis.set_ylabel("queue (kB)", fontsize=7)
    return {"theorem1": figure}


def _least_queues(run: Run) -> dict[str, float]:
    name = run.case or run.label
    return {f"{name}: least queue": _least_queue(run), f"{name}: least queue by Eq. 9": round(_predicted_queue(run))}


def _least_queue(run: Run) -> float:
    times, queue = run.samples.get(PORT, "queue")
    inside = metrics.window(times, queue, run.duration / 2)
    return float(inside.min()) if inside.size else float("nan")


def _predicted_queue(run: Run) -> float:
    """Eq. 9 at F's bound: K + N·h - √(N·h·F·(C·RTT + K)) with F = 4K / (C·RTT + K) is (√K - √(N·h))², in bytes."""
    parameters = run.scenario["algorithm"]["gemini"]
    threshold = size(run.scenario["switch"]["kmin"])
    rtt = run.flows["base_rtt_ps"][0].as_py() / 1e12
    growth = parameters["h"] * rate(parameters["capacity"]) * rtt * SEGMENT
    return float((np.sqrt(threshold) - np.sqrt(run.flows.num_rows * growth)) ** 2)


def _utilisation(run: Run) -> float:
    times, used = run.samples.get(PORT, "utilisation")
    return float(np.mean(metrics.window(times, used, run.duration / 2)))
