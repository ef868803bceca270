"""Sampled series as curves: the same ones in reports and in pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from farloop.metrics import thinned
from farloop.palette import flow_colours
from farloop.seeds import Replicas
from farloop.statistics import mean_bands
from farloop.tables import Floats
from farloop.units import time_text

MOST_CURVES = 16
"""Of more recorded flows or ports than this a panel shows those that reach the highest values; more could not be told apart."""

MOST_POINTS = 1500
LEAST_POINTS = 400
ALL_POINTS = 60_000
"""Points of a curve and of all curves of a chart, which browsers draw without delay; neighbours become one."""

FAR_APART = 50.0
"""Where curves of one chart differ by more than this factor, only a logarithmic axis shows them all."""


@dataclass(frozen=True)
class Curve:
    """A metric of the series as a chart shows it.

    Attributes:
        metric: The metric of the series.
        kind: Whose it is: "flow" or "port".
        title: What it is called.
        quantity: "rate" (bit/s), "bytes", "time" (seconds) or "share".
        how: How neighbouring samples become one.
        word: The same in words.
        far_apart: Whether a logarithmic axis suits it where curves are far apart; shares of a link are compared on a linear one.
    """

    metric: str
    kind: str
    title: str
    quantity: str
    how: Callable[..., Floats]
    word: str
    far_apart: bool = False


CURVES = {
    c.metric: c
    for c in (
        Curve("throughput", "flow", "throughput", "rate", np.mean, "mean"),
        Curve("cwnd", "flow", "congestion window", "bytes", np.mean, "mean", far_apart=True),
        Curve("pacing", "flow", "pacing rate", "rate", np.mean, "mean", far_apart=True),
        Curve("rtt", "flow", "round-trip time", "time", np.mean, "mean", far_apart=True),
        Curve("max_queue", "port", "queue", "bytes", np.max, "maximum"),
        Curve("paused", "port", "paused", "share", np.mean, "mean"),
    )
}


class Line(NamedTuple):
    """A curve of one run, or the mean over several seeds with its 95 % confidence band; times in seconds."""

    name: str
    colour: str
    times: Floats
    values: Floats
    band: tuple[Floats, Floats] | None = None


def curves(found: Sequence[Replicas], curve: Curve) -> tuple[list[list[Line]], str]:
    """The curves of each case, and what they are in words; nothing where every sample of a single run is a point.

    Of several seeds the curve is the mean over them with its band. Where the seeds' flows are different ones (random traffic), their
    curves have nothing in common: then those of the first seed are drawn. A curve that has no finite value, or of pauses none above zero,
    is left out.
    """
    count = sum(min(MOST_CURVES, len(of.runs[0].samples.objects(curve.kind))) for of in found)
    points = min(MOST_POINTS, max(LEAST_POINTS, ALL_POINTS // max(1, count)))
    notes: dict[str, None] = {}
    joined: set[tuple[int, float]] = set()
    drawn: list[list[Line]] = []
    for of in found:
        lines = []
        for name, colour in flow_colours(of.runs[0].samples.highest(curve.kind, curve.metric, MOST_CURVES)).items():
            times, rows = _rows(of, f"{curve.kind}/{name}", curve)
            step = math.ceil(times.size / points) if times.size else 1
            if step > 1:
                joined.add((step, step * float(np.median(np.diff(times)))))
            thin = [thinned(times, np.where(np.isfinite(row), row, np.nan), curve.how, points)[1] for row in rows]
            times = thinned(times, times, np.max, points)[0]
            # Rates, windows, times, queues: nothing of them is below zero.
            values, low, high = mean_bands(thin, floor=0.0)
            if not np.isfinite(values).any() or (curve.metric == "paused" and not values.any()):
                continue
            several = len(rows) > 1
            if of.n > 1:
                notes[f"mean of {of.n} seeds with 95 % band" if several else f"the first of {of.n} seeds alone"] = None
            lines.append(Line(name, colour, times, values, (low, high) if several else None))
        drawn.append(lines)
    if joined:
        notes[f"each point the {curve.word} of {_told(sorted(joined))}"] = None
    return drawn, "; ".join(notes)


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


def _told(spans: list[tuple[int, float]]) -> str:
    least, most = spans[0], spans[-1]
    if least == most:
        return f"{least[0]} samples ({time_text(least[1])})"
    return f"{least[0]} to {most[0]} samples ({time_text(least[1])} to {time_text(most[1])})"


def is_far_apart(drawn: Sequence[Sequence[Line]]) -> bool:
    """Whether the typical values of the curves differ so much that a linear axis would hide some of them."""
    typical = [float(np.nanmedian(x.values[x.values > 0])) for lines in drawn for x in lines if (x.values > 0).any()]
    return bool(typical) and max(typical) > FAR_APART * min(typical)


def banded(low: Floats, high: Floats) -> list[slice]:
    """The stretches of a line where it has an interval: each is a band of its own, and between them there is none."""
    known = np.concatenate([[False], np.isfinite(low) & np.isfinite(high), [False]])
    edges = np.flatnonzero(known[1:] != known[:-1])
    return [slice(int(first), int(end)) for first, end in zip(edges[::2], edges[1::2], strict=True)]
