"""MLCC, Figs. 11 to 15: completion times under load, of WebSearch and Hadoop traffic, inside datacenters and across."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging, UndecidedError
from farloop.judging.schedule import Need
from farloop.palette import CROSS
from farloop.papers.mlcc.common import COLOURS, LONG, NAMES, RIVALS, FlowTimes, bars, reductions, scheduled_cases
from farloop.results.flow_completion import Mask
from farloop.results.flow_samples import statistic
from farloop.results.tables import Floats
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

SINCE = 0.01
"""Flows that start from here on are measured: a round trip across, and the time that the first flows take."""

SIZES = ("WebSearch", "Hadoop")
KINDS = {"intra": False, "cross": True}

BINS = {
    "WebSearch": (0, 10e3, 30e3, 80e3, 200e3, 1e6, 2e6, 5e6, 10e6, 30e6),
    "Hadoop": (0, 300, 500, 700, 2e3, 50e3, 120e3, 1e6, 5e6, 10e6),
}
"""Flow sizes in bytes between which the tail is taken: points of the published distributions, and 5 MB."""

SMALL = 5e6
"""Up to here the paper has MLCC's tail of the flows across lower, above slightly higher."""

TAIL = "p99.9"

NEARLY_ALL = 0.8
"""The share of sizes and rivals that counts as nearly all."""

SLIGHTLY = 1.5
"""At most so many times as long is slightly longer."""

CONSISTENT = ("light",)
"""Where the paper has MLCC's average lower for both kinds of flow and both distributions, and numbers for some of them only (§4.4)."""

VARIANTS = ("variants, ", "own T, ")
"""The cases of variants of the algorithms begin so."""

WIDE = "32 servers a leaf"
"""The cases of the full size begin so."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Reductions of the average against each rival at both loads and with the short long haul; the tails by size."""
    needs = scheduled_cases(comparison)
    return [
        _averages(Judging(comparison, claims["mlcc/fig11"]), needs, "heavy", ("intra", "cross"), RIVALS),
        _averages(Judging(comparison, claims["mlcc/fig12"]), needs, "light", ("intra", "cross"), RIVALS),
        _tails(Judging(comparison, claims["mlcc/fig13-14"]), needs),
        _averages(Judging(comparison, claims["mlcc/fig15"]), needs, "1 ms", ("intra", "cross"), RIVALS),
    ]


def _averages(
    judging: Judging, needs: Sequence[Need], load: str, kinds: Sequence[str], rivals: Sequence[str]
) -> Finding:
    for sizes in SIZES:
        for kind in kinds:
            for name in NAMES:
                runs = judging.have(_select_needs(needs, f"{load}, {sizes}", name))
                if runs:
                    judging.measure(_mean_and_range, f"{sizes}, {kind}, {NAMES[name]} (ms)", runs, kind)
    for sizes in SIZES:
        for kind in kinds:
            for rival in rivals:
                _judge_rival(judging, needs, f"{load}, {sizes}", kind, rival, always=load in CONSISTENT)
    note = f"{_simulated_text(judging, needs, load)}; {_unfinished_text(judging, needs, load)}"
    if load in ("heavy", "light"):
        _full_size(judging, f"{WIDE}, {load}")
    if load == "heavy":
        _variants(judging)
    return judging.finding(note=note)


def _judge_rival(
    judging: Judging, needs: Sequence[Need], point: str, kind: str, rival: str, *, always: bool = False
) -> None:
    """States, for one kind of flow against one rival, the published number, where there is one, and that MLCC is faster.

    With `always` the latter is stated without a number, too.
    """
    claim, sizes = judging.claim, point.rpartition(", ")[2]
    own, other = _select_needs(needs, point, "mlcc"), _select_needs(needs, point, rival)

    def reduction(*runs: Run) -> tuple[float, str]:
        means = [FlowTimes.from_run(run, cross=KINDS[kind], since=SINCE).mean() for run in runs]
        return reductions(means[: len(own)], means[len(own) :])

    def faster(*runs: Run) -> tuple[bool, str]:
        value, evidence = reduction(*runs)
        return value > 0, f"{100 * value:.1f} %: {evidence}"

    where = f"{kind} flows, {sizes}"
    # The paper does not say whose flows across its sentence on them is about.
    names = [f"{sizes.lower()}_{kind}_vs_{rival}", f"{kind}_vs_{rival}"]
    for name in names:
        if name in claim.paper:
            text = f"{where}: {100 * claim.paper[name]:.0f} % below {NAMES[rival]}"
            judging.near(name, text, [*own, *other], reduction, better="higher")
            if name == names[1]:
                judging.measured[f"{name}, {sizes}"] = judging.measured.pop(name, None)
    if always or any(name in claim.paper for name in names):
        judging.order(f"{where}: MLCC's average is below {NAMES[rival]}'s", [*own, *other], faster)


