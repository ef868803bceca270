"""Sampled series as curves: the same ones in reports and in pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from farloop.metrics import thin_values
from farloop.palette import IDLE, Look, flow_looks, port_looks
from farloop.results.curve_groups import group_flows
from farloop.results.replicas import Replicas
from farloop.results.tables import Floats, Series
from farloop.statistics import mean_bands
from farloop.units import time_text

MAX_CURVES = 8
"""So many flows or ports of a panel have a curve each; more flows are grouped, of more ports the highest are shown."""

BUSIEST_PORTS = 5
"""Number of ports with a curve each in pictures; all others are one band."""

MAX_PORTS = 256
"""Ports whose curves are read for that band, those with the longest queues first."""

MAX_POINTS = 1500
MIN_POINTS = 400
ALL_POINTS = 60_000
"""Points of a curve and of all curves of a chart, which browsers draw without delay; neighbours become one."""

FAR_APART = 50.0
"""Where curves of one chart differ by more than this factor, only a logarithmic axis shows them all."""

KINDS_OF_PATHS = ("intra", "cross")
"""The kinds of flows, by whether they cross datacenters."""

KINDS = {"flow": ("flow",), "port": ("port", "worst")}
"""Kinds of objects of the series that are shown together: the worst ports with those that the scenario names."""


@dataclass(frozen=True)
class Curve:
    """A metric of the series as a chart shows it.

    Attributes:
        metric: The metric of the series.
        kind: Whose it is: "flow" or "port".
        title: Its name for people.
        quantity: "rate" (bit/s), "bytes", "time" (seconds), "share" or "packets".
        how: Rule by which neighbouring samples become one.
        word: The same in words.
        far_apart: True if a logarithmic axis suits it where curves are far apart; shares of a link are compared on a linear one.
        zero_is_none: True if a zero means that there is no value yet.
        hides_zero: True if a curve that is zero throughout is left out.
    """

    metric: str
    kind: str
    title: str
    quantity: str
    how: Callable[..., Floats]
    word: str
    far_apart: bool = False
    zero_is_none: bool = False
    hides_zero: bool = False


CURVES = {
    c.metric: c
    for c in (
        Curve("throughput", "flow", "throughput", "rate", np.mean, "mean"),
        Curve("cwnd", "flow", "congestion window", "bytes", np.mean, "mean", far_apart=True),
        Curve("pacing", "flow", "pacing rate", "rate", np.mean, "mean", far_apart=True),
        Curve("rtt", "flow", "round-trip time", "time", np.mean, "mean", far_apart=True, zero_is_none=True),
        Curve("max_queue", "port", "queue", "bytes", np.max, "maximum", hides_zero=True),
        Curve("dropped", "port", "drops", "packets", np.sum, "sum", hides_zero=True),
        Curve("paused", "port", "paused", "share", np.mean, "mean", hides_zero=True),
    )
}


OTHER_PORTS = "other ports"
"""The name of their line."""

UNSEEN = Look("")
"""Of a curve that has got no look yet."""


class Line(NamedTuple):
    """A curve of one run, the mean over several seeds with its 95 % confidence band, or the median of many flows with one; times in s."""

    name: str
    look: Look
    times: Floats
    values: Floats
    band: tuple[Floats, Floats] | None = None
    kind: str = ""
    """Of a flow, or a group of them, "intra" or "cross"."""

    @property
    def colour(self) -> str:
        """Of the curve and its band."""
        return self.look.colour

    @property
    def is_dots(self) -> bool:
        """True if it has too few points for a line."""
        return int(np.isfinite(self.values).sum()) < 2


@dataclass
class _Notes:
    """Remarks on curves, and the number of samples that became one point."""

    remarks: dict[str, None] = field(default_factory=dict)
    joined: set[tuple[int, float]] = field(default_factory=set)

    def text(self, word: str) -> str:
        parts = list(self.remarks)
        if self.joined:
            parts.append(f"each point the {word} of {_spans_text(sorted(self.joined))}")
        return "; ".join(parts)


def curves(replicas: Sequence[Replicas], curve: Curve, *, busiest: int | None = None) -> tuple[list[list[Line]], str]:
    """The curves of each case, and what they are in words; nothing where every sample of a single run is a point.

    Of several seeds the curve is the mean over them with its band. Where the seeds' flows are different ones (random traffic), their
    curves have nothing in common: then those of the first seed are drawn. Many flows become the median of them with a band, and the flows
    that are far from the others. A curve that has no finite value, or of queues, drops and pauses none above zero, is left out.

    Args:
        replicas: The cases.
        curve: The metric.
        busiest: Of ports, how many have a curve each, the same ones in all cases; the others become their median with their range. If it is
            `None`, ports beyond `MAX_CURVES` are left out.
    """
    count = sum(min(MAX_CURVES, len(objects(of.runs[0].samples, curve.kind))) for of in replicas)
    points = min(MAX_POINTS, max(MIN_POINTS, ALL_POINTS // max(1, count)))
    notes = _Notes()
    drawn = [_lines(of, curve, points, notes, MAX_CURVES if busiest is None else MAX_PORTS) for of in replicas]
    if busiest is not None and curve.kind == "port":
        drawn = _band_ports(drawn, busiest, notes)
    return _assign_looks(drawn, curve.kind), notes.text(curve.word)


def objects(samples: Series, kind: str) -> list[str]:
    """The objects of the series that are shown as flows or as ports, such as "flow/intra"."""
    return [f"{prefix}/{name}" for prefix in KINDS[kind] for name in samples.objects(prefix)]


def _lines(of: Replicas, curve: Curve, points: int, notes: _Notes, most: int = MAX_CURVES) -> list[Line]:
    samples = of.runs[0].samples
    # Not every gear has every metric.
    names = [name for name in objects(samples, curve.kind) if (name, curve.metric) in samples]
    if curve.kind == "flow" and len(names) > MAX_CURVES:
        return _draw_many(of, names, curve, points, notes)
    chosen = _highest(samples, names, curve.metric, most)
    kinds = _kinds(of, chosen) if curve.kind == "flow" else {}
    lines = []
    for name in chosen:
        times, thin = _thin_values(of, name, curve, points, notes)
        # Rates, windows, times, queues: nothing of them is below zero.
        values, low, high = mean_bands(thin, floor=0.0)
        if not np.isfinite(values).any() or (curve.hides_zero and not np.nan_to_num(values).any()):
            continue
        _tell_seeds(of, len(thin), notes, "with 95 % band")
        band = (low, high) if len(thin) > 1 else None
        lines.append(Line(_legend_name(name), UNSEEN, times, values, band, kinds.get(_legend_name(name), "")))
    return lines


def _kinds(of: Replicas, chosen: Sequence[str]) -> dict[str, str]:
    """The kind of path of each of these flows."""
    flows = of.runs[0].flows
    wanted = pa.array([_legend_name(name) for name in chosen], pa.string())
    rows = flows.filter(pc.is_in(pc.cast(flows["name"], pa.string()), wanted))
    pairs = zip(rows["name"].to_pylist(), rows["cross_datacenter"].to_pylist(), strict=True)
    return {name: KINDS_OF_PATHS[bool(is_cross)] for name, is_cross in pairs}


def _assign_looks(drawn: list[list[Line]], kind: str) -> list[list[Line]]:
    """The curves with their looks: what has one name has one look in all panels."""
    names = list(dict.fromkeys(line.name for lines in drawn for line in lines if line.look is UNSEEN))
    looks = (flow_looks if kind == "flow" else port_looks)(names)
    return [
        [line._replace(look=looks[line.name]) if line.look is UNSEEN else line for line in lines] for lines in drawn
    ]


def _draw_many(of: Replicas, names: Sequence[str], curve: Curve, points: int, notes: _Notes) -> list[Line]:
    """Of many flows the median with a band, and those that are far from the others."""
    rows, times = {}, np.empty(0)
    for name in names:
        times, thin = _thin_values(of, name, curve, points, notes)
        values = np.mean(thin, axis=0)
        if np.isfinite(values).any():
            rows[_legend_name(name)] = values
            _tell_seeds(of, len(thin), notes, "of each flow")
    drawn, remark = group_flows(of.runs[0].flows, times, rows)
    if drawn:
        notes.remarks[remark] = None
    return [Line(line.name, line.look, times, line.values, line.band, KINDS_OF_PATHS[line.is_cross]) for line in drawn]


def _band_ports(drawn: list[list[Line]], busiest: int, notes: _Notes) -> list[list[Line]]:
    """The lines of the ports that reach the highest values in any case; of the other ports of each case the median and the range."""
    peaks: dict[str, float] = {}
    for line in (line for lines in drawn for line in lines):
        peaks[line.name] = max(peaks.get(line.name, 0.0), float(np.nanmax(line.values)))
    if len(peaks) <= busiest:
        return drawn
    kept = set(sorted(peaks, key=lambda name: -peaks[name])[:busiest])
    notes.remarks[f"{OTHER_PORTS}: median and range of {len(peaks) - busiest}"] = None
    reduced = []
    for lines in drawn:
        others = [line for line in lines if line.name not in kept and line.times.size == lines[0].times.size]
        own = [line for line in lines if line.name in kept]
        if others:
            rows = np.array([line.values for line in others])
            band = (np.nanmin(rows, axis=0), np.nanmax(rows, axis=0))
            own.append(Line(OTHER_PORTS, Look(IDLE), others[0].times, np.nanmedian(rows, axis=0), band))
        reduced.append(own)
    return reduced


def _highest(samples: Series, names: Sequence[str], metric: str, most: int = MAX_CURVES) -> list[str]:
    """The objects, in their order, whose metric reaches the highest values; all of them if they are few."""
    if len(names) <= most:
        return list(names)
    peaks = {name: float(np.max(samples.get(name, metric)[1], initial=-np.inf)) for name in names}
    chosen = set(sorted(names, key=lambda name: -peaks[name])[:most])
    return [name for name in names if name in chosen]


def _legend_name(name: str) -> str:
    """Returns the name of an object in a legend."""
    return name.split("/", 1)[1]


def _tell_seeds(of: Replicas, rows: int, notes: _Notes, how: str) -> None:
    if of.n > 1:
        notes.remarks[f"mean of {of.n} seeds {how}" if rows > 1 else f"the first of {of.n} seeds alone"] = None


def _thin_values(of: Replicas, name: str, curve: Curve, points: int, notes: _Notes) -> tuple[Floats, list[Floats]]:
    """Times and values of every seed, as many points as are drawn; what is no value is a gap."""
    times, rows = _rows(of, name, curve)
    step = math.ceil(times.size / points) if times.size else 1
    if step > 1:
        notes.joined.add((step, step * float(np.median(np.diff(times)))))
    known = [np.isfinite(row) & ((row > 0) | (not curve.zero_is_none)) for row in rows]
    gaps = [np.where(there, row, np.nan) for there, row in zip(known, rows, strict=True)]
    thin = [thin_values(times, row, curve.how, points)[1] for row in gaps]
    return thin_values(times, times, np.max, points)[0], thin


def _rows(of: Replicas, name: str, curve: Curve) -> tuple[Floats, list[Floats]]:
    """Sampling times, and the values of every seed; only those of the first if the others have no such samples."""
    times, first = of.runs[0].samples.get(name, curve.metric)
    rows = [first]
    for run in of.runs[1:]:
        if (name, curve.metric) not in run.samples:
            return times, [first]
        others, values = run.samples.get(name, curve.metric)
        if not np.array_equal(times, others):
            return times, [first]
        rows.append(values)
    return times, rows


def _spans_text(spans: list[tuple[int, float]]) -> str:
    least, most = spans[0], spans[-1]
    if least == most:
        return f"{least[0]} samples ({time_text(least[1])})"
    return f"{least[0]} to {most[0]} samples ({time_text(least[1])} to {time_text(most[1])})"


def is_far_apart(drawn: Sequence[Sequence[Line]]) -> bool:
    """Returns true if the typical values of the curves differ so much that a linear axis would hide some of them."""
    typical = [float(np.nanmedian(x.values[x.values > 0])) for lines in drawn for x in lines if (x.values > 0).any()]
    return bool(typical) and max(typical) > FAR_APART * min(typical)


def find_bands(low: Floats, high: Floats) -> list[slice]:
    """The stretches of a line where it has an interval: each is a band of its own, and between them there is none."""
    known = np.concatenate([[False], np.isfinite(low) & np.isfinite(high), [False]])
    edges = np.flatnonzero(known[1:] != known[:-1])
    return [slice(int(first), int(end)) for first, end in zip(edges[::2], edges[1::2], strict=True)]
