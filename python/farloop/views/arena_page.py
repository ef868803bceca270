"""The arena's page: one HTML file that needs nothing else, with tables that sort and a small picture where one says more than a number."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean
from typing import Any

from markupsafe import Markup

from farloop import _native, statistics, units
from farloop.results.measures import limits, of_cell
from farloop.results.size_classes import MARK, MARK_NOTE, MIN_TAIL_FLOWS
from farloop.results.starts import OWN
from farloop.studies.arena import requirements, tails
from farloop.studies.arena.arena_headline import arena_cautions, headline_arena
from farloop.studies.arena.measuring import ENDLESS, FINITE, SIZES, Measured
from farloop.studies.arena.ranking import FAILS, RANKED, REFERENCE, Standing
from farloop.studies.arena.table import Result
from farloop.studies.validation.references import programs
from farloop.units import bytes_text, count_text, rate_text, time_text
from farloop.views import order_changes, svg
from farloop.views.html import render, sections_page
from farloop.views.report import plots
from farloop.views.report.verdict import EffectChart, head
from farloop.views.svg import Scale
from farloop.views.tabular import NOTHING, Head, StyledCell, Table

JUDGED = {
    ENDLESS: "Ranked by the geometric mean of two multiples of the best: goodput of all endless flows, and Jain's index of their "
    "throughputs.",
    FINITE: "Ranked by the geometric mean of multiples of the best: the 99th percentiles of the slowdowns of small and large flows, inside "
    "and across (medium ones of a kind that has neither). A flow that has not finished counts with its age.",
}
"""Ranking of a scenario, in words."""

FRAGILE = "Another order of simultaneous events, and starts by less than a packet's time, move this score"

_BEGIN = "Each algorithm starts its flows as it does by itself."

SLOW = "why the tail is slow"

WHY = (
    "The largest cause of the time of the flow at the 99th percentile of the FCT slowdown, first seed, with its share (farloop why); in "
    "brackets the limit of the source under which most of that was spent"
)

CANNOT = "cannot run here, because "

WIDE = 200.0
"""Pixels of the pictures of a ranking."""


class _Column:
    """A column of a table that sorts: its heading, and for an algorithm's runs its cell."""

    def __init__(self, title: str, cell: Callable[[list[Measured]], StyledCell], hint: str = "") -> None:
        self.title, self.cell, self.hint = title, cell, hint


def page(results: Sequence[Result], algorithms: Sequence[str], seeds: Sequence[int], scale: str) -> str:
    """A complete HTML document that loads nothing from anywhere.

    Args:
        results: Results, scenario by scenario.
        algorithms: The rows.
        seeds: The seeds.
        scale: "quick" or "full".
    """
    answer = headline_arena(results, len(seeds))
    scopes = {result.name: result.name for result in results}
    note = (
        "The best on top; scores are of those that hold all constraints. Lines: 95 % confidence intervals over the seeds, holding together "
        "for times the best score."
    )
    chart = EffectChart(algorithms, scopes, ("number", "in"), note)
    parts: list[tuple[str, str, Markup]] = [("overview", "Who leads in which scenario?", _leading(results, algorithms))]
    if curves := order_changes.section(results):
        parts.append(("order", "Where does the order change?", curves))
    parts.append(("scenarios", "How does each scenario come out?", _scenarios(results, algorithms, len(seeds))))
    parts.append(
        (
            "measured",
            "How is it measured?",
            render("arena_measured.html.j2", size_note=f"{SIZES.note} {MARK_NOTE} of a seed."),
        )
    )
    counted = f"{count_text(len(algorithms), 'algorithm')}, {count_text(len(results), 'scenario')}, {count_text(len(seeds), 'seed')}"
    return sections_page(
        "farloop: arena",
        "Arena: congestion control across datacenters",
        head(answer, chart, arena_cautions(results)),
        parts,
        subtitle=f"{counted} ({', '.join(map(str, seeds))}), {scale} scale, farloop {_native.version()}",
        style="arena",
        scripts=plots.scripts(has_charts=False),
    )


def _leading(results: Sequence[Result], algorithms: Sequence[str]) -> Markup:
    return render(
        "arena_overview.html.j2",
        constraints=results[0].constraints if results else (),
        overview=_overview(results, algorithms),
    )


def _scenarios(results: Sequence[Result], algorithms: Sequence[str], seeds: int) -> Markup:
    return render(
        "arena_scenarios.html.j2",
        links=[(_anchor(result), result.name) for result in results],
        sections=[_section(result, algorithms, seeds) for result in results],
        colours=[(svg.COLOURS[kind], words) for kind, words in (("intra", "inside a datacenter"), ("cross", "across"))],
    )


