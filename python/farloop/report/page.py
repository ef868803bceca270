"""The report's HTML: charts, tables, claims, parameters; script and style inside the file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from farloop import _native
from farloop.judging.claims import remark
from farloop.report import circuits, link_events, network_map, packets, plots
from farloop.report.charts import Chart, charts
from farloop.report.pfc import alert, has_pauses, section
from farloop.report.start_tables import loads, starts
from farloop.report.tables import (
    POOLED_CAPTION,
    Cell,
    claim_rows,
    flow_rows,
    job_rows,
    paired_rows,
    run_rows,
    slowdown_rows,
    worst_rows,
)
from farloop.results import paired
from farloop.results.network_map import map_of
from farloop.results.summary import MAX_FLOWS_LISTED

if TYPE_CHECKING:
    from farloop.results.run import Comparison

Section = tuple[str, str, str]
"""A part of the page: its anchor, its name in the navigation, and its HTML with a heading that has the anchor."""


def page(comparison: Comparison, *more: Section) -> str:
    """A complete HTML document that loads nothing from anywhere; `more` are sections that stand below the overview."""
    title = comparison.title or "farloop"
    parts = [
        ("overview", "Overview", '<h2 id="overview">Overview</h2>' + _overview(comparison)),
        *more,
        *([("claims", "Claims", '<h2 id="claims">Claims</h2>' + claim_cards(comparison))] if comparison.claims else []),
        *((chart.anchor, chart.title, _chart(chart)) for chart in charts(comparison)),
        *([("pfc", "PFC", section(comparison, table))] if has_pauses(comparison) else []),
        *([("events", "Links", link_events.section(comparison, table))] if link_events.has_events(comparison) else []),
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
        parts.insert(0, ("circuits", "Circuits", circuits.section(comparison, table)))
    navigation = "".join(f'<a href="#{anchor}">{escape(name)}</a>' for anchor, name, _ in parts)
    header = f"<header><h1>{escape(title)}</h1><p>{_subtitle(comparison)}</p><nav>{navigation}</nav></header>"
    content = [
        header,
        alert([*comparison.deadlocks, *comparison.cautions]),
        noted(comparison.notes),
        *(content for _, _, content in parts),
    ]
    return document(title, "\n".join(content), script=plots.script())


def document(title: str, content: str, *, script: str = "") -> str:
    """An HTML document with the reports' style around its content."""
    style = files("farloop.report").joinpath("style.css").read_text("utf-8")
    inlined = f"<script>{script}</script>" if script else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{style}</style>
{inlined}
</head>
<body>
<main>
{content}
</main>
</body>
</html>
"""


def fragment(comparison: Comparison) -> str:
    """Tables for a notebook's output cell; the charts are in the saved report."""
    claims = claim_cards(comparison) if comparison.claims else ""
    return f"<h3>{escape(comparison.title)}</h3>{alert([*comparison.deadlocks, *comparison.cautions])}{_overview(comparison)}{claims}"


def _subtitle(comparison: Comparison) -> str:
    hops = sum(int(r.info["totals"]["packet_hops"]) for r in comparison.runs)
    wall = sum(float(r.info["wall_s"]) for r in comparison.runs)
    count = "one simulation" if len(comparison.runs) == 1 else f"{len(comparison.runs)} simulations"
    scale = f" ({comparison.scale} scale)" if comparison.figure and comparison.scale != "custom" else ""
    return escape(
        f"{count}{scale}, {hops / 1e6:,.1f} million packet-hops in {wall:,.1f} s of computing, farloop {_native.version()}"
    )


def _chart(chart: Chart) -> str:
    drawn = chart.panels.html(f"chart-{chart.anchor}")
    return (
        f'<h2 id="{chart.anchor}">{escape(chart.title)}</h2><p class="soft">{escape(chart.explanation)}</p>'
        f'<div class="card">{drawn}</div>'
    )


def noted(notes: Sequence[str]) -> str:
    """What could not be judged or drawn; nothing for nothing."""
    return "".join(f'<p class="card">Note: {escape(note)}</p>' for note in notes)


def _overview(comparison: Comparison) -> str:
    parts = [
        table(*run_rows(comparison)),
        _worst(comparison),
        _jobs(comparison),
        _slowdowns(comparison),
        _paired(comparison),
    ]
    parts += [starts(comparison, table), loads(comparison, table)]
    header, rows = flow_rows(comparison)
    if rows:
        counts = [run.flows.num_rows for run in comparison.runs]
        title, note = "Every flow", ""
        if max(counts) > MAX_FLOWS_LISTED:
            title = f"The {MAX_FLOWS_LISTED} slowest flows of each run"
            note = (
                f'<p class="soft">Of up to {max(counts):,} flows those with the largest slowdown, in the order of the scenario; '
                "all are in flows.parquet.</p>"
            )
        parts.append(f"<details><summary>{title}</summary>{note}{table(header, rows)}</details>")
    return "".join(parts)


