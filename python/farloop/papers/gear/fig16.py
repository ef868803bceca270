"""Gear, Fig. 16: the testbed; a shared bottleneck, then one in the WAN."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.measure import common_start, group_by_algorithm, ratio, shares, spread, throughput
from farloop.judging.schedule import Need, scheduled_runs
from farloop.palette import CROSS, INTRA
from farloop.views.figures.panels import grid, legend_below, throughput_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

FAIR = (0.8, 1.25)
"""Ratios that count as equal shares, as in Fig. 9."""

SHORT = "shared, 10 s"
"""The quick scale's case."""

LOSING = ("dctcp", "timely")
"""Where the paper sees the intra flow lose most."""

ADDITIVE = ("dctcp", "timely", "gemini")
"""Algorithms of additive increase in the paper; it says that these take nearly 5 s."""

QUICK = ("gear", "hpcc")
"""Algorithms that converge within 100 ms in the paper."""

NEAR = 0.05
"""An intra flow's share of the two that is within this of 7:3 is "near this ratio"."""

AVERAGED = 0.02
"""Seconds over which shares are averaged: a round trip of the cross flow."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Ratios at the shared bottleneck; with the bottleneck in the WAN, where the shares settle and when."""
    judging = Judging(comparison, claims["gear/fig16"])
    at_shared = scheduled_runs(comparison, prefix="shared")
    # The quick scale's case is shorter: at full scale the paper's 30 s count.
    needs = [n for n in at_shared if n.case != SHORT] or at_shared
    shared, _ = _experiments(comparison)
    judging.measure(lambda: {f"{name}_ratio": spread(group, ratio)[0] for name, group in shared.items()})

    def is_equal(*runs: Run) -> tuple[bool, str]:
        mean, low, high = spread(runs, ratio)
        return FAIR[0] <= mean <= FAIR[1], f"ratio {mean:.3g} ({low:.3g} to {high:.3g} over {len(runs)} run(s))"

    def rivals(runs: Sequence[Run]) -> tuple[dict[str, float], str]:
        names = dict.fromkeys(run.algorithm for run in runs)
        ratios = {n: spread([r for r in runs if r.algorithm == n], ratio)[0] for n in names}
        return ratios, "ratios: " + ", ".join(f"{n} {v:.3g}" for n, v in ratios.items())

    def lose(*runs: Run) -> tuple[bool, str]:
        ratios, evidence = rivals(runs)
        return all(r < 1 for r in ratios.values()), evidence

    def loses_most(*runs: Run) -> tuple[bool, str]:
        ratios, evidence = rivals(runs)
        return set(sorted(ratios, key=lambda n: ratios[n])[: len(LOSING)]) == set(LOSING), evidence

    # All of them, whatever ran: an order among some of the rivals says nothing.
    cases = list(dict.fromkeys(n.case for n in needs))
    others = [Need(case, name) for case in cases for name in dict.fromkeys((*QUICK[1:], *ADDITIVE))]
    judging.order("Gear shares equally", [Need(case, "gear") for case in cases], is_equal)
    lost = [n for n in needs if n.algorithm != "gear"] or others
    judging.order("the intra flow loses under all others", lost, lose)
    judging.order("most under DCTCP and TIMELY", others, loses_most)
    _judge_wan(judging)
    note = "error bars of 30 repetitions: the start of the cross flow within its round trip is varied at full scale"
    return [judging.finding(note=note)]


