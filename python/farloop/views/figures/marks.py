"""Bars, distributions, curves over time and heat maps from numbers that are ready: `farloop plot` and `.plot()` draw with them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LogNorm

from farloop.results.curves import Line, find_bands, is_far_apart
from farloop.results.tables import Floats
from farloop.statistics import Interval
from farloop.units import BYTES, RATES, TIMES, Unit, unit_for
from farloop.views.figures.style import HEAT_MAP, Picture, Style, apply_style, bar_look, curve_look, label_columns
from farloop.views.figures.text import escape_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIDE_BY_SIDE = 2.6
"""Inches that a panel takes at least, to stand beside another."""

FAR = 50.0
"""Where numbers differ by more than this factor, only a logarithmic scale shows them all."""

MAX_ANNOTATED = 80
"""Cells of a heat map with their numbers written into them."""

_SCALES = {"s": TIMES, "bit/s": RATES, "B": BYTES}


@dataclass(frozen=True)
class AxisQuantity:
    """Quantity on an axis.

    Attributes:
        name: Its name.
        unit: The unit of its numbers: "s", "bit/s" and "B" are scaled; "1" is none.
    """

    name: str
    unit: str = "1"

    def scale(self, values: Sequence[float]) -> tuple[float, str]:
        """By what the numbers are divided, and the label of the axis."""
        known = [abs(v) for v in values if math.isfinite(v)]
        unit = unit_for(known, _SCALES[self.unit]) if self.unit in _SCALES else Unit(self.unit, 1.0)
        return unit.factor, self.name if unit.name in ("", "1") else f"{self.name} ({unit.name})"


@dataclass(frozen=True)
class Page:
    """Page of a figure.

    Attributes:
        style: Its sizes.
        width: Inches.
        height: Inches; chosen by what is drawn where it is `None`.
        title: Its title.
    """

    style: Style
    width: float
    height: float | None
    title: str

    def make(self, rows: float, panels: int = 1) -> tuple[Picture, list[Axes]]:
        """A figure with panels beside one another where they have room, and else below; `rows` are the inches of each."""
        columns = max(1, min(panels, int(self.width / SIDE_BY_SIDE)))
        lines = math.ceil(panels / columns)
        height = self.height if self.height is not None else rows * lines
        figure = Picture(figsize=(self.width, height), layout="constrained")
        axes = figure.subplots(lines, columns, squeeze=False, sharex=panels > 1, sharey=panels > 1)
        flat: list[Axes] = list(axes.flat)
        for unused in flat[panels:]:
            unused.set_visible(False)
        if self.style.has_title and self.title:
            figure.suptitle(escape_text(self.title, self.width * 72 / (0.6 * (self.style.font + 1))))
        return figure, flat[:panels]

    def legend(self, figure: Picture, axes: Sequence[Axes], note: str = "") -> None:
        """One legend for all panels: above them, or below where the title is above."""
        entries: dict[str, Any] = {}
        for axis in axes:
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
                entries.setdefault(label, handle)
        if not entries or (len(entries) == 1 and not note):
            return
        small = self.style.font - 1
        text = escape_text(note, self.width * 72 / (0.6 * small)) if note else None
        place: Any = "outside lower center" if self.style.has_title else "outside upper center"
        figure.legend(
            list(entries.values()), list(entries), loc=place,
            ncols=label_columns(list(entries), self.width, small), title=text, title_fontsize=small,
        )  # fmt: skip


def draw_bars(
    page: Page, quantity: AxisQuantity, values: Mapping[str, Mapping[str, Interval]], across: str = ""
) -> Picture:
    """Bars by group and series, with their 95 % intervals.

    Args:
        page: The page of the figure.
        quantity: The quantity that they show.
        values: For each group, and in it each series. Of a single group the series are the bars, with their names beside them.
        across: Name of the axis of groups.
    """
    every = [i for group in values.values() for i in group.values()]
    factor, label = quantity.scale([v for i in every for v in (i.estimate, i.high) if v is not None])
    with apply_style(page.style):
        if len(values) == 1:
            return _draw_rows(page, next(iter(values.values())), factor, label, may_be_wide=quantity.unit == "1")
        series = list(dict.fromkeys(name for group in values.values() for name in group))
        wide = 0.84 / max(1, len(series))
        figure, (axis,) = page.make(page.width * 0.62 if page.width < 5 else 3.2)
        for number, name in enumerate(series):
            own = [group.get(name) for group in values.values()]
            at = np.arange(len(values), dtype=np.float64) - 0.42 + wide * (number + 0.5)
            heights = [np.nan if i is None or i.estimate is None else i.estimate / factor for i in own]
            axis.bar(at, heights, 0.92 * wide, label=escape_text(name), **bar_look(number))
            _whiskers(axis, at, own, factor, is_row=False)
        groups = [escape_text(name, 14) for name in values]
        turned = sum(len(name) for name in values) * 0.6 * page.style.font / 72 > 0.8 * page.width
        axis.set_xticks(range(len(groups)), groups, rotation=30 if turned else 0, ha="right" if turned else "center")
        axis.grid(visible=False, axis="x")
        axis.set_ylabel(escape_text(label, 34))
        axis.set_xlabel(escape_text(across))
        axis.set_ylim(bottom=0)
        page.legend(figure, [axis])
        return figure


def _draw_rows(page: Page, values: Mapping[str, Interval], factor: float, label: str, *, may_be_wide: bool) -> Picture:
    names = list(values)
    figure, (axis,) = page.make(0.6 + 0.028 * page.style.font * max(2, len(names)))
    at = np.arange(len(names), dtype=np.float64)
    known = [i.estimate / factor for i in values.values() if i.estimate is not None]
    ends = [i.high / factor for i in values.values() if i.high is not None]
    # A bar has no length on a logarithmic axis: there a dot stands for it.
    is_wide = may_be_wide and bool(known) and min(known) > 0 and max([*known, *ends]) > FAR * min(known)
    for number, (place, interval) in enumerate(zip(at, values.values(), strict=True)):
        width = 0.0 if interval.estimate is None else interval.estimate / factor
        if is_wide:
            axis.plot(width or np.nan, place, "o", color=bar_look(number)["facecolor"])
        else:
            axis.barh(place, width, 0.72, **bar_look(number))
        if interval.estimate is None:
            axis.annotate("none", (0, place), xytext=(3, 0), textcoords="offset points", va="center", color="0.4")
    _whiskers(axis, at, list(values.values()), factor, is_row=True)
    axis.set_yticks(at, [escape_text(name, 32) for name in names])
    axis.set_ylim(len(names) - 0.4, -0.6)
    if is_wide:
        axis.set_xscale("log")
    else:
        axis.set_xlim(left=0)
    axis.grid(visible=False, axis="y")
    axis.set_xlabel(escape_text(label, page.width * 72 / (0.7 * page.style.font)))
    return figure


def _whiskers(
    axis: Axes, at: Sequence[float] | Floats, intervals: Sequence[Interval | None], factor: float, *, is_row: bool
) -> None:
    look: dict[str, Any] = {"fmt": "none", "ecolor": "black", "elinewidth": 0.8, "capsize": 2, "capthick": 0.8}
    for place, interval in zip(at, intervals, strict=True):
        if interval is None or interval.estimate is None or interval.low is None or interval.high is None:
            continue
        ends = [
            [max(0.0, interval.estimate - interval.low) / factor],
            [max(0.0, interval.high - interval.estimate) / factor],
        ]
        middle = interval.estimate / factor
        if is_row:
            axis.errorbar(middle, place, xerr=ends, **look)
        else:
            axis.errorbar(place, middle, yerr=ends, **look)


def draw_distributions(page: Page, quantity: AxisQuantity, samples: Mapping[str, Mapping[str, Floats]]) -> Picture:
    """Distribution functions by panel and series; one that spans more than a decade has a logarithmic axis."""
    known = np.concatenate([values for panel in samples.values() for values in panel.values()])
    factor, label = quantity.scale([float(np.quantile(known, 0.5))] if known.size else [])
    names = list(dict.fromkeys(name for panel in samples.values() for name in panel))
    with apply_style(page.style):
        figure, axes = page.make(page.width * 0.62 if page.width < 5 else 3.0, len(samples))
        for axis, (title, panel) in zip(axes, samples.items(), strict=True):
            for name, values in panel.items():
                own = np.sort(values) / factor
                if own.size:
                    axis.step(own, np.arange(1, own.size + 1) / own.size, where="post", label=escape_text(name),
                              **curve_look(names.index(name)))  # fmt: skip
            if title:
                axis.set_title(escape_text(title))
            axis.set_ylim(0, 1.02)
            axis.set_xlabel(escape_text(label))
            axis.set_ylabel("share of flows" if quantity.name != "samples" else "share of samples")
            axis.label_outer()
        if known.size and known.min() > 0 and known.max() > 10 * known.min():
            for axis in axes:
                axis.set_xscale("log")
        page.legend(figure, axes)
        return figure


def draw_curves(page: Page, quantity: AxisQuantity, drawn: Mapping[str, Sequence[Line]], note: str) -> Picture:
    """Curves over time, a panel for each case."""
    lines = [line for panel in drawn.values() for line in panel]
    across = unit_for((x.times[-1] for x in lines if x.times.size), TIMES)
    factor, label = quantity.scale([float(np.nanmax(x.values, initial=0.0)) for x in lines])
    names = list(dict.fromkeys(line.name for line in lines))
    with apply_style(page.style):
        figure, axes = page.make(page.width * 0.5 if page.width < 5 else 2.6, max(1, len(drawn)))
        for axis, (title, panel) in zip(axes, drawn.items(), strict=True):
            for line in panel:
                look = curve_look(names.index(line.name))
                if line.band is not None and line.colour.startswith("#b"):
                    look = {"color": "0.55", "linestyle": "-"}
                times, values = line.times / across.factor, line.values / factor
                axis.plot(times, values, label=escape_text(line.name), marker="." if line.is_dots else "", **look)
                if line.band is not None:
                    low, high = (end / factor for end in line.band)
                    for part in find_bands(low, high):
                        axis.fill_between(
                            times[part], low[part], high[part], color=look["color"], alpha=0.22, linewidth=0
                        )
            if len(drawn) > 1 or page.style.has_title:
                axis.set_title(escape_text(title, 40))
            axis.set_xlabel(f"time ({across.name})")
            axis.set_ylabel(escape_text(label, 30))
            axis.label_outer()
        if is_far_apart(list(drawn.values())) and quantity.unit == "s":
            for axis in axes:
                axis.set_yscale("log")
        else:
            axes[0].set_ylim(bottom=0)
        page.legend(figure, axes, note)
        return figure


@dataclass(frozen=True)
class Heat:
    """A heat map.

    Attributes:
        rows: Names of the rows.
        columns: Names of the columns; nothing where they are times.
        times: The edges of the columns in seconds, where they are times.
        values: The numbers, row by row; NaN, drawn in grey, where there is none.
        across: Name of the axis of columns.
    """

    rows: Sequence[str]
    values: Floats
    columns: Sequence[str] = ()
    times: Floats | None = None
    across: str = ""


def draw_heat(page: Page, quantity: AxisQuantity, panels: Mapping[str, Heat]) -> Picture:
    """Heat maps with one scale of colours, a panel for each."""
    known = np.concatenate([heat.values.ravel() for heat in panels.values()])
    known = known[np.isfinite(known)]
    factor, label = quantity.scale([float(known.max(initial=0.0))])
    is_wide = known.size > 0 and known.min() > 0 and known.max() > FAR * known.min()
    limits = (float(known.min()) / factor, float(known.max()) / factor) if known.size else (0.0, 1.0)
    norm: dict[str, Any] = (
        {"norm": LogNorm(*limits)} if is_wide else {"vmin": min(0.0, limits[0]), "vmax": limits[1] or 1.0}
    )
    rows = max(len(heat.rows) for heat in panels.values())
    with apply_style(page.style):
        step = 0.017 * page.style.font
        figure, axes = page.make(max(1.9, 0.8 + step * rows), len(panels))
        for axis, (title, heat) in zip(axes, panels.items(), strict=True):
            edges = np.arange(len(heat.columns) + 1) - 0.5 if heat.times is None else heat.times
            if heat.times is not None:
                across = unit_for([float(heat.times[-1])], TIMES)
                edges = edges / across.factor
                axis.set_xlabel(f"time ({across.name})")
            else:
                turned = sum(len(name) + 2 for name in heat.columns) * 0.55 * page.style.font / 72 > 0.6 * page.width
                axis.set_xticks(range(len(heat.columns)), [escape_text(name, 22) for name in heat.columns],
                                rotation=30 if turned else 0, ha="right" if turned else "center")  # fmt: skip
                axis.set_xlabel(escape_text(heat.across))
            mesh = axis.pcolormesh(edges, np.arange(len(heat.rows) + 1) - 0.5, heat.values / factor, cmap=HEAT_MAP,
                                   rasterized=heat.values.size > 5000, **norm)  # fmt: skip
            axis.set_yticks(range(len(heat.rows)), [escape_text(name) for name in heat.rows])
            axis.set_ylim(len(heat.rows) - 0.5, -0.5)
            axis.grid(visible=False)
            axis.set_facecolor("0.88")
            if title:
                axis.set_title(escape_text(title, 40))
            axis.label_outer()
            if heat.times is None and heat.values.size <= MAX_ANNOTATED:
                _annotate(axis, heat.values / factor, mesh)
        figure.colorbar(mesh, ax=axes, label=escape_text(label, 40), shrink=0.9, aspect=24)
        return figure


def _annotate(axis: Axes, values: Floats, mesh: Any) -> None:
    """Writes each number into its cell, dark on light and light on dark."""
    for (row, column), value in np.ndenumerate(values):
        if not np.isfinite(value):
            axis.text(column, row, "–", ha="center", va="center", color="0.4")
            continue
        red, green, blue, _ = mesh.cmap(mesh.norm(value))
        colour = "black" if 0.3 * red + 0.59 * green + 0.11 * blue > 0.5 else "white"
        axis.text(column, row, f"{value:.3g}", ha="center", va="center", color=colour, fontsize="small")
