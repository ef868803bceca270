"""ICC, Figs. 12 and 13: completion times and pauses of FB_Hadoop traffic by load, and by sender at 50 %; WebSearch beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging, UndecidedError
from farloop.judging.schedule import Need, scheduled_runs
from farloop.papers.icc.common import (
    COLOURS,
    NAMES,
    RIVALS,
    avoided_pauses,
    bars,
    completion,
    paused_time,
    pauses,
    unfinished_text,
)
from farloop.results.flow_samples import statistic
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

LOADS = (20, 30, 40, 50, 60, 70)
"""In percent of the loaded links."""

JUDGED = 50
"""Of Fig. 13."""

WEB = "WebSearch"
"""How the names of the cases with WebSearch's sizes begin; their load is that of Fig. 13."""

LONG = ", long"
"""Suffix of the full scale's cases, where the quick scale has shorter ones."""

HOSTS = {"H1": ("h1-",), "H2 to Hn": ("rack-",), "Hb": ("hb-",)}
"""The kinds of host that send, and how their flows' names begin."""

SENDERS = {**HOSTS, "all": ("",)}

Statistic: TypeAlias = "Callable[[Sequence[Run], str], float]"
"""Of the completion times of the flows of some senders, in seconds."""

Pairwise: TypeAlias = "Callable[..., tuple[float, str]]"
"""Of as many runs of one algorithm as of another, with the evidence."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Judges the lowest average at each load; improvements and pauses avoided at 50 %, and whether WebSearch gives the same."""
    needs = select_needs(comparison)
    return [
        _judge_lowest(Judging(comparison, claims["icc/fig12"]), needs),
        _judge_improvements(Judging(comparison, claims["icc/fig13"]), needs),
        _judge_websearch(Judging(comparison, claims["icc/websearch"]), needs),
    ]


def select_needs(comparison: Comparison) -> list[Need]:
    """Returns the runs that the figure schedules for each of its points and algorithms: of a point with long cases these alone."""
    needs = scheduled_runs(comparison)
    long = {n.case.removesuffix(LONG) for n in needs if n.case.endswith(LONG)}
    return [n for n in needs if n.case not in long]


def needs_at(needs: Sequence[Need], load: int, algorithm: str) -> list[Need]:
    """The runs of a load of FB_Hadoop under an algorithm, one per seed, in the order of the seeds."""
    return [n for n in needs if n.case.startswith(f"{load} %") and n.algorithm == algorithm]


def websearch_needs(needs: Sequence[Need], algorithm: str) -> list[Need]:
    """The runs of WebSearch under an algorithm, likewise."""
    return [n for n in needs if n.case.startswith(WEB) and n.algorithm == algorithm]


def average(runs: Sequence[Run], senders: str = "all") -> float:
    """The mean completion time of all flows of some senders: the mean over the runs.

    Raises:
        UndecidedError: there is no run, or no such flow.
    """
    _require_runs(runs)
    return float(np.mean([completion(run, SENDERS[senders]).mean() for run in runs]))


def tail(runs: Sequence[Run], senders: str = "all") -> float:
    """The same for the 99th percentile."""
    _require_runs(runs)
    return float(np.mean([statistic(completion(run, SENDERS[senders]), "p99") for run in runs]))


def _require_runs(runs: Sequence[Run]) -> None:
    if not runs:
        raise UndecidedError("no run to measure")


def _judge_lowest(judging: Judging, needs: Sequence[Need]) -> Finding:
    for load in LOADS:
        for algorithm in NAMES:
            runs = judging.have(needs_at(needs, load, algorithm))
            if runs:
                judging.measure(lambda r, k: {k: 1e6 * average(r)}, runs, f"{NAMES[algorithm]}, {load} %, average (us)")
    for load in LOADS:
        own = needs_at(needs, load, "icc")
        for algorithm, name in RIVALS.items():

            def is_lower(*runs: Run, count: int = len(own)) -> tuple[bool, str]:
                a, b = average(runs[:count]), average(runs[count:])
                seeds = ", ".join(f"{1e6 * average([r]):.4g}" for r in runs[:count])
                other = ", ".join(f"{1e6 * average([r]):.4g}" for r in runs[count:])
                return a < b, f"{1e6 * a:.4g} and {1e6 * b:.4g} us; by seed {seeds} and {other}"

            judging.order(
                f"{load} %: ICC's average is below {name}'s", [*own, *needs_at(needs, load, algorithm)], is_lower
            )
    return judging.finding(note=_note(judging, needs))


