"""Zoomable charts of a comparison, as plotly figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from farloop import completion
from farloop.curves import CURVES, MOST_CURVES, Curve, curves, is_far_apart
from farloop.palette import run_colours
from farloop.seeds import replicas
from farloop.tables import Floats
from farloop.units import BYTES, RATES, TIMES, Unit, unit_for

if TYPE_CHECKING:
    from farloop.results import Comparison

EXPLANATIONS = {
    "slowdown": "Median (solid) and 99th percentile (dashed) of the FCT slowdown by flow size, each point a tenth of the flows, and the "
    "distribution of the slowdown; finished flows only.",
    "throughput": "Payload that receivers got, averaged over each sampling interval.",
    "cwnd": "What the sender may have in flight; no curve where the algorithm sets no window.",
    "pacing": "Rate limit on the wire; no curve where the algorithm sets none.",
    "rtt": "Latest sample of the sender.",
    "max_queue": "Longest data queue in each sampling interval.",
    "paused": "How much of each sampling interval the port was told to stop sending data.",
}

UNITS: dict[str, Sequence[Unit]] = {
    "rate": RATES,
    "bytes": BYTES,
    "time": TIMES,
    "share": (Unit("fraction of time", 1.0),),
}

PANEL_HEIGHT = 190
SLOWDOWN_HEIGHT = 300
COLUMNS = 2


@dataclass(frozen=True)
class Chart:
    """One chart: what it is called, what it shows, and its figure with so many columns of panels."""

    anchor: str
    title: str
    explanation: str
    figure: go.Figure
    columns: int = 1


def charts(comparison: Comparison) -> list[Chart]:
    """The charts for which there are data: slowdown, throughput, window and rate, round-trip time, queue, pauses."""
    titles = {
        "throughput": "Throughput per flow",
        "cwnd": "Congestion window",
        "pacing": "Pacing rate",
        "rtt": "Round-trip time",
        "max_queue": "Queue of the recorded ports",
        "paused": "PFC pauses",
    }
    wanted = [_panels(comparison, CURVES[metric], title) for metric, title in titles.items()]
    if comparison.has_many_finished:
        wanted = [_slowdown(comparison), *wanted]
    return [chart for chart in wanted if chart is not None]


def _panels(comparison: Comparison, curve: Curve, title: str) -> Chart | None:
    cases = replicas(comparison.runs)
    drawn, note = curves(cases, curve)
    found = [(of, lines) for of, lines in zip(cases, drawn, strict=True) if lines]
    if not found:
        return None
    columns = min(COLUMNS, len(found))
    rows = -(-len(found) // columns)
    height = PANEL_HEIGHT * rows + 40 * (rows - 1) + 116
    figure = make_subplots(
        rows=rows,
        cols=columns,
        # What is compared has one scale.
        shared_xaxes="all",
        shared_yaxes="all",
        subplot_titles=[escape(of.told) for of, _ in found],
        vertical_spacing=min(0.5, 75 / height) if rows > 1 else 0.0,
        horizontal_spacing=0.06,
    )
    across = unit_for((x.times[-1] for lines in drawn for x in lines if x.times.size), TIMES)
    up = unit_for((float(np.nanmax(x.values)) for lines in drawn for x in lines), UNITS[curve.quantity])
    logarithmic = curve.far_apart and is_far_apart(drawn)
    named: set[str] = set()
    for i, (_, lines) in enumerate(found):
        for name, colour, times, values, band in lines:
            shown = values / up.factor
            if band:
                figure.add_trace(
                    _band(times / across.factor, band, up.factor, colour, name),
                    row=i // columns + 1,
                    col=i % columns + 1,
                )
            figure.add_trace(
                go.Scatter(
                    x=times / across.factor,
                    y=np.where(shown > 0, shown, np.nan) if logarithmic else shown,
                    name=escape(name),
                    legendgroup=name,
                    showlegend=name not in named,
                    mode="lines",
                    line={"color": colour, "width": 1.4},
                    hovertemplate=f"%{{x:.5g}} {across.name}: %{{y:.4g}} {up.name}",
                ),
                row=i // columns + 1,
                col=i % columns + 1,
            )
            named.add(name)
    _style(figure, height)
    figure.update_layout(hovermode="x unified")
    figure.update_yaxes(**({"type": "log", "dtick": 1} if logarithmic else {"rangemode": "tozero"}))
    figure.update_xaxes(title_text=f"time ({across.name})", row=rows)
    figure.update_yaxes(title_text=up.name, col=1)
    explanation = EXPLANATIONS[curve.metric] + _left_out(comparison, curve.kind)
    if note:
        explanation += f" Drawn: {note}."
    if logarithmic:
        explanation += " The axis is logarithmic: the curves differ by orders of magnitude."
    return Chart(curve.metric, title, explanation, figure, columns)


def _band(times: Floats, band: tuple[Floats, Floats], factor: float, colour: str, name: str) -> go.Scatter:
    """A confidence band as one closed line, there along its lower and back along its upper edge."""
    low, high = band
    return go.Scatter(
        x=np.concatenate([times, times[::-1]]),
        y=np.concatenate([low, high[::-1]]) / factor,
        fill="toself",
        fillcolor=colour,
        opacity=0.2,
        mode="none",
        legendgroup=name,
        showlegend=False,
        hoverinfo="skip",
    )


def _left_out(comparison: Comparison, kind: str) -> str:
    recorded = max(len(run.samples.objects(kind)) for run in comparison.runs)
    if recorded <= MOST_CURVES:
        return ""
    return f" Of {recorded} recorded, the {MOST_CURVES} that reach the highest values; all are in series.parquet."


def _slowdown(comparison: Comparison) -> Chart:
    kinds = [k for k in completion.KINDS if any(run.summary["slowdown"][k] for run in comparison.runs)]
    titles = [f"{kind}-datacenter flows: {what}" for kind in kinds for what in ("by size", "distribution")]
    # Both kinds of flows on one scale.
    figure = make_subplots(
        rows=len(kinds),
        cols=2,
        subplot_titles=titles,
        shared_xaxes="columns",
        shared_yaxes="columns",
        horizontal_spacing=0.08,
        vertical_spacing=0.18 if len(kinds) > 1 else 0.0,
    )
    found = replicas(comparison.runs)
    colours = run_colours([of.label for of in found])
    for i, kind in enumerate(kinds):
        for of in found:
            tables = [run.flows for run in of.runs]
            sizes, (median, tail), halves = completion.over_sizes(tables, kind, [50, 99])
            values, share = completion.cumulative(tables, kind, completion.CURVE_POINTS)
            colour = colours[of.label]
            for middle, half in zip((median, tail), halves, strict=True):
                if of.n > 1:
                    known = ~np.isnan(half)
                    band = (np.maximum(middle - half, 1.0)[known], (middle + half)[known])
                    figure.add_trace(_band(sizes[known], band, 1.0, colour, of.label), row=i + 1, col=1)
            drawn = [
                (1, sizes, median, {"color": colour}, "%{x:.3s}B: p50 %{y:.4g}"),
                (1, sizes, tail, {"color": colour, "dash": "dash"}, "%{x:.3s}B: p99 %{y:.4g}"),
                (2, values, share, {"color": colour, "shape": "hv"}, "%{x:.4g}: %{y:.1%}"),
            ]
            for j, (column, x, y, line, hover) in enumerate(drawn):
                named = {"name": escape(of.told), "legendgroup": of.label, "showlegend": i == j == 0}
                trace = go.Scatter(x=x, y=y, mode="lines", line={"width": 1.4, **line}, hovertemplate=hover, **named)
                figure.add_trace(trace, row=i + 1, col=column)
        figure.update_xaxes(type="log", title_text="flow size (bytes)", row=i + 1, col=1)
        figure.update_yaxes(type="log", title_text="FCT slowdown", row=i + 1, col=1)
        figure.update_xaxes(type="log", title_text="FCT slowdown", row=i + 1, col=2)
        figure.update_yaxes(range=[0, 1.02], title_text="share of flows", row=i + 1, col=2)
    _style(figure, SLOWDOWN_HEIGHT * len(kinds) + 116)
    told = f" {completion.SEEDS_TOLD.capitalize()}." if any(of.n > 1 for of in found) else ""
    return Chart("slowdown", "FCT slowdown", EXPLANATIONS["slowdown"] + told, figure, COLUMNS)


def _style(figure: go.Figure, height: int) -> None:
    """What all charts share; readable on light and on dark paper."""
    grey = "#808a94"
    figure.update_layout(
        height=height,
        # Above the headings of the panels there must be room for the tool bar.
        margin={"l": 55, "r": 15, "t": 66, "b": 75},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": grey, "size": 12},
        legend={"orientation": "h", "yref": "container", "y": 0.0, "yanchor": "bottom", "x": 0.5, "xanchor": "center"},
        hoverlabel={"bgcolor": "#22272c", "font": {"color": "#f2f4f5"}},
    )
    line = "rgba(128,138,148,0.22)"
    figure.update_xaxes(gridcolor=line, zerolinecolor=line, showticklabels=True)
    figure.update_yaxes(gridcolor=line, zerolinecolor=line)
