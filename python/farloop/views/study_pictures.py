"""Pictures of a study (PNG): small multiples of each metric with confidence bands, and the Pareto front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from farloop.output.manifest import slug
from farloop.palette import run_colours
from farloop.results.tables import Floats
from farloop.studies.sweep.multiples import Axis, Multiples, Stroke, label, multiples, pareto_front, scale_axis
from farloop.views.figures.panels import LABEL_SIZE, TICK_SIZE, caption, grid, legend_below
from farloop.views.figures.text import escape_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PARETO = "pareto"
HEIGHT = 4.6
"""Inches of the picture of a front, with the names of its points."""

MAX_NAMED = 8
"""Points of a front that have their names beside them."""


def draw(content: Mapping[str, Any], points: pa.Table, into: Path) -> list[Path]:
    """Writes the pictures of a study into a directory; returns their paths."""
    from farloop.views.figures.draw import write_png

    figures: dict[str, Figure] = {}
    for metric in content["collect"]:
        layout = multiples(points, content["keys"], metric["name"])
        if layout is not None:
            figures[slug(metric["name"])] = small_multiples(layout, str(content["title"]))
    if len(content["pareto"]) == 2:
        figures[PARETO] = pareto(content, points)
    paths = []
    for name, figure in figures.items():
        paths.append(into / f"{name}.png")
        write_png(figure, paths[-1])
    return paths


def small_multiples(layout: Multiples, title: str) -> Figure:
    """The panels of one metric: lines over a key, each with the band of its 95 % confidence interval."""
    figure, axes = grid(len(layout.panels), title, shared=not layout.is_scatter)
    colours = run_colours(layout.lines)
    for axis, across, (heading, lines) in zip(axes, layout.across, layout.panels.items(), strict=True):
        for line in lines:
            look: dict[str, Any] = {"color": colours[line.name], "label": escape_text(line.name) if line.name else None}
            bars = {"elinewidth": 0.9, "capsize": 2, "color": look["color"]}
            if layout.is_scatter or across.words:
                # Where an end is NaN there is no bar.
                axis.errorbar(line.x, line.y, yerr=line.reach, fmt="o", markersize=3.5, **bars, label=look["label"])
                continue
            axis.plot(line.x, line.y, marker="o", markersize=3, linewidth=1.1, **look)
            low = _positive_lows(line) if layout.up.is_log else line.low
            for part in line.bands():
                axis.fill_between(
                    line.x[part], low[part], line.high[part], color=look["color"], alpha=0.18, linewidth=0
                )
            if alone := line.list_isolated():
                axis.errorbar(line.x[alone], line.y[alone], yerr=line.reach[:, alone], fmt="none", **bars)
        _label_axis(axis, across)
        if layout.up.is_log:
            _logarithmic(axis.yaxis, axis.set_yscale)
        if heading and not layout.is_scatter:
            caption(axis, heading)
    columns = axes[0].get_subplotspec().get_gridspec().ncols  # type: ignore[union-attr]
    for i, axis in enumerate(axes):
        axis.tick_params(which="both", labelsize=TICK_SIZE)
        if i % columns == 0 or layout.is_scatter:
            axis.set_ylabel(escape_text(layout.up.title), fontsize=LABEL_SIZE)
        if i + columns >= len(axes) or layout.is_scatter:
            axis.set_xlabel(escape_text(layout.across[i].title), fontsize=LABEL_SIZE)
            axis.tick_params(labelbottom=True)
        if not layout.up.is_log and all((line.y >= 0).all() for lines in layout.panels.values() for line in lines):
            axis.set_ylim(bottom=0)
    legend_below(figure, axes)
    return figure


def _positive_lows(line: Stroke) -> Floats:
    """The lower ends on a logarithmic axis, which has no zero."""
    return np.maximum(line.low, line.y / 100)


def pareto(content: Mapping[str, Any], points: pa.Table) -> Figure:
    """All points in two metrics, and the front of those that no other one beats in both."""
    first, second = content["pareto"]
    better = {metric["name"]: metric["better"] for metric in content["collect"]}
    figure, (axis,) = grid(1, f"{content['title']}: what no other point beats in both")
    front = pareto_front(points, (first, better[first]), (second, better[second]))
    rows = [row for row in points.to_pylist() if row[first] is not None and row[second] is not None]
    algorithms = list(dict.fromkeys(str(row["algorithm"]) for row in rows))
    colours = run_colours(algorithms)
    (across, by), (up, high) = (scale_axis(points, rows, name) for name in (first, second))

    def places(of: Sequence[Mapping[str, Any]]) -> tuple[list[float], list[float]]:
        return [row[first] / by for row in of], [row[second] / high for row in of]

    for name in algorithms:
        own = places([row for row in rows if str(row["algorithm"]) == name])
        axis.plot(*own, "o", markersize=4, color=colours[name], label=escape_text(name))
    axis.plot(
        *places(front), "-o", color="0.25", linewidth=0.9, markersize=7, markerfacecolor="none", label="Pareto front"
    )
    for i, row in enumerate(front[:MAX_NAMED], 1):
        axis.annotate(
            str(i), (row[first] / by, row[second] / high), (5, 5), textcoords="offset points", fontsize=LABEL_SIZE
        )
        axis.plot([], [], " ", label=escape_text(f"{i}: {label(points, row, content['keys'])}"))
    for name, side, line, set_scale in (
        (first, across, axis.xaxis, axis.set_xscale),
        (second, up, axis.yaxis, axis.set_yscale),
    ):
        line.set_label_text(escape_text(f"{side.title}, {better[name]} is better", 44), fontsize=LABEL_SIZE)
        if side.is_log:
            _logarithmic(line, set_scale)
    figure.set_figheight(HEIGHT)
    axis.tick_params(which="both", labelsize=TICK_SIZE)
    legend_below(figure, [axis])
    return figure


def _logarithmic(axis: Any, set_scale: Any) -> None:
    """A logarithmic axis whose ticks are numbers that are read at a glance."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    set_scale("log")
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.4g}"))
    axis.set_minor_formatter(NullFormatter())


def _label_axis(axis: Axes, across: Axis) -> None:
    if across.words:
        axis.set_xticks(range(len(across.words)), [escape_text(word, 14) for word in across.words])
        axis.set_xlim(-0.5, len(across.words) - 0.5)
        return
    if across.is_log:
        _logarithmic(axis.xaxis, axis.set_xscale)
    if across.values:
        axis.set_xticks(across.values, [f"{value:.4g}" for value in across.values])
        axis.minorticks_off()
