"""Zoomable charts of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from farloop.palette import Look, run_colours
from farloop.results import flow_completion
from farloop.results.curves import CURVES, MAX_CURVES, Curve, Line, curves, find_bands, is_far_apart, objects
from farloop.results.event_facts import moments
from farloop.results.replicas import replicas
from farloop.results.tables import Floats
from farloop.units import BYTES, RATES, TIMES, Unit, unit_for
from farloop.views.report.plots import Panels

if TYPE_CHECKING:
    from farloop.results.run import Comparison

EXPLANATIONS = {
    "slowdown": "Median (solid) and 99th percentile (dashed) of the FCT slowdown by flow size, each point a tenth of the flows, and the "
    "distribution of the slowdown; finished flows only.",
    "throughput": "Payload that receivers got, averaged over each sampling interval.",
    "cwnd": "What the sender may have in flight; no curve where the algorithm sets no window.",
    "pacing": "Rate limit on the wire; no curve where the algorithm sets none.",
    "rtt": "Latest sample of the sender; no curve before its first one.",
    "max_queue": "Longest data queue in each sampling interval, of the recorded ports and of those that turned out to be the worst.",
    "dropped": "Data packets dropped in each sampling interval on their way to the port.",
    "paused": "How much of each sampling interval the port was told to stop sending data.",
}

UNITS: dict[str, Sequence[Unit]] = {
    "rate": RATES,
    "bytes": BYTES,
    "time": TIMES,
    "share": (Unit("fraction of time", 1.0),),
    "packets": (Unit("packets", 1.0),),
}

PANEL_HEIGHT, BETWEEN = 168, 58
SLOWDOWN_HEIGHT, SLOWDOWN_BETWEEN = 255, 92
"""Pixels of a panel, and between two rows of them."""

COLUMNS = 2


@dataclass(frozen=True)
class Chart:
    """One chart: what it is called, what it shows, and its panels; the kinds of flows whose curves it has."""

    anchor: str
    title: str
    explanation: str
    panels: Panels
    kinds: tuple[str, ...] = ()


def charts(comparison: Comparison) -> list[Chart]:
    """The charts for which there are data: slowdown, throughput, window and rate, round-trip time, queue, drops, pauses."""
    titles = {
        "throughput": "Throughput per flow",
        "cwnd": "Congestion window",
        "pacing": "Pacing rate",
        "rtt": "Round-trip time",
        "max_queue": "Queues",
        "dropped": "Drops",
        "paused": "PFC pauses",
    }
    wanted = [_panels(comparison, CURVES[metric], title) for metric, title in titles.items()]
    if comparison.has_many_finished:
        wanted = [_slowdown(comparison), *wanted]
    return [chart for chart in wanted if chart is not None]


def _panels(comparison: Comparison, curve: Curve, title: str) -> Chart | None:
    cases = replicas(comparison.runs)
    drawn, note = curves(cases, curve)
    kept = [(of, lines) for of, lines in zip(cases, drawn, strict=True) if lines]
    if not kept:
        return None
    columns = min(COLUMNS, len(kept))
    panels = Panels(
        [escape(of.caption) for of, _ in kept],
        columns=columns,
        panel_height=PANEL_HEIGHT,
        between_rows=BETWEEN,
        between_columns=0.06 if columns > 1 else 0.0,
    )
    across = unit_for((x.times[-1] for lines in drawn for x in lines if x.times.size), TIMES)
    up = unit_for((float(np.nanmax(x.values)) for lines in drawn for x in lines), UNITS[curve.quantity])
    logarithmic = curve.far_apart and is_far_apart(drawn)
    named: set[tuple[str, Look]] = set()
    for i, (of, lines) in enumerate(kept):
        for moment in moments(of.runs[0].info):
            panels.mark(i, moment / across.factor)
        for line in lines:
            if line.band:
                low, high = line.band
                for part in find_bands(low, high):
                    ends = (low[part], high[part])
                    band = _band(line.times[part] / across.factor, ends, up.factor, line.colour, line.name)
                    panels.add(i, band | {"meta": line.kind})
            drawn_line = _line(line, across, up, logarithmic=logarithmic)
            shown = {"showlegend": (line.name, line.look) not in named, "meta": line.kind}
            panels.add(i, drawn_line | shown)
            named.add((line.name, line.look))
    panels.layout["hovermode"] = "x unified"
    panels.update_y({"type": "log", "dtick": 1} if logarithmic else {"rangemode": "tozero"})
    panels.label(f"time ({across.name})", up.name)
    explanation = EXPLANATIONS[curve.metric] + _omission_note(comparison, curve)
    if note:
        explanation += f" Drawn: {note}."
    if logarithmic:
        explanation += " The axis is logarithmic: the curves differ by orders of magnitude."
    kinds = tuple(dict.fromkeys(line.kind for _, lines in kept for line in lines if line.kind))
    return Chart(curve.metric, title, explanation, panels, kinds)


def _line(line: Line, across: Unit, up: Unit, *, logarithmic: bool) -> dict[str, Any]:
    """A curve; where it is a single point, this."""
    shown = line.values / up.factor
    return {
        "x": line.times / across.factor,
        "y": np.where(shown > 0, shown, np.nan) if logarithmic else shown,
        "name": escape(line.name),
        "legendgroup": line.name,
        "mode": "markers" if line.is_dots else "lines",
        "line": {"color": line.colour, "width": 1.4, "dash": line.look.dash},
        "marker": {"color": line.colour, "size": 5},
        "hovertemplate": f"%{{x:.5g}} {across.name}: %{{y:.4g}} {up.name}",
    }


def _band(times: Floats, band: tuple[Floats, Floats], factor: float, colour: str, name: str) -> dict[str, Any]:
    """A confidence band as one closed line, there along its lower and back along its upper edge."""
    low, high = band
    return {
        "x": np.concatenate([times, times[::-1]]),
        "y": np.concatenate([low, high[::-1]]) / factor,
        "fill": "toself",
        "fillcolor": colour,
        "opacity": 0.2,
        "mode": "none",
        "legendgroup": name,
        "showlegend": False,
        "hoverinfo": "skip",
    }


def _omission_note(comparison: Comparison, curve: Curve) -> str:
    recorded = max(len(objects(run.samples, curve.kind)) for run in comparison.runs)
    zero = " No curve where it is zero throughout." if curve.hides_zero else ""
    if curve.kind == "flow" or recorded <= MAX_CURVES:
        return zero
    return f" Of {recorded} recorded, the {MAX_CURVES} that reach the highest values; all are in series.parquet.{zero}"


def _slowdown(comparison: Comparison) -> Chart:
    kinds = [k for k in flow_completion.KINDS if any(run.summary["slowdown"][k] for run in comparison.runs)]
    titles = [f"{kind}-datacenter flows: {what}" for kind in kinds for what in ("by size", "distribution")]
    # Both kinds of flows on one scale.
    panels = Panels(
        titles,
        columns=COLUMNS,
        panel_height=SLOWDOWN_HEIGHT,
        between_rows=SLOWDOWN_BETWEEN,
        between_columns=0.08,
        per_column=True,
    )
    cases = replicas(comparison.runs)
    colours = run_colours([of.label for of in cases])
    for i, kind in enumerate(kinds):
        for of in cases:
            tables = [run.flows for run in of.runs]
            sizes, (median, tail), bands = flow_completion.mean_percentiles_by_size(tables, kind, [50, 99])
            values, share = flow_completion.cumulative(tables, kind, flow_completion.CURVE_POINTS)
            colour = colours[of.label]
            for low, high in bands:
                for part in find_bands(low, high):
                    panels.add(COLUMNS * i, _band(sizes[part], (low[part], high[part]), 1.0, colour, of.label))
            drawn = [
                (0, sizes, median, {"color": colour}, "%{x:.3s}B: p50 %{y:.4g}"),
                (0, sizes, tail, {"color": colour, "dash": "dash"}, "%{x:.3s}B: p99 %{y:.4g}"),
                (1, values, share, {"color": colour, "shape": "hv"}, "%{x:.4g}: %{y:.1%}"),
            ]
            for j, (column, x, y, line, hover) in enumerate(drawn):
                named = {"name": escape(of.caption), "legendgroup": of.label, "showlegend": i == j == 0}
                trace = {
                    "x": x,
                    "y": y,
                    "mode": "lines",
                    "line": {"width": 1.4, **line},
                    "hovertemplate": hover,
                    **named,
                }
                panels.add(COLUMNS * i + column, trace)
        by_size, distribution = COLUMNS * i, COLUMNS * i + 1
        panels.update_x({"type": "log", "title": {"text": "flow size (bytes)"}}, by_size)
        panels.update_y({"type": "log", "title": {"text": "FCT slowdown"}}, by_size)
        panels.update_x({"type": "log", "title": {"text": "FCT slowdown"}}, distribution)
        panels.update_y({"range": [0, 1.02], "title": {"text": "share of flows"}}, distribution)
    note = f" {flow_completion.SEEDS_CAPTION.capitalize()}." if any(of.n > 1 for of in cases) else ""
    return Chart("slowdown", "FCT slowdown", EXPLANATIONS["slowdown"] + note, panels)