def _anchor(result: Result) -> str:
    return f"scenario-{result.name}"


def _overview(results: Sequence[Result], algorithms: Sequence[str]) -> Table:
    asks_why = any(r.tails for r in results)
    heads = [
        Head("algorithm"),
        Head("needs", is_text=True),
        Head("in the first group"),
        *([Head(f"{SLOW}, most often", is_text=True, hint=WHY)] if asks_why else []),
        *(Head(r.name, link=f"#{_anchor(r)}") for r in results),
    ]
    by_algorithm = [{standing.algorithm: standing for standing in r.standings} for r in results]
    axes = [_axis(r) for r in results]
    rows = []
    for algorithm in algorithms:
        standings = [each[algorithm] for each in by_algorithm if algorithm in each]
        first = sum(standing.group == 1 for standing in standings)
        ran = sum(standing.state != REFERENCE for standing in standings)
        cells = [
            StyledCell(algorithm, _algorithm_heading(algorithm)),
            StyledCell(_needs(algorithm), style="text soft"),
            StyledCell(f"{first} of {ran}", sort=-first / ran) if ran else StyledCell("reference", style="no"),
        ]
        if asks_why:
            frequent = tails.most_frequent(r.tails[algorithm] for r in results if algorithm in r.tails)
            cells.append(StyledCell(frequent or NOTHING, style="text"))
        for result, each, axis in zip(results, by_algorithm, axes, strict=True):
            own = each.get(algorithm)
            cells.append(_overview_cell(own, axis) if own else StyledCell(_missing_text(result, algorithm), style="no"))
        rows.append(cells)
    return Table(heads, rows, style="sorts marked")


def _overview_cell(own: Standing, axis: Scale) -> StyledCell:
    ratio = _times(own.against_best.estimate)
    picture = svg.dots(list(own.scores.values()), own.score.estimate or 0.0, axis, f"{ratio}: mean and each seed")
    if own.state == RANKED:
        html = Markup('<b>{}</b> <span class="soft">{}</span>{}{}').format(own.group, ratio, _mark(own), picture)
        return StyledCell(f"{own.group} {ratio}", html, sort=own.group)
    if own.state == FAILS:
        broken = f"{own.broken[0]}{_more_text(own)}"
        html = Markup('{} <span class="soft">{}</span>{}{}').format(broken, ratio, _mark(own), picture)
        return StyledCell(f"{broken} {ratio}", html, "fails")
    html = Markup('reference <span class="soft">{}</span>{}{}').format(ratio, _mark(own), picture)
    return StyledCell(f"reference {ratio}", html, "soft")


def _more_text(standing: Standing) -> str:
    return f" and {len(standing.broken) - 1} more" if len(standing.broken) > 1 else ""


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.3g} ×"


def _needs(algorithm: str) -> str:
    linux = requirements.on_linux(algorithm)
    return f"{requirements.in_words(algorithm)}; {linux}" if linux else requirements.in_words(algorithm)


def _algorithm_heading(algorithm: str) -> Markup:
    """An algorithm's name, and small below it the programs that it has been compared with."""
    algorithms = programs(algorithm)
    below = Markup('<span class="soft spread">{}</span>').format(algorithms) if algorithms else ""
    return Markup("{}{}").format(algorithm, below)


def _section(result: Result, algorithms: Sequence[str], seeds: int) -> dict[str, Any]:
    """Returns the template's values for a scenario."""
    about = result.facts
    facts = [
        f"Transport: {about['transport']}; switches of datacenters offer {about['switches']}; {_space_unit(about['duration'])} simulated",
        about["source"].strip().rstrip("."),
        (_BEGIN if result.start == OWN else _equal_starts(result.start)).rstrip("."),
    ]
    columns = _columns(result)
    rows: list[list[StyledCell]] = []
    for algorithm in algorithms:
        runs = result.list_runs(algorithm)
        if runs:
            rows.append([StyledCell(algorithm), *(column.cell(runs) for column in columns)])
            continue
        text = _missing_text(result, algorithm)
        wide = StyledCell(text, Markup("<span>{}</span>").format(text), "no", span=max(len(columns), 1))
        rows.append([StyledCell(algorithm), wide])
    standings = result.standings
    nearest = next((standing for standing in standings if standing.state == FAILS), None)
    return {
        "anchor": _anchor(result),
        "title": f"{result.name}: {about['title']}" if about["title"] else result.name,
        "facts": " ".join(f"{fact}." for fact in facts if fact),
        "judged": JUDGED[result.traffic] if result.runs else "",
        "nearest": None if any(standing.state == RANKED for standing in standings) else nearest,
        "ranking": _ranking(result, seeds),
        "has_legend": bool(columns),
        "table": Table([Head("algorithm"), *(Head(c.title, hint=c.hint) for c in columns)], rows, style="sorts marked"),
    }


