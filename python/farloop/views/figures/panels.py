"""Panels that the figures of several papers are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from farloop.palette import run_colours
from farloop.results import flow_completion
from farloop.results.curves import BUSIEST_PORTS, CURVES, Curve, curves
from farloop.results.event_facts import moments
from farloop.results.replicas import replicas
from farloop.units import BYTES, RATES, TIMES, Unit, unit_for
from farloop.views.figures.text import escape_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from farloop.results.run import Run

MAX_COLUMNS = 4
TITLE_SIZE, CAPTION_SIZE, LABEL_SIZE, TICK_SIZE, LEGEND_SIZE = 10.0, 8.0, 8.0, 7.0, 6.5
"""In points."""

PANEL = (3.4, 2.3)
ALONE = (6.4, 3.2)
"""Inches, of one panel of several, and of a single one."""


def grid(count: int, title: str, *, columns: int = MAX_COLUMNS, shared: bool = True) -> tuple[Figure, list[Axes]]:
    """A figure with `count` panels; with `shared` all have one scale."""
    # Judges stand beside what draws: matplotlib is loaded only where something is drawn.
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    columns = min(columns, count)
    rows = math.ceil(count / columns)
    width, height = ALONE if count == 1 else PANEL
    figure = Figure(figsize=(width * columns, height * rows + 0.5), layout="constrained")
    axes = figure.subplots(rows, columns, sharex=shared, sharey=shared, squeeze=False)
    flat: list[Axes] = list(axes.flat)
    for unused in flat[count:]:
        unused.set_visible(False)
    heading(figure, title)
    for axis in flat:
        axis.grid(visible=True, alpha=0.25, linewidth=0.5)
        axis.tick_params(labelsize=TICK_SIZE)
        axis.xaxis.set_major_locator(MaxNLocator(6 if count == 1 else 5))
        # Where names are drawn instead of numbers, each has its place and its label.
        axis.xaxis.isDefault_majloc = True
    return figure, flat[:count]


def heading(figure: Figure, title: str) -> None:
    """The title of a figure, in as many lines as its width asks for."""
    if title:
        figure.suptitle(escape_text(title, _columns(figure.get_figwidth(), TITLE_SIZE)), fontsize=TITLE_SIZE)


def caption(axis: Axes, text: str) -> None:
    """The heading of one panel, in as many lines as its width asks for."""
    columns = axis.get_subplotspec()
    count = columns.get_gridspec().ncols if columns else 1
    width = axis.get_figure(root=True).get_figwidth() / count  # type: ignore[union-attr]
    axis.set_title(escape_text(text, _columns(width, CAPTION_SIZE)), fontsize=CAPTION_SIZE)


def legend_below(figure: Figure, axes: Iterable[Axes], title: str = "") -> None:
    """One legend for all panels below them, where it hides nothing."""
    entries: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if not entries:
        return
    # A column takes its longest name and the line before it.
    wide = max(len(label) for label in entries) + 7
    columns = max(1, min(len(entries), int(_columns(figure.get_figwidth(), LEGEND_SIZE) / wide)))
    figure.legend(
        list(entries.values()), list(entries), fontsize=LEGEND_SIZE, loc="outside lower center", ncols=columns,
        title=title or None, title_fontsize=LEGEND_SIZE,
    )  # fmt: skip


def throughput_panels(
    runs: Sequence[Run],
    title: str,
    *,
    caption: Callable[[Run], str] | None = None,
    columns: int = MAX_COLUMNS,
) -> Figure:
    """One panel per run: throughput of its flows over time, with the ratio intra to cross in the heading."""
    return _panels(runs, CURVES["throughput"], title, caption or ratio_label, columns)


def queue_panels(
    runs: Sequence[Run], title: str, *, caption: Callable[[Run], str] | None = None, columns: int = MAX_COLUMNS
) -> Figure:
    """One panel per run: data queues of the busiest of its recorded ports over time, and the range of those of the others."""
    return _panels(runs, CURVES["max_queue"], title, caption or (lambda run: run.label), columns)


def has_curves(runs: Sequence[Run], metric: str) -> bool:
    """Returns true if there is anything to draw of a metric."""
    return any(lines for lines in curves(replicas(runs), CURVES[metric])[0])


def slowdown_panels(runs: Sequence[Run], title: str) -> Figure:
    """FCT slowdown by flow size (median solid, 99th percentile dashed) and its distribution; a row per kind of flow."""
    kinds = [k for k in flow_completion.KINDS if any(run.summary["slowdown"][k] for run in runs)]
    cases = replicas(runs)
    figure, axes = grid(2 * len(kinds), title, columns=2, shared=False)
    colours = run_colours([of.label for of in cases])
    for i, kind in enumerate(kinds):
        sizes_axis, share_axis = axes[2 * i], axes[2 * i + 1]
        for of in cases:
            look: dict[str, Any] = {"color": colours[of.label], "linewidth": 0.9}
            tables = [run.flows for run in of.runs]
            sizes, (median, tail), bands = flow_completion.mean_percentiles_by_size(tables, kind, [50, 99])
            sizes_axis.plot(sizes, median, marker=".", label=escape_text(of.caption), **look)
            sizes_axis.plot(sizes, tail, marker=".", linestyle="--", **look)
            for low, high in bands:
                if of.n > 1:
                    # Where an end is NaN the band has a gap.
                    sizes_axis.fill_between(sizes, low, high, color=look["color"], alpha=0.2, linewidth=0)
            values, share = flow_completion.cumulative(tables, kind, flow_completion.CURVE_POINTS)
            share_axis.step(values, share, where="post", **look)
        for axis in (sizes_axis, share_axis):
            axis.set_xscale("log")
            axis.tick_params(which="both", labelsize=TICK_SIZE)
            axis.set_title(f"{kind}-datacenter flows", fontsize=CAPTION_SIZE)
        sizes_axis.set_yscale("log")
        sizes_axis.set_xlabel("flow size (bytes)", fontsize=LABEL_SIZE)
        sizes_axis.set_ylabel("FCT slowdown: p50, p99 (dashed)", fontsize=LABEL_SIZE)
        share_axis.set_xlabel("FCT slowdown", fontsize=LABEL_SIZE)
        share_axis.set_ylabel("share of finished flows", fontsize=LABEL_SIZE)
        share_axis.set_ylim(0, 1.02)
    # What is compared has one scale: the same quantity of both kinds of flows.
    for column in (axes[::2], axes[1::2]):
        for axis in column[1:]:
            axis.sharex(column[0])
            axis.sharey(column[0])
        column[0].autoscale()
    legend_below(figure, axes, flow_completion.SEEDS_CAPTION if any(of.n > 1 for of in cases) else "")
    return figure


def ratio_label(run: Run) -> str:
    """A run's label and its ratio of intra- to cross-datacenter throughput."""
    ratio = run.summary["ratio"]
    return run.label if ratio is None else f"{run.label} (intra/cross {ratio:.2f})"


