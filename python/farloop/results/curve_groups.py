"""Curves of many flows: their median with a band, and by name those that are far from the others."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from farloop.palette import Look, look
from farloop.results.tables import Floats

BAND = (10.0, 90.0)
"""Percentiles of the flows between which the band is."""

FENCE = 1.5
"""A flow is an outlier if its mean over time lies farther outside the quartiles than this multiple of the range between them (Tukey)."""

MIN_DISTANCE = 0.1
"""And which is at least by this share of the median away from it: where all flows are alike, none is an outlier."""

MAX_OUTLIERS = 3
"""Of either kind of flows; those that are farthest away."""

FEW = 3
"""So many flows of a kind are drawn by themselves: there is no median of them that says more."""


class Drawn(NamedTuple):
    """A flow or a group of flows; the band is that of a group."""

    name: str
    look: Look
    values: Floats
    band: tuple[Floats, Floats] | None
    is_cross: bool


def group_flows(flows: pa.Table, times: Floats, rows: Mapping[str, Floats]) -> tuple[list[Drawn], str]:
    """The flows inside datacenters and those across, each as median, band and outliers; and what that is in words.

    Args:
        flows: The table of flows, which says when each was under way: only then it counts.
        times: Sampling times in seconds.
        rows: The values of each flow at these times; what is no value is not finite.
    """
    about = _describe_flows(flows, rows)
    step = float(times[1] - times[0]) if times.size > 1 else 0.0
    kinds: dict[bool, dict[str, Floats]] = {False: {}, True: {}}
    for name, values in rows.items():
        is_cross, begin, end = about.get(name, (False, -np.inf, np.inf))
        values = np.where((times > begin) & (times - step < end), values, np.nan)
        if np.isfinite(values).any():
            kinds[is_cross][name] = values
    drawn, names = [], []
    for is_cross, own in kinds.items():
        if len(own) <= FEW:
            drawn += [Drawn(n, look(i, is_cross=is_cross), v, None, is_cross) for i, (n, v) in enumerate(own.items())]
            continue
        kind = "cross-datacenter" if is_cross else "intra-datacenter"
        group = _group(own, f"median of {len(own)} {kind} flows", is_cross=is_cross)
        drawn += group
        names += [line.name for line in group[1:]]
    outliers = f"flows far from the others by name: {', '.join(names)}" if names else "no flow is far from the others"
    return drawn, f"median of the flows under way, band from their 10th to their 90th percentile; {outliers}"


def _group(rows: Mapping[str, Floats], name: str, *, is_cross: bool) -> list[Drawn]:
    """Median and band first, then the outliers in the order of the scenario."""
    table = np.array(list(rows.values()))
    with warnings.catch_warnings():
        # Where no flow is under way there is a gap.
        warnings.simplefilter("ignore", RuntimeWarning)
        low, middle, high = np.nanpercentile(table, [BAND[0], 50.0, BAND[1]], axis=0)
        typical = dict(zip(rows, np.nanmean(table, axis=1), strict=True))
    drawn = [Drawn(name, look(0, is_cross=is_cross), middle, (low, high), is_cross)]
    far = _outliers(typical)
    return drawn + [Drawn(n, look(i, is_cross=is_cross), rows[n], None, is_cross) for i, n in enumerate(far, 1)]


def _outliers(typical: Mapping[str, float]) -> list[str]:
    """The names of those whose number is far from the others', in order."""
    first, middle, third = np.percentile(list(typical.values()), [25, 50, 75])
    allowed = max(FENCE * (third - first), MIN_DISTANCE * abs(middle))
    beyond = {name: max(first - value, value - third) for name, value in typical.items()}
    far = sorted((name for name, by in beyond.items() if by > allowed), key=lambda name: -beyond[name])[:MAX_OUTLIERS]
    return [name for name in typical if name in far]


def _describe_flows(flows: pa.Table, rows: Mapping[str, Floats]) -> dict[str, tuple[bool, float, float]]:
    """Of these flows: whether each is across datacenters, and from when to when it is under way, in seconds."""
    named = flows.filter(pc.is_in(pc.cast(flows["name"], pa.string()), pa.array(list(rows), pa.string())))
    columns = ("name", "cross_datacenter", "start_ps", "received_ps", "stop_ps")
    texts = {}
    for name, is_cross, start, received, stop in zip(*(named[c].to_pylist() for c in columns), strict=True):
        ends = [end / 1e12 for end in (received, stop) if end is not None]
        texts[name] = (bool(is_cross), np.inf if start is None else start / 1e12, min(ends, default=np.inf))
    return texts