def _space_unit(duration: str) -> str:
    """A duration of a scenario, such as "60ms", as numbers stand in sentences."""
    return time_text(units.seconds(duration))


def _equal_starts(start: str) -> str:
    words = {"bdp": "one BDP of their path", "line-rate": "the rate of their host's link"}.get(
        start, f"{start} per base RTT"
    )
    return f"All flows start alike, with {words}, window and rate, whatever the algorithm; slow start stays on where the algorithm has it."


def _missing_text(result: Result, algorithm: str) -> str:
    because = result.explain_refusal(algorithm).replace(f'the algorithm "{algorithm}"', "it")
    return CANNOT + because if because else "no flow to rank by"


def _ranking(result: Result, seeds: int) -> Table:
    standings = result.standings
    axis = _axis(result)
    costs = list(dict.fromkeys(name for standing in standings for name in standing.multiples))
    least = {
        name: min((s.multiples[name] for s in standings if s.state == RANKED and name in s.multiples), default=1.0)
        for name in costs
    }
    rows = []
    for standing in standings:
        scores, words = list(standing.scores.values()), f"{_times(standing.against_best.estimate)}: mean and each seed"
        picture = svg.dots(scores, standing.score.estimate or 0.0, axis, words, WIDE)
        against = Markup("{}{}").format(_ratio_cell(standing), _mark(standing))
        rows.append(
            [
                _place(standing),
                StyledCell(standing.algorithm, style="text"),
                StyledCell("", picture),
                StyledCell(_times(standing.against_best.estimate) or NOTHING, against),
                *(_multiple(standing.multiples.get(name), least[name]) for name in costs),
                StyledCell(_percent(standing.paused)),
                StyledCell(_needs(standing.algorithm), style="text soft"),
            ]
        )
    over = "each seed, better to the right" if seeds > 1 else "better to the right"
    heads = [Head("group"), Head("algorithm", is_text=True), Head(over), Head("times the best score")]
    heads += [*map(Head, costs), Head("longest paused"), Head("needs", is_text=True)]
    return Table(heads, rows, row_styles=[standing.state for standing in standings])


def _place(standing: Standing) -> StyledCell:
    if standing.state == RANKED:
        return StyledCell(str(standing.group), Markup("<b>{}</b>").format(standing.group))
    if standing.state == FAILS:
        broken = "; ".join(map(str, standing.broken))
        return StyledCell(broken, Markup('<span class="fails">{}</span>').format(broken))
    return StyledCell("reference", Markup('<span class="soft">reference</span>'))


def _multiple(value: float | None, least: float) -> StyledCell:
    """A cost as a multiple of the least; the best algorithm's in bold."""
    if value is None:
        return StyledCell(NOTHING)
    text = f"{value:.3g}" if math.isfinite(value) else "∞"
    return StyledCell(text, Markup("<b>{}</b>").format(text) if value <= least * 1.0005 else None)


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share else "0"


def _mark(standing: Standing) -> Markup:
    """Returns the mark beside a score that ties decide."""
    return (
        Markup(' <span class="soft" title="{}">fragile</span>').format(FRAGILE) if standing.is_fragile else Markup("")
    )


def _ratio_cell(standing: Standing) -> Markup:
    ratio = standing.against_best
    if ratio.estimate is None:
        return Markup(NOTHING)
    reach = ratio.range("{:.3g}".format) if ratio.half_width else ""
    return Markup('{} <span class="soft">{}</span>').format(_times(ratio.estimate), reach)


def _axis(result: Result) -> Scale:
    """The axis of a scenario's scores, on which better is to the right."""
    return _Reversed([run.score for run in result.runs if run.score is not None and math.isfinite(run.score)])


class _Reversed(Scale):
    """A logarithmic axis with the smallest value at the right."""

    def __init__(self, values: Sequence[float]) -> None:
        super().__init__(values, logarithmic=True)

    def locate_value(self, value: float, width: float = svg.WIDTH) -> float:
        return width - super().locate_value(value, width)


