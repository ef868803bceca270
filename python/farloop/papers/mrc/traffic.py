"""MRC beside RoCE: rates of a permutation by colliding paths, and of a victim beside an incast."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.schedule import Need, scheduled_runs
from farloop.palette import CROSS
from farloop.views.figures.panels import grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

LINE_RATE = 100e9
WARM_UP = 5e-3
"""Seconds that do not count."""
VICTIM = "h8"
"""The host that sends to an idle one."""
SHARED = 0.9
"""Slowest over fastest sender of an incast from which on they share "almost perfectly": ours."""
WHOLE = 0.9
"""Part of the line rate from which on a flow has it: ours."""
HALF_OR_THIRD = (0.3, 0.55)
"""Parts of the line rate that count as a half or a third: ours."""
VICTIM_OF_PFC = (30 / 400, 100 / 400)
"""Parts of the line rate that PFC alone leaves a victim, in the text."""

ALGORITHMS = {"DCQCN": "dcqcn", "PFC alone": "fixed", "MRC": "mrc"}


def _need(traffic: str, kind: str, *queue_pairs: str) -> Need:
    return Need(", ".join((traffic, kind, *queue_pairs)), ALGORITHMS[kind])


def rates(run: Run) -> dict[str, float]:
    """Payload per second after the warm-up of each host that sends, over all of its queue pairs, as a part of the line rate."""
    total: dict[str, float] = defaultdict(float)
    for name, sender in zip(run.flows["name"].to_pylist(), run.flows["source"].to_pylist(), strict=True):
        times, throughput = run.samples.get(f"flow/{name}", "throughput")
        total[sender] += float(np.mean(throughput[times > WARM_UP + 1e-9])) / LINE_RATE
    return dict(total)


def _slowest(run: Run) -> float:
    return min(rates(run).values())


def _mean(run: Run) -> float:
    return float(np.mean(list(rates(run).values())))


def _victim(run: Run, alone: Run) -> float:
    return rates(run)[VICTIM] / rates(alone)[VICTIM]


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Rates of flows over line rate, and those of the victim over what it has alone."""
    return [
        _judge_permutation(Judging(comparison, claims["mrc/permutation"])),
        _judge_incast(Judging(comparison, claims["mrc/incast"])),
    ]


def _judge_permutation(judging: Judging) -> Finding:
    pfc, dcqcn = _need("permutation", "PFC alone", "1 QP"), _need("permutation", "DCQCN", "1 QP")

    def has_line_rate(run: Run) -> tuple[bool, str]:
        fastest = max(rates(run).values())
        return fastest >= WHOLE, f"the fastest has {fastest:.3f} of the line rate"

    def has_collisions(run: Run) -> tuple[bool, str]:
        low, high = HALF_OR_THIRD
        collided = [rate for rate in rates(run).values() if low <= rate <= high]
        return bool(collided), f"{len(collided)} flows of 8 at {low:g} to {high:g}; the slowest has {_slowest(run):.3f}"

    judging.order("PFC alone, 1 QP: some flows get line rate", [pfc], has_line_rate)
    judging.order("PFC alone, 1 QP: some flows get a half or a third", [pfc], has_collisions, number=True)
    judging.near(
        "mean of DCQCN over PFC alone, 1 QP",
        "1 QP: the outcome is the same with DCQCN as with PFC alone",
        [dcqcn, pfc],
        lambda first, second: _mean(first) / _mean(second),
    )

    def is_faster(first: Run, second: Run) -> tuple[bool, str]:
        return _mean(first) > _mean(second), f"{_mean(first):.3f} beside {_mean(second):.3f} of the line rate"

    judging.order(
        "8 QPs: DCQCN avoids that congested queue pairs slow the others, so it is faster than PFC alone",
        [_need("permutation", "DCQCN", "8 QPs"), _need("permutation", "PFC alone", "8 QPs")],
        is_faster,
    )
    judging.near(
        "MRC, slowest flow over line rate",
        "MRC: all flows have 390 of 400 Gbps",
        [_need("permutation", "MRC")],
        _slowest,
    )
    return judging.finding(note="rates of payload over the rate of a link")


def _judge_incast(judging: Judging) -> Finding:
    mrc, dcqcn, pfc = _need("incast", "MRC"), _need("incast", "DCQCN", "1 QP"), _need("incast", "PFC alone", "1 QP")
    alone = _need("alone", "DCQCN")
    judging.near("MRC, victim over alone", "MRC: no effect on the victim", [mrc, _need("alone", "MRC")], _victim)

    def shares(run: Run) -> tuple[bool, str]:
        senders = [rate for host, rate in rates(run).items() if host != VICTIM]
        ratio = min(senders) / max(senders)
        return ratio >= SHARED, f"the slowest of 7 has {ratio:.3f} of the fastest"

    judging.order("MRC: the incast shares its link almost perfectly", [mrc], shares)
    judging.near("DCQCN, victim over alone", "DCQCN, 1 QP: the victim loses a quarter", [dcqcn, alone], _victim)

    def is_dire(run: Run) -> tuple[bool, str]:
        low, high = VICTIM_OF_PFC
        rate = rates(run)[VICTIM]
        return low <= rate <= high, f"{rate:.3f} of the line rate"

    judging.order("PFC alone, 1 QP: the victim has 30 to 100 of 400 Gbps", [pfc], is_dire, number=True)

    def is_smaller(several: Run, single: Run) -> tuple[bool, str]:
        first, second = rates(several)[VICTIM], rates(single)[VICTIM]
        return first > second, f"{first:.3f} of the line rate beside {second:.3f} with one"

    judging.order(
        "DCQCN: with 8 QPs the average impact on the victim is smaller than with one",
        [_need("incast", "DCQCN", "8 QPs"), dcqcn],
        is_smaller,
    )

    def pauses(run: Run) -> tuple[bool, str]:
        count = len(run.pauses)
        return count > 0, f"{count} pauses"

    judging.order("DCQCN, 1 QP: PFC still pauses", [dcqcn], pauses)
    return judging.finding(note="alone: the victim without the incast")


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Rates of the hosts that send, case by case."""
    needs = scheduled_runs(comparison)
    figure, axes = grid(len(needs), "Rates of eight hosts over line rate", columns=4)
    for axis, need in zip(axes, needs, strict=False):
        runs = [r for r in comparison.runs if Need(r.case, r.algorithm) == need]
        if runs:
            by_host = rates(runs[0])
            axis.bar(range(len(by_host)), list(by_host.values()), color=CROSS[0])
            axis.set_xticks(range(len(by_host)), by_host, fontsize=6)
        axis.set_title(need.case, fontsize=7)
    axes[0].set_ylabel("of line rate", fontsize=8)
    return {"traffic": figure}
