"""Flow completion times as slowdowns: the time until the last byte arrived over that of the same flow alone in the empty network.

`farloop.results.size_classes` has the classes of sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from farloop import metrics, units
from farloop.results.protocols import RunNumbers
from farloop.results.size_classes import GEMINI, MEDIAN, SizeClasses, SplitAtMedian
from farloop.results.tables import Floats
from farloop.statistics import mean_bands

KINDS = {"intra": False, "cross": True}
"""Kinds of flows: inside a datacenter, and across; with the value of the column `cross_datacenter`."""

MANY = 20
"""From more finished flows than this on, tables and pictures of the slowdown say more than a list of flows."""

BINS = 10
"""Size bins of pictures: tenths of the flows, as papers have them."""

CURVE_POINTS = 400
"""Points of a drawn distribution function."""

SEEDS_CAPTION = "over sizes: means over the seeds with 95 % bands; distribution: all seeds' flows together"
"""Caption of curves of several seeds."""

Mask = npt.NDArray[np.bool_]


def slowdowns(flows: pa.Table) -> Floats:
    """Slowdown of each flow; NaN for flows that are unfinished or have no size."""
    received, start = column(flows, "received_ps"), column(flows, "start_ps")
    return metrics.slowdown(received - start, column(flows, "ideal_fct_ps"))


def bound_slowdowns(flows: pa.Table, end: float) -> Floats:
    """Slowdown of each flow that has a size and began before the end, in seconds; NaN for the others.

    A flow that has not finished counts with its age, at least with 1: a lower bound of what it will be. Leaving it out would favour what
    finishes the fewest.
    """
    start = column(flows, "start_ps") / 1e12
    ideal = column(flows, "ideal_fct_ps") / 1e12
    values = slowdowns(flows)
    age = np.maximum((end - start) / np.where(ideal > 0, ideal, np.nan), 1.0)
    values = np.where(np.isnan(values) & (column(flows, "size_bytes") >= 0), age, values)
    return np.where(start < end, values, np.nan)


def is_kind(flows: pa.Table, kind: str) -> Mask:
    """Returns a mask of the flows of a kind, "intra" or "cross"."""
    return np.asarray((column(flows, "cross_datacenter") != 0) == KINDS[kind], dtype=np.bool_)


def endless(run: RunNumbers) -> Mask:
    """Flows that no algorithm could finish: without a size, or longer than the run on the wire. Depends on the traffic alone."""
    ports = run.ports.filter(np.asarray(run.ports["kind"].to_pylist()) == "host")
    rate = dict(zip(ports["node"].to_pylist(), ports["rate_bps"].to_pylist(), strict=True))
    own = np.array([float(rate[source]) for source in run.flows["source"].to_pylist()], dtype=np.float64)
    size = column(run.flows, "size_bytes")
    duration = units.seconds(str(run.scenario["run"]["duration"]))
    return np.asarray(np.isnan(size) | (size * 8 > duration * own), dtype=np.bool_)


def age_slowdowns(run: RunNumbers) -> Floats:
    """Slowdown of the flows that could finish, the unfinished ones counted by their age; NaN for the others."""
    return np.where(endless(run), np.nan, bound_slowdowns(run.flows, run.duration))


def slowdown_summary(flows: pa.Table, end: float, sizes: SizeClasses = GEMINI) -> tuple[dict[str, Any], dict[str, int]]:
    """Distribution of the slowdown for each kind of flow (`None` where none finished), and how many flows with a size did not finish.

    Args:
        flows: The table of flows.
        end: When the run ended, in seconds; flows that start later do not count.
        sizes: The classes of sizes, each of which has a distribution of its own.
    """
    values = slowdowns(flows)
    waiting = (column(flows, "size_bytes") >= 0) & np.isnan(column(flows, "received_ps"))
    waiting &= column(flows, "start_ps") / 1e12 < end
    summary: dict[str, Any] = {}
    unfinished = {}
    for kind in KINDS:
        chosen = is_kind(flows, kind)
        summary[kind] = _distribution_by_size(flows, values, chosen, sizes)
        unfinished[kind] = int(np.count_nonzero(waiting & chosen))
    return summary, unfinished


def aged_distribution(flows: pa.Table, end: float, sizes: SizeClasses = GEMINI) -> dict[str, Any]:
    """Distribution of the slowdown for each kind of flow with the unfinished ones counted by their age (`bounded`).

    Every number is a lower bound. `None` for kinds all of whose flows finished, of which `slowdown_summary` says all.
    """
    values, measured = bound_slowdowns(flows, end), slowdowns(flows)
    bounds: dict[str, Any] = {}
    for kind in KINDS:
        chosen = is_kind(flows, kind)
        has_unfinished = (chosen & np.isnan(measured) & ~np.isnan(values)).any()
        bounds[kind] = _distribution_by_size(flows, values, chosen, sizes) if has_unfinished else None
    return bounds


def _distribution_by_size(flows: pa.Table, values: Floats, chosen: Mask, sizes: SizeClasses) -> dict[str, Any] | None:
    """Distribution of the chosen flows' values, of each class of sizes, and of both halves by size; `None` if there is no value."""
    every = distribution(values[chosen])
    if every is None:
        return None
    size = column(flows, "size_bytes")
    empty = dict.fromkeys(every) | {"flows": 0}
    classes = {name: distribution(values[chosen & mask]) or empty for name, mask in sizes.masks(size).items()}
    halves = {name: distribution(values[chosen & mask]) for name, mask in MEDIAN.masks(size).items()}
    return SplitAtMedian({**every, "classes": classes, **halves})


LEFT_OUT = 0.01
"""From this share of unfinished flows on the 99th percentile of the finished ones says nothing of all flows."""


