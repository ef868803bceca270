"""Flow completion times as slowdowns: the time until the last byte arrived over that of the same flow alone in the empty network.

Small are the flows up to the median size of all flows of a run that have a size. The split depends on the traffic only, so it is the
same for every algorithm; sizes that equal the median count as small.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from farloop import metrics
from farloop.tables import Floats

KINDS = {"intra": False, "cross": True}
"""Kinds of flows: inside a datacenter, and across; with the value of the column `cross_datacenter`."""

MANY = 20
"""From more finished flows than this on, tables and pictures of the slowdown say more than a list of flows."""

BINS = 10
"""Size bins of pictures: tenths of the flows, as papers have them."""

CURVE_POINTS = 400
"""Points of a drawn distribution function."""

Mask = npt.NDArray[np.bool_]


def slowdowns(flows: pa.Table) -> Floats:
    """Slowdown of each flow; NaN for flows that are unfinished or have no size."""
    received, start = column(flows, "received_ps"), column(flows, "start_ps")
    return metrics.slowdown(received - start, column(flows, "ideal_fct_ps"))


def is_kind(flows: pa.Table, kind: str) -> Mask:
    """Which flows are of a kind, "intra" or "cross"."""
    return np.asarray((column(flows, "cross_datacenter") != 0) == KINDS[kind], dtype=np.bool_)


def is_small(flows: pa.Table) -> Mask:
    """Which flows have a size up to the median one."""
    sizes = column(flows, "size_bytes")
    sized = sizes[sizes >= 0]
    return np.asarray((sizes >= 0) & (sizes <= (np.median(sized) if sized.size else 0.0)), dtype=np.bool_)


def summarise(flows: pa.Table, end: float) -> tuple[dict[str, Any], dict[str, int]]:
    """Distribution of the slowdown for each kind of flow (`None` where none finished), and how many flows with a size did not finish.

    Args:
        flows: The table of flows.
        end: When the run ended, in seconds; flows that start later do not count.
    """
    values, small = slowdowns(flows), is_small(flows)
    waiting = (column(flows, "size_bytes") >= 0) & np.isnan(column(flows, "received_ps"))
    waiting &= column(flows, "start_ps") / 1e12 < end
    found: dict[str, Any] = {}
    unfinished = {}
    for kind in KINDS:
        chosen = is_kind(flows, kind)
        found[kind] = distribution(values[chosen])
        if found[kind] is not None:
            found[kind]["small"] = distribution(values[chosen & small])
            found[kind]["large"] = distribution(values[chosen & ~small])
        unfinished[kind] = int(np.count_nonzero(waiting & chosen))
    return found, unfinished


def distribution(values: Floats) -> dict[str, Any] | None:
    """How many, mean and percentiles of the values that are numbers; `None` if none is."""
    known = values[~np.isnan(values)]
    if not known.size:
        return None
    p50, p95, p99 = np.percentile(known, [50, 95, 99]).tolist()
    return {"flows": int(known.size), "mean": float(known.mean()), "p50": p50, "p95": p95, "p99": p99}


def by_size(flows: pa.Table, kind: str, percentiles: list[float]) -> tuple[Floats, Floats]:
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


def cumulative(flows: pa.Table, kind: str, points: int) -> tuple[Floats, Floats]:
    """The distribution function of the slowdown of a kind: values, and the share of finished flows up to each; at most `points` points."""
    values = slowdowns(flows)[is_kind(flows, kind)]
    values = np.sort(values[~np.isnan(values)])
    if not values.size:
        return values, values
    chosen = np.unique(np.linspace(0, values.size - 1, min(points, values.size)).round().astype(int))
    return values[chosen], (chosen + 1) / values.size


def column(table: pa.Table, name: str) -> Floats:
    """A column of numbers; NaN where it has none."""
    return np.asarray(table[name].to_numpy(), dtype=np.float64)
