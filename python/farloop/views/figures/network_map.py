"""The map of the network as a picture: a row of maps per run, one for each thing that links can be the worst by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from farloop.palette import FAILED, HEAT, IDLE
from farloop.results.map_facts import OverSeeds, failures, metrics_over_seeds
from farloop.results.network_map import MAP_METRICS, MapLink, MapMetric, NetworkMap, build_map
from farloop.results.replicas import replicas
from farloop.results.tables import Floats
from farloop.units import bytes_text
from farloop.views.figures.text import escape_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from farloop.results.run import Run

MAX_RUNS = 8
"""Rows; the report has all runs."""

TITLE, LINE, CAPTION, SCALE = 0.4, 0.17, 0.3, 0.55
"""Inches above the maps for the title, for each further line of it, above a map for its caption, right of it for the scale."""

SHADES = 64
"""Of the scale."""

CURVE_POINTS = 16
INK = "#1c2126"
NAMED = 26
"""Up to this many switches have their names beside them."""


def network_maps(runs: Sequence[Run], title: str) -> Figure:
    """Maps of the network over the whole run; all runs share a metric's scale. Metrics that are zero everywhere are left out.

    The seeds of a case are one map, of their means; its caption has the least and the most of the worst link. A cross marks a link that was
    down.
    """
    cases = replicas(runs)
    shown = cases[:MAX_RUNS]
    maps = [build_map(of.runs[0].ports) for of in shown]
    totals = [metrics_over_seeds(drawn, of.runs) for drawn, of in zip(maps, shown, strict=True)]
    metrics = [m for m in MAP_METRICS if m.key == "load" or any(np.nan_to_num(t[m.key].mean).any() for t in totals)]
    # A single run has its maps below each other, so that they are large.
    rows, columns = (len(metrics), 1) if len(shown) == 1 else (len(shown), len(metrics))
    wide = max(drawn.width for drawn in maps)
    size = (min(11.0, max(5.5, 0.3 * wide)), 3.1) if columns == 1 else (min(5.5, max(3.8, 0.16 * wide)), 2.3)
    left_out = f" (the first {MAX_RUNS} of {len(cases)} runs)" if len(cases) > MAX_RUNS else ""
    heading = escape_text(title, 16 * size[0] * columns) + left_out
    above = TITLE + LINE * heading.count("\n")
    # Nothing here has a size that must be found out by drawing it: a layout engine would draw twice.
    figure = Figure(figsize=(size[0] * columns, size[1] * rows + above))
    width, height = figure.get_size_inches()
    figure.suptitle(heading, fontsize=10, y=1 - 0.08 / height)
    for j, metric in enumerate(metrics):
        most = 1.0 if metric.key == "load" else max(float(np.nanmax(t[metric.key].mean, initial=0.0)) for t in totals)
        scale = Normalize(0.0, most if most > 0 else 1.0)
        colours = LinearSegmentedColormap.from_list("heat", HEAT)
        cells = [(j, 0)] if len(shown) == 1 else [(i, j) for i in range(rows)]
        inches = (size[0] - SCALE, size[1] - CAPTION)
        for (i, k), drawn, of, values in zip(cells, maps, shown, totals, strict=True):
            left, bottom = k * size[0], (rows - 1 - i) * size[1]
            axis = figure.add_axes((left / width, bottom / height, inches[0] / width, inches[1] / height))
            _draw(axis, drawn, values[metric.key].mean, scale, colours, inches, names=columns == 1)
            _cross_out(axis, drawn, of.runs[0])
            axis.set_title(
                f"{escape_text(of.caption)}: {_caption(metric, values[metric.key], of.n)}",
                fontsize=8 if of.n == 1 else 7,
            )
        (first, k), (last, _) = cells[0], cells[-1]
        foot, top = (rows - 1 - last + 0.1) * size[1], (rows - first - 0.1) * size[1] - CAPTION
        _scale(figure, ((k + 1) * size[0] - SCALE + 0.05, foot, top - foot), scale, colours, metric)
    return figure


def _caption(metric: MapMetric, values: OverSeeds, seeds: int) -> str:
    """A map's caption; of several seeds how far they are apart on the link that is worst on average."""
    if seeds < 2 or not np.nan_to_num(values.mean).any():
        return metric.title
    worst = int(np.nanargmax(values.mean))
    low, mean, high = (_value(float(of[worst]), metric) for of in (values.low, values.mean, values.high))
    return f"{metric.title}, mean\nworst link {mean} ({low} to {high})"


def _cross_out(axis: Axes, drawn: NetworkMap, run: Run) -> None:
    """A cross on each link that was down at any time."""
    for number in failures(drawn, run):
        edge = drawn.edges[number]
        a, b = drawn.places[edge.a], drawn.places[edge.b]
        x, y = (a.x + b.x) / 2, (a.y + b.y) / 2 - drawn.bend(edge)
        axis.scatter([x], [y], s=46, marker="x", c=FAILED, linewidths=1.8, zorder=5, gid="failed")


def _scale(
    figure: Figure,
    place: tuple[float, float, float],
    scale: Normalize,
    colours: LinearSegmentedColormap,
    metric: MapMetric,
) -> None:
    """Draws the key of the colours: a bar at so many inches from the left and from below, and so high."""
    width, height = figure.get_size_inches()
    left, bottom, high = place[0] / width, place[1] / height, place[2] / height
    step = high / SHADES
    bars = [Rectangle((left, bottom + i * step), 0.09 / width, 1.02 * step) for i in range(SHADES)]
    shades = [colours((i + 0.5) / SHADES) for i in range(SHADES)]
    figure.add_artist(PatchCollection(bars, facecolors=shades, transform=figure.transFigure))
    for part in (0.0, 0.5, 1.0):
        value_text = _value(part * (scale.vmax or 1.0), metric)
        figure.text(left + 0.13 / width, bottom + part * high, value_text, fontsize=6, va="center")


def _draw(
    axis: Axes,
    drawn: NetworkMap,
    values: Floats,
    scale: Normalize,
    colours: LinearSegmentedColormap,
    inches: tuple[float, float],
    *,
    names: bool,
) -> None:
    crowded = len(drawn.edges) > 750
    lines = [lane for edge in drawn.edges for lane in _lanes(drawn, edge, inches, 1.0 if crowded else 2.6)]
    values = np.nan_to_num(values)
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
                escape_text(p.name), (p.x, p.y), xytext=(0, 5), textcoords="offset points", ha="center", fontsize=5.5, zorder=4,
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