def _tails(judging: Judging, needs: Sequence[Need]) -> Finding:
    for load in ("heavy", "light"):
        for sizes in SIZES:
            point = f"{load}, {sizes}"
            used = [n for a in (*RIVALS, "mlcc") for n in _select_needs(needs, point, a)]
            for kind in KINDS:
                _tail_statements(judging, point, kind, used)
    return judging.finding(
        note=f"{_simulated_text(judging, needs, 'heavy')}; a size that fewer than 1000 flows have shows its slowest one"
    )


def _tail_statements(judging: Judging, point: str, kind: str, used: Sequence[Need]) -> None:
    sizes = point.rpartition(", ")[2]
    edges = np.array(BINS[sizes][1:])

    def compute_tail_ratios(runs: Sequence[Run], chosen: Mask) -> list[float]:
        """MLCC's tail over each rival's, of the chosen sizes."""
        tails = {a: tail([r for r in runs if r.algorithm == a], sizes, kind) for a in (*RIVALS, "mlcc")}
        ratios = [tails["mlcc"][chosen] / tails[rival][chosen] for rival in RIVALS]
        finite = [float(r) for row in ratios for r in row if np.isfinite(r)]
        if not finite:
            raise UndecidedError("no flow to measure")
        return finite

    def is_lower(*runs: Run, chosen: Mask) -> tuple[bool, str]:
        ratios = compute_tail_ratios(runs, chosen)
        share = metrics.ratio(sum(r < 1 for r in ratios), len(ratios))
        return (
            share >= NEARLY_ALL,
            f"lower in {100 * share:.0f} % of {len(ratios)} pairs of a size and a rival; from {100 * NEARLY_ALL:.0f} %",
        )

    def longer(*runs: Run, chosen: Mask) -> tuple[bool, str]:
        ratios = compute_tail_ratios(runs, chosen)
        middle = float(np.median(ratios))
        return (
            1 < middle <= SLIGHTLY,
            f"{middle:.3g} times as long in the median, accepted above 1 and up to {SLIGHTLY}",
        )

    everything = edges > 0
    if kind == "intra":
        text = f"{point}: the tail of intra flows is lower at nearly all sizes"
        judging.order(text, used, lambda *runs: is_lower(*runs, chosen=everything))
        return
    text = f"{point}: the tail of cross flows is lower up to 5 MB"
    judging.order(text, used, lambda *runs: is_lower(*runs, chosen=edges <= SMALL))
    text = f"{point}: above 5 MB the tail of cross flows is slightly longer"
    judging.order(text, used, lambda *runs: longer(*runs, chosen=edges > SMALL))


def tail(runs: Sequence[Run], sizes: str, kind: str) -> Floats:
    """The 99.9th percentile of the completion time of all runs' flows, by size; NaN for a size that none has."""
    times = [FlowTimes.from_run(run, cross=KINDS[kind], since=SINCE) for run in runs]
    if not times:
        return np.full(len(BINS[sizes]) - 1, np.nan)
    size, time = np.concatenate([f.size for f in times]), np.concatenate([f.time for f in times])
    at = np.searchsorted(BINS[sizes], size, side="left") - 1
    inside = [time[at == i] for i in range(len(BINS[sizes]) - 1)]
    return np.array([statistic(t, TAIL) for t in inside])


def _select_needs(needs: Sequence[Need], point: str, algorithm: str) -> list[Need]:
    """The runs of a point under an algorithm, one per seed."""
    return [n for n in needs if n.case.startswith(f"{point}, seed") and n.algorithm == algorithm]


def _mean_and_range(name: str, runs: Sequence[Run], kind: str) -> dict[str, float | str]:
    """Of the averages of the runs, one per seed."""
    means = [1e3 * FlowTimes.from_run(r, cross=KINDS[kind], since=SINCE).mean() for r in runs]
    return {name: float(np.mean(means)), f"{name}, range": f"{min(means):.3g} to {max(means):.3g}"}


def _full_size(judging: Judging, prefix: str) -> None:
    """The network with 32 servers a leaf, where it has run: reductions without a verdict."""
    runs = [r for r in judging.comparison.runs if r.case.startswith(prefix)]
    for sizes in SIZES:
        own = [r for r in runs if r.algorithm == "mlcc" and r.case.endswith(sizes)]
        for rival in (r for r in runs if r.algorithm in RIVALS and r.case.endswith(sizes) and own):
            for kind, cross in KINDS.items():
                key = f"{WIDE}, {sizes}, {kind}, below {NAMES[rival.algorithm]}"
                judging.measure(
                    lambda k, a, b, c: {
                        k: 1 - metrics.ratio(*(FlowTimes.from_run(r, cross=c, since=SINCE).mean() for r in (a, b)))
                    },
                    key, own[0], rival, cross,
                )  # fmt: skip


