"""Gear, Fig. 2: throughput and queueing delay of flows of several base RTTs under several ECN thresholds."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.measure import throughput
from farloop.judging.schedule import scheduled_runs
from farloop.palette import CROSS, INTRA
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

FULL = 0.999
"""Part of the best throughput from which it counts as full: the link idles for less than one part in a thousand."""

Table = dict[str, dict[str, tuple[float, float]]]
"""Throughput in bit/s and 99th percentile of the queueing delay in s, by base RTT and threshold."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """The least threshold for full throughput by RTT, and how the delay grows with the threshold."""
    judging = Judging(comparison, claims["gear/fig02"])
    needs = scheduled_runs(comparison)

    def larger(*runs: Run) -> tuple[bool, str]:
        needed = _needed_thresholds(_table(runs))
        evidence = "least threshold for full throughput: " + ", ".join(
            f"{rtt}: {'beyond the sweep' if np.isinf(k) else f'{k:g} kB'}" for rtt, k in needed.items()
        )
        order = list(needed.values())
        return all(a <= b for a, b in itertools.pairwise(order)) and order[0] < order[-1], evidence

    def delays_grow(*runs: Run) -> tuple[bool, str]:
        delays = {rtt: [delay for _, delay in row.values()] for rtt, row in _table(runs).items()}
        evidence = "; ".join(
            f"{rtt}: " + ", ".join(f"{1e3 * d:.2g}" for d in row) + " ms" for rtt, row in delays.items()
        )
        return all(d[-1] > d[0] and _mostly_growing(d) for d in delays.values()), evidence

    def unfilled_grow(*runs: Run) -> tuple[bool, str]:
        table = _table(runs)
        rising = {rtt: _unfilled_delays(row, _best_rate(table)) for rtt, row in table.items()}
        rising = {rtt: d for rtt, d in rising.items() if len(d) > 1}
        evidence = "; ".join(f"{rtt}: {1e3 * d[0]:.2g} to {1e3 * d[-1]:.2g} ms" for rtt, d in rising.items())
        return any(
            d[-1] > d[0] for d in rising.values()
        ), evidence or "the flow fills the link at almost every threshold"

    judging.order("a larger RTT needs a larger threshold for full throughput", needs, larger)
    judging.order("the 99th percentile of the queueing delay grows with the threshold", needs, delays_grow)
    judging.order("it grows even where the flow does not fill the link", needs, unfilled_grow)
    judging.measure(lambda: {f"needed at {r} (kB)": k for r, k in _needed_thresholds(_table(comparison.runs)).items()})
    note = "the paper names neither algorithm nor number of flows: one DCTCP flow; measured over the second half of the run"
    return [judging.finding(note=note)]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Throughput as lines, 99th percentile of the queueing delay as bars, by threshold, as in the paper."""
    table = _table(comparison.runs)
    figure, axes = grid(1, "Throughput (lines) and 99th percentile of the queueing delay (bars)")
    rates, delays = axes[0], axes[0].twinx()
    figure.set_size_inches(7, 3.6)
    colours = [*INTRA[:3], *CROSS]
    width = 0.8 / max(1, len(table))
    for i, (rtt, row) in enumerate(table.items()):
        at = np.arange(len(row))
        offset = (i - (len(table) - 1) / 2) * width
        delays.bar(at + offset, [1e3 * d for _, d in row.values()], width, color=colours[i], alpha=0.35)
        rates.plot(
            at, [r / 1e6 for r, _ in row.values()], marker="o", markersize=3, color=colours[i], label=f"RTT {rtt}"
        )
        rates.set_xticks(at, list(row))
    rates.set_xlabel("ECN threshold", fontsize=8)
    rates.set_ylabel("throughput (Mbps)", fontsize=8)
    delays.set_ylabel("99th percentile of the queueing delay (ms)", fontsize=8)
    legend_below(figure, [rates])
    rates.set_zorder(delays.get_zorder() + 1)
    rates.patch.set_visible(False)
    return {"fig02": figure}


def _table(runs: Iterable[Run]) -> Table:
    table: Table = {}
    for run in runs:
        rtt, _, threshold = run.case.partition(", ")
        if threshold:
            table.setdefault(rtt, {})[threshold] = (_rate(run), _delay(run))
    return table


def _rate(run: Run) -> float:
    return throughput(run, "cross", run.duration / 2)


def _delay(run: Run) -> float:
    base = float(run.flows["base_rtt_ps"][0].as_py()) / 1e12
    return metrics.percentile(*run.samples.get("flow/cross", "rtt"), 99, run.duration / 2) - base


def _best_rate(table: Table) -> float:
    return max(rate for row in table.values() for rate, _ in row.values())


def _needed_thresholds(table: Table) -> dict[str, float]:
    return {rtt: _needed_threshold(row, _best_rate(table)) for rtt, row in table.items()}


def _needed_threshold(row: dict[str, tuple[float, float]], best: float) -> float:
    """The least threshold of the sweep (kB) with full throughput; infinite if there is none."""
    for threshold, (rate, _) in row.items():
        if rate >= FULL * best:
            return float(threshold.removesuffix(" kB"))
    return float("inf")


def _unfilled_delays(row: dict[str, tuple[float, float]], best: float) -> list[float]:
    return [delay for rate, delay in row.values() if rate < FULL * best]


def _mostly_growing(delays: list[float]) -> bool:
    """Growing but for one percent, which is what sampling can do."""
    return all(b >= 0.99 * a for a, b in itertools.pairwise(delays))
