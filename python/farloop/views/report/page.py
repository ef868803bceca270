"""The report's HTML: charts, tables, claims, parameters; script and style inside the file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from farloop import _native
from farloop.judging.claims import remark
from farloop.results import gears, offered, paired
from farloop.results.effects import SCOPES
from farloop.results.headline import headline
from farloop.views.html import document, render, script
from farloop.views.report import circuits, jobs, limit_bars, link_events, network_map, packets, pfc, plots, verdict
from farloop.views.report.charts import Chart, charts
from farloop.views.report.start_tables import LOADS, STARTS
from farloop.views.report.tables import (
    POOLED_CAPTION,
    Cell,
    claim_rows,
    count_listed,
    flow_rows,
    job_rows,
    load_rows,
    paired_rows,
    run_rows,
    size_note,
    size_rows,
    slowdown_rows,
    start_rows,
    worst_rows,
)
from farloop.views.tabular import AnyCell, Head, StyledCell, Table

if TYPE_CHECKING:
    from farloop.results.run import Comparison

Section = tuple[str, str, str]
"""A part of the page: its anchor, its name in the navigation, and its HTML with a heading that has the anchor."""

SLOWDOWN_NOTE = (
    "FCT slowdown: the time until a flow's last byte arrived over that of the same flow alone in the empty network. Where flows are "
    "unfinished, one row says the finished ones only, and one counts the others by their age, which bounds every number "
    "from below."
)

QUEUE_CHARTS = ("max_queue", "dropped", "paused")
TIME_CHARTS = ("throughput", "cwnd", "pacing", "rtt")
"""Metrics of the charts of a section, in the order in which they are offered."""

MAX_VALUE = 200
"""Letters of a value that the table of parameters shows."""

MANY_ROWS = 12
"""Rows from which on a table of ports is folded."""

_HOLDS = {True: ("reproduced", "holds"), False: ("differs", "does not hold"), None: ("partial", "not decided")}
"""Style and words for a statement."""


def page(comparison: Comparison, *more: Section) -> str:
    """A complete HTML document that loads nothing from anywhere; `more` are sections that stand below the first one.

    The answer comes first, then a section for each question that a reader has: who is slow, where it queues, what happened when, how it was
    set up. Of circuits the schedule explains everything else.
    """
    title = comparison.title or "farloop"
    drawn = {chart.anchor: chart for chart in charts(comparison)}
    parts: list[Section] = [
        *([("claims", "Claims", _section("claims", "Claims", _claim_cards(comparison)))] if comparison.claims else []),
        *([("circuits", "Circuits", circuits.section(comparison))] if circuits.has_circuits(comparison) else []),
        ("slow", "Who is slow", _render_slowness(comparison, drawn.get("slowdown"))),
        *more,
        ("queues", "Where it queues", _queues(comparison, [drawn[name] for name in QUEUE_CHARTS if name in drawn])),
        *([("time", "What happened when", when)] if (when := _time(comparison, drawn)) else []),
        ("setup", "How it was set up", _setup(comparison)),
    ]
    content = render(
        "report.html.j2",
        title=title,
        subtitle=_subtitle(comparison),
        verdict=verdict.section(comparison),
        remarks=comparison.notes,
        sections=parts,
        style="",
        sorting=script("sort_tables.js"),
    )
    return document(title, content, scripts=plots.scripts(has_charts=bool(drawn)))


def fragment(comparison: Comparison) -> str:
    """Answer and tables for a notebook's output cell; the charts are in the saved report."""
    answer = headline(comparison)
    return str(
        render(
            "fragment.html.j2",
            title=comparison.title,
            answer=answer.text,
            warnings=[*comparison.deadlocks, *comparison.cautions],
            overview=_overview(comparison),
            claims=_claim_cards(comparison),
        )
    )


def _subtitle(comparison: Comparison) -> str:
    wall = sum(float(r.info["wall_s"]) for r in comparison.runs)
    count = "one simulation" if len(comparison.runs) == 1 else f"{len(comparison.runs)} simulations"
    scale = f" ({comparison.scale} scale)" if comparison.figure and comparison.scale != "custom" else ""
    return f"{count}{scale}, {_steps(comparison)} in {wall:,.1f} s of computing, farloop {_native.version()}"


def _steps(comparison: Comparison) -> str:
    """The steps that the simulations took, by gear."""
    taken: dict[str, int] = {}
    for run in comparison.runs:
        unit = gears.unit_of_steps(run.gear)
        taken[unit] = taken.get(unit, 0) + gears.steps(run.info["totals"], run.gear)
    hops = gears.unit_of_steps(gears.PACKETS)
    texts = [
        f"{count / 1e6:,.1f} million {unit}" if unit == hops else f"{count:,} {unit}" for unit, count in taken.items()
    ]
    return " and ".join(texts)


def _section(anchor: str, title: str, content: Markup) -> Markup:
    """A heading that has the anchor, and what stands below it."""
    return render("section.html.j2", anchor=anchor, title=title, content=content)


def _chart(chart: Chart) -> Markup:
    return render(
        "chart.html.j2",
        anchor=chart.anchor,
        title=chart.title,
        explanation=chart.explanation,
        drawn=chart.panels.html(f"chart-{chart.anchor}"),
    )