def _judge_wan(judging: Judging) -> None:
    claim = judging.claim
    target = claim.paper["intra_part"]
    needs = {name: Need("WAN", name) for name in (*QUICK, *ADDITIVE)}
    for run in judging.have(list(needs.values())):
        name = run.algorithm
        judging.measure(lambda n, r: {f"{n}_intra_part_WAN": _intra_share(r)}, name, run)
        judging.measure(lambda n, r: {f"{n}_settled_s": _settling_time(r, target)}, name, run)

    def share(run: Run) -> tuple[float, str]:
        return _intra_share(run), f"settled after {_settling_time(run, target):.3g} s"

    def is_quick(run: Run) -> tuple[bool, str]:
        settled = _settling_time(run, target)
        return settled <= claim.paper["settle_gear_ms"] / 1e3, f"{settled:.3g} s"

    def converges_before(*runs: Run) -> tuple[bool, str]:
        times = {run.algorithm: _settling_time(run, target) for run in runs}
        evidence = ", ".join(f"{n} {t:.3g} s" for n, t in times.items())
        return max(times[n] for n in QUICK) < min(times[n] for n in ADDITIVE), evidence

    for name, need in needs.items():
        text = f"bottleneck in the WAN: {name} settles near 7:3"
        judging.near("intra_part", text, [need], share)
    judging.measured |= {"intra_part": judging.measured.get("gear_intra_part_WAN")}
    for name in QUICK:
        judging.order(f"{name} settles within 100 ms", [needs[name]], is_quick, number=True)
    text = "Gear and HPCC settle before the additive-increase schemes"
    judging.order(text, [needs[n] for n in (*QUICK, *ADDITIVE)], converges_before)
    for name in ADDITIVE:
        text = f"{name} takes nearly 5 s"
        judging.near("settle_additive_s", text, [needs[name]], lambda run: _settling_time(run, target), better="lower")
    settled = {name: judging.measured.get(f"{name}_settled_s", math.nan) for name in (*QUICK, *ADDITIVE)}
    judging.measured["settle_gear_ms"] = 1e3 * settled["gear"]
    judging.measured["settle_additive_s"] = sorted(settled[name] for name in ADDITIVE)[1]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Bars of the first experiment, as in the paper, with the range over the runs; throughput over time of both."""
    shared, wan = _experiments(comparison)
    pictures = {}
    if shared:
        pictures["fig16-shared"] = _bars(shared)
    if wan:
        title = "Bottleneck in the WAN: 5 Gbps with 2 Gbps of background traffic"
        pictures["fig16-wan"] = throughput_panels(list(wan.values()), title, caption=_caption, columns=3)
    return pictures


def _bars(shared: dict[str, list[Run]]) -> Figure:
    figure, axes = grid(1, "A shared bottleneck of 10 Gbps")
    figure.set_size_inches(6, 3)
    at = np.arange(len(shared))
    for i, (flow, colour) in enumerate((("intra", INTRA[0]), ("cross", CROSS[0]))):
        rates = [[throughput(run, flow, common_start(run)) / 1e9 for run in group] for group in shared.values()]
        means = [float(np.mean(r)) for r in rates]
        errors = [
            [m - min(r) for m, r in zip(means, rates, strict=True)],
            [max(r) - m for m, r in zip(means, rates, strict=True)],
        ]
        axes[0].bar(at + (i - 0.5) * 0.4, means, 0.4, yerr=errors, color=colour, label=flow, capsize=2)
    axes[0].set_xticks(at, list(shared))
    axes[0].set_ylabel("throughput (Gbps)", fontsize=8)
    legend_below(figure, axes)
    return figure


def _experiments(comparison: Comparison) -> tuple[dict[str, list[Run]], dict[str, Run]]:
    runs = group_by_algorithm(comparison)
    shared = {name: [run for run in group if run.case.startswith("shared")] for name, group in runs.items()}
    wan = {name: run for name, group in runs.items() for run in group if run.case == "WAN"}
    return {name: group for name, group in shared.items() if group}, wan


def _intra_share(run: Run) -> float:
    """Over the second half of the time that both flows run."""
    start = common_start(run)
    return shares(run, ("intra", "cross"), (start + run.duration) / 2)["intra"]


def _settling_time(run: Run, target: float) -> float:
    """Seconds after both flows have started from which the intra flow's share stays near the target."""
    low, high = target - NEAR, target + NEAR
    times, intra = run.samples.get("flow/intra", "throughput")
    _, cross = run.samples.get("flow/cross", "throughput")
    limits = {"low": low / (1 - low), "high": high / (1 - high)}
    return metrics.convergence_time(times, intra, cross, **limits, over=AVERAGED, start=common_start(run))


def _caption(run: Run) -> str:
    return f"{run.algorithm} (intra part {_intra_share(run):.2f})"
