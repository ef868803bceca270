"""The map of the network as a picture: a row of maps per run, one for each thing that links can be the worst by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure

from farloop.figures.text import plain
from farloop.network_map import MAP_METRICS, MapLink, MapMetric, NetworkMap, map_of
from farloop.palette import HEAT, IDLE
from farloop.tables import Floats
from farloop.units import bytes_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from farloop.results import Run

MOST_RUNS = 8
"""Rows; the report has all runs."""

CURVE_POINTS = 16
INK = "#1c2126"
NAMED = 26
"""Up to this many switches have their names beside them."""


def network_maps(runs: Sequence[Run], title: str) -> Figure:
    """Maps of the network over the whole run; all runs share a metric's scale. Metrics that are zero everywhere are left out."""
    shown = list(runs[:MOST_RUNS])
    maps = [map_of(run.ports) for run in shown]
    totals = [drawn.totals(run) for drawn, run in zip(maps, shown, strict=True)]
    metrics = [m for m in MAP_METRICS if m.key == "load" or any(t[m.key].any() for t in totals)]
    # A single run has its maps below each other, so that they are large.
    rows, columns = (len(metrics), 1) if len(shown) == 1 else (len(shown), len(metrics))
    wide = max(drawn.width for drawn in maps)
    size = (min(11.0, max(5.5, 0.3 * wide)), 3.1) if columns == 1 else (min(5.5, max(3.8, 0.16 * wide)), 2.3)
    figure = Figure(figsize=(size[0] * columns, size[1] * rows + 0.5), layout="constrained")
    left_out = f" (the first {MOST_RUNS} of {len(runs)} runs)" if len(runs) > MOST_RUNS else ""
    figure.suptitle(plain(title, 16 * size[0] * columns) + left_out, fontsize=10)
    axes = figure.subplots(rows, columns, squeeze=False)
    for j, metric in enumerate(metrics):
        most = 1.0 if metric.key == "load" else max(float(t[metric.key].max(initial=0.0)) for t in totals)
        scale = Normalize(0.0, most if most > 0 else 1.0)
        colours = LinearSegmentedColormap.from_list("heat", HEAT)
        of_metric = [axes[j][0]] if len(shown) == 1 else [axes[i][j] for i in range(rows)]
        for axis, drawn, run, values in zip(of_metric, maps, shown, totals, strict=True):
            _draw(axis, drawn, values[metric.key], scale, colours, names=columns == 1)
            axis.set_title(f"{plain(run.label)}: {metric.title}", fontsize=8)
        bar = figure.colorbar(ScalarMappable(scale, colours), ax=of_metric, fraction=0.025, pad=0.01)
        ticks = np.linspace(0, scale.vmax or 1.0, 3)
        bar.set_ticks(list(ticks), labels=[_value(t, metric) for t in ticks], fontsize=6)
    return figure


def _draw(
    axis: Axes, drawn: NetworkMap, values: Floats, scale: Normalize, colours: LinearSegmentedColormap, *, names: bool
) -> None:
    figure = axis.get_figure(root=True)
    grid = axis.get_subplotspec()
    rows, columns = grid.get_gridspec().get_geometry() if grid else (1, 1)
    width, height = figure.get_size_inches() if figure else (6.0, 3.0)
    crowded = len(drawn.edges) > 750
    inches = (width / columns, height / rows)
    lines = [lane for edge in drawn.edges for lane in _lanes(drawn, edge, inches, 1.0 if crowded else 2.6)]
    shares = np.asarray(scale(values), dtype=np.float64)
    order = np.argsort(shares, kind="stable")
    thin = 0.35 if crowded else 0.7
    axis.add_collection(
        LineCollection(
            [lines[i] for i in order],
            colors=[colours(shares[i]) if values[i] > 0 else IDLE for i in order],
            linewidths=[thin + 1.8 * shares[i] for i in order],
            capstyle="round",
        )
    )
    small = 0.35 if len(drawn.places) > 150 else 1.0
    for kind, marker, size, face in (("switch", "o", 16, "white"), ("router", "o", 22, INK), ("host", "s", 5, INK)):
        places = [p for p in drawn.places if p.kind == kind]
        x, y = [p.x for p in places], [p.y for p in places]
        line = 0.6 * small
        axis.scatter(x, y, s=size * small, marker=marker, c=face, edgecolors=INK, linewidths=line, zorder=3)
    switches = [p for p in drawn.places if p.hosts == 0]
    if names and len(switches) <= NAMED:
        for p in switches:
            axis.annotate(
                plain(p.name), (p.x, p.y), xytext=(0, 5), textcoords="offset points", ha="center", fontsize=5.5, zorder=4,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.3},
            )  # fmt: skip
    axis.set_xlim(0, drawn.width)
    axis.set_ylim(drawn.height, -0.3)
    axis.set_axis_off()


def _lanes(drawn: NetworkMap, edge: MapLink, inches: tuple[float, float], apart: float) -> list[Floats]:
    """Both directions of a link as lines beside each other, so many points apart, each to the right of its way."""
    a, b, bend = drawn.places[edge.a], drawn.places[edge.b], drawn.bend(edge)
    # A slot and a row in points: what is perpendicular and how far is seen on paper.
    unit = np.array([72 * inches[0] / drawn.width, 72 * inches[1] / drawn.height])
    start, along = np.array([a.x, a.y]), np.array([b.x - a.x, b.y - a.y])
    seen = along * unit
    aside = 0.5 * apart * np.array([-seen[1], seen[0]]) / (float(np.hypot(*seen)) or 1.0) / unit
    t = np.linspace(0.0, 1.0, CURVE_POINTS if bend else 2)[:, None]
    points = start + t * along - np.array([0.0, 4 * bend]) * t * (1 - t)
    return [points + aside, points - aside]


def _value(value: float, metric: MapMetric) -> str:
    if metric.unit == "share":
        return f"{100 * value:.3g} %"
    return bytes_text(value) if metric.unit == "bytes" else f"{value:.3g}"
