"""Code that Gear's figures on a loaded fat-tree share: throughput of intra- and cross-datacenter traffic, over what was generated."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from farloop.judging.schedule import Need, scheduled_runs
from farloop.judging.traffic import AGE, Flows, offered_text
from farloop.palette import CROSS, INTRA
from farloop.views.figures.panels import grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.judging.claims import Judging
    from farloop.results.run import Comparison, Run

BELOW = ("gemini", "hpcc", "dctcp")
"""Below 1 in the paper: intra-datacenter flows are less competitive."""

ABOVE = ("annulus",)

Table = dict[str, dict[str, float]]
"""Normalised throughput ratio by point of the x-axis and algorithm."""


def numbers(run: Run) -> dict[str, float]:
    """The ratio, what is left undelivered of each kind, and how much of each kind's payload has arrived."""
    flows, name = Flows.from_run(run), f"{run.algorithm}, {run.case}"
    return {name: flows.normalised_ratio()} | {
        f"{name}, backlog {kind} (MB)": flows.backlog(cross=kind == "cross") / 1e6 for kind in ("intra", "cross")
    }


def backlogs(runs: Iterable[Run]) -> Figure:
    """Draws the payload that is generated and has not arrived by the end of each run, by kind."""
    figure, axes = grid(
        2, "Backlog at the end of the run: payload generated and not delivered", columns=2, shared=False
    )
    chosen = list(runs)
    for axis, kind in zip(axes, ("intra", "cross"), strict=True):
        names = [f"{run.algorithm}, {run.case}" for run in chosen]
        axis.barh(names, [Flows.from_run(run).backlog(cross=kind == "cross") / 1e6 for run in chosen], color=INTRA[0])
        axis.set_title(f"{kind} (MB)", fontsize=8)
        axis.tick_params(axis="y", labelsize=5)
    figure.set_size_inches(8, max(2.5, 0.16 * len(chosen) + 1))
    return figure


def longest_needs(comparison: Comparison, leave_out: Collection[str] = ()) -> list[Need]:
    """Returns the runs that the figure schedules for each point and algorithm: the last case, which is the longest one."""
    chosen = {(point(n.case), n.algorithm): n for n in scheduled_runs(comparison) if n.algorithm not in leave_out}
    return list(chosen.values())


def order(judging: Judging, needs: Sequence[Need], where: str) -> None:
    """States that Gear is nearest to 1, and each of the others on the paper's side; at every point."""

    def gear_is_nearest(*runs: Run) -> tuple[bool, str]:
        table = _table(runs)
        best = {p: min(row, key=lambda a: distance(row[a])) for p, row in table.items()}
        evidence = ", ".join(f"{p}: {a} {table[p][a]:.3g} (gear {table[p]['gear']:.3g})" for p, a in best.items())
        return set(best.values()) == {"gear"}, f"nearest {evidence}"

    judging.order(f"Gear is nearest to 1 {where}", needs, gear_is_nearest)
    for names, side, holds in ((BELOW, "below", lambda r: r < 1), (ABOVE, "above", lambda r: r > 1)):
        for name in names:

            def is_on_side(*runs: Run, name: str = name, holds: Callable[[float], bool] = holds) -> tuple[bool, str]:
                points = {p: row[name] for p, row in _table(runs).items()}
                return all(map(holds, points.values())), ", ".join(f"{p}: {r:.3g}" for p, r in points.items())

            judging.order(f"{name} is {side} 1 {where}", [n for n in needs if n.algorithm == name], is_on_side)


def distance(ratio: float) -> float:
    """Returns the distance of a ratio from 1, the same for a ratio and its inverse."""
    return abs(math.log(ratio)) if ratio > 0 and math.isfinite(ratio) else math.inf


def ratios(comparison: Comparison) -> Table:
    """The normalised throughput ratio of the longest run of each point and algorithm."""
    return _table(longest_runs(comparison).values())


def _table(runs: Iterable[Run]) -> Table:
    table: Table = {}
    for run in runs:
        table.setdefault(point(run.case), {})[run.algorithm] = Flows.from_run(run).normalised_ratio()
    return table


def scale_note(comparison: Comparison) -> str:
    """Describes the durations of the runs at hand."""
    durations = sorted({run.duration for run in longest_runs(comparison).values()})
    if not durations:
        return ""
    loads = []
    for run in {point(run.case): run for run in longest_runs(comparison).values()}.values():
        offered = offered_text([run])
        loads += [f"{point(run.case)}: {offered}"] if offered else []
    ages = f"flows older than {1e3 * AGE:g} ms count, of both kinds"
    return "; ".join(["simulated " + ", ".join(f"{1e3 * d:g} ms" for d in durations), ages, *loads])


def bars(table: Table, label: str) -> Figure:
    """A group of bars for each point, one bar for each algorithm."""
    figure, axes = grid(1, "Normalised throughput ratio")
    figure.set_size_inches(6.5, 3)
    algorithms = list(dict.fromkeys(a for row in table.values() for a in row))
    colours = [*INTRA[:3], *CROSS]
    width = 0.8 / max(1, len(algorithms))
    for i, algorithm in enumerate(algorithms):
        at = np.arange(len(table)) + (i - (len(algorithms) - 1) / 2) * width
        values = [row.get(algorithm, math.nan) for row in table.values()]
        axes[0].bar(at, values, width, color=colours[i % len(colours)], label=algorithm)
    axes[0].axhline(1, color="red", linestyle=":", linewidth=1)
    axes[0].set_xticks(np.arange(len(table)), list(table))
    axes[0].set_xlabel(label, fontsize=8)
    figure.legend(
        *axes[0].get_legend_handles_labels(), fontsize=7, loc="outside lower center", ncols=len(algorithms) or 1
    )
    return figure


def point(case: str) -> str:
    """The point of the x-axis: a case's name without the duration."""
    return case.partition(", ")[0]


def longest_runs(comparison: Comparison) -> dict[tuple[str, str], Run]:
    """The longest run of each point and algorithm: at full scale the quick cases have run, too."""
    chosen: dict[tuple[str, str], Run] = {}
    for run in comparison.runs:
        key = (point(run.case), run.algorithm)
        if key not in chosen or run.duration > chosen[key].duration:
            chosen[key] = run
    return chosen
