"""Circuits as a picture: who is connected to whom when, what waits meanwhile, and how full each day is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from farloop.palette import IDLE, run_colours
from farloop.results.circuit_week import Day, Week, daily_occupancy, short_names, week_of
from farloop.results.replicas import replicas
from farloop.results.tables import Floats
from farloop.units import BYTES, TIMES, unit_for
from farloop.views.figures.panels import CAPTION_SIZE, LABEL_SIZE, LEGEND_SIZE, TICK_SIZE, heading
from farloop.views.figures.text import escape_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from farloop.results.run import Run

MAX_RUNS = 4
"""Columns; more would not be readable."""

NAMED_CELLS = 16
"""Up to this many racks each day has its destination written into it; with more only the colour says it."""

NAMED_QUEUES = 12
"""Up to this many queues have names in a legend."""

NAMED_ROWS = 36
"""Up to this many racks each has its name beside its row."""

ALONE, BESIDE = 9.5, 6.0
"""Inches that a single run's column takes, and one of several."""

NIGHT = "0.93"

MAX_POINTS = 2000
"""Of a curve over the whole run; more days or weeks are drawn several in one."""


def has_schedule(run: Run) -> bool:
    """Returns true if a run has circuits to draw."""
    return bool(run.info.get("circuits")) and run.circuits.num_rows > 0


def schedules(runs: Sequence[Run], title: str) -> Figure:
    """A column per run (the first seed of several), over its last whole week.

    Below each other: the matchings, what waits in the recorded queues, the occupancy of each day, and that over the whole run.
    """
    cases = [of for of in replicas(runs) if has_schedule(of.runs[0])]
    shown = [(of.caption, week_of(of.runs[0])) for of in cases[:MAX_RUNS]]
    racks = max(len(week.sources) for _, week in shown)
    rows = [min(6.4, max(1.6, 0.22 * racks)), 1.3, 1.1, 1.1, 1.1]
    width = ALONE if len(shown) == 1 else BESIDE * len(shown)
    figure = Figure(figsize=(width, sum(rows) + 2.6), layout="constrained")
    axes = figure.subplots(len(rows), len(shown), squeeze=False, height_ratios=rows)
    left_out = f" (the first {MAX_RUNS} of {len(cases)} runs)" if len(cases) > MAX_RUNS else ""
    heading(figure, title + left_out)
    for column, (label, week), of in zip(axes.T, shown, cases, strict=False):
        _column(list(column), week, of.runs[0], label)
    return figure


def _column(axes: list[Axes], week: Week, run: Run, label: str) -> None:
    matching, circuits, packets, occupancy, whole = axes
    colours = _colours(week.sinks)
    unit = unit_for([week.end - week.begin], TIMES)
    _matching(matching, week, colours, unit.factor)
    matching.set_title(escape_text(f"{label}: {week.caption}"), fontsize=CAPTION_SIZE)
    names = [*week.queues]
    to_circuits = [n for n in names if n.startswith(("to ", "day "))]
    _queues(circuits, week, to_circuits, colours, unit.factor, f"waits for circuits\nat {week.switch}")
    _queues(
        packets,
        week,
        [n for n in names if n not in to_circuits],
        colours,
        unit.factor,
        f"waits for packet\nnetwork at {week.switch}",
    )
    _occupancy(occupancy, week, unit.factor)
    for axis in (circuits, packets, occupancy):
        axis.set_xlim(0, (week.end - week.begin) / unit.factor)
    occupancy.set_xlabel(f"time since the beginning of the week ({unit.name})", fontsize=LABEL_SIZE)
    _draw_all_days(whole, run)
    for axis in axes:
        axis.tick_params(labelsize=TICK_SIZE)


def _colours(sinks: Sequence[str]) -> dict[str, str]:
    """A colour per destination; of many, neighbours have similar ones, so that a rotation shows as a diagonal."""
    if len(sinks) <= 10:
        return run_colours(sinks)
    scale = colormaps["turbo"]
    return {name: to_hex(scale(0.04 + 0.92 * i / (len(sinks) - 1))) for i, name in enumerate(sinks)}


