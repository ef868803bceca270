"""Gear, Fig. 16: the testbed; a shared bottleneck, then one in the WAN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from farloop import metrics
from farloop.figures.panels import grid, throughput_panels
from farloop.palette import CROSS, INTRA
from farloop.papers.claims import Claim, Finding, Statement, near
from farloop.papers.measure import both_started, by_algorithm, ratio, shares, spread, throughput
from farloop.results import Comparison, Run

FAIR = (0.8, 1.25)
"""Ratios that count as equal shares, as in Fig. 9."""

MOST = ("dctcp", "timely")
"""Where the paper sees the intra flow lose most."""

ADDITIVE = ("dctcp", "timely", "gemini")
"""What the paper calls additive increase; it says that these take nearly 5 s."""

QUICK = ("gear", "hpcc")
"""What converges within 100 ms in the paper."""

NEAR = 0.05
"""An intra flow's share of the two that is within this of 7:3 is "near this ratio"."""

AVERAGED = 0.02
"""Seconds over which shares are averaged: a round trip of the cross flow."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Ratios at the shared bottleneck; with the bottleneck in the WAN, where the shares settle and when."""
    claim = claims["gear/fig16"]
    shared, wan = _experiments(comparison)
    measured: dict[str, Any] = {}
    statements: list[Statement] = []
    ratios = {name: spread(group, ratio)[0] for name, group in shared.items()}
    measured |= {f"{name}_ratio": value for name, value in ratios.items()}
    if group := shared.get("gear"):
        mean, low, high = spread(group, ratio)
        evidence = f"ratio {mean:.3g} ({low:.3g} to {high:.3g} over {len(group)} run(s))"
        statements.append(Statement("Gear shares equally", FAIR[0] <= mean <= FAIR[1], evidence))
    rivals = {name: value for name, value in ratios.items() if name != "gear"}
    said = ", ".join(f"{name} {value:.3g}" for name, value in rivals.items())
    if rivals:
        statements.append(
            Statement("the intra flow loses under all others", all(r < 1 for r in rivals.values()), f"ratios: {said}")
        )
    if set(MOST) < set(rivals):
        lowest = set(sorted(rivals, key=lambda name: rivals[name])[: len(MOST)])
        statements.append(Statement("most under DCTCP and TIMELY", lowest == set(MOST), f"ratios: {said}"))
    statements += _in_the_wan(claim, wan, measured)
    note = "error bars of 30 repetitions: the start of the cross flow within its round trip is varied at full scale"
    return [Finding(claim.id, statements, measured, note=note)]


def _in_the_wan(claim: Claim, wan: dict[str, Run], measured: dict[str, Any]) -> list[Statement]:
    statements = []
    for name, run in wan.items():
        share, settled = _intra_share(run), _settled(run, claim.paper["intra_part"])
        measured |= {f"{name}_intra_part_WAN": share, f"{name}_settled_s": settled}
        said = f"settled after {settled:.3g} s"
        statements.append(near(claim, "intra_part", share, f"bottleneck in the WAN: {name} settles near 7:3", said))
    for name in QUICK:
        if name in wan:
            settled = measured[f"{name}_settled_s"]
            limit = claim.paper["settle_gear_ms"] / 1e3
            statements.append(
                Statement(f"{name} settles within 100 ms", settled <= limit, f"{settled:.3g} s", number=True)
            )
    quick, slow = ([measured[f"{n}_settled_s"] for n in names if n in wan] for names in (QUICK, ADDITIVE))
    if quick and slow:
        said = ", ".join(f"{n} {measured[f'{n}_settled_s']:.3g} s" for n in (*QUICK, *ADDITIVE) if n in wan)
        statements.append(
            Statement("Gear and HPCC settle before the additive-increase schemes", max(quick) < min(slow), said)
        )
        statements.append(
            near(claim, "settle_additive_s", max(slow), "the slowest additive-increase scheme takes nearly 5 s")
        )
    return statements


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
        rates = [[throughput(run, flow, both_started(run)) / 1e9 for run in group] for group in shared.values()]
        means = [float(np.mean(r)) for r in rates]
        errors = [
            [m - min(r) for m, r in zip(means, rates, strict=True)],
            [max(r) - m for m, r in zip(means, rates, strict=True)],
        ]
        axes[0].bar(at + (i - 0.5) * 0.4, means, 0.4, yerr=errors, color=colour, label=flow, capsize=2)
    axes[0].set_xticks(at, list(shared))
    axes[0].set_ylabel("throughput (Gbps)", fontsize=8)
    axes[0].legend(fontsize=7)
    return figure


def _experiments(comparison: Comparison) -> tuple[dict[str, list[Run]], dict[str, Run]]:
    runs = by_algorithm(comparison)
    shared = {name: [run for run in group if run.case.startswith("shared")] for name, group in runs.items()}
    wan = {name: run for name, group in runs.items() for run in group if run.case == "WAN"}
    return {name: group for name, group in shared.items() if group}, wan


def _intra_share(run: Run) -> float:
    """Over the second half of the time that both flows run."""
    start = both_started(run)
    return shares(run, ("intra", "cross"), (start + run.duration) / 2)["intra"]


def _settled(run: Run, target: float) -> float:
    """Seconds after both flows have started from which the intra flow's share stays near the target."""
    low, high = target - NEAR, target + NEAR
    times, intra = run.samples.get("flow/intra", "throughput")
    _, cross = run.samples.get("flow/cross", "throughput")
    limits = {"low": low / (1 - low), "high": high / (1 - high)}
    return metrics.convergence_time(times, intra, cross, **limits, over=AVERAGED, start=both_started(run))


def _caption(run: Run) -> str:
    return f"{run.algorithm} (intra part {_intra_share(run):.2f})"
