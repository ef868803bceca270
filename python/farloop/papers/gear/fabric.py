"""Gear on a loaded fat-tree with 5:1 traffic: Figs. 7, 8, 14(a), Table I and the abstract's numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.schedule import Need
from farloop.judging.traffic import Flows, paused_time, slowdown_statistics
from farloop.palette import CROSS, INTRA
from farloop.papers.gear.common import (
    backlogs,
    bars,
    distance,
    longest_needs,
    longest_runs,
    numbers,
    order,
    point,
    ratios,
    scale_note,
)
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

NEAR = (0.8, 1.25)
"""Normalised ratios that count as near 1, as in Fig. 9."""

RIVALS = {"hpcc": "HPCC", "dctcp": "DCTCP", "gemini": "GEMINI", "annulus": "Annulus"}
SLOWED = ("dctcp", "gemini", "hpcc")
"""Rivals under which intra flows "show a significant FCT slowdown, especially for large flows" (§IV-B4)."""

ABLATED = "gear-without-intra"

Statistics = dict[str, dict[str, dict[str, float]]]
"""Slowdowns by algorithm, class of size and statistic."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """One finding for each of the five claims."""
    needs = longest_needs(comparison)
    web = {n.algorithm: n for n in needs if point(n.case) == "WebSearch"}
    note = scale_note(comparison)
    return [
        _fig07(Judging(comparison, claims["gear/fig07"]), [n for n in needs if n.algorithm != ABLATED], note),
        _table1(Judging(comparison, claims["gear/table1"]), web, note),
        _fig08(Judging(comparison, claims["gear/fig08"]), web, note),
        _fig14a(Judging(comparison, claims["gear/fig14a"]), web, note),
        _headline(Judging(comparison, claims["gear/headline"]), web, note),
    ]


def _fig07(judging: Judging, needs: Sequence[Need], note: str) -> Finding:
    for run in judging.comparison.runs:
        if run.algorithm != ABLATED:
            judging.measure(numbers, run)
    order(judging, needs, "under both workloads")

    def is_near_one(*runs: Run) -> tuple[bool, str]:
        gear = {point(run.case): _ratio(run) for run in runs}
        evidence = ", ".join(f"{p}: {r:.3g}" for p, r in gear.items())
        return all(NEAR[0] <= r <= NEAR[1] for r in gear.values()), evidence

    def smaller(*runs: Run) -> tuple[bool, str]:
        web, hadoop = ({r.algorithm: _ratio(r) for r in runs if point(r.case) == p} for p in ("WebSearch", "Hadoop"))
        evidence = ", ".join(f"{a} {web[a]:.3g} to {hadoop[a]:.3g}" for a in web)
        before, after = (sum(map(distance, table.values())) for table in (web, hadoop))
        return (
            after < before,
            f"WebSearch to Hadoop: {evidence}; distances from 1 add up to {before:.3g} and {after:.3g}",
        )

    judging.order("Gear is near 1 under both workloads", [n for n in needs if n.algorithm == "gear"], is_near_one)
    judging.order("unfairness is alleviated under Hadoop", needs, smaller)
    return judging.finding(note=note)


def _table1(judging: Judging, web: Mapping[str, Need], note: str) -> Finding:
    claim = judging.claim
    compared = [web[a] for a in ("gear", *RIVALS) if a in web]
    judging.measure(lambda: {f"{r.algorithm}: paused (s)": paused_time(r) for r in judging.have(compared)})
    for algorithm, name in RIVALS.items():
        judging.near(
            name,
            f"{name} pauses {claim.paper[name]:g} times as long as Gear",
            [web[algorithm], web["gear"]],
            lambda rival, gear: metrics.ratio(paused_time(rival), paused_time(gear)),
        )

    def is_ranked(gear: Run, *rivals: Run) -> tuple[bool, str]:
        normalised = {RIVALS[r.algorithm]: metrics.ratio(paused_time(r), paused_time(gear)) for r in rivals}
        expected = sorted(normalised, key=lambda n: claim.paper[n])
        values = [normalised[n] for n in expected]
        holds = values == sorted(values) and all((normalised[n] > 1) == (claim.paper[n] > 1) for n in expected)
        return holds, "over Gear: " + ", ".join(f"{n} {r:.3g}" for n, r in normalised.items())

    judging.order("the order is Annulus, Gear, HPCC, DCTCP, GEMINI", compared, is_ranked)
    return judging.finding(note=note)


def _fig08(judging: Judging, web: Mapping[str, Need], note: str) -> Finding:
    compared = [web[a] for a in ("gear", *RIVALS) if a in web]
    judging.measure(lambda: _flat({r.algorithm: _slowdown_cells(r) for r in judging.have(compared)}))
    for kind in ("small", "large"):
        text = f"99th percentile of Gear's {kind} flows"
        judging.near(
            f"Gear_{kind}_p99",
            text,
            [web["gear"]],
            lambda run, kind=kind: _slowdown_cells(run)[kind]["p99"],
            better="lower",
        )

    def has_lowest(*runs: Run) -> tuple[bool, str]:
        table = {r.algorithm: _slowdown_cells(r) for r in runs}
        winners = {k: min(table, key=lambda a: table[a][k]["avg"]) for k in ("small", "large")}
        evidence = "; ".join(f"{k} " + ", ".join(f"{a} {table[a][k]['avg']:.3g}" for a in table) for k in winners)
        return set(winners.values()) == {"annulus"}, evidence

    def has_more(rival: Run, gear: Run) -> tuple[bool, str]:
        large, own = _slowdown_cells(rival)["large"], _slowdown_cells(gear)["large"]
        over = {s: metrics.ratio(large[s], own[s]) for s in ("avg", "p95", "p99")}
        return over["avg"] > 1, "over Gear's: " + ", ".join(f"{s} {r:.3g}" for s, r in over.items())

    def especially_large(*runs: Run) -> tuple[bool, str]:
        grown = {r.algorithm: _growth(r) for r in runs}
        return all(g > 1 for g in grown.values()), _growth_text(grown)

    def gemini_most(*runs: Run) -> tuple[bool, str]:
        grown = {r.algorithm: _growth(r) for r in runs}
        return max(grown, key=lambda a: grown[a]) == "gemini", _growth_text(grown)

    judging.order("Annulus has the lowest average slowdown of small and of large flows", compared, has_lowest)
    for name in SLOWED:
        text = f"{name} slows large flows down more than Gear on average"
        judging.order(text, [web[name], web["gear"]], has_more)
    slowed = [web[a] for a in SLOWED]
    judging.order("DCTCP, GEMINI and HPCC slow large flows down more than small ones", slowed, especially_large)
    judging.order("of these, GEMINI's slowdown grows most from small to large flows", slowed, gemini_most)
    return judging.finding(note=note + _unfinished_text(judging.have(compared)))


def _fig14a(judging: Judging, web: Mapping[str, Need], note: str) -> Finding:
    both = [web["gear"], web[ABLATED]]
    for kind in ("small", "large"):
        for need, name in zip(both, ("full", "without_intra"), strict=True):
            text = f"99th percentile, {kind} flows, {name}"
            judging.near(f"{kind}_p99_{name}", text, [need], lambda run, kind=kind: _slowdown_cells(run)[kind]["p99"])
    for kind, statistic in _cells():

        def grows(full: Run, without: Run, kind: str = kind, statistic: str = statistic) -> tuple[bool, str]:
            a, b = _slowdown_cells(full)[kind][statistic], _slowdown_cells(without)[kind][statistic]
            return b > a, f"{a:.3g} to {b:.3g}"

        judging.order(f"without the intra logic {statistic} of {kind} flows grows", both, grows)
    return judging.finding(note=note + _unfinished_text(judging.have(both)))


def _headline(judging: Judging, web: Mapping[str, Need], note: str) -> Finding:
    compared = [web[a] for a in ("gear", *RIVALS) if a in web]

    def best_gain(gear: Run, rivals: Sequence[Run], gain: Callable[[Run, Run], float]) -> tuple[float, str]:
        values = {RIVALS[r.algorithm]: gain(gear, r) for r in rivals}
        most = max((v for v in values.values() if math.isfinite(v)), default=math.nan)
        return most, "against each: " + ", ".join(f"{n} {v:.3g}" for n, v in values.items())

    def is_improved(gear: Run, *rivals: Run, gain: Callable[[Run, Run], float], least: float) -> tuple[bool, str]:
        most, evidence = best_gain(gear, rivals, gain)
        return most > least, evidence

    judging.near(
        "PFC_reduction",
        "PFC duration reduced up to 5 times: the most over the compared algorithms",
        compared,
        lambda gear, *rivals: best_gain(gear, rivals, _pause_reduction),
        better="higher",
    )
    judging.near(
        "throughput_gain",
        "throughput up by up to 20 %: the most over the compared algorithms",
        compared,
        lambda gear, *rivals: best_gain(gear, rivals, _throughput_gain),
        better="higher",
    )
    judging.order(
        "Gear pauses less than one of the compared algorithms",
        compared,
        lambda gear, *rivals: is_improved(gear, *rivals, gain=_pause_reduction, least=1),
    )
    judging.order(
        "Gear carries more than one of the compared algorithms",
        compared,
        lambda gear, *rivals: is_improved(gear, *rivals, gain=_throughput_gain, least=0),
    )
    return judging.finding(note=note)


def _pause_reduction(gear: Run, rival: Run) -> float:
    return metrics.ratio(paused_time(rival), paused_time(gear))


def _throughput_gain(gear: Run, rival: Run) -> float:
    return metrics.ratio(Flows.from_run(gear).throughput(), Flows.from_run(rival).throughput()) - 1


def _growth(run: Run) -> float:
    """Average slowdown of large flows over that of small ones."""
    cells = _slowdown_cells(run)
    return metrics.ratio(cells["large"]["avg"], cells["small"]["avg"])


def _growth_text(grown: Mapping[str, float]) -> str:
    return "average of large over small flows: " + ", ".join(f"{a} {g:.3g}" for a, g in grown.items())


def _unfinished_text(runs: Sequence[Run]) -> str:
    counts = ", ".join(
        f"{r.algorithm} {Flows.from_run(r).count_unfinished()} of {int((~Flows.from_run(r).cross).sum())}" for r in runs
    )
    return f"; intra flows unfinished at the end, which count with their age so far: {counts}" if counts else ""


def _ratio(run: Run) -> float:
    return Flows.from_run(run).normalised_ratio()


def _slowdown_cells(run: Run) -> dict[str, dict[str, float]]:
    return {k: slowdown_statistics(v) for k, v in Flows.from_run(run).slowdowns().items()}


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Fig. 7, Table I as bars, Fig. 8, and Fig. 14(a) where the ablation ran."""
    table = {p: {a: r for a, r in row.items() if a != ABLATED} for p, row in ratios(comparison).items()}
    pictures = {"fig07": bars(table, "flow sizes")}
    web = {a: run for (at, a), run in longest_runs(comparison).items() if at == "WebSearch"}
    pictures["backlog"] = backlogs(run for run in longest_runs(comparison).values() if run.algorithm != ABLATED)
    if web:
        slowdowns = {
            a: {k: slowdown_statistics(v) for k, v in Flows.from_run(run).slowdowns().items()} for a, run in web.items()
        }
        pictures["table1"] = _pauses({a: paused_time(run) for a, run in web.items() if a != ABLATED})
        pictures["fig08"] = _slowdowns({a: s for a, s in slowdowns.items() if a != ABLATED})
        if ABLATED in slowdowns:
            pictures["fig14a"] = _slowdowns({a: s for a, s in slowdowns.items() if a in ("gear", ABLATED)})
    return pictures


