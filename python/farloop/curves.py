"""Sampled series as curves: the same ones in reports and in pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from farloop.metrics import thinned
from farloop.palette import flow_colours
from farloop.results import Run
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

Line = tuple[str, str, Floats, Floats]
"""Name, colour, times in seconds, values."""


def curves(runs: Sequence[Run], curve: Curve) -> tuple[list[list[Line]], str]:
    """The curves of each run, and what became of the samples in words; nothing where every sample is a point.

    A curve that has no finite value, or of pauses none above zero, is left out.
    """
    count = sum(min(MOST_CURVES, len(run.samples.objects(curve.kind))) for run in runs)
    points = min(MOST_POINTS, max(LEAST_POINTS, ALL_POINTS // max(1, count)))
    found: list[list[Line]] = []
    joined: set[tuple[int, float]] = set()
    for run in runs:
        lines = []
        for name, colour in flow_colours(run.samples.highest(curve.kind, curve.metric, MOST_CURVES)).items():
            times, values = run.samples.get(f"{curve.kind}/{name}", curve.metric)
            step = math.ceil(times.size / points) if times.size else 1
            if step > 1:
                joined.add((step, step * float(np.median(np.diff(times)))))
            times, values = thinned(times, np.where(np.isfinite(values), values, np.nan), curve.how, points)
            if np.isfinite(values).any() and (curve.metric != "paused" or values.any()):
                lines.append((name, colour, times, values))
        found.append(lines)
    if not joined:
        return found, ""
    spans = sorted(joined)
    least, most = spans[0], spans[-1]
    told = f"{least[0]} samples ({time_text(least[1])})"
    if least != most:
        told = f"{least[0]} to {most[0]} samples ({time_text(least[1])} to {time_text(most[1])})"
    return found, f"each point the {curve.word} of {told}"


def is_far_apart(drawn: Sequence[Sequence[Line]]) -> bool:
    """Whether the typical values of the curves differ so much that a linear axis would hide some of them."""
    typical = [float(np.nanmedian(v[v > 0])) for lines in drawn for *_, v in lines if (v > 0).any()]
    return bool(typical) and max(typical) > FAR_APART * min(typical)
