"""The report's HTML: charts, tables, claims, parameters; script and style inside the file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from farloop import _native
from farloop.judging.claims import remark
from farloop.results import offered, paired
from farloop.results.network_map import map_of
from farloop.results.summary import MAX_FLOWS_LISTED
from farloop.views.html import document, render
from farloop.views.report import circuits, link_events, network_map, packets, pfc, plots
from farloop.views.report.charts import Chart, charts
from farloop.views.report.start_tables import LOADS, STARTS
from farloop.views.report.tables import (
    POOLED_CAPTION,
    claim_rows,
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
from farloop.views.tabular import Table

if TYPE_CHECKING:
    from markupsafe import Markup

    from farloop.results.run import Comparison

Section = tuple[str, str, str]
"""A part of the page: its anchor, its name in the navigation, and its HTML with a heading that has the anchor."""

SLOWDOWN_NOTE = (
    "FCT slowdown: the time until a flow's last byte arrived over that of the same flow alone in the empty network. Where flows are "
    "unfinished, one row says the finished ones only, and one counts the others by their age, which bounds every number "
    "from below."
)

_HOLDS = {True: ("reproduced", "holds"), False: ("differs", "does not hold"), None: ("partial", "not decided")}
"""Style and words for a statement."""


def page(comparison: Comparison, *more: Section) -> str:
    """A complete HTML document that loads nothing from anywhere; `more` are sections that stand below the overview."""
    title = comparison.title or "farloop"
    parts: list[Section] = [
        ("overview", "Overview", _section("overview", "Overview", _overview(comparison))),
        *more,
        *([("claims", "Claims", _section("claims", "Claims", _claim_cards(comparison)))] if comparison.claims else []),
        *((chart.anchor, chart.title, _chart(chart)) for chart in charts(comparison)),
        *([("pfc", "PFC", pfc.section(comparison))] if pfc.has_pauses(comparison) else []),
        *([("events", "Links", link_events.section(comparison))] if link_events.has_events(comparison) else []),
        ("parameters", "Parameters", _parameters(comparison)),
    ]
    # Where there are many switches, where it happened is the first question; otherwise everybody knows.
    opens = any(map_of(run.ports).is_fabric for run in comparison.runs[:1])
    parts.insert(0 if opens else -1, ("network", "Network", network_map.section(comparison)))
    if packets.has_trace(comparison):
        at = next(i for i, (anchor, _, _) in enumerate(parts) if anchor == "network")
        parts.insert(at + 1, ("packets", "Packets", packets.section(comparison)))
    # Of circuits the schedule explains everything else.
    if circuits.has_circuits(comparison):
        parts.insert(0, ("circuits", "Circuits", circuits.section(comparison)))
    content = render(
        "report.html.j2",
        title=title,
        subtitle=_subtitle(comparison),
        warnings=[*comparison.deadlocks, *comparison.cautions],
        remarks=comparison.notes,
        sections=parts,
    )
    return document(title, content, script=plots.script())


def fragment(comparison: Comparison) -> str:
    """Tables for a notebook's output cell; the charts are in the saved report."""
    return str(
        render(
            "fragment.html.j2",
            title=comparison.title,
            warnings=[*comparison.deadlocks, *comparison.cautions],
            overview=_overview(comparison),
            claims=_claim_cards(comparison),
        )
    )


def _subtitle(comparison: Comparison) -> str:
    hops = sum(int(r.info["totals"]["packet_hops"]) for r in comparison.runs)
    wall = sum(float(r.info["wall_s"]) for r in comparison.runs)
    count = "one simulation" if len(comparison.runs) == 1 else f"{len(comparison.runs)} simulations"
    scale = f" ({comparison.scale} scale)" if comparison.figure and comparison.scale != "custom" else ""
    return f"{count}{scale}, {hops / 1e6:,.1f} million packet-hops in {wall:,.1f} s of computing, farloop {_native.version()}"


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


def _overview(comparison: Comparison) -> Markup:
    most_flows = max((run.flows.num_rows for run in comparison.runs), default=0)
    pairs = Table.of(*paired_rows(comparison))
    return render(
        "overview.html.j2",
        runs=Table.of(*run_rows(comparison)),
        worst=Table.of(*worst_rows(comparison)),
        jobs=Table.of(*job_rows(comparison)),
        slowdowns=Table.of(*slowdown_rows(comparison)),
        slowdown_note=SLOWDOWN_NOTE + (f" {POOLED_CAPTION}" if len(comparison.seeds) > 1 else ""),
        sizes=Table.of(*size_rows(comparison)),
        size_note=size_note(comparison),
        paired=pairs,
        paired_note=paired.CAPTION + (" The intervals of a column hold together." if len(pairs.rows) > 1 else ""),
        starts=Table.of(*start_rows(comparison)),
        starts_note=STARTS,
        loads=Table.of(*load_rows(comparison)),
        loads_note=LOADS,
        load_sentences=dict.fromkeys(s for run in comparison.runs for s in offered.sentences(run.numbers["network"])),
        flows=Table.of(*flow_rows(comparison)),
        many=most_flows if most_flows > MAX_FLOWS_LISTED else 0,
        listed=MAX_FLOWS_LISTED,
    )


def _claim_cards(comparison: Comparison) -> Markup:
    """The claims with their verdicts, statement by statement."""
    cards = [
        {"claim": claim, "numbers": Table.of(*claim_rows(claim), style="numbers"), "remark": remark(claim)}
        for claim in comparison.claims
    ]
    return render("claims.html.j2", cards=cards, holds=_HOLDS)


def _parameters(comparison: Comparison) -> Markup:
    runs = [(run.label, json.dumps(run.scenario, indent=2, ensure_ascii=False)) for run in comparison.runs]
    return render("parameters.html.j2", runs=runs)
