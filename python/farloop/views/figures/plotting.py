"""Figures of one metric of a result: `farloop plot` and `.plot()`. This module chooses the numbers; `marks` draws them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from farloop.errors import FarloopError, UnknownNameError, clip_text, nearest
from farloop.results.curves import BUSIEST_PORTS, CURVES, curves, objects
from farloop.results.fields import METRICS
from farloop.results.metric_titles import metric_title
from farloop.results.replicas import Replicas, replicas
from farloop.results.size_classes import SizeClasses
from farloop.results.tables import Floats
from farloop.statistics import Interval
from farloop.studies.sweep import measures, precision
from farloop.views.figures import marks
from farloop.views.figures.marks import AxisQuantity, Heat, Page
from farloop.views.figures.metric_names import quantity_of_curve
from farloop.views.figures.plotted_tables import Numbers
from farloop.views.figures.style import Picture, find_style

if TYPE_CHECKING:
    from farloop.results.run import Comparison

    Plotted = Comparison | Numbers

KINDS = ("bars", "cdf", "time", "heatmap")
GROUPS = ("intra", "cross")
ALL = "all"
"""Flows of either group."""

MAX_ROWS = 32
"""Rows of a heat map over time; ports beyond have shorter queues."""

HEAT_COLUMNS = 240
"""Columns of a heat map over time; samples beyond are put together by their largest, mean or sum."""


@dataclass(frozen=True)
class PlotQuestion:
    """Question that a figure answers.

    Attributes:
        metric: Name or identifier of a number; that which suits the kind where it is empty.
        kind: One of `KINDS`; that which suits the result where it is empty.
        groups: "intra", "cross", "all": one panel or group of bars for each; nothing for all flows.
        size: A class of flow sizes.
    """

    metric: str = ""
    kind: str = ""
    groups: tuple[str, ...] = ()
    size: str = ""


def read_question(metric: str | None, kind: str | None, group: str | None, size: str | None) -> PlotQuestion:
    """Reads the question from options.

    Raises:
        FarloopError: there is no such kind or group.
    """
    if kind and kind not in KINDS:
        raise FarloopError(f"--kind {clip_text(kind)}: no such kind; {nearest(kind, KINDS)}")
    groups = tuple(name.strip() for name in group.split(",")) if group else ()
    for name in groups:
        if name not in (*GROUPS, ALL):
            raise FarloopError(f"--group {clip_text(name)}: no such group of flows; {nearest(name, (*GROUPS, ALL))}")
    return PlotQuestion(metric or "", kind or "", groups, size or "")


def plot(
    result: Plotted,
    question: PlotQuestion,
    *,
    style: str = "paper",
    width: float | None = None,
    height: float | None = None,
) -> Picture:
    """Draws one metric of a result.

    Args:
        result: Runs, or the numbers of a study, an arena, an answer, an explanation.
        question: The metric, and how to show it.
        style: "paper" or "screen".
        width: Inches; the style's where it is `None`.
        height: Inches; chosen by what is drawn where it is `None`.

    Raises:
        FarloopError: the result has no such metric or kind, or nothing to draw; the text says what is accepted.
    """
    chosen = find_style(style)
    page = Page(chosen, chosen.width if width is None else width, height, result.title)
    if isinstance(result, Numbers):
        return _plot_table(result, question, page)
    drawers: dict[str, Callable[[Comparison, PlotQuestion, Page], Picture]] = {
        "bars": _bars,
        "cdf": _distribution,
        "time": _curves,
        "heatmap": _heat,
    }
    if not result.runs:
        raise FarloopError(f"{clip_text(result.title)}: has no runs to draw")
    return drawers[question.kind or "bars"](result, question, page)


def _plot_table(result: Numbers, question: PlotQuestion, page: Page) -> Picture:
    accepted = result.kinds
    kind = question.kind or accepted[0]
    if kind not in accepted:
        raise FarloopError(
            f"--kind {kind}: {result.what} has numbers, no flows or series; expected {' or '.join(accepted)}"
        )
    if question.groups or question.size:
        option = "--group" if question.groups else "--size"
        raise FarloopError(
            f"{option}: {result.what} has its groups and sizes in the names of its metrics; expected no {option}"
        )
    quantity, values = result.numbers(question.metric)
    heat = result.heat(values)
    if kind == "bars":
        return marks.draw_bars(page, quantity, values, heat.across)
    return marks.draw_heat(page, quantity, {"": heat})


def _find(result: Comparison, metric: str, group: str, size: str) -> measures.Measure:
    """A number of a run by its name in studies or its identifier, of a group and a class of sizes.

    Raises:
        FarloopError: there is none.
    """
    sizes: SizeClasses = result.sizes
    prefix = "".join(f"{part}_" for part in (group if group != ALL else "", size) if part)
    if "/" in metric and " " not in metric:
        by_identifier = {m.identifier: m for m in measures.known_measures(sizes).values() if m.identifier}
        if metric not in by_identifier:
            raise UnknownNameError(
                f"--metric {clip_text(metric)}: no such measure of a run; {nearest(metric, by_identifier)}"
            )
        if prefix:
            raise FarloopError(
                f"--metric {metric}: an identifier names group and size itself; expected no --group and no --size"
            )
        return by_identifier[metric]
    if size and size not in sizes.names:
        raise FarloopError(
            f"--size {clip_text(size)}: no such class of flow sizes; {nearest(size, sizes.names)} (--sizes {sizes.name})"
        )
    if prefix and f"{prefix}{metric}" not in measures.known_measures(sizes):
        measures.measure(metric, sizes)
        raise FarloopError(
            f"--metric {metric}: is not counted by {'size' if size else 'group'}; expected a metric of flows such as p99_slowdown, "
            "mean_fct or flows"
        )
    try:
        return measures.measure(prefix + metric, sizes)
    except UnknownNameError as error:
        raise UnknownNameError(f"--metric {error}") from None


def _bars(result: Comparison, question: PlotQuestion, page: Page) -> Picture:
    metric = question.metric or _default_metric(result)
    values: dict[str, dict[str, Interval]] = {}
    chosen = [_find(result, metric, group, question.size) for group in question.groups or (ALL,)]
    for group, measure in zip(question.groups or (ALL,), chosen, strict=True):
        values[group] = {of.label: _interval(measure, of) for of in replicas(result.runs)}
    if not any(i.estimate is not None for own in values.values() for i in own.values()):
        raise FarloopError(f"--metric {metric}: no run has it: {chosen[0].meaning}")
    base = _find(result, metric, ALL, question.size) if len(chosen) > 1 else chosen[0]
    return marks.draw_bars(page, AxisQuantity(metric_title(base.name), base.unit), values)


def _interval(measure: measures.Measure, of: Replicas) -> Interval:
    samples = [measure.sample(run, 0.0) for run in of.runs] if measure.sample is not None else []
    return precision.interval(measure, [measure.measure_run(run) for run in of.runs], samples)


def _default_metric(result: Comparison) -> str:
    return "p99_slowdown" if any(run.slowdown.size for run in result.runs) else "throughput"


def _distribution(result: Comparison, question: PlotQuestion, page: Page) -> Picture:
    # A name such as p99_slowdown says which quantity; all of its distribution is drawn.
    metric = {"": "mean_slowdown", "slowdown": "mean_slowdown", "fct": "mean_fct"}.get(question.metric, question.metric)
    panels: dict[str, dict[str, Floats]] = {}
    for group in question.groups or (ALL,):
        measure = _find(result, metric, group, question.size)
        if measure.sample is None:
            raise FarloopError(
                f"--kind cdf: {clip_text(metric)} is one number of a run; "
                "expected a metric of flows (slowdown, fct) or of samples, such as "
                '"p99 port/left->right queue"'
            )
        panels[group if question.groups else ""] = {
            of.label: np.concatenate([measure.sample(run, 0.0) for run in of.runs]) for of in replicas(result.runs)
        }
    if not any(values.size for panel in panels.values() for values in panel.values()):
        raise FarloopError(f"--metric {question.metric or 'slowdown'}: no flow or sample has it: {measure.meaning}")
    base = (
        _find(result, metric, ALL, question.size) if question.groups != (ALL,) and len(question.groups) > 1 else measure
    )
    return marks.draw_distributions(page, AxisQuantity(metric_title(base.name, as_sample=True), base.unit), panels)


def _curves(result: Comparison, question: PlotQuestion, page: Page) -> Picture:
    metric = {"queue": "max_queue"}.get(question.metric, question.metric or "throughput")
    if metric not in CURVES:
        raise FarloopError(f"--metric {clip_text(metric)}: is no curve over time; {nearest(metric, CURVES)}")
    if question.size:
        raise FarloopError("--size: curves over time are of recorded flows and ports; expected no --size")
    curve = CURVES[metric]
    cases = (
        [_select_groups(of, question.groups) for of in replicas(result.runs)]
        if question.groups
        else replicas(result.runs)
    )
    drawn, note = curves(cases, curve, busiest=BUSIEST_PORTS)
    panels = {of.caption: lines for of, lines in zip(cases, drawn, strict=True) if lines}
    if not panels:
        raise FarloopError(
            f"--metric {metric}: no {curve.kind} has it; record some in [record] of the scenario, or all of it is zero"
        )
    return marks.draw_curves(page, quantity_of_curve(curve.title, curve.quantity), panels, note)


def _select_groups(of: Replicas, groups: Sequence[str]) -> Replicas:
    """The cases with the recorded flows of some groups alone."""
    if ALL in groups:
        return of
    return Replicas(of.label, [replace(run, series=_series_of(run.series, _names_of(run, groups))) for run in of.runs])


def _names_of(run: object, groups: Sequence[str]) -> set[str]:
    from farloop.results import flow_completion
    from farloop.results.run import Run

    assert isinstance(run, Run)
    masks = [flow_completion.is_kind(run.flows, group) for group in groups]
    chosen = np.logical_or.reduce(masks)
    names = run.flows["name"].to_pylist()
    return {f"flow/{name}" for name, is_chosen in zip(names, chosen.tolist(), strict=True) if is_chosen}


def _series_of(series: object, names: set[str]) -> object:
    import pyarrow as pa
    import pyarrow.compute as pc

    assert isinstance(series, pa.Table)
    return series.filter(pc.is_in(series["object"].cast(pa.string()), value_set=pa.array(sorted(names), pa.string())))


def _heat(result: Comparison, question: PlotQuestion, page: Page) -> Picture:
    metric = {"": "max_queue", "queue": "max_queue"}.get(question.metric, question.metric)
    kinds = {m.name: kind for kind in ("flow", "port") for m in METRICS[kind]}
    if metric not in kinds:
        raise FarloopError(f"--metric {clip_text(metric)}: is no series over time; {nearest(metric, kinds)}")
    if question.groups or question.size:
        raise FarloopError("--group and --size: a heat map over time is of recorded flows or ports; expected neither")
    known = {m.name: m for m in METRICS[kinds[metric]]}[metric]
    curve = CURVES.get(metric)
    join = curve.how if curve is not None else np.mean
    cases = replicas(result.runs)
    names = _highest_names(cases, kinds[metric], metric)
    if not names:
        raise FarloopError(f"--metric {metric}: no {kinds[metric]} has it; record some in [record] of the scenario")
    panels = {of.caption: _heat_of(of, names, metric, join) for of in cases}
    return marks.draw_heat(page, AxisQuantity(metric.replace("_", " "), known.unit), panels)


def _highest_names(cases: Sequence[Replicas], kind: str, metric: str) -> list[str]:
    """The objects with the highest values in the first seed of any case, in the order of these: the rows of all panels."""
    peaks: dict[str, float] = {}
    for of in cases:
        samples = of.runs[0].samples
        for name in objects(samples, kind):
            if (name, metric) in samples:
                peak = float(np.nanmax(np.nan_to_num(samples.get(name, metric)[1]), initial=0.0))
                short = name.split("/", 1)[1]
                peaks[short] = max(peaks.get(short, 0.0), peak)
    return sorted(peaks, key=lambda name: -peaks[name])[:MAX_ROWS]


def _heat_of(of: Replicas, names: Sequence[str], metric: str, join: Callable[..., Floats]) -> Heat:
    """Objects × time of the first seed; a row that was not recorded there has no numbers."""
    samples = of.runs[0].samples
    recorded = {name.split("/", 1)[1]: name for kind in ("flow", "port") for name in objects(samples, kind)}
    rows = {name: samples.get(recorded[name], metric) for name in names if (recorded.get(name, ""), metric) in samples}
    times = next((times for times, _ in rows.values() if times.size), np.array([0.0, of.runs[0].duration]))
    step = max(1, -(-times.size // HEAT_COLUMNS))
    starts = np.arange(0, times.size, step)
    values = np.full((len(names), starts.size), np.nan)
    for row, name in enumerate(names):
        own_times, own = rows.get(name, (np.empty(0), np.empty(0)))
        if np.array_equal(own_times, times):
            values[row] = [join(own[start : start + step]) for start in starts]
    ends = times[np.minimum(starts + step, times.size) - 1]
    first = max(0.0, float(times[0]) - float(np.median(np.diff(times)))) if times.size > 1 else 0.0
    return Heat(list(names), values, times=np.concatenate([[first], ends]))