def _worst(comparison: Comparison) -> str:
    note = (
        "The worst of all ports of each run, and what is known of them. A percentile of the queue exists only for ports with series "
        "(record.ports); utilisation is the share of the link's rate over the whole run."
    )
    header, rows = worst_rows(comparison)
    return f'{table(header, rows)}<p class="soft">{note}</p>' if rows else ""


def _jobs(comparison: Comparison) -> str:
    header, rows = job_rows(comparison)
    note = (
        "Rounds of collective operations, from the first start of a flow to the last byte of all; iterations of training jobs, until the "
        "last rank is over."
    )
    return f'{table(header, rows)}<p class="soft">{note}</p>' if rows else ""


def _slowdowns(comparison: Comparison) -> str:
    header, rows = slowdown_rows(comparison)
    if not rows:
        return ""
    note = (
        "FCT slowdown: the time until a flow's last byte arrived over that of the same flow alone in the empty network. Where flows are "
        "unfinished, one row says the finished ones only, and one counts the others by their age, which bounds every number "
        "from below. Small: up to the median size of all flows; large: above it."
    )
    note += f" {POOLED_CAPTION}" if len(comparison.seeds) > 1 else ""
    return f'{table(header, rows)}<p class="soft">{note}</p>'


def _paired(comparison: Comparison) -> str:
    header, rows = paired_rows(comparison)
    together = " The intervals of a column hold together." if len(rows) > 1 else ""
    return f'{table(header, rows)}<p class="soft">{escape(paired.CAPTION)}{together}</p>' if rows else ""


_HOLDS = {True: ("reproduced", "holds"), False: ("differs", "does not hold"), None: ("partial", "not decided")}
"""Style and words for a statement."""


def verdict_class(verdict: str) -> str:
    """A verdict as a name in the style sheet."""
    return escape(verdict.replace(" ", "-"))


def claim_cards(comparison: Comparison) -> str:
    """The claims with their verdicts, statement by statement."""
    parts = []
    for claim in comparison.claims:
        statements = "".join(
            f'<li><span class="{_HOLDS[s["holds"]][0]}">{_HOLDS[s["holds"]][1]}</span>: '
            f'{escape(s["text"])} <span class="soft">({escape(s["evidence"])})</span>{_cause(s)}</li>'
            for s in claim["statements"]
        )
        style, verdict = verdict_class(claim["verdict"]), escape(claim.get("told", claim["verdict"]))
        text = remark(claim)
        note = f'<p class="soft">{escape(text)}</p>' if text else ""
        numbers = table(*claim_rows(claim), style="numbers") if claim["measured"] else ""
        parts.append(
            f'<div class="card"><h3>{escape(claim["id"])}: <span class="verdict {style}">{verdict}</span></h3>'
            f'<p>{escape(claim["what"])}</p><ul class="statements">{statements}</ul>{numbers}{note}</div>'
        )
    return "".join(parts)


def _cause(statement: Mapping[str, Any]) -> str:
    """Why a statement does not hold, as far as that is known, and whether its number is better or worse than the published one."""
    side = statement.get("side", "")
    parts = [f'<span class="soft">{escape(side)} than published</span>'] if side else []
    if cause := statement.get("cause"):
        parts.append(f'<span class="soft">{escape(cause["kind"])}: {escape(cause["why"])}</span>')
    return "".join(f"<br>{part}" for part in parts)


def _parameters(comparison: Comparison) -> str:
    parts = [
        '<h2 id="parameters">Parameters used</h2><p class="soft">Everything that each simulation was made from, defaults included.</p>'
    ]
    for run in comparison.runs:
        scenario = json.dumps(run.scenario, indent=2, ensure_ascii=False)
        parts.append(f"<details><summary>{escape(run.label)}</summary><pre>{escape(scenario)}</pre></details>")
    return "".join(parts)


def table(header: list[str], rows: list[list[Cell]], style: str = "") -> str:
    """An HTML table; nothing for no rows."""
    if not rows:
        return ""
    named = f' class="{style}"' if style else ""
    head = "".join(f"<th>{escape(h)}</th>" for h in header)
    body = "".join("<tr>" + "".join(f"<td>{_cell(c)}</td>" for c in row) + "</tr>" for row in rows)
    return f'<div class="card scroll"><table{named}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(cell: Any) -> str:
    return "–" if cell is None else escape(str(cell))