def _judge_improvements(judging: Judging, needs: Sequence[Need]) -> Finding:
    own, paper = needs_at(needs, JUDGED, "icc"), judging.claim.paper
    for algorithm in NAMES:
        runs = judging.have(needs_at(needs, JUDGED, algorithm))
        if runs:
            judging.measure(_numbers, runs, NAMES[algorithm])
    for algorithm, name in RIVALS.items():
        both = [*own, *needs_at(needs, JUDGED, algorithm)]

        def faster(*runs: Run) -> tuple[bool, str]:
            value, evidence = _measure_gain(*runs)
            return value > 1, f"{value:.3g} times: {evidence}"

        def fewer(*runs: Run) -> tuple[bool, str]:
            value, evidence = _measure_part(*runs)
            return value > 0, f"{100 * value:.0f} % avoided: {evidence}"

        judging.order(f"ICC's average is below {name}'s", both, faster)
        for what, over_runs in (("average", average), ("p99", tail)):

            def is_below(*runs: Run, of: Statistic = over_runs, count: int = len(own)) -> tuple[bool, str]:
                each = {s: (of(runs[:count], s), of(runs[count:], s)) for s in HOSTS}
                evidence = ", ".join(f"{s} {1e6 * a:.4g} and {1e6 * b:.4g} us" for s, (a, b) in each.items())
                return all(a < b for a, b in each.values()), evidence

            judging.order(f"ICC's {what} is below {name}'s for each kind of host", both, is_below)
        judging.order(f"ICC pauses less than {name}", both, fewer)
        text = f"{paper[f'avg_fct_{name}']:g} times as fast as {name}"
        judging.near(f"avg_fct_{name}", text, both, _measure_gain, better="higher")
        text = f"{100 * paper[f'pauses_{name}']:.0f} % of {name}'s pauses avoided"
        judging.near(f"pauses_{name}", text, both, _measure_part, better="higher")
    return judging.finding(note=_note(judging, needs))


def _judge_websearch(judging: Judging, needs: Sequence[Need]) -> Finding:
    for algorithm in ("icc", *RIVALS):
        runs = judging.have(websearch_needs(needs, algorithm))
        if runs:
            judging.measure(_numbers, runs, NAMES[algorithm])
    for algorithm, name in RIVALS.items():
        hadoop = [*needs_at(needs, JUDGED, "icc"), *needs_at(needs, JUDGED, algorithm)]
        web = [*websearch_needs(needs, "icc"), *websearch_needs(needs, algorithm)]
        for key, text, measure in (
            ("factor", f"WebSearch: as many times as fast as {name} as with FB_Hadoop", _measure_gain),
            ("part", f"WebSearch: the same part of {name}'s pauses avoided as with FB_Hadoop", _measure_part),
        ):

            def over_hadoop(*runs: Run, measure: Pairwise = measure, count: int = len(hadoop)) -> tuple[float, str]:
                own, _ = measure(*runs[:count])
                other, evidence = measure(*runs[count:])
                return metrics.ratio(other, own), f"{other:.3g} over {own:.3g}: {evidence}"

            judging.near(f"{key}_{name}", text, [*hadoop, *web], over_hadoop)
    return judging.finding(note=_note(judging, needs))


def _measure_gain(*runs: Run) -> tuple[float, str]:
    """How many times as fast as the second half of the runs the first is: the mean over pairs."""
    each = [metrics.ratio(average([b]), average([a])) for a, b in _pairs(runs)]
    return float(np.mean(each)), "by seed " + ", ".join(f"{g:.3g}" for g in each)


def _measure_part(*runs: Run) -> tuple[float, str]:
    """The part of the pauses of the second half of the runs that the first half avoids."""
    count = [(pauses(a), pauses(b)) for a, b in _pairs(runs)]
    value = avoided_pauses(sum(a for a, _ in count), sum(b for _, b in count))
    return value, "by seed " + ", ".join(f"{a} and {b}" for a, b in count)


