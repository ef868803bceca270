"""The few numbers that stand for a whole run."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from farloop import metrics
from farloop.tables import Series
from farloop.units import seconds

MAX_FLOWS_LISTED = 64
"""With more flows than this a summary gives their distribution instead of one entry each."""


def summarise(
    flows: pa.Table, ports: pa.Table, series: Series, totals: dict[str, Any], scenario: dict[str, Any]
) -> dict[str, Any]:
    """Throughput, fairness, queues, pauses and losses of a run.

    Rates in bit/s, times in seconds, sizes in bytes; `None` where a number does not exist.
    """
    rows = flow_rows(flows, scenario, float(totals["end_s"]))
    rates = {cross: [r["throughput"] for r in rows if r["cross_datacenter"] == cross] for cross in (False, True)}
    summary: dict[str, Any] = {
        "title": scenario.get("title", ""),
        "simulated": totals["end_s"],
        "ratio": metrics.ratio(float(np.mean(rates[False])), float(np.mean(rates[True])))
        if rates[False] and rates[True]
        else None,
        "jain": metrics.jain([r["throughput"] for r in rows]),
        "throughput": float(sum(r["delivered"] for r in rows)) * 8 / totals["end_s"] if totals["end_s"] else None,
        "bottleneck": bottleneck(ports, series),
        "pfc": {
            "pauses": _total(ports, "pauses"),
            "paused": _total(ports, "paused_ps") / 1e12,
            "victims": int(np.count_nonzero(flows["victim_packets"].to_numpy())),
        },
        "dropped": int(totals["dropped_buffer"]) + int(totals["dropped_agent"]),
        "lost": int(totals["lost"]) + int(totals["corrupted"]),
        "packet_hops": totals["packet_hops"],
        "slowdown": {"intra": _distribution(rows, cross=False), "cross": _distribution(rows, cross=True)},
    }
    if len(rows) <= MAX_FLOWS_LISTED:
        summary["flows"] = rows
    cleaned: dict[str, Any] = finite(summary)
    return cleaned


def flow_rows(flows: pa.Table, scenario: dict[str, Any], end: float) -> list[dict[str, Any]]:
    """One entry per flow; `throughput` is the delivered payload over the time that the flow was active."""
    written = {f["name"]: f for f in scenario.get("flow", [])}
    rows = []
    for row in flows.to_pylist():
        start, received = row["start_ps"] / 1e12, row["received_ps"] / 1e12
        until = received if row["received_ps"] >= 0 else min(end, _stop(row["name"], written))
        completion = received - start if row["received_ps"] >= 0 else None
        ideal = row["ideal_fct_ps"] / 1e12
        rows.append(
            {
                "name": row["name"],
                "source": row["source"],
                "destination": row["destination"],
                "algorithm": row["algorithm"],
                "cross_datacenter": bool(row["cross_datacenter"]),
                "throughput": row["delivered_bytes"] * 8 / (until - start) if until > start else 0.0,
                "delivered": row["delivered_bytes"],
                "start": start,
                "completion": completion,
                "slowdown": completion / ideal if completion is not None and ideal > 0 else None,
                "base_rtt": row["base_rtt_ps"] / 1e12,
                "retransmitted": row["retransmitted"],
                "timeouts": row["timeouts"],
                "marked": row["marked"],
                "packets": row["packets"],
            }
        )
    return rows


def bottleneck(ports: pa.Table, series: Series) -> dict[str, Any] | None:
    """The recorded port with the longest mean queue: mean over the whole run, largest, and 99th percentile of the samples."""
    recorded = set(series.objects("port"))
    candidates = [p for p in ports.to_pylist() if f"{p['node']}->{p['peer']}" in recorded]
    if not candidates:
        return None
    port = max(candidates, key=lambda p: p["mean_queue_bytes"])
    name = f"{port['node']}->{port['peer']}"
    _, queue = series.get(f"port/{name}", "queue")
    _, utilisation = series.get(f"port/{name}", "utilisation")
    return {
        "port": name,
        "mean_queue": port["mean_queue_bytes"],
        "p99_queue": float(np.percentile(queue, 99)) if queue.size else None,
        "max_queue": port["max_queue_bytes"],
        "utilisation": float(utilisation.mean()) if utilisation.size else None,
        "marked": port["marked"],
    }


def finite(value: Any) -> Any:
    """The same structure with `None` for numbers that JSON has no form for."""
    if isinstance(value, dict):
        return {k: finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [finite(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _stop(name: str, written: dict[str, dict[str, Any]]) -> float:
    """When a flow's application stops; a flow of several equal ones is called NAME-1, NAME-2, and so on."""
    stop = written.get(name, written.get(name.rpartition("-")[0], {})).get("stop", "none")
    return math.inf if stop == "none" else seconds(stop)


def _total(table: pa.Table, column: str) -> int:
    return int(np.sum(table[column].to_numpy())) if table.num_rows else 0


def _distribution(rows: list[dict[str, Any]], *, cross: bool) -> dict[str, float] | None:
    values = [r["slowdown"] for r in rows if r["cross_datacenter"] == cross and r["slowdown"] is not None]
    if not values:
        return None
    p50, p95, p99 = np.percentile(values, [50, 95, 99])
    return {"flows": len(values), "mean": float(np.mean(values)), "p50": p50, "p95": p95, "p99": p99}
