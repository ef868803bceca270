"""GEMINI, Fig. 5: DCTCP needs a small ECN threshold inside datacenters and a large one across."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.schedule import scheduled_runs
from farloop.judging.testbed import numbers_text
from farloop.palette import CROSS, INTRA
from farloop.papers.gemini.common import Points, sweep
from farloop.views.figures.panels import grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

FULL = 0.98
"""Throughput that counts as undiminished, over the largest one of its kind.

The loss at smaller thresholds is not judged: the bars' numbers are not in the text.
"""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Throughput and inflation of the round-trip time for each threshold."""
    judging = Judging(comparison, claims["gemini/fig05"])
    points = {where: sweep(comparison, where, "dctcp") for where in ("intra", "inter")}
    for where, by_threshold in points.items():
        judging.measured |= {f"{where}, K = {k}: throughput (Mbps)": t / 1e6 for k, (t, _) in by_threshold.items()}
        judging.measured |= {f"{where}, K = {k}: RTT over base": r for k, (_, r) in by_threshold.items()}
    intra, inter = (scheduled_runs(comparison, algorithm="dctcp", prefix=f"{w}, ") for w in ("intra", "inter"))

    def part(where: str, pick: Callable[[Iterable[int]], int]) -> float:
        by_threshold = points[where]
        return metrics.ratio(by_threshold[pick(by_threshold)][0], max(t for t, _ in by_threshold.values()))

    def keep(*_: Run) -> tuple[bool, str]:
        share = part("intra", min)
        return share >= FULL, f"{share:.3f} of the largest, from {FULL}"

    def is_growing(*_: Run) -> tuple[bool, str]:
        row = {k: r for k, (_, r) in sorted(points["intra"].items())}
        values = list(row.values())
        return values == sorted(values), f"over the base: {numbers_text({f'K = {k}:': r for k, r in row.items()})}"

    def lose(*_: Run) -> tuple[bool, str]:
        share = part("inter", min)
        return share < FULL, f"{share:.3f} of the largest, below {FULL}"

    def is_full(*_: Run) -> tuple[bool, str]:
        share = part("inter", max)
        return share >= FULL, f"{share:.3f} of the largest, from {FULL}"

    def larger(*_: Run) -> tuple[bool, str]:
        need = {where: find_least_full(by_threshold) for where, by_threshold in points.items()}
        return need["inter"] > need[
            "intra"
        ], f"least K with full throughput: {need['inter']} against {need['intra']} packets"

    judging.order("flows inside the datacenter keep their throughput at the smallest K", intra, keep)
    judging.order("their round-trip time grows with K", intra, is_growing)
    judging.order("flows across lose throughput at the smallest K", inter, lose)
    judging.order("flows across have full throughput at the largest K", inter, is_full)
    judging.order("flows across need a larger K than flows inside", [*intra, *inter], larger)
    return [judging.finding(note="eight flows; throughput is payload")]


def find_least_full(points: Points) -> int:
    """The smallest threshold in packets from which on, at all larger ones too, throughput is undiminished."""
    largest = max(t for t, _ in points.values())
    short = [k for k, (t, _) in points.items() if t < FULL * largest]
    return min(k for k in points if not short or k > max(short))


def draw(comparison: Comparison) -> dict[str, Figure]:
    """(a) flows inside the datacenter, (b) across: throughput as bars, inflation of the round-trip time on the right."""
    figure, axes = grid(2, "DCTCP, ECN threshold swept", columns=2, shared=False)
    for axis, where in zip(axes, ("intra", "inter"), strict=True):
        points = sweep(comparison, where, "dctcp")
        labels = [str(k) for k in points]
        axis.bar(labels, [t / 1e6 for t, _ in points.values()], color=INTRA[1], width=0.6)
        axis.set_title(f"{where}-DC flows", fontsize=8)
        axis.set_xlabel("ECN threshold (packets)", fontsize=8)
        axis.set_ylabel("throughput (Mbps)", fontsize=8)
        axis.set_ylim(0, 1000)
        right = axis.twinx()
        right.plot(labels, [r for _, r in points.values()], color=CROSS[0], marker="o", linewidth=1)
        right.set_ylabel("RTT over base", fontsize=8)
        right.set_ylim(bottom=0)
        right.tick_params(labelsize=7)
    return {"fig05": figure}
