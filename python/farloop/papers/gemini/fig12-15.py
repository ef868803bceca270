"""GEMINI, Figs. 12 to 15: completion times of WebSearch flows, two traffic patterns on two testbeds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging, UndecidedError
from farloop.judging.schedule import READING, Need, scheduled_runs
from farloop.judging.testbed import COLOURS, SCHEMES, Completion, Losses, longest_runs, numbers_text, runs_by_prefix
from farloop.views.figures.panels import grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

FIGURES = {
    "fig12": "1 Gbps, pattern 1",
    "fig13": "10 Gbps, pattern 1",
    "fig14": "1 Gbps, pattern 2",
    "fig15": "10 Gbps, pattern 2",
}
"""The cases of each figure begin so."""

PATTERN_1 = ("fig12", "fig13")
"""The figures with all flows across."""

RIVALS = {"cubic": "Cubic", "dctcp": "DCTCP", "bbr": "BBR", "vegas": "Vegas"}
"""The names in the published numbers, and the schemes."""

Cells = dict[str, dict[str, dict[str, float]]]
"""Completion times in seconds by figure, scheme and panel."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Reductions against each rival, losses, and how far GEMINI is behind the second best scheme."""
    judging = Judging(comparison, claims["gemini/fig12-15"])
    claim = judging.claim
    table = cells(comparison)
    losses = {
        f: {n: Losses.from_run(r) for n, r in longest_runs(runs_by_prefix(comparison, p)).items()}
        for f, p in FIGURES.items()
    }
    judging.measure(
        lambda: {
            f"{f}, {n}, {c} (s)": v for f, row in table.items() for n, cell in row.items() for c, v in cell.items()
        }
    )
    judging.measure(lambda: {f"{f}, {n}, loss": x.total for f, row in losses.items() for n, x in row.items()})
    needs = {f: _needs(comparison, f) for f in FIGURES}

    def select_pair(rival: str, figures: Iterable[str] = FIGURES) -> list[Need]:
        return [needs[f][n] for f in figures for n in ("GEMINI", rival) if n in needs[f]]

    def select_best_needs(rival: str) -> list[Need]:
        """The runs against a rival whose best counts: of a reading those that it has."""
        wanted = select_pair(rival)
        return [n for n in wanted if comparison.scale != READING or judging.find(n)] or wanted

    def best_reduction(rival: str, kind: str) -> tuple[float, str]:
        reductions = reduction(table, rival, f"{kind}, average")
        return max(reductions.values()), f"by figure {numbers_text(reductions)}"

    for key, rival in RIVALS.items():
        for kind in ("small", "large"):
            name = f"{kind}_vs_{key}"
            text = f"{kind} flows: up to {100 * claim.paper[name]:.0f} % below {rival}"
            judging.near(
                name, text, select_best_needs(rival), lambda *_, r=rival, k=kind: best_reduction(r, k), better="higher"
            )

    def faster(rival: str, kind: str, figures: tuple[str, ...]) -> tuple[bool, str]:
        reductions = _require_figures(reduction(table, rival, f"{kind}, average"), figures, rival)
        return all(r > 0 for r in reductions.values()), f"reduction {numbers_text(reductions)}"

    for rival, kind, figures in (
        ("Cubic", "small", ("fig12", "fig13")),
        ("DCTCP", "small", ("fig12", "fig13")),
        ("BBR", "small", ("fig12", "fig13")),
        ("Vegas", "large", tuple(FIGURES)),
        ("Cubic", "large", ("fig14", "fig15")),
    ):
        text = f"{kind} flows are faster than with {rival} ({', '.join(figures)})"
        judging.order(
            text,
            select_pair(rival, figures),
            lambda *_, rival=rival, kind=kind, figures=figures: faster(rival, kind, figures),
        )

    def tail(rival: str) -> tuple[bool, str]:
        reductions = _require_figures(reduction(table, rival, "small, p99"), PATTERN_1, rival)
        return all(r > 0 for r in reductions.values()), numbers_text(reductions)

    for rival in ("Cubic", "DCTCP", "BBR"):
        text = f"the 99th percentile of small flows is below {rival}'s ({', '.join(PATTERN_1)})"
        judging.order(text, select_pair(rival, PATTERN_1), lambda *_, rival=rival: tail(rival))

    def is_best_of_all(*_: Run) -> tuple[bool, str]:
        rows = {f: {n: cell["all, average"] for n, cell in table[f].items()} for f in PATTERN_1}
        missing = [n for n in ("GEMINI", *RIVALS.values(), "Vegas-10") if any(n not in row for row in rows.values())]
        if missing:
            raise UndecidedError(f"needs {', '.join(missing)}")
        fastest = {f: min(row, key=lambda n: row[n]) for f, row in rows.items()}
        own_place = {f: sorted(row, key=lambda n: row[n]).index("GEMINI") + 1 for f, row in rows.items()}
        evidence = ", ".join(f"{f}: {fastest[f]}, GEMINI is number {own_place[f]}" for f in rows)
        return set(fastest.values()) == {"GEMINI"}, f"fastest in {evidence}"

    first = [n for f in PATTERN_1 for n in needs[f].values()]
    judging.order("over all flows GEMINI is the fastest under pattern 1", first, is_best_of_all)

    def compare_scaled(cell: str, figures: tuple[str, ...]) -> tuple[dict[str, float], str]:
        over = {f: metrics.ratio(table[f]["Vegas-10"][cell], table[f]["Vegas"][cell]) for f in figures}
        return over, f"Vegas-10 over Vegas: {numbers_text(over)}"

    def is_sped_up(*_: Run) -> tuple[bool, str]:
        over, evidence = compare_scaled("large, average", PATTERN_1)
        return all(r < 1 for r in over.values()), evidence

    # §IV-D says it of both testbeds together. 20 packets are 0.24 ms of a queue at 1 Gbps, and a tenth of that at 10.
    def is_slowed_down(*_: Run) -> tuple[bool, str]:
        over, evidence = compare_scaled("small, average", PATTERN_1)
        return over["fig12"] > 1, evidence

    vegas = [needs[f][n] for f in PATTERN_1 for n in ("Vegas", "Vegas-10") if n in needs[f]]
    judging.order("larger thresholds speed up Vegas' large flows (fig12, fig13)", vegas, is_sped_up)
    judging.order("larger thresholds slow down Vegas' small flows (fig12)", vegas, is_slowed_down)

    def has_few(*_: Run) -> tuple[bool, str]:
        own = {f: row["GEMINI"].total for f, row in losses.items() if "GEMINI" in row}
        judging.measured["loss_below"] = max(own.values())
        return max(own.values()) < claim.paper["loss_below"], numbers_text(own)

    def is_little_behind(*_: Run) -> tuple[bool, str]:
        behind = behind_second(table)
        worst = max(behind, key=lambda c: behind[c])
        judging.measured["worst_behind_second"] = behind[worst]
        allowed = claim.range("worst_behind_second")[1]
        return behind[
            worst
        ] <= allowed, f"{100 * behind[worst]:.1f} % behind at {worst}, accepted {100 * allowed:.1f} %"

    own = [row["GEMINI"] for row in needs.values() if "GEMINI" in row]
    judging.order("GEMINI loses less than 1e-4 of its packets", own, has_few)
    everything = [n for row in needs.values() for n in row.values()]
    text = "GEMINI is the best or second best, or little behind the second best"
    judging.order(text, everything, is_little_behind, number=True)
    return [judging.finding(note=_note(comparison))]