def _render_slowness(comparison: Comparison, chart: Chart | None) -> Markup:
    return render(
        "slow.html.j2",
        runs=_table(run_rows(comparison)),
        chart=_chart(chart) if chart else "",
        limits=limit_bars.section(comparison) or "",
        **_slowness(comparison),
    )


def _slowness(comparison: Comparison) -> dict[str, Any]:
    """Tables of how flows and jobs fared."""
    most_flows = max((run.flows.num_rows for run in comparison.runs), default=0)
    listed = count_listed(comparison)
    pairs = _table(paired_rows(comparison))
    return {
        "jobs": _table(job_rows(comparison)),
        "job_times": jobs.section(comparison),
        "slowdowns": _table(slowdown_rows(comparison)),
        "slowdown_note": SLOWDOWN_NOTE + (f" {POOLED_CAPTION}" if len(comparison.seeds) > 1 else ""),
        "sizes": _table(size_rows(comparison)),
        "size_note": size_note(comparison),
        "paired": pairs,
        "paired_note": paired.CAPTION + (" The intervals of a column hold together." if len(pairs.rows) > 1 else ""),
        "flows": _table(flow_rows(comparison)),
        "many": most_flows if most_flows > listed else 0,
        "listed": listed,
    }


def _queues(comparison: Comparison, drawn: Sequence[Chart]) -> Markup:
    return render(
        "queues.html.j2",
        worst=(worst := _table(worst_rows(comparison))),
        is_folded=len(worst.rows) > MANY_ROWS,
        **_choices(drawn),
        network=network_map.section(comparison),
        pfc=pfc.section(comparison) if pfc.has_pauses(comparison) else "",
        **_loads(comparison),
    )


def _loads(comparison: Comparison) -> dict[str, Any]:
    """Table of what the traffic asks of the network."""
    sentences = dict.fromkeys(s for run in comparison.runs for s in offered.sentences(run.numbers["network"]))
    return {"loads": _table(load_rows(comparison)), "loads_note": LOADS, "load_sentences": sentences}


def _time(comparison: Comparison, drawn: Mapping[str, Chart]) -> Markup | None:
    """Series over time, what links did, and packets; nothing where none of them was recorded."""
    chosen = [drawn[name] for name in TIME_CHARTS if name in drawn]
    events = link_events.section(comparison) if link_events.has_events(comparison) else ""
    traced = packets.section(comparison) if packets.has_trace(comparison) else ""
    if not (chosen or events or traced):
        return None
    return render("time.html.j2", **_choices(chosen), events=events, packets=traced)


def _setup(comparison: Comparison) -> Markup:
    return render(
        "setup.html.j2",
        starts=_table(start_rows(comparison)),
        starts_note=STARTS,
        parameters=_parameters(comparison),
    )


def _overview(comparison: Comparison) -> Markup:
    """All tables, one below the other."""
    return render(
        "overview.html.j2",
        runs=_table(run_rows(comparison)),
        worst=_table(worst_rows(comparison)),
        starts=_table(start_rows(comparison)),
        starts_note=STARTS,
        **_slowness(comparison),
        **_loads(comparison),
    )


def _table(content: tuple[list[str], list[list[Cell]]]) -> Table:
    """A table whose rows a click on a heading sorts."""
    return Table.from_rows(*content, style="sorts")


def _choices(drawn: Sequence[Chart]) -> dict[str, Any]:
    """Charts of which one is shown, with the panels and the kinds of flows that one may choose."""
    kinds = dict.fromkeys(kind for chart in drawn for kind in chart.kinds)
    return {
        "charts": [{"title": chart.title, "drawn": _chart(chart)} for chart in drawn],
        "panels": list(dict.fromkeys(name for chart in drawn for name in chart.panels.captions)),
        "kinds": {kind: SCOPES[kind].removeprefix("flows ") for kind in kinds},
    }


def _claim_cards(comparison: Comparison) -> Markup:
    """The claims with their verdicts, statement by statement."""
    cards = [
        {"claim": claim, "numbers": Table.from_rows(*claim_rows(claim), style="numbers"), "remark": remark(claim)}
        for claim in comparison.claims
    ]
    return render("claims.html.j2", cards=cards, holds=_HOLDS)


def _parameters(comparison: Comparison) -> Markup:
    """Every key of the first run, and of each other run those that it has otherwise."""
    first, *others = comparison.runs or (None,)
    if first is None:
        return Markup("")
    base = dict(_flat(first.scenario))
    rows: list[list[AnyCell]] = []
    for run in others:
        own = dict(_flat(run.scenario))
        changed = [key for key in dict.fromkeys([*base, *own]) if base.get(key) != own.get(key)]
        values = ", ".join(f"{key} = {_value(own.get(key))}" for key in changed) or "the same"
        rows.append([run.label, StyledCell(values, style="wrap")])
    heads = [Head("run"), Head(f"other than {first.label}", is_text=True)]
    text = json.dumps(first.scenario, indent=2, ensure_ascii=False)
    return render("parameters.html.j2", first=first.label, text=text, others=Table(heads, rows))


def _flat(tables: Mapping[str, Any], start: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys with their values; a list counts as one value."""
    for key, value in tables.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{start}{key}.")
        else:
            yield f"{start}{key}", value


def _value(value: Any) -> str:
    text = "none" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}…"
