"""Zoomable charts of a comparison, as plotly figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from farloop import completion
from farloop.metrics import thinned
from farloop.palette import flow_colours, run_colours
from farloop.results import Comparison, Run
from farloop.tables import Floats

MOST_POINTS = 4000
LEAST_POINTS = 400
CHART_POINTS = 60_000
"""Points per curve and chart, which browsers draw without delay; neighbours become one (mean of rates, maximum of queues)."""

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

MOST_CURVES = 16
"""Of more recorded flows or ports than this a panel shows those that reach the highest values; more could not be told apart."""

PANEL_HEIGHT = 190
SLOWDOWN_HEIGHT = 300
COLUMNS = 2


@dataclass(frozen=True)
class Chart:
    """One chart: what it is called, what it shows, and its figure."""

    anchor: str
    title: str
    explanation: str
    figure: go.Figure


def charts(comparison: Comparison) -> list[Chart]:
    """The charts for which there are data: slowdown, throughput, window and rate, round-trip time, queue, pauses."""
    wanted = [
        _flows(comparison, "throughput", "Throughput per flow", "Gbps", 1e-9),
        _flows(comparison, "cwnd", "Congestion window", "MB", 1e-6),
        _flows(comparison, "pacing", "Pacing rate", "Gbps", 1e-9),
        _flows(comparison, "rtt", "Round-trip time", "ms", 1e3),
        _ports(comparison, "max_queue", "Queue of the recorded ports", "MB", 1e-6, np.max),
        _ports(comparison, "paused", "PFC pauses", "fraction of time", 1.0, np.mean),
    ]
    if comparison.has_many_finished:
        wanted = [_slowdown(comparison), *wanted]
    return [chart for chart in wanted if chart is not None]


def _flows(comparison: Comparison, metric: str, title: str, unit: str, scale: float) -> Chart | None:
    points = _points(comparison, "flow")

    def curves(run: Run) -> list[tuple[str, str, Floats, Floats]]:
        found = []
        for name, colour in flow_colours(run.samples.highest("flow", metric, MOST_CURVES)).items():
            times, values = run.samples.get(f"flow/{name}", metric)
            times, values = thinned(times, values, np.mean, points)
            values = np.where(np.isfinite(values), values, np.nan)
            if np.isfinite(values).any():
                found.append((name, colour, times, values * scale))
        return found

    return _panels(comparison, metric, title, unit, curves)


def _ports(
    comparison: Comparison,
    metric: str,
    title: str,
    unit: str,
    scale: float,
    how: Callable[..., Floats],
) -> Chart | None:
    points = _points(comparison, "port")

    def curves(run: Run) -> list[tuple[str, str, Floats, Floats]]:
        found = []
        for name, colour in flow_colours(run.samples.highest("port", metric, MOST_CURVES)).items():
            times, values = run.samples.get(f"port/{name}", metric)
            if metric != "paused" or values.any():
                found.append((name, colour, *thinned(times, values * scale, how, points)))
        return found

    return _panels(comparison, metric, title, unit, curves)


def _points(comparison: Comparison, kind: str) -> int:
    curves = sum(min(MOST_CURVES, len(run.samples.objects(kind))) for run in comparison.runs)
    return min(MOST_POINTS, max(LEAST_POINTS, CHART_POINTS // max(1, curves)))


def _panels(
    comparison: Comparison,
    metric: str,
    title: str,
    unit: str,
    curves: Callable[[Run], list[tuple[str, str, Floats, Floats]]],
) -> Chart | None:
    found = [(run, curves(run)) for run in comparison.runs]
    found = [(run, c) for run, c in found if c]
    if not found:
        return None
    columns = min(COLUMNS, len(found))
    rows = -(-len(found) // columns)
    height = PANEL_HEIGHT * rows + 90
    figure = make_subplots(
        rows=rows,
        cols=columns,
        shared_xaxes="all",
        shared_yaxes="all" if metric in ("throughput", "paused") else False,
        subplot_titles=[run.label for run, _ in found],
        vertical_spacing=min(0.5, 60 / height) if rows > 1 else 0.0,
        horizontal_spacing=0.06,
    )
    named: set[str] = set()
    for i, (_, panel) in enumerate(found):
        for name, colour, times, values in panel:
            figure.add_trace(
                go.Scatter(
                    x=times,
                    y=values,
                    name=name,
                    legendgroup=name,
                    showlegend=name not in named,
                    mode="lines",
                    line={"color": colour, "width": 1.4},
                    hovertemplate=f"%{{x:.4f}} s: %{{y:.4g}} {unit}",
                ),
                row=i // columns + 1,
                col=i % columns + 1,
            )
            named.add(name)
    _style(figure, height)
    figure.update_layout(hovermode="x unified")
    figure.update_yaxes(rangemode="tozero")
    figure.update_xaxes(title_text="time (s)", row=rows)
    figure.update_yaxes(title_text=unit, col=1)
    kind = "port" if metric in ("max_queue", "paused") else "flow"
    return Chart(metric, title, EXPLANATIONS[metric] + _left_out(comparison, kind), figure)


def _left_out(comparison: Comparison, kind: str) -> str:
    recorded = max(len(run.samples.objects(kind)) for run in comparison.runs)
    if recorded <= MOST_CURVES:
        return ""
    return f" Of {recorded} recorded, the {MOST_CURVES} that reach the highest values; all are in series.parquet."


def _slowdown(comparison: Comparison) -> Chart:
    kinds = [k for k in completion.KINDS if any(run.summary["slowdown"][k] for run in comparison.runs)]
    titles = [f"{kind}-datacenter flows: {what}" for kind in kinds for what in ("by size", "distribution")]
    figure = make_subplots(rows=len(kinds), cols=2, subplot_titles=titles, horizontal_spacing=0.08)
    colours = run_colours([run.label for run in comparison.runs])
    for i, kind in enumerate(kinds):
        for run in comparison.runs:
            sizes, (median, tail) = completion.by_size(run.flows, kind, [50, 99])
            values, share = completion.cumulative(run.flows, kind, LEAST_POINTS)
            colour = colours[run.label]
            curves = [
                (1, sizes, median, {"color": colour}, "%{x:.3s}B: p50 %{y:.4g}"),
                (1, sizes, tail, {"color": colour, "dash": "dash"}, "%{x:.3s}B: p99 %{y:.4g}"),
                (2, values, share, {"color": colour, "shape": "hv"}, "%{x:.4g}: %{y:.1%}"),
            ]
            for j, (column, x, y, line, hover) in enumerate(curves):
                named = {"name": run.label, "legendgroup": run.label, "showlegend": i == j == 0}
                trace = go.Scatter(x=x, y=y, mode="lines", line={"width": 1.4, **line}, hovertemplate=hover, **named)
                figure.add_trace(trace, row=i + 1, col=column)
        figure.update_xaxes(type="log", title_text="flow size (bytes)", row=i + 1, col=1)
        figure.update_yaxes(type="log", title_text="FCT slowdown", row=i + 1, col=1)
        figure.update_xaxes(type="log", title_text="FCT slowdown", row=i + 1, col=2)
        figure.update_yaxes(range=[0, 1.02], title_text="share of flows", row=i + 1, col=2)
    _style(figure, SLOWDOWN_HEIGHT * len(kinds) + 90)
    return Chart("slowdown", "FCT slowdown", EXPLANATIONS["slowdown"], figure)


def _style(figure: go.Figure, height: int) -> None:
    """What all charts share; readable on light and on dark paper."""
    grey = "#808a94"
    figure.update_layout(
        height=height,
        margin={"l": 55, "r": 15, "t": 40, "b": 75},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": grey, "size": 12},
        legend={"orientation": "h", "yref": "container", "y": 0.0, "yanchor": "bottom", "x": 0.5, "xanchor": "center"},
        hoverlabel={"bgcolor": "#22272c", "font": {"color": "#f2f4f5"}},
    )
    line = "rgba(128,138,148,0.22)"
    figure.update_xaxes(gridcolor=line, zerolinecolor=line, showticklabels=True)
    figure.update_yaxes(gridcolor=line, zerolinecolor=line)
