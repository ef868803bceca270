"""Panels that the figures of several papers are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from farloop import completion
from farloop.metrics import smoothed, thinned
from farloop.palette import flow_colours, run_colours
from farloop.results import Run

MAX_COLUMNS = 4
MOST_CURVES = 16
"""Of more recorded flows or ports than this a panel shows those that reach the highest values; more could not be told apart."""

POINTS = 1500
"""A panel is a few hundred pixels wide: more points than this are averaged together."""


def grid(count: int, title: str, *, columns: int = MAX_COLUMNS, shared: bool = True) -> tuple[Figure, list[Axes]]:
    """A figure with `count` panels; with `shared` all have one scale."""
    columns = min(columns, count)
    rows = math.ceil(count / columns)
    figure = Figure(figsize=(3.4 * columns, 2.3 * rows + 0.5), layout="constrained")
    axes = figure.subplots(rows, columns, sharex=shared, sharey=shared, squeeze=False)
    flat: list[Axes] = list(axes.flat)
    for unused in flat[count:]:
        unused.set_visible(False)
    if title:
        figure.suptitle(title, fontsize=10)
    for axis in flat:
        axis.grid(visible=True, alpha=0.25, linewidth=0.5)
        axis.tick_params(labelsize=7)
    return figure, flat[:count]


def throughput_panels(
    runs: Sequence[Run],
    title: str,
    *,
    caption: Callable[[Run], str] | None = None,
    columns: int = MAX_COLUMNS,
) -> Figure:
    """One panel per run: throughput of its flows over time, with the ratio intra to cross in the heading."""
    figure, axes = grid(len(runs), title, columns=columns)
    named: set[str] = set()
    for axis, run in zip(axes, runs, strict=True):
        throughput(axis, run)
        axis.set_title((caption or with_ratio)(run), fontsize=8)
        # Panels with the same flows share the legend of the first one.
        flows = set(run.samples.highest("flow", "throughput", MOST_CURVES))
        if flows - named:
            axis.legend(fontsize=6, loc="upper right")
        named |= flows
    _label(axes, columns, "time (s)", "throughput (Gbps)")
    return figure


def queue_panels(
    runs: Sequence[Run], title: str, *, caption: Callable[[Run], str] | None = None, columns: int = MAX_COLUMNS
) -> Figure:
    """One panel per run: data queues of its recorded ports over time."""
    figure, axes = grid(len(runs), title, columns=columns)
    for axis, run in zip(axes, runs, strict=True):
        for port in run.samples.highest("port", "max_queue", MOST_CURVES):
            t, queue = thinned(*run.samples.get(f"port/{port}", "max_queue"), np.max, POINTS)
            axis.plot(t, queue / 1e6, linewidth=0.8, label=port)
        axis.set_title(caption(run) if caption else run.label, fontsize=8)
        axis.legend(fontsize=6, loc="upper right")
    _label(axes, columns, "time (s)", "queue (MB)")
    return figure


def slowdown_panels(runs: Sequence[Run], title: str) -> Figure:
    """FCT slowdown by flow size (median solid, 99th percentile dashed) and its distribution; a row per kind of flow."""
    kinds = [k for k in completion.KINDS if any(run.summary["slowdown"][k] for run in runs)]
    figure, axes = grid(2 * len(kinds), title, columns=2, shared=False)
    colours = run_colours([run.label for run in runs])
    for i, kind in enumerate(kinds):
        sizes_axis, share_axis = axes[2 * i], axes[2 * i + 1]
        for run in runs:
            sizes, (median, tail) = completion.by_size(run.flows, kind, [50, 99])
            sizes_axis.plot(sizes, median, color=colours[run.label], linewidth=0.9, marker=".", label=run.label)
            sizes_axis.plot(sizes, tail, color=colours[run.label], linewidth=0.9, marker=".", linestyle="--")
            values, share = completion.cumulative(run.flows, kind, POINTS)
            share_axis.step(values, share, color=colours[run.label], linewidth=0.9, where="post", label=run.label)
        for axis in (sizes_axis, share_axis):
            axis.tick_params(which="both", labelsize=7)
            axis.set_xscale("log")
            axis.set_title(f"{kind}-datacenter flows", fontsize=8)
        sizes_axis.set_yscale("log")
        sizes_axis.set_xlabel("flow size (bytes)", fontsize=8)
        sizes_axis.set_ylabel("FCT slowdown: p50, p99 (dashed)", fontsize=8)
        sizes_axis.legend(fontsize=6, loc="upper right")
        share_axis.set_xlabel("FCT slowdown", fontsize=8)
        share_axis.set_ylabel("share of finished flows", fontsize=8)
        share_axis.set_ylim(0, 1.02)
    return figure


def throughput(axis: Axes, run: Run, *, over: int = 1) -> None:
    """Throughput of the recorded flows in Gbps, each point the mean of `over` samples."""
    flows = run.samples.highest("flow", "throughput", MOST_CURVES)
    for name, colour in flow_colours(flows).items():
        t, rate = run.samples.get(f"flow/{name}", "throughput")
        t, rate = thinned(t, smoothed(rate, over), np.mean, POINTS)
        axis.plot(t, rate / 1e9, color=colour, linewidth=0.9, label=name)


def with_ratio(run: Run) -> str:
    """A run's label and its ratio of intra- to cross-datacenter throughput."""
    ratio = run.summary["ratio"]
    return run.label if ratio is None else f"{run.label} (intra/cross {ratio:.2f})"


def _label(axes: Sequence[Axes], columns: int, x: str, y: str) -> None:
    for i, axis in enumerate(axes):
        # Only now: a limit set before the last panel is drawn would cut that one off where scales are shared.
        axis.set_ylim(bottom=0)
        if i % columns == 0:
            axis.set_ylabel(y, fontsize=8)
        if i + columns >= len(axes):
            axis.set_xlabel(x, fontsize=8)
            axis.tick_params(labelbottom=True)