def _pairs(runs: Sequence[Run]) -> list[tuple[Run, Run]]:
    """Each run of the first half with the one of the same seed in the second."""
    count = len(runs) // 2
    if not count or len(runs) != 2 * count:
        raise UndecidedError("not both of them have run")
    return list(zip(runs[:count], runs[count:], strict=True))


def _numbers(runs: Sequence[Run], name: str) -> dict[str, Any]:
    numbers = {
        "average (us)": 1e6 * average(runs),
        "p99 (us)": 1e6 * tail(runs),
        "pauses": float(np.mean([pauses(r) for r in runs])),
        "paused (ms)": 1e3 * float(np.mean([paused_time(r) for r in runs])),
    }
    return {f"{name}, {what}": value for what, value in numbers.items()}


def _note(judging: Judging, needs: Sequence[Need]) -> str:
    runs = judging.have(needs)
    longest = max((r.duration for r in runs), default=0.0)
    flows = {r.case: r.flows.num_rows for r in runs if r.case.startswith(f"{JUDGED} %")}
    count = f"{next(iter(flows.values()))} flows a run at {JUDGED} %, " if flows else ""
    return f"{count}simulated up to {longest:g} s; {unfinished_text(runs)}"


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Completion times by load (Fig. 12), by sender at 50 %, and pauses (Fig. 13); the same of ICC's variants."""
    pictures = {}
    variants = [a for a in NAMES if a.startswith("icc")]
    for suffix, algorithms in (("", [*RIVALS, "icc"]), ("-variants", variants)):
        table = _table(comparison, algorithms)
        if table:
            pictures[f"fig12{suffix}"] = _draw_by_load(table)
        at = {a: rows[JUDGED] for a, rows in table.items() if JUDGED in rows}
        if at:
            pictures[f"fig13{suffix}"] = _draw_by_sender(at)
    return pictures


def _table(comparison: Comparison, algorithms: Sequence[str]) -> dict[str, dict[int, list[Run]]]:
    """Runs by algorithm and load; of a point that has long runs these alone."""
    long = {run.case.removesuffix(LONG) for run in comparison.runs if run.case.endswith(LONG)}
    table: dict[str, dict[int, list[Run]]] = {}
    for algorithm in algorithms:
        for run in comparison.runs:
            if run.algorithm == algorithm and run.case not in long and not run.case.startswith(WEB):
                load = int(run.case.partition(" %")[0])
                table.setdefault(algorithm, {}).setdefault(load, []).append(run)
    return table


def _draw_by_load(table: Mapping[str, Mapping[int, Sequence[Run]]]) -> Figure:
    figure, axes = grid(1, "Average completion time of FB_Hadoop flows")
    for algorithm, rows in table.items():
        loads = sorted(rows)
        values = [1e6 * average(rows[load]) for load in loads]
        axes[0].plot(
            loads, values, marker="o", markersize=3, linewidth=1, color=COLOURS[algorithm], label=NAMES[algorithm]
        )
    axes[0].set_xlabel("load of the links (%)", fontsize=8)
    axes[0].set_ylabel("average FCT (us)", fontsize=8)
    axes[0].set_ylim(bottom=0)
    legend_below(figure, axes)
    return figure


def _draw_by_sender(at: Mapping[str, Sequence[Run]]) -> Figure:
    figure, axes = grid(3, f"FB_Hadoop at {JUDGED} %: completion times by sender, pauses", columns=1, shared=False)
    figure.set_size_inches(7, 6.5)
    for axis, label, value in ((axes[0], "p99 FCT (us)", tail), (axes[1], "average FCT (us)", average)):
        bars(axis, {a: {s: 1e6 * value(runs, s) for s in SENDERS} for a, runs in at.items()}, label)
    table = {
        a: {
            "pauses": float(np.mean([pauses(r) for r in runs])),
            "paused (100 us)": 1e4 * float(np.mean([paused_time(r) for r in runs])),
        }
        for a, runs in at.items()
    }
    bars(axes[2], table, "per run")
    legend_below(figure, axes)
    return figure