def _panels(runs: Sequence[Run], curve: Curve, title: str, caption_of: Callable[[Run], str], columns: int) -> Figure:
    cases = replicas(runs)
    drawn, note = curves(cases, curve, busiest=BUSIEST_PORTS)
    # A panel without a curve says nothing; where there is no curve at all the picture says so.
    kept = [(of, lines) for of, lines in zip(cases, drawn, strict=True) if lines] or [(of, []) for of in cases[:1]]
    shown, drawn = [of for of, _ in kept], [lines for _, lines in kept]
    figure, axes = grid(len(shown), title, columns=columns)
    across = unit_for((x.times[-1] for lines in drawn for x in lines if x.times.size), TIMES)
    up = unit_for((float(np.nanmax(x.values, initial=0.0)) for lines in drawn for x in lines), UNITS[curve.quantity])
    for axis, of, lines in zip(axes, shown, drawn, strict=True):
        for line in lines:
            times = line.times / across.factor
            look: dict[str, Any] = {"color": line.colour, "linewidth": 0.9, "linestyle": LINESTYLES[line.look.dash]}
            marker = "." if line.is_dots else ""
            axis.plot(times, line.values / up.factor, label=escape_text(line.name), marker=marker, **look)
            if line.band:
                low, high = line.band
                axis.fill_between(times, low / up.factor, high / up.factor, color=line.colour, alpha=0.2, linewidth=0)
        if not lines:
            axis.text(0.5, 0.5, "nothing recorded", transform=axis.transAxes, ha="center", color="0.5")
        for moment in moments(of.runs[0].info):
            axis.axvline(moment / across.factor, color="0.5", linewidth=0.7, linestyle=":", zorder=0)
        caption(axis, caption_of(of.runs[0]) if of.n == 1 else of.caption)
    _label(axes, columns, f"time ({across.name})", f"{curve.title} ({up.name})")
    legend_below(figure, axes, note)
    return figure


LINESTYLES = {"solid": "-", "dash": "--", "dot": ":"}
"""The dashes of `farloop.palette` as matplotlib calls them."""

UNITS: dict[str, Sequence[Unit]] = {"rate": RATES, "bytes": BYTES, "time": TIMES}


def _columns(width: float, size: float) -> float:
    """Characters that fit into so many inches; half of the font's size is more than a character's mean width."""
    return 0.95 * width * 72 / (0.58 * size)


def _label(axes: Sequence[Axes], columns: int, x: str, y: str) -> None:
    for i, axis in enumerate(axes):
        # Only now: a limit set before the last panel is drawn would cut that one off where scales are shared.
        axis.set_ylim(bottom=0)
        if i % columns == 0:
            axis.set_ylabel(y, fontsize=LABEL_SIZE)
        if i + columns >= len(axes):
            axis.set_xlabel(x, fontsize=LABEL_SIZE)
            axis.tick_params(labelbottom=True)
