"""The arena's page: one HTML file that needs nothing else, with tables that sort and a small picture where one says more than a number."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from importlib.resources import files
from statistics import fmean
from typing import Any

from farloop import _native, statistics
from farloop.arena import order_changes, pictures, requirements, tails
from farloop.arena.measuring import ENDLESS, FINITE, SIZES, Measured
from farloop.arena.pictures import Scale
from farloop.arena.ranking import FAILS, RANKED, REFERENCE, Standing
from farloop.arena.table import Result
from farloop.report.page import document
from farloop.results.starts import OWN
from farloop.units import bytes_text, count_text, rate_text, time_text
from farloop.validation.references import programs

JUDGED = {
    ENDLESS: "Ranked by the geometric mean of two multiples of the best: goodput of all endless flows, and Jain's index of their "
    "throughputs.",
    FINITE: "Ranked by the geometric mean of multiples of the best: the 99th percentiles of the slowdowns of small and large flows, inside "
    "and across (medium ones of a kind that has neither). A flow that has not finished counts with its age.",
}
"""What a scenario ranks by."""

_LEGEND = (
    "All measurements, means over the seeds. In the pictures "
    + ", ".join(
        f'<span class="swatch" style="background: {pictures.COLOURS[kind]}"></span> is {words}'
        for kind, words in (("intra", "inside a datacenter"), ("cross", "across"))
    )
    + "."
)

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
    """A column of a table that sorts: its heading, and for an algorithm's runs what stands in the cell and what sorts it."""

    def __init__(self, title: str, cell: Callable[[list[Measured]], tuple[str, float | None]], hint: str = "") -> None:
        self.title, self.cell, self.hint = title, cell, hint


def page(results: Sequence[Result], algorithms: Sequence[str], seeds: Sequence[int], scale: str) -> str:
    """A complete HTML document that loads nothing from anywhere.

    Args:
        results: What was found, scenario by scenario.
        algorithms: The rows.
        seeds: The seeds.
        scale: "quick" or "full".
    """
    links = [("overview", "Overview"), *((_anchor(r), r.name) for r in results), ("measured", "What is measured")]
    navigation = "".join(f'<a href="#{anchor}">{escape(name)}</a>' for anchor, name in links)
    counted = f"{count_text(len(algorithms), 'algorithm')}, {count_text(len(results), 'scenario')}, {count_text(len(seeds), 'seed')}"
    header = (
        f"<header><h1>Arena: congestion control across datacenters</h1><p>{counted} ({', '.join(map(str, seeds))}), {scale} scale, "
        f"farloop {_native.version()}</p><nav>{navigation}</nav></header>"
    )
    sections = [_overview(results, algorithms), order_changes.section(results)]
    sections += [*(_section(r, algorithms, len(seeds)) for r in results), _measured()]
    script = files("farloop.arena").joinpath("sort.js").read_text("utf-8")
    content = f'{header}<div class="arena">{"".join(sections)}</div><script>{script}</script>'
    return document("farloop: arena", content)


def _anchor(result: Result) -> str:
    return escape(f"scenario-{result.name}")