def _matching(axis: Axes, week: Week, colours: dict[str, str], factor: float) -> None:
    rows = {name: i for i, name in enumerate(week.sources)}
    short = short_names([*week.sources, *week.sinks])

    def cell(day: Day) -> list[tuple[float, float]]:
        left, right = (day.begin - week.begin) / factor, (day.end - week.begin) / factor
        row = rows[day.source]
        return [(left, row - 0.46), (right, row - 0.46), (right, row + 0.46), (left, row + 0.46)]

    cells = PolyCollection([cell(day) for day in week.days], facecolors=[colours[day.sink] for day in week.days])
    axis.add_collection(cells)
    axis.set_xlim(0, (week.end - week.begin) / factor)
    axis.set_ylim(len(rows) - 0.5, -0.5)
    if len(rows) <= NAMED_CELLS:
        for day in week.days:
            middle = ((day.begin + day.end) / 2 - week.begin) / factor
            axis.text(
                middle,
                rows[day.source],
                escape_text(short[day.sink]),
                fontsize=6,
                ha="center",
                va="center",
                color="white",
            )
    step = -(-len(rows) // NAMED_ROWS)
    axis.set_yticks(range(0, len(rows), step), [escape_text(name) for name in week.sources[::step]], fontsize=TICK_SIZE)
    axis.set_ylabel("from", fontsize=LABEL_SIZE)
    if len(rows) > NAMED_CELLS:
        _key(axis, week.sinks, colours)
    else:
        axis.annotate(
            "in each day: to which rack", (1, 1), xycoords="axes fraction", xytext=(0, 2), textcoords="offset points",
            fontsize=LEGEND_SIZE, ha="right", va="bottom", color="0.4",
        )  # fmt: skip


def _key(axis: Axes, sinks: Sequence[str], colours: dict[str, str]) -> None:
    """Draws the key of colours and destinations as a strip right of the matchings."""
    strip = axis.inset_axes((1.012, 0.0, 0.018, 1.0))
    for i, name in enumerate(sinks):
        strip.axhspan(i - 0.5, i + 0.5, color=colours[name], linewidth=0)
    strip.set_ylim(len(sinks) - 0.5, -0.5)
    strip.set_xticks([])
    step = -(-len(sinks) // NAMED_ROWS)
    strip.yaxis.tick_right()
    strip.set_yticks(range(0, len(sinks), step), [escape_text(name) for name in sinks[::step]], fontsize=TICK_SIZE - 1)
    strip.set_title("to", fontsize=TICK_SIZE)


def _queues(axis: Axes, week: Week, names: list[str], colours: dict[str, str], factor: float, label: str) -> None:
    _nights(axis, week, factor)
    if not names:
        axis.text(
            0.5, 0.5, "no queue recorded", transform=axis.transAxes, fontsize=LABEL_SIZE, ha="center", color="0.5"
        )
        axis.set_yticks([])
        axis.set_ylabel(label, fontsize=LABEL_SIZE)
        return
    values = [week.queues[name] for name in names]
    most = float(np.max(np.sum(values, axis=0), initial=0.0))
    up = unit_for([most], BYTES)
    generic = run_colours(names)
    shades = [colours.get(name.removeprefix("to "), generic[name]) for name in names]
    times: Floats = (week.times - week.begin) / factor
    axis.stackplot(
        times, [v / up.factor for v in values], colors=shades, labels=[escape_text(n) for n in names], linewidth=0
    )
    axis.set_ylabel(f"{label} ({up.name})", fontsize=LABEL_SIZE)
    axis.set_ylim(0, None if most else 1)
    if not most:
        axis.text(0.5, 0.5, "always empty", transform=axis.transAxes, fontsize=LABEL_SIZE, ha="center", color="0.5")
        axis.set_yticks([0])
    elif len(names) <= NAMED_QUEUES:
        axis.legend(
            fontsize=LEGEND_SIZE - 1, loc="center left", bbox_to_anchor=(1.005, 0.5), frameon=False, handlelength=1.0
        )


def _occupancy(axis: Axes, week: Week, factor: float) -> None:
    _nights(axis, week, factor)
    of: dict[tuple[float, float], list[float]] = {}
    for day in week.days:
        of.setdefault((day.begin, day.end), []).append(day.occupancy)
    look: dict[str, Any] = {"color": "#0072B2", "linewidth": 1.2}
    for (begin, end), values in of.items():
        left, right = (begin - week.begin) / factor, (end - week.begin) / factor
        axis.fill_between([left, right], min(values), max(values), color="#56B4E9", alpha=0.45, linewidth=0)
        axis.plot([left, right], [np.mean(values)] * 2, **look)
    axis.set_ylim(0, 1.02)
    axis.set_ylabel("occupancy of days\nmean, least to most", fontsize=LABEL_SIZE)


def _draw_all_days(axis: Axes, run: Run) -> None:
    times, means = daily_occupancy(run)
    unit = unit_for([float(np.max(times, initial=0.0))], TIMES)
    slots = max(1, int(run.info["circuits"]["slots"]))
    days = _count_per_point(len(means))
    first = np.arange(0, len(means), days)
    axis.plot(times[first] / unit.factor, _means(means, days), color="#56B4E9", linewidth=0.6)
    label = "mean\nof days" if days == 1 else f"each point\n{days} days"
    weeks = len(means) // slots
    if weeks > 1:
        several = _count_per_point(weeks)
        by_week = _means(means[: weeks * slots].reshape(weeks, slots).mean(axis=1), several)
        edges = float(run.info["circuits"]["week_s"]) * np.minimum(np.arange(len(by_week) + 1) * several, weeks)
        axis.stairs(by_week, edges / unit.factor, color="#0072B2", linewidth=1.2, baseline=None)
        label += ", of weeks" if several == 1 else f", {several} weeks"
    elif days == 1:
        label += ", of weeks"
    axis.set_ylim(0, 1.02)
    axis.set_xlim(left=0)
    axis.xaxis.set_major_locator(MaxNLocator(8))
    axis.set_ylabel(f"whole run: {label}", fontsize=LABEL_SIZE)
    axis.set_xlabel(f"time ({unit.name})", fontsize=LABEL_SIZE)
    axis.grid(visible=True, alpha=0.25, linewidth=0.5)


def _count_per_point(count: int) -> int:
    """Returns the number of days or weeks that are drawn as one, so that the points of a curve stay distinguishable."""
    return max(1, -(-count // MAX_POINTS))


def _means(values: Floats, several: int) -> Floats:
    """Returns the means of `several` neighbours each; the last group may be smaller."""
    if several == 1:
        return values
    starts = np.arange(0, len(values), several)
    means: Floats = np.add.reduceat(values, starts) / np.diff([*starts, len(values)])
    return means


def _nights(axis: Axes, week: Week, factor: float) -> None:
    """Shades what is no day."""
    days = sorted({(day.begin, day.end) for day in week.days})
    ends = [week.begin, *(end for _, end in days)]
    for end, begin in zip(ends, [*(begin for begin, _ in days), week.end], strict=True):
        if begin > end:
            axis.axvspan((end - week.begin) / factor, (begin - week.begin) / factor, color=NIGHT, linewidth=0)
    axis.axhline(0, color=IDLE, linewidth=0.5)
