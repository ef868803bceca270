"""The page of a study: one HTML file that needs nothing else, with charts that zoom, the best and the worst, and what is not done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from markupsafe import Markup

from farloop.errors import FarloopError
from farloop.output import manifest
from farloop.palette import run_colours
from farloop.results import starts, tables
from farloop.results.metric_titles import metric_title
from farloop.results.seeds import seed_suffix
from farloop.results.size_classes import parse
from farloop.results.tables import Floats
from farloop.statistics import Interval
from farloop.studies.sweep.dataset import DONE, POINTS, RUNS
from farloop.studies.sweep.multiples import (
    Multiples,
    label,
    metric_text,
    multiples,
    pareto_front,
    standings,
    unit_of,
    value_text,
)
from farloop.studies.sweep.study_headline import headline_study
from farloop.units import count_text
from farloop.views.html import render, sections_page
from farloop.views.report import plots
from farloop.views.report.plots import Panels
from farloop.views.report.start_tables import STARTS
from farloop.views.report.verdict import EffectChart, head
from farloop.views.tabular import AnyCell, Cell, Head, StyledCell, Table

COLUMNS = 3

_HOW = (
    "Over the seeds of each point: of flows and samples the statistic of all seeds together, of other numbers the mean over seeds; with "
    "95 % confidence intervals by Student's t, every seed being an independent replication. A percentile without an interval, or a line "
    "without a band, has too few flows beyond it to bound it: more seeds, or longer runs, do. Parameters, metrics and directory of every "
    "run are in runs.parquet, the points in points.parquet."
)


def page(content: Mapping[str, Any], runs: pa.Table, points: pa.Table, notes: list[str]) -> str:
    """A complete HTML document that loads nothing from anywhere.

    Args:
        content: The study's manifest.
        runs: Its runs.
        points: Its points.
        notes: Notes on what could not be drawn.
    """
    unmet = content.get("unmet", [])  # Studies of older versions do not say.
    charts = [(metric, multiples(points, content["keys"], metric["name"])) for metric in content["collect"]]
    drawn = [(metric, layout) for metric, layout in charts if layout is not None]
    failed = [row for row in runs.to_pylist() if row["status"] != DONE]
    parts: list[tuple[str, str, Markup]] = [
        *([("metrics", "How do the numbers depend on the settings?", _metrics(drawn))] if drawn else []),
        ("extremes", "Which points are the best and the worst?", _extremes(content, runs, points)),
    ]
    if len(content["pareto"]) == 2:
        parts.append(("pareto", "Which points does no other one beat?", _pareto(content, points)))
    parts += [("precision", "What is less certain than you asked for?", _unmet(unmet))] if unmet else []
    parts += [("failures", "What is not done?", _failures(content, runs, failed))] if failed else []
    parts += [("starts", "How did flows begin?", _starts(content["starts"]))] if content.get("starts") else []
    parts.append(("points", "What are the numbers of all points?", _points(content, points)))
    parts.append(("overview", "How was it set up?", _overview(content, runs, points)))
    answer = headline_study(content["collect"], runs, points, content["keys"])
    scopes = {effect.scope: effect.scope or "all points" for effect in answer.effects}
    labels = list(dict.fromkeys(label for effect in answer.effects for label in effect.values))
    note = "The best on top. Lines: 95 % confidence intervals over the seeds."
    cautions = [caution["text"] for caution in content.get("cautions", [])]
    count = count_text(len(set(runs["point"].to_pylist())), "point")
    return sections_page(
        f"farloop: {content['title']}",
        str(content["title"]),
        head(answer, EffectChart(labels, scopes, ("number", "at"), note), cautions),
        parts,
        remarks=notes,
        subtitle=f"{count_text(runs.num_rows, 'run')} of {count}, farloop {content['farloop']}",
        scripts=plots.scripts(has_charts=bool(drawn) or len(content["pareto"]) == 2),
    )


def write(content: Mapping[str, Any], runs: pa.Table, points: pa.Table, into: Path) -> list[str]:
    """Writes pictures and report of a study; notes on what could not be drawn."""
    from farloop.output.report_files import attempt
    from farloop.views import study_pictures

    notes: list[str] = []
    pictures = into / manifest.FIGURES
    pictures.mkdir(exist_ok=True)
    attempt("the pictures could not be drawn", lambda: study_pictures.draw(content, points, pictures), notes)
    made: list[str] = []
    attempt("the report could not be drawn", lambda: made.append(page(content, runs, points, notes)), notes)
    if made:
        (into / manifest.REPORT).write_text(made[0], encoding="utf-8", errors="replace")
    return notes


def rewrite(source: Path, kept: Mapping[str, Any], aside: Path) -> None:
    """Draws a study on disk anew, from its tables, into a directory of `rewriting`.

    Raises:
        FarloopError: something could not be drawn.
    """
    runs, points = (tables.read_any(source / f"{name}.parquet") for name in (RUNS, POINTS))
    notes = write(kept, runs, points, aside)
    if notes:
        raise FarloopError(f"{source}: {'; '.join(notes)}; the old report stays")


def _overview(content: Mapping[str, Any], runs: pa.Table, points: pa.Table) -> Markup:
    rows: list[list[Cell]] = [["base scenario", str(content["base"]["file"])]]
    for key in content["keys"]:
        unit = unit_of(runs, key)
        values = list(dict.fromkeys(value_text(value, unit) for value in runs[key].to_pylist()))
        shown = ", ".join(values[:8]) + (f" and {len(values) - 8} more" if len(values) > 8 else "")
        rows.append([key, shown])
    seeds = points["seeds"].to_pylist()
    if seeds:
        least, most = min(seeds), max(seeds)
        rows.append(["seeds of each point", str(least) if least == most else f"{least} to {most}"])
    if content["excluded"]:
        rows.append(["points that constraints leave out", str(content["excluded"])])
    done = sum(status == DONE for status in runs["status"].to_pylist())
    rows.append(["runs done", f"{done} of {runs.num_rows}"])
    if name := content.get("sizes"):
        rows.append(["classes of flow sizes", parse(name).note or name])
    if content["until"]:
        rows.append(["precision asked for", str(content["until"])])
    cuts = [cut for cut in runs["warmup_s"].to_pylist() if cut is not None]
    if content["warmup"] != "none" and cuts:
        cut = f"{content['warmup']}: {value_text(float(np.mean(cuts)), 's')} on average, at most {value_text(max(cuts), 's')}"
        rows.append(["warm-up cut", cut])
    return render("study_overview.html.j2", rows=rows, note=_HOW)


def _starts(rows: list[list[Cell]]) -> Markup:
    return render("study_part.html.j2", table=Table.from_rows(starts.HEADER, rows), below=STARTS)


def _unmet(unmet: Sequence[Mapping[str, Any]]) -> Markup:
    """The points that stayed less certain than requested: a table, with how many seeds they would need."""
    rows: list[list[Cell]] = [
        [
            point["label"],
            point["asked"],
            Interval(point["estimate"], point["low"], point["high"], point["seeds"]).format("{:.4g}".format),
            point["width"],
            str(point["seeds"]),
            "–" if point["needed"] is None else str(point["needed"]),
        ]
        for point in unmet
    ]
    note = (
        "The limit of seeds was reached first. How many seeds a point would need is estimated from its width, which "
        "falls with the root of their number; where it has no interval, nothing tells."
    )
    table = Table.from_rows(["point", "asked for", "found", "width", "seeds", "would need about"], rows, style="sorts")
    return render("study_part.html.j2", above=note, table=table)


def _metrics(drawn: Sequence[tuple[Mapping[str, Any], Multiples]]) -> Markup:
    """A chart of each metric, of which one is shown."""
    charts = []
    for number, (metric, layout) in enumerate(drawn):
        left = f" {layout.left_out} more panels are left out: see points.parquet." if layout.left_out else ""
        meaning = f"{metric['meaning'][:1].upper()}{metric['meaning'][1:]}.{left}"
        chart = render("study_part.html.j2", above=meaning, drawn=_panels(layout).html(f"chart-{number}"))
        charts.append({"title": metric_title(metric["name"]), "drawn": chart})
    return render("choice.html.j2", charts=charts)


def _panels(layout: Multiples) -> Panels:
    columns = min(COLUMNS, len(layout.panels))
    chart = Panels(
        ["" if layout.is_scatter else escape(heading) for heading in layout.panels],
        columns=columns,
        panel_height=240 if len(layout.panels) > 1 else 340,
        between_rows=90,
        between_columns=0.06,
        per_column=layout.is_scatter,
    )
    colours = run_colours(layout.lines)
    named: set[str] = set()
    for i, lines in enumerate(layout.panels.values()):
        joined = not (layout.is_scatter or layout.across[i].words)
        for line in lines:
            trace: dict[str, Any] = {
                "x": line.x,
                "y": line.y,
                "name": escape(line.name),
                "legendgroup": line.name,
                "showlegend": bool(line.name) and line.name not in named,
                "mode": "lines+markers" if joined else "markers",
                "line": {"color": colours[line.name]},
                "marker": {"color": colours[line.name], "size": 6},
            }
            named.add(line.name)
            low = np.maximum(line.low, line.y / 100) if layout.up.is_log else line.low
            for part in line.bands() if joined else []:
                chart.add(i, _band(line.x[part], low[part], line.high[part], colours[line.name], line.name))
            barred = list(range(line.x.size)) if not joined else line.list_isolated()
            if np.isfinite(line.reach[:, barred]).any():
                below, above = np.full((2, line.x.size), np.nan)
                below[barred], above[barred] = line.reach[:, barred]
                trace["error_y"] = {
                    "type": "data",
                    "symmetric": False,
                    "array": above,
                    "arrayminus": below,
                    "thickness": 1.2,
                }
            chart.add(i, trace)
        across = layout.across[i]
        if layout.is_scatter:
            chart.update_x({"title": {"text": escape(across.title)}}, i)
        if across.words:
            ticks = {"tickvals": list(range(len(across.words))), "ticktext": list(map(escape, across.words))}
            chart.update_x({**ticks, "range": [-0.5, len(across.words) - 0.5]}, i)
        else:
            ticks = {"tickvals": list(across.values), "ticktext": [f"{value:.4g}" for value in across.values]}
            chart.update_x(({"type": "log"} if across.is_log else {}) | (ticks if across.values else {}), i)
    if layout.up.is_log:
        chart.update_y({"type": "log"})
    else:
        chart.update_y({"rangemode": "tozero"})
    chart.label("" if layout.is_scatter else escape(layout.across[0].title), escape(layout.up.title))
    return chart


def _band(x: Floats, low: Floats, high: Floats, colour: str, name: str) -> dict[str, Any]:
    """A confidence band as one closed line, there along its upper and back along its lower edge."""
    return {
        "x": np.concatenate([x, x[::-1]]),
        "y": np.concatenate([high, low[::-1]]),
        "fill": "toself",
        "mode": "none",
        "fillcolor": f"{colour}33",
        "legendgroup": name,
        "showlegend": False,
        "hoverinfo": "skip",
    }


def _extremes(content: Mapping[str, Any], runs: pa.Table, points: pa.Table) -> Markup:
    parts = []
    for metric in content["collect"]:
        if not metric["better"]:
            continue
        shown, note = standings(runs, points, metric["name"], metric["better"])
        rows: list[list[Cell]] = [
            [
                place,
                label(points, row, content["keys"]),
                metric_text(row, metric["name"], metric["unit"]),
                str(row["seeds"]),
            ]
            for place, row in shown
        ]
        if rows:
            title = metric_title(metric["name"])
            heads = [Head("place", is_text=True), Head("point", is_text=True), Head(title), Head("seeds")]
            better = f"{metric['better'].capitalize()} is better. {note}"
            drawn = render("study_part.html.j2", above=better, table=Table(heads, rows, style="sorts"))
            parts.append({"title": title, "drawn": drawn})
    if not parts:
        return render("study_part.html.j2", above="No metric of which less or more is better.")
    return render("choice.html.j2", charts=parts)


def _pareto(content: Mapping[str, Any], points: pa.Table) -> Markup:
    metrics = {metric["name"]: metric for metric in content["collect"]}
    first, second = (metrics[name] for name in content["pareto"])
    front = pareto_front(points, (first["name"], first["better"]), (second["name"], second["better"]))
    colours = run_colours(list(dict.fromkeys(str(name) for name in points["algorithm"].to_pylist())))
    chart = Panels([""], columns=1, panel_height=340, between_rows=0, between_columns=0)
    for algorithm, colour in colours.items():
        own = [row for row in points.to_pylist() if str(row["algorithm"]) == algorithm]
        own = [row for row in own if row[first["name"]] is not None and row[second["name"]] is not None]
        chart.add(
            0,
            {
                "x": np.array([row[first["name"]] for row in own], dtype=float),
                "y": np.array([row[second["name"]] for row in own], dtype=float),
                "text": [escape(label(points, row, content["keys"])) for row in own],
                "mode": "markers",
                "name": escape(algorithm),
                "marker": {"color": colour, "size": 8},
            },
        )
    line = {"color": plots.GREY, "width": 1}
    chart.add(
        0,
        {
            "x": np.array([row[first["name"]] for row in front], dtype=float),
            "y": np.array([row[second["name"]] for row in front], dtype=float),
            "mode": "lines",
            "name": "Pareto front",
            "line": line,
            "hoverinfo": "skip",
        },
    )
    chart.label(*(escape(_axis_title(metric)) for metric in (first, second)))
    rows: list[list[Cell]] = [
        [
            label(points, row, content["keys"]),
            *(metric_text(row, metric["name"], metric["unit"]) for metric in (first, second)),
        ]
        for row in front
    ]
    table = Table.from_rows(["point", *(metric_title(m["name"]) for m in (first, second))], rows, style="sorts")
    note = "The points that no other one beats in both metrics."
    return render("study_part.html.j2", above=note, drawn=chart.html("chart-pareto"), table=table)


def _axis_title(metric: Mapping[str, Any]) -> str:
    unit = f" ({metric['unit']})" if metric["unit"] not in ("", "1") else ""
    return f"{metric_title(metric['name'])}{unit}, {metric['better']} is better"


def _failures(content: Mapping[str, Any], runs: pa.Table, failed: list[dict[str, Any]]) -> Markup:
    keys = [key for key in content["keys"] if key in runs.column_names]
    rows: list[list[AnyCell]] = []
    for row in failed:
        name = label(runs, row, keys) + ("" if row["seed"] is None else seed_suffix(row["seed"]))
        because = StyledCell(str(row["because"]), style="wrap")
        rows.append([str(row["run"]), StyledCell(name, style="text"), StyledCell(row["status"], style="text"), because])
    heads = [Head("run"), *(Head(text, is_text=True) for text in ("point", "status", "cause"))]
    return render("study_failures.html.j2", table=Table(heads, rows))


def _points(content: Mapping[str, Any], points: pa.Table) -> Markup:
    titles = [metric_title(metric["name"]) for metric in content["collect"]]
    rows: list[list[Cell]] = [
        [
            label(points, row, content["keys"]),
            str(row["seeds"]),
            *(metric_text(row, m["name"], m["unit"]) for m in content["collect"]),
        ]
        for row in points.to_pylist()
    ]
    table = Table([Head("point", is_text=True), Head("seeds"), *map(Head, titles)], rows, style="sorts")
    return render("study_points.html.j2", count=count_text(len(rows), "point"), table=table)