def _overview(results: Sequence[Result], algorithms: Sequence[str]) -> str:
    heads = ["<th>algorithm</th>", '<th class="text">needs</th>', "<th>in the first group</th>"]
    heads += [f'<th><a href="#{_anchor(r)}">{escape(r.name)}</a></th>' for r in results]
    by_algorithm = [{standing.algorithm: standing for standing in r.standings} for r in results]
    axes = [_axis(r) for r in results]
    asks_why = any(r.tails for r in results)
    if asks_why:
        heads.insert(3, f'<th class="text" title="{escape(WHY)}">{SLOW}, most often</th>')
    rows = []
    for algorithm in algorithms:
        tds = [
            f"<td>{escape(algorithm)}{_checked(algorithm)}</td>",
            f'<td class="text soft">{escape(_needs(algorithm))}</td>',
        ]
        standings = [each[algorithm] for each in by_algorithm if algorithm in each]
        first = sum(standing.group == 1 for standing in standings)
        ran = sum(standing.state != REFERENCE for standing in standings)
        tds.append(f'<td data-v="{-first / ran!r}">{first} of {ran}</td>' if ran else '<td class="no">reference</td>')
        if asks_why:
            frequent = tails.most_frequent(r.tails[algorithm] for r in results if algorithm in r.tails)
            tds.append(f'<td class="text">{escape(frequent or "–")}</td>')
        for result, each, axis in zip(results, by_algorithm, axes, strict=True):
            own = each.get(algorithm)
            tds.append(
                _overview_cell(own, axis) if own else f'<td class="no">{escape(_missing(result, algorithm))}</td>'
            )
        rows.append(f"<tr>{''.join(tds)}</tr>")
    note = (
        "Each cell: the group, how many times the best score, and where each seed lies (dots) between the worst and the best of all; "
        "better is to the right. Algorithms of one group are not told apart. Those that break a constraint have no group; the cell says "
        "which. Click a heading to sort. Below a name: the programs that the algorithm has been compared with (farloop validate)."
    )
    return f'<h2 id="overview">Overview</h2>{_asked(results)}<p class="soft">{note}</p>{_table(heads, rows)}'


def _overview_cell(own: Standing, axis: Scale) -> str:
    ratio = own.against_best.estimate
    picture = pictures.dots(
        list(own.scores.values()), own.score.estimate or 0.0, axis, f"{_times(ratio)}: mean and each seed"
    )
    text = f'<span class="soft">{_times(ratio)}</span>'
    if own.state == RANKED:
        return f'<td data-v="{own.group}"><b>{own.group}</b> {text}{_mark(own)}{picture}</td>'
    if own.state == FAILS:
        return f'<td class="fails">{escape(str(own.broken[0]))}{_and_more(own)} {text}{_mark(own)}{picture}</td>'
    return f'<td class="soft">reference {text}{_mark(own)}{picture}</td>'


def _and_more(standing: Standing) -> str:
    return f" and {len(standing.broken) - 1} more" if len(standing.broken) > 1 else ""


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.3g} ×"


def _asked(results: Sequence[Result]) -> str:
    """What must hold, once for all scenarios."""
    constraints = results[0].constraints if results else ()
    if not constraints:
        return '<p class="soft">No constraint is asked for: every algorithm is ranked.</p>'
    items = "".join(f"<li><b>{escape(str(c))}</b>: {escape(c.quantity.meaning)}</li>" for c in constraints)
    return (
        '<div class="card"><p>First of all these must hold, on average over the seeds (change them with <code>--must</code>):</p>'
        f'<ul class="statements">{items}</ul></div>'
    )


def _needs(algorithm: str) -> str:
    linux = requirements.on_linux(algorithm)
    return f"{requirements.in_words(algorithm)}; {linux}" if linux else requirements.in_words(algorithm)


def _checked(algorithm: str) -> str:
    """The programs that an algorithm has been compared with, small, below its name."""
    algorithms = programs(algorithm)
    return f'<span class="soft spread">{escape(algorithms)}</span>' if algorithms else ""


def _section(result: Result, algorithms: Sequence[str], seeds: int) -> str:
    about = result.facts
    facts = f"Transport: {about['transport']}; switches of datacenters offer {about['switches']}; {about['duration']} simulated. "
    facts += f"{about['source']}. {_BEGIN if result.start == OWN else _begun_alike(result.start)}"
    title = f"{result.name}: {about['title']}" if about["title"] else result.name
    parts = [f'<h2 id="{_anchor(result)}">{escape(title)}</h2><p class="soft">{escape(facts)}</p>']
    if result.runs:
        parts.append(f'<p class="soft">{JUDGED[result.traffic]}</p>{_ranking(result, seeds)}')
    columns = _columns(result)
    if columns:
        parts.append(f'<p class="soft">{_LEGEND}</p>')
    heads = ["<th>algorithm</th>", *(f'<th title="{escape(c.hint)}">{escape(c.title)}</th>' for c in columns)]
    rows = []
    for algorithm in algorithms:
        runs = result.of(algorithm)
        if not runs:
            text = escape(_missing(result, algorithm))
            rows.append(
                f'<tr><td>{escape(algorithm)}</td><td class="no" colspan="{max(len(columns), 1)}"><span>{text}</span></td></tr>'
            )
            continue
        cells = [c.cell(runs) for c in columns]
        tds = "".join(
            f"<td{'' if key is None else f' data-v={chr(34)}{key!r}{chr(34)}'}>{html}</td>" for html, key in cells
        )
        rows.append(f"<tr><td>{escape(algorithm)}</td>{tds}</tr>")
    parts.append(_table(heads, rows))
    return "".join(parts)