def _needs(comparison: Comparison, figure: str) -> dict[str, Need]:
    """The run of each scheme in a figure; the longest one where the figure schedules several."""
    needs: dict[str, Need] = {}
    for need in scheduled_runs(comparison, prefix=FIGURES[figure]):
        needs[SCHEMES.get(need.algorithm, need.algorithm)] = need
    return needs


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Each figure with its four panels; completion times over GEMINI's."""
    pictures = {}
    for name, row in cells(comparison).items():
        figure, axes = grid(4, f"FCT over GEMINI's, {FIGURES[name]}", columns=2, shared=False)
        reference = row.get("GEMINI") or next(iter(row.values()))
        for axis, cell in zip(axes, reference, strict=True):
            values = [metrics.ratio(r[cell], reference[cell]) for r in row.values()]
            drawn = axis.bar(list(row), values, color=[COLOURS.get(n) for n in row])
            axis.bar_label(drawn, fmt="%.2f", fontsize=6)
            axis.set_title(f"{cell} ({1e3 * reference[cell]:.0f} ms)", fontsize=8)
            axis.margins(y=0.12)
            axis.tick_params(axis="x", labelrotation=30, labelsize=6)
        pictures[name] = figure
    return pictures


def cells(comparison: Comparison) -> Cells:
    """The panels' numbers of every figure that ran."""
    runs = {f: longest_runs(runs_by_prefix(comparison, prefix)) for f, prefix in FIGURES.items()}
    return {f: {n: Completion.from_run(run).cells() for n, run in row.items()} for f, row in runs.items() if row}


def reduction(table: Cells, rival: str, cell: str) -> dict[str, float]:
    """The part by which GEMINI's completion times are below a rival's, by figure."""
    return {
        f: 1 - metrics.ratio(row["GEMINI"][cell], row[rival][cell])
        for f, row in table.items()
        if "GEMINI" in row and rival in row and math.isfinite(row["GEMINI"][cell]) and math.isfinite(row[rival][cell])
    }


def _require_figures(reductions: Mapping[str, float], figures: Sequence[str], rival: str) -> dict[str, float]:
    """Those of some figures.

    Raises:
        UndecidedError: one is missing.
    """
    missing = [figure for figure in figures if figure not in reductions]
    if missing:
        raise UndecidedError(f"needs GEMINI and {rival} in {', '.join(missing)}")
    return {figure: reductions[figure] for figure in figures}


def behind_second(table: Cells) -> dict[str, float]:
    """Returns how far GEMINI is behind the second best scheme in each panel; negative where it is the best or second best itself."""
    behind = {}
    for figure, row in table.items():
        if "GEMINI" not in row or len(row) < 3:
            continue
        for cell, own in row["GEMINI"].items():
            others = sorted(r[cell] for n, r in row.items() if n != "GEMINI")
            # The second best of all schemes is, where GEMINI is not among the first two, the second of the others.
            behind[f"{figure}, {cell}"] = metrics.ratio(own, others[1]) - 1
    return {c: v for c, v in behind.items() if math.isfinite(v)}


def _note(comparison: Comparison) -> str:
    parts = []
    for figure, prefix in FIGURES.items():
        runs = longest_runs(runs_by_prefix(comparison, prefix))
        if runs:
            unfinished = sum(Completion.from_run(run).unfinished for run in runs.values())
            flows = next(iter(runs.values())).flows.num_rows
            parts.append(f"{figure} {flows} flows, {unfinished} unfinished over all schemes")
    return "; ".join(parts)