def _columns(result: Result) -> list[_Column]:
    """The columns of a scenario's table: those that have anything to say there."""
    runs = result.runs
    place = {standing.algorithm: number for number, standing in enumerate(result.standings, 1)}
    states = {s.algorithm: str(s.group) if s.group else s.state for s in result.standings}
    columns = [
        _Column("group", lambda of: _sortable_cell(states.get(of[0].algorithm, NOTHING), place.get(of[0].algorithm)))
    ]
    if result.tails:
        columns.append(_Column(SLOW, partial(_why_cell, result), WHY))
    top = max((float(values.max()) for run in runs for values in run.rates.values() if values.size), default=0.0)
    if top > 0:
        columns.append(
            _Column(
                "over time",
                lambda of: StyledCell(
                    "", svg.curves(of[0].rates, top, f"throughput inside and across, to {rate_text(top)}")
                ),
                "Throughput of the flows inside (blue) and across (orange), mean over flows, first seed; one scale for all rows",
            )
        )
    for kind, words in (("intra", "inside"), ("cross", "across")):
        if any(run.values.get(f"{kind}_first_rtt_bytes") is not None for run in runs):
            columns.append(_start(kind, words))
    for kind, words in (("intra", "inside"), ("cross", "across")):
        if _any_has(runs, f"{kind}_throughput_bps"):
            columns.append(_number_column(f"throughput {words}", f"{kind}_throughput_bps", rate_text))
    if _any_has(runs, "intra_throughput_bps") and _any_has(runs, "cross_throughput_bps"):
        columns.append(_Column("share across", _share, "Part of all delivered payload that flows across got"))
    if _any_has(runs, "jain"):
        columns.append(_number_column("Jain", "jain", "{:.3f}".format, Scale([0.0, 1.0])))
    for which in ("endless", "relative"):
        if _any_has(runs, f"jain_{which}"):
            columns.append(_number_column(f"Jain, {which}", f"jain_{which}", "{:.3f}".format, Scale([0.0, 1.0])))
    for kind, words in (("intra", "inside"), ("cross", "across")):
        columns += [
            _slowdown(runs, kind, words, size) for size in SIZES.names if _any_has(runs, f"{kind}_{size}_slowdown_p50")
        ]
    if any(run.values["unfinished"] for run in runs):
        columns.append(_bar(runs, "unfinished", "unfinished", _count))
    if any(run.values["is_steady"] == 0 for run in runs):
        columns.append(
            _Column(
                "not steady",
                _drifting,
                "Seeds whose later flows are slowed otherwise than the earlier ones: a longer run would differ",
            )
        )
    paused = Scale([0.0, *(run.values["paused_ps"] / 1e12 for run in runs)], from_zero=True)
    columns.append(_number_column("PFC pauses", "paused_ps", lambda v: time_text(v / 1e12), paused, 1e-12))
    columns.append(_number_column("victims", "victims", _count))
    columns.append(_queue(runs))
    columns.append(_bar(runs, "drops", "dropped", _count))
    return columns if runs else []


def _sortable_cell(text: str, key: float | None = None, html: Markup | None = None) -> StyledCell:
    """A cell that is sorted by a number."""
    return StyledCell(text, html, sort=key)


def _why_cell(result: Result, of: list[Measured]) -> StyledCell:
    tail = result.tails.get(of[0].algorithm)
    if tail is None:
        return StyledCell(NOTHING)
    style = Markup(' class="soft"') if tail.because else ""
    html = Markup('<span title="{}"{}>{}</span>').format(tail.answer or tail.flow, style, tail.text)
    return _sortable_cell(tail.text, tail.share, html)


def _start(kind: str, words: str) -> _Column:
    """Column of the starts of flows."""

    def cell(of: list[Measured]) -> StyledCell:
        values = of[0].values
        first, share = (values.get(f"{kind}_first_rtt_{what}") for what in ("bytes", "bdps"))
        if first is None or share is None:
            return StyledCell(NOTHING)
        text = f"{bytes_text(first)}, {share:.3g} BDP"
        slow = Markup('<span class="soft spread">slow start</span>') if values["slow_start"] else ""
        return _sortable_cell(text, float(first), Markup("{}{}").format(text, slow))

    hint = "Payload that window, pacing rate and link let out in the first base round-trip time, and whether there is slow start"
    return _Column(f"start {words}", cell, hint)


def _any_has(runs: Sequence[Measured], name: str) -> bool:
    return any(run.values[name] is not None for run in runs)


def _values(of: Sequence[Measured], name: str) -> list[float]:
    return [float(run.values[name]) for run in of if run.values[name] is not None]