def _begun_alike(start: str) -> str:
    words = {"bdp": "one BDP of their path", "line-rate": "the rate of their host's link"}.get(
        start, f"{start} per base RTT"
    )
    return f"All flows start alike, with {words}, window and rate, whatever the algorithm; slow start stays on where the algorithm has it."


def _missing(result: Result, algorithm: str) -> str:
    because = result.because(algorithm).replace(f'the algorithm "{algorithm}"', "it")
    return CANNOT + because if because else "no flow to rank by"


def _ranking(result: Result, seeds: int) -> str:
    standings = result.standings
    if not standings:
        return ""
    axis = _axis(result)
    costs = list(dict.fromkeys(name for standing in standings for name in standing.multiples))
    least = {
        name: min((s.multiples[name] for s in standings if s.state == RANKED and name in s.multiples), default=1.0)
        for name in costs
    }
    rows = []
    for standing in standings:
        scores, words = list(standing.scores.values()), f"{_times(standing.against_best.estimate)}: mean and each seed"
        picture = pictures.dots(scores, standing.score.estimate or 0.0, axis, words, WIDE)
        each = "".join(f"<td>{_multiple(standing.multiples.get(name), least[name])}</td>" for name in costs)
        rows.append(
            f'<tr class="{standing.state}"><td>{_place(standing)}</td><td class="text">{escape(standing.algorithm)}</td><td>{picture}</td>'
            f"<td>{_against(standing)}{_mark(standing)}</td>{each}"
            f'<td>{_percent(standing.paused)}</td><td class="text soft">{escape(_needs(standing.algorithm))}</td></tr>'
        )
    nothing = "" if any(standing.state == RANKED for standing in standings) else _nearest(standings)
    over = "each seed, better to the right" if seeds > 1 else "better to the right"
    heads = ["<th>group</th>", '<th class="text">algorithm</th>', f"<th>{over}</th>", "<th>times the best score</th>"]
    heads += [f"<th>{escape(name)}</th>" for name in costs]
    heads += ["<th>longest paused</th>", '<th class="text">needs</th>']
    return nothing + _table(heads, rows, sorts=False)


def _place(standing: Standing) -> str:
    if standing.state == RANKED:
        return f"<b>{standing.group}</b>"
    if standing.state == FAILS:
        return f'<span class="fails">{escape("; ".join(map(str, standing.broken)))}</span>'
    return '<span class="soft">reference</span>'


def _nearest(standings: Sequence[Standing]) -> str:
    nearest = next((standing for standing in standings if standing.state == FAILS), None)
    if nearest is None:
        return ""
    return (
        f"<p><b>Nothing holds all constraints here.</b> Nearest is {escape(nearest.algorithm)}: "
        f"{escape('; '.join(map(str, nearest.broken)))}.</p>"
    )


def _multiple(value: float | None, least: float) -> str:
    """A cost as a multiple of the least; the best algorithm's in bold."""
    if value is None:
        return "–"
    text = f"{value:.3g}" if math.isfinite(value) else "∞"
    return f"<b>{text}</b>" if value <= least * 1.0005 else text


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share else "0"


def _mark(standing: Standing) -> str:
    """What stands beside a score that ties decide."""
    return f' <span class="soft" title="{FRAGILE}">fragile</span>' if standing.is_fragile else ""