def _variants(judging: Judging) -> None:
    """Averages of variants of the algorithms, of the first seed, without a verdict."""
    for run in judging.comparison.runs:
        if run.case.startswith(VARIANTS):
            name = f"{run.case}, {NAMES.get(run.algorithm, run.algorithm)}"
            judging.measure(
                lambda n, r: {
                    f"{n}, {k} (ms)": 1e3 * FlowTimes.from_run(r, cross=c, since=SINCE).mean() for k, c in KINDS.items()
                },
                name, run,
            )  # fmt: skip


def _simulated_text(judging: Judging, needs: Sequence[Need], load: str) -> str:
    """Describes the durations of the runs at hand, and the number of measured flows."""
    runs = judging.have([n for n in needs if n.case.startswith(load) and n.algorithm == "mlcc"])
    if not runs:
        return "nothing simulated"
    counts = {
        s: [len(FlowTimes.from_run(r, cross=c, since=SINCE).size) for r in runs if s in r.case for c in KINDS.values()]
        for s in SIZES
    }
    flows_text = ", ".join(f"{s} {sum(c[::2])} intra and {sum(c[1::2])} cross flows" for s, c in counts.items() if c)
    return f"{len(runs)} runs of {1e3 * runs[0].duration:g} ms per algorithm: {flows_text}"


def _unfinished_text(judging: Judging, needs: Sequence[Need], load: str) -> str:
    """Flows that have not finished, by algorithm."""
    counts: dict[str, int] = {}
    for run in judging.have([n for n in needs if n.case.startswith(load)]):
        left = FlowTimes.from_run(run, cross=None, since=SINCE).unfinished
        counts[NAMES[run.algorithm]] = counts.get(NAMES[run.algorithm], 0) + left
    counts_text = ", ".join(f"{a} {n}" for a, n in counts.items() if n)
    return f"unfinished at the end, counted with their age: {counts_text or 'none'}"


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Averages as bars with the range over the seeds, as in Figs. 11, 12 and 15; tails by size, as in Figs. 13 and 14."""
    pictures = {}
    for name, load, title in (
        ("fig11", "heavy", "heavy load, 50 % intra and 20 % cross"),
        ("fig12", "light", "light load, 30 % intra and 10 % cross"),
        ("fig15", "1 ms", "heavy load, long haul of 1 ms"),
    ):
        if any(r.case.startswith(f"{load}, ") for r in comparison.runs):
            pictures[name] = _bars(comparison, load, f"Average completion time: {title}")
    for name, load in (("fig13", "heavy"), ("fig14", "light")):
        if any(r.case.startswith(f"{load}, ") for r in comparison.runs):
            pictures[name] = _tail_lines(comparison, load)
    return pictures


def _runs(comparison: Comparison, point: str, algorithm: str) -> list[Run]:
    """One run per seed: the long one, where there is one."""
    by_seed = {}
    for run in comparison.runs:
        if run.case.startswith(f"{point}, seed") and run.algorithm == algorithm:
            by_seed[run.case.removesuffix(LONG)] = run
    return list(by_seed.values())


def _bars(comparison: Comparison, load: str, title: str) -> Figure:
    figure, axes = grid(2, title, columns=2, shared=False)
    for axis, sizes in zip(axes, SIZES, strict=True):
        table = {}
        for a in NAMES:
            runs = _runs(comparison, f"{load}, {sizes}", a)
            if runs:
                table[a] = {
                    k: [1e3 * FlowTimes.from_run(r, cross=c, since=SINCE).mean() for r in runs]
                    for k, c in KINDS.items()
                }
        bars(axis, table, NAMES.__getitem__)
        axis.set_title(sizes, fontsize=8)
        axis.set_ylabel("average FCT (ms)", fontsize=8)
    legend_below(figure, axes, "bars: means over the seeds; lines: their range")
    return figure


def _tail_lines(comparison: Comparison, load: str) -> Figure:
    figure, axes = grid(4, f"99.9th percentile of the completion time, {load} load", columns=2, shared=False)
    panels = [(sizes, kind) for sizes in SIZES for kind in KINDS]
    for axis, (sizes, kind) in zip(axes, panels, strict=True):
        for a in NAMES:
            runs = _runs(comparison, f"{load}, {sizes}", a)
            if runs:
                times = 1e3 * tail(runs, sizes, kind)
                axis.plot(BINS[sizes][1:], times, marker=".", linewidth=0.9, color=COLOURS[a], label=NAMES[a])
        axis.set_xscale("log")
        axis.set_yscale("log")
        if kind == "cross":
            axis.axvline(SMALL, color=CROSS[3], linestyle=":", linewidth=0.8)
        axis.set_title(f"{sizes}, {kind}", fontsize=8)
        axis.set_xlabel("flow size up to (bytes)", fontsize=8)
        axis.set_ylabel("p99.9 FCT (ms)", fontsize=8)
        axis.tick_params(which="both", labelsize=7)
    legend_below(figure, axes, "all seeds' flows together")
    return figure