def omission_sentences(summaries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns sentences on what numbers of finished flows leave out, by kind; of several runs, for the one with most unfinished flows.

    Args:
        summaries: The summaries of runs.
    """
    texts = []
    for kind in KINDS:
        each = [(*_counts(summary, kind), summary) for summary in summaries]
        unfinished, begun, summary = max(each, key=lambda row: row[0] / max(row[1], 1))
        if unfinished == 0 or unfinished < LEFT_OUT * begun:
            continue
        text = f"{unfinished:,} of {begun:,} {kind} flows did not finish, and numbers of finished flows leave them out"
        finished, all_flows = summary["slowdown"][kind], summary["slowdown_at_least"][kind]
        if finished and all_flows:
            text += f": their 99th percentile of the slowdown is {finished['p99']:.3g}, that of all flows at least {all_flows['p99']:.3g}"
        more = sum(1 for count, of, _ in each if count and count >= LEFT_OUT * of) - 1
        texts.append(text + (f" (and in {more} other of {len(each)} runs)" if more else ""))
    return texts


def _counts(summary: Mapping[str, Any], kind: str) -> tuple[int, int]:
    """Unfinished flows, and all that began."""
    unfinished = int(summary["unfinished"][kind])
    return unfinished, unfinished + int((summary["slowdown"][kind] or {"flows": 0})["flows"])


def distribution(values: Floats) -> dict[str, Any] | None:
    """Returns count, mean and percentiles of the values that are numbers; `None` if none is."""
    known = values[~np.isnan(values)]
    if not known.size:
        return None
    p50, p95, p99 = np.percentile(known, [50, 95, 99]).tolist()
    return {"flows": int(known.size), "mean": float(known.mean()), "p50": p50, "p95": p95, "p99": p99}


def percentiles_by_size(flows: pa.Table, kind: str, percentiles: list[float]) -> tuple[Floats, Floats]:
    """Percentiles of the slowdown over flow size: the largest size of each bin in bytes, and one row per percentile.

    The bins are tenths of the flows of this kind that have a size, finished or not; equal sizes are never split. A bin in which no flow
    finished is left out.
    """
    chosen = is_kind(flows, kind) & (column(flows, "size_bytes") >= 0)
    sizes, values = column(flows, "size_bytes")[chosen], slowdowns(flows)[chosen]
    if not sizes.size:
        return np.empty(0), np.empty((len(percentiles), 0))
    edges = np.unique(np.quantile(sizes, np.arange(1, BINS + 1) / BINS, method="inverted_cdf"))
    bins = np.searchsorted(edges, sizes, side="left")
    known = ~np.isnan(values)
    used = [b for b in range(edges.size) if (known & (bins == b)).any()]
    rows = [np.percentile(values[known & (bins == b)], percentiles) for b in used]
    return edges[used].astype(np.float64), np.array(rows, dtype=np.float64).reshape(-1, len(percentiles)).T


def mean_percentiles_by_size(
    tables: Sequence[pa.Table], kind: str, percentiles: list[float]
) -> tuple[Floats, Floats, Floats]:
    """Like `percentiles_by_size`, over runs that differ in their seed: sizes, means over the runs, and both ends of their 95 % intervals.

    The bins are those of the flows of all runs together. A run without a finished flow in a bin does not count there; the ends are NaN
    where fewer than two do. They are in pairs of lower and upper ones, a pair for each percentile.
    """
    if len(tables) == 1:
        sizes, rows = percentiles_by_size(tables[0], kind, percentiles)
        return sizes, rows, np.full((rows.shape[0], 2, rows.shape[1]), np.nan)
    pooled = np.concatenate([column(t, "size_bytes")[is_kind(t, kind)] for t in tables])
    pooled = pooled[~np.isnan(pooled)]
    if not pooled.size:
        return np.empty(0), np.empty((len(percentiles), 0)), np.empty((len(percentiles), 2, 0))
    edges = np.unique(np.quantile(pooled, np.arange(1, BINS + 1) / BINS, method="inverted_cdf"))
    means, ends, used = [], [], []
    for i, edge in enumerate(edges):
        least = edges[i - 1] if i else -np.inf
        rows_of_bin = []
        for table in tables:
            sizes, values = column(table, "size_bytes"), slowdowns(table)
            inside = values[is_kind(table, kind) & (sizes > least) & (sizes <= edge) & ~np.isnan(values)]
            if inside.size:
                rows_of_bin.append(np.percentile(inside, percentiles))
        if rows_of_bin:
            mean, low, high = mean_bands(rows_of_bin, floor=1.0)
            means.append(mean)
            ends.append(np.stack([low, high], axis=1))
            used.append(edge)
    shape = (-1, len(percentiles))
    bands = np.array(ends).reshape(-1, len(percentiles), 2).transpose(1, 2, 0)
    return np.array(used, dtype=np.float64), np.array(means).reshape(shape).T, bands


def cumulative(tables: Sequence[pa.Table], kind: str, points: int) -> tuple[Floats, Floats]:
    """The distribution function of the slowdown of a kind over all tables: values, and the share of finished flows up to each.

    At most `points` points.
    """
    values = np.concatenate([slowdowns(flows)[is_kind(flows, kind)] for flows in tables])
    values = np.sort(values[~np.isnan(values)])
    if not values.size:
        return values, values
    chosen = np.unique(np.linspace(0, values.size - 1, min(points, values.size)).round().astype(int))
    return values[chosen], (chosen + 1) / values.size


def column(table: pa.Table, name: str) -> Floats:
    """A column of numbers; NaN where it has none."""
    return np.asarray(table[name].to_numpy(), dtype=np.float64)