def _against(standing: Standing) -> str:
    ratio = standing.against_best
    if ratio.estimate is None:
        return "–"
    reach = ratio.range("{:.3g}".format) if ratio.half_width else ""
    return f'{ratio.estimate:.3g} × <span class="soft">{reach}</span>'


def _axis(result: Result) -> Scale:
    """The axis of a scenario's scores, on which better is to the right."""
    return _Reversed([run.score for run in result.runs if run.score is not None and math.isfinite(run.score)])


class _Reversed(Scale):
    """A logarithmic axis with the smallest value at the right."""

    def __init__(self, values: Sequence[float]) -> None:
        super().__init__(values, logarithmic=True)

    def at(self, value: float, width: float = pictures.WIDTH) -> float:
        return width - super().at(value, width)


def _columns(result: Result) -> list[_Column]:
    """The columns of a scenario's table: those that have anything to say there."""
    runs = result.runs
    place = {standing.algorithm: number for number, standing in enumerate(result.standings, 1)}
    states = {s.algorithm: str(s.group) if s.group else s.state for s in result.standings}
    columns = [_Column("group", lambda of: (states.get(of[0].algorithm, "–"), place.get(of[0].algorithm)))]
    if result.tails:
        columns.append(_Column(SLOW, partial(_why, result), WHY))
    top = max((float(values.max()) for run in runs for values in run.rates.values() if values.size), default=0.0)
    if top > 0:
        columns.append(
            _Column(
                "over time",
                lambda of: (
                    pictures.curves(of[0].rates, top, f"throughput inside and across, to {rate_text(top)}"),
                    None,
                ),
                "Throughput of the flows inside (blue) and across (orange), mean over flows, first seed; one scale for all rows",
            )
        )
    for kind, words in (("intra", "inside"), ("cross", "across")):
        if any(run.values.get(f"{kind}_first_rtt_bytes") is not None for run in runs):
            columns.append(_start(kind, words))
    for kind, words in (("intra", "inside"), ("cross", "across")):
        if _known(runs, f"{kind}_throughput_bps"):
            columns.append(_plain(f"throughput {words}", f"{kind}_throughput_bps", rate_text))
    if _known(runs, "intra_throughput_bps") and _known(runs, "cross_throughput_bps"):
        columns.append(_Column("share across", _share, "Part of all delivered payload that flows across got"))
    if _known(runs, "jain"):
        columns.append(_plain("Jain", "jain", "{:.3f}".format, Scale([0.0, 1.0])))
    for which in ("endless", "relative"):
        if _known(runs, f"jain_{which}"):
            columns.append(_plain(f"Jain, {which}", f"jain_{which}", "{:.3f}".format, Scale([0.0, 1.0])))
    for kind, words in (("intra", "inside"), ("cross", "across")):
        columns += [_slowdown(runs, kind, words, size) for size in SIZES if _known(runs, f"{kind}_{size}_slowdown_p50")]
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
    columns.append(_plain("PFC pauses", "paused_ps", lambda v: time_text(v / 1e12), paused, 1e-12))
    columns.append(_plain("victims", "victims", _count))
    columns.append(_queue(runs))
    columns.append(_bar(runs, "drops", "dropped", _count))
    return columns if runs else []


def _why(result: Result, of: list[Measured]) -> tuple[str, float | None]:
    tail = result.tails.get(of[0].algorithm)
    if tail is None:
        return "–", None
    style = ' class="soft"' if tail.because else ""
    return f'<span title="{escape(tail.answer or tail.flow, quote=True)}"{style}>{escape(tail.text)}</span>', tail.share


def _start(kind: str, words: str) -> _Column:
    """How flows begin."""

    def cell(of: list[Measured]) -> tuple[str, float | None]:
        values = of[0].values
        first, share = (values.get(f"{kind}_first_rtt_{what}") for what in ("bytes", "bdps"))
        if first is None or share is None:
            return "–", None
        slow = '<span class="soft spread">slow start</span>' if values["slow_start"] else ""
        return f"{bytes_text(first)}, {share:.3g} BDP{slow}", float(first)

    hint = "Payload that window, pacing rate and link let out in the first base round-trip time, and whether there is slow start"
    return _Column(f"start {words}", cell, hint)