def _pauses(times: Mapping[str, float]) -> Figure:
    figure, axes = grid(1, "PFC pause duration, added over all ports")
    figure.set_size_inches(5, 2.6)
    axes[0].bar(list(times), [1e3 * t for t in times.values()], color=INTRA[0])
    axes[0].set_ylabel("paused (ms)", fontsize=8)
    return figure


def _slowdowns(table: Statistics) -> Figure:
    figure, axes = grid(2, "FCT slowdown of intra-datacenter flows", columns=2, shared=False)
    colours = [*INTRA[:3], *CROSS]
    width = 0.8 / max(1, len(table))
    for axis, kind in zip(axes, ("small", "large"), strict=True):
        for i, (algorithm, by_kind) in enumerate(table.items()):
            at = np.arange(3) + (i - (len(table) - 1) / 2) * width
            axis.bar(at, list(by_kind[kind].values()), width, color=colours[i % len(colours)], label=algorithm)
        axis.set_xticks(np.arange(3), ["avg", "p95", "p99"])
        axis.set_title(f"{kind} flows", fontsize=8)
    legend_below(figure, axes)
    axes[0].set_ylabel("slowdown", fontsize=8)
    return figure


def _cells() -> list[tuple[str, str]]:
    return [(kind, statistic) for kind in ("small", "large") for statistic in ("avg", "p95", "p99")]


def _flat(table: Statistics) -> dict[str, Any]:
    return {f"{a}, {k}, {s}": v for a, kinds in table.items() for k, row in kinds.items() for s, v in row.items()}