def _mean(values: Sequence[float], text: Callable[[float], str], column: str) -> Markup:
    """The mean of a column of cells, with its interval where there are several values that differ."""
    if not values:
        return Markup(NOTHING)
    floor, ceiling = limits(of_cell(column))
    interval = statistics.mean(values, floor=floor, ceiling=ceiling)
    reach = interval.range(text) if interval.half_width else ""
    spread = Markup('<span class="soft spread">{}</span>').format(reach) if reach else ""
    return Markup("{}{}").format(text(fmean(values)), spread)


def _number_column(
    title: str, name: str, text: Callable[[float], str], scale: Scale | None = None, factor: float = 1.0
) -> _Column:
    """A number, with a bar where there is a scale for it."""

    def cell(of: list[Measured]) -> StyledCell:
        values = _values(of, name)
        if not values:
            return StyledCell(NOTHING)
        mean = fmean(values)
        drawn = svg.bar(mean * factor, scale, f"{title}: {text(mean)}") if scale and any(values) else Markup("")
        return _sortable_cell(text(mean), mean, _mean(values, text, name) + drawn)

    return _Column(title, cell)


def _bar(runs: Sequence[Measured], title: str, name: str, text: Callable[[float], str]) -> _Column:
    return _number_column(title, name, text, Scale([0.0, *_values(runs, name)], from_zero=True))


def _share(of: list[Measured]) -> StyledCell:
    values = _values(of, "cross_share")
    if not values:
        return StyledCell(NOTHING)
    share = fmean(values)
    drawn = svg.parts(share, "shares of flows inside (left) and across (right)")
    return _sortable_cell(
        f"{100 * share:.1f} %", share, _mean(values, lambda v: f"{100 * v:.1f} %", "cross_share") + drawn
    )


def _slowdown(runs: Sequence[Measured], kind: str, words: str, size: str) -> _Column:
    p50, p99 = (f"{kind}_{size}_slowdown_p{p}" for p in (50, 99))
    # Every column of slowdowns has its own axis: those of small flows inside reach a hundred times further than those of large ones across.
    scale = Scale([1.0, *_values(runs, p50), *_values(runs, p99)], logarithmic=True)
    flows = _values(runs, f"{kind}_{size}_flows")

    def cell(of: list[Measured]) -> StyledCell:
        median, tail = _values(of, p50), _values(of, p99)
        if not tail:
            return StyledCell(NOTHING)
        per_seed = fmean(_values(of, f"{kind}_{size}_flows"))
        low, high = _slowdown_text(fmean(median)), _slowdown_text(fmean(tail))
        words = f"median to 99th percentile: {low} to {high}"
        drawn = svg.reach(fmean(median), fmean(tail), scale, words, svg.COLOURS[kind])
        sign = f" {MARK}" if per_seed < MIN_TAIL_FLOWS else ""
        html = Markup("{} / {}{}{}").format(low, _mean(tail, _slowdown_text, p99), sign, drawn)
        return _sortable_cell(f"{low} / {high}{sign}", fmean(tail), html)

    hint = f"FCT slowdown, median and 99th percentile, of {fmean(flows):.0f} flows per seed; logarithmic; sorts by the latter"
    hint += f"; {MARK_NOTE}" if fmean(flows) < MIN_TAIL_FLOWS else ""
    return _Column(f"{words}, {size}: p50 / p99", cell, hint)


def _drifting(of: Sequence[Measured]) -> StyledCell:
    known = [run.values["is_steady"] for run in of if run.values["is_steady"] is not None]
    return _sortable_cell(f"{known.count(0)} of {len(known)}", float(known.count(0))) if known else StyledCell(NOTHING)


def _queue(runs: Sequence[Measured]) -> _Column:
    top = max((float(run.queue.max()) for run in runs if run.queue.size), default=0.0)

    def cell(of: list[Measured]) -> StyledCell:
        mean, tail = _values(of, "mean_queue_bytes"), _values(of, "p99_queue_bytes")
        text = f"{bytes_text(fmean(mean))} / {bytes_text(fmean(tail)) if tail else NOTHING}"
        ports = list(dict.fromkeys(str(measured_run.values["queue_port"]) for measured_run in of))
        more = f" and {len(ports) - 1} more" if len(ports) > 1 else ""
        drawn = svg.area(of[0].queue, top, f"queue over time, to {bytes_text(top)}")
        html = Markup('{}{}<span class="soft port">{}{}</span>').format(text, drawn, ports[0], more)
        return _sortable_cell(text, fmean(mean), html)

    hint = (
        "Of the recorded ports the one with the longest mean queue, which is named: mean and 99th percentile. The picture is "
        "the longest queue over time of the first seed; one scale for all rows. Sorts by the mean"
    )
    return _Column("queue: mean / p99", cell, hint)


def _slowdown_text(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _count(value: Any) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"