def _known(runs: Sequence[Measured], name: str) -> bool:
    return any(run.values[name] is not None for run in runs)


def _values(of: Sequence[Measured], name: str) -> list[float]:
    return [float(run.values[name]) for run in of if run.values[name] is not None]


def _mean(values: Sequence[float], text: Callable[[float], str], floor: float = 0.0) -> str:
    """The mean, with its interval where there are several values that differ."""
    if not values:
        return "–"
    interval = statistics.mean(values, floor=floor)
    reach = interval.range(text) if interval.half_width else ""
    spread = f'<span class="soft spread">{reach}</span>' if reach else ""
    return f"{text(fmean(values))}{spread}"


def _plain(
    title: str, name: str, text: Callable[[float], str], scale: Scale | None = None, factor: float = 1.0
) -> _Column:
    """A number, with a bar where there is a scale for it."""

    def cell(of: list[Measured]) -> tuple[str, float | None]:
        values = _values(of, name)
        if not values:
            return "–", None
        mean = fmean(values)
        drawn = pictures.bar(mean * factor, scale, f"{title}: {text(mean)}") if scale and any(values) else ""
        return _mean(values, text) + drawn, mean

    return _Column(title, cell)


def _bar(runs: Sequence[Measured], title: str, name: str, text: Callable[[float], str]) -> _Column:
    return _plain(title, name, text, Scale([0.0, *_values(runs, name)], from_zero=True))


def _share(of: list[Measured]) -> tuple[str, float | None]:
    values = _values(of, "cross_share")
    if not values:
        return "–", None
    text = _mean(values, lambda v: f"{100 * v:.1f} %")
    return text + pictures.parts(fmean(values), "shares of flows inside (left) and across (right)"), fmean(values)


def _slowdown(runs: Sequence[Measured], kind: str, words: str, size: str) -> _Column:
    p50, p99 = (f"{kind}_{size}_slowdown_p{p}" for p in (50, 99))
    # Every column of slowdowns has its own axis: those of small flows inside reach a hundred times further than those of large ones across.
    scale = Scale([1.0, *_values(runs, p50), *_values(runs, p99)], logarithmic=True)
    flows = _values(runs, f"{kind}_{size}_flows")

    def cell(of: list[Measured]) -> tuple[str, float | None]:
        median, tail = _values(of, p50), _values(of, p99)
        if not tail:
            return "–", None
        text = f"{_slow(fmean(median))} / {_mean(tail, _slow, 1.0)}"
        drawn = pictures.reach(
            fmean(median),
            fmean(tail),
            scale,
            f"median to 99th percentile: {_slow(fmean(median))} to {_slow(fmean(tail))}",
            pictures.COLOURS[kind],
        )
        return text + drawn, fmean(tail)

    hint = f"FCT slowdown, median and 99th percentile, of {fmean(flows):.0f} flows per seed; logarithmic; sorts by the latter"
    return _Column(f"{words}, {size}: p50 / p99", cell, hint)


def _drifting(of: Sequence[Measured]) -> tuple[str, float | None]:
    known = [run.values["is_steady"] for run in of if run.values["is_steady"] is not None]
    return (f"{known.count(0)} of {len(known)}", float(known.count(0))) if known else ("–", None)


def _queue(runs: Sequence[Measured]) -> _Column:
    top = max((float(run.queue.max()) for run in runs if run.queue.size), default=0.0)

    def cell(of: list[Measured]) -> tuple[str, float | None]:
        mean, tail = _values(of, "mean_queue_bytes"), _values(of, "p99_queue_bytes")
        text = f"{bytes_text(fmean(mean))} / {bytes_text(fmean(tail)) if tail else '–'}"
        ports = list(dict.fromkeys(str(measured_run.values["queue_port"]) for measured_run in of))
        more = f" and {len(ports) - 1} more" if len(ports) > 1 else ""
        drawn = pictures.area(of[0].queue, top, f"queue over time, to {bytes_text(top)}")
        return f'{text}{drawn}<span class="soft port">{escape(ports[0])}{more}</span>', fmean(mean)

    hint = (
        "Of the recorded ports the one with the longest mean queue, which is named: mean and 99th percentile. The picture is "
        "the longest queue over time of the first seed; one scale for all rows. Sorts by the mean"
    )
    return _Column("queue: mean / p99", cell, hint)


def _measured() -> str:
    items = [
        "Every algorithm that <code>farloop list algorithms</code> knows is in every scenario, presets as rows of their own, "
        "each with its default parameters. A scenario sets only what its network dictates, such as GEMINI's ECN threshold. Where "
        "the simulator refuses an algorithm, the cell says why. An algorithm made for another transport runs if this one has all "
        "that it needs; the transport, named with every scenario, is part of the result.",
        "Every scenario stands here twice: once each algorithm starts its flows as it does by itself, once (same-start) all start alike, "
        "those that set windows and those that set rates. Where runs are short, or flows are shorter than a bandwidth-delay product, "
        "the start decides more than the algorithm: a group that only one of the two gives is the start's.",
        "An algorithm fails a scenario if it breaks a constraint on average over the seeds. The others stand in groups: the first has the "
        "best score, all that the seeds, compared one by one, do not tell from it, and all within 5 % of it; the second has the best of "
        "the others, and so on. All algorithms are compared with the best, so each comparison takes its part of the 5 % (Bonferroni) and "
        "all hold together: with three seeds and dozens of algorithms little is told apart, with ten seeds much more. Among algorithms "
        "within 5 % of the best those that pause less stand first.",
        "References are measured, not ranked: fixed, which ignores congestion and leaves everything to PFC; ablations; and readings of a "
        "paper by its letter.",
        "Numbers are means over the seeds with their 95 % confidence intervals, [low, high].",
        "“Fragile” is a score that moves by more than 5 % (and by more than half its interval) over variations of the first "
        "seed's run that differ only in the order of simultaneous events, and in starts by less than a packet's time "
        "(<code>--jitter</code>): the simulation is locked into a phase there. Only own starts are varied.",
        "Throughput is delivered payload over the time that a flow was active, mean over the endless flows (those that no "
        "algorithm could finish within the run), or over all flows where there are none. Jain's index is of the same "
        "throughputs; where flows have sizes, of throughputs relative to what each flow gets alone.",
        "Slowdown is the time until a flow's last byte arrived over that of the same flow alone in the empty network. Small "
        "flows have up to 100 kB, large ones more than 10 MB (GEMINI, §IV-D). A flow that has not finished counts with its age.",
        "Pauses are added over all ports; a victim is a flow that waited for a pause whose congested port is not on its way. "
        "Drops are those of switches and hosts, for any cause.",
        "Why the tail is slow (only with <code>--why</code>): the flow at the 99th percentile of the FCT slowdown under the first seed is "
        "simulated again and followed packet by packet; the cell has the cause of most of its time. Endless flows have no slowdown, and "
        "flows that share a TCP connection are not followed. All of it is in why.csv and why.parquet.",
        "Every number of every seed is in cells.csv and cells.parquet, the rankings are in ranking.csv and ranking.parquet. "
        "Beside them lies a directory for each scenario with the tables of its runs; <code>farloop report</code> draws its "
        "report.",
    ]
    listed = "".join(f"<li>{item}</li>" for item in items)
    return f'<h2 id="measured">What is measured</h2><div class="card"><ul class="statements">{listed}</ul></div>'


def _table(heads: Sequence[str], rows: Sequence[str], *, sorts: bool = True) -> str:
    style = ' class="sorts"' if sorts else ""
    return (
        f'<div class="card scroll"><table{style}><thead><tr>{"".join(heads)}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _slow(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _count(value: Any) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"
