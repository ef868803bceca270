"""The few numbers that stand for a whole run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from farloop import metrics
from farloop.results import fields, flow_completion, gears, limits, offered, pfc, starts
from farloop.results.collectives import jobs, time_of_jobs
from farloop.results.size_classes import GEMINI, SizeClasses, SplitAtMedian
from farloop.results.tables import Floats, Series, port_name

MAX_FLOWS_LISTED = 64
"""With more flows than this a summary gives their distribution instead of one entry each."""


def summarise(
    flows: pa.Table,
    ports: pa.Table,
    pauses: pa.Table,
    iterations: pa.Table,
    series: Series,
    info: dict[str, Any],
    scenario: dict[str, Any],
    sizes: SizeClasses = GEMINI,
) -> dict[str, Any]:
    """Throughput, fairness, queues, pauses, losses and completion times (by classes of sizes) of a run.

    Rates in bit/s, times in seconds, sizes in bytes; `None` where a number does not exist. A run that is not of packets has its gear, the
    number of looks at flows, and the bounds of its errors, as parts of packets' numbers (`None` where it left them out).
    """
    totals = info["totals"]
    end = float(totals["end_s"])
    rates = throughputs(flows, end)
    of_kind = {kind: rates[flow_completion.is_kind(flows, kind)] for kind in flow_completion.KINDS}
    means = {kind: float(np.mean(r)) if r.size else None for kind, r in of_kind.items()}
    slowdown, unfinished = flow_completion.slowdown_summary(flows, end, sizes)
    jobs_ran = time_of_jobs(flows, iterations, end)
    worst = worst_ports(ports, series, end, jobs_ran)
    began = info.get("starts", [])
    summary: dict[str, Any] = {
        "title": scenario.get("title", ""),
        "simulated": totals["end_s"],
        "ratio": None
        if means["intra"] is None or means["cross"] is None
        else metrics.ratio(means["intra"], means["cross"]),
        "jain": metrics.jain(rates),
        "throughput": goodput(flows, info, jobs_ran or (0.0, end)),
        "mean_throughput": means,
        "bottleneck": worst["mean_queue"],
        "worst": worst,
        "pfc": pfc.totals(flows, ports, pauses, info["deadlocks"]),
        "dropped": sum_known(totals[cause] for cause in DROPS),
        "lost": sum_known(totals[cause] for cause in LOST),
        "packet_hops": totals["packet_hops"],
        "sizes": sizes.name,
        "slowdown": slowdown,
        "unfinished": unfinished,
        "slowdown_at_least": flow_completion.aged_distribution(flows, end, sizes),
        "limits": limits.summary_rows(info.get("limits", [])),
        "starts": starts.summary_rows(began),
        "before_first_ack": starts.count_unacted(flows, ports, began, scenario, end) if began else None,
        "network": offered.facts(flows, ports, scenario, end, jobs_ran),
        "gave_up": totals["gave_up"],
        "jobs": jobs(flows, scenario),
    }
    if (gear := gears.gear_of(scenario)) != gears.PACKETS:
        summary |= {"gear": gear, "looks": totals["looks"], "error": info.get("error")}
    if flows.num_rows <= MAX_FLOWS_LISTED:
        summary["flows"] = flow_rows(flows, end)
    cleaned: dict[str, Any] = replace_infinite(summary)
    return cleaned


def sum_known(counts: Iterable[int | None]) -> int | None:
    """The sum of the counts that there are; `None` where there is none: the gear of the run has no such thing."""
    known = [int(count) for count in counts if count is not None]
    return sum(known) if known else None


def goodput(flows: pa.Table, info: Mapping[str, Any], during: tuple[float, float]) -> float | None:
    """Payload of all flows and of the queue pairs of jobs over a time, in bit/s; `None` where a result does not say what jobs sent.

    Args:
        flows: The table of flows.
        info: The facts of the run.
        during: From when to when, in seconds.
    """
    seconds = during[1] - during[0]
    if seconds <= 0 or (not flows.num_rows and "jobs" not in info):
        return None
    of_jobs = sum(int(job["payload_bytes"]) for job in info.get("jobs", []))
    return (float(np.sum(flows["delivered_bytes"].to_numpy())) + of_jobs) * 8 / seconds


def throughputs(flows: pa.Table, end: float) -> Floats:
    """Delivered payload of each flow over the time that it was active, in bit/s; `end` is the run's, in seconds."""
    start, received, stop = (
        flow_completion.column(flows, f"{what}_ps") / 1e12 for what in ("start", "received", "stop")
    )
    until = np.where(received >= 0, received, np.minimum(end, np.where(stop >= 0, stop, np.inf)))
    active = until - start
    delivered = flow_completion.column(flows, "delivered_bytes") * 8
    return np.where(active > 0, delivered / np.where(active > 0, active, 1.0), 0.0)


def flow_rows(flows: pa.Table, end: float) -> list[dict[str, Any]]:
    """One entry per flow; `throughput` is the delivered payload over the time that the flow was active."""
    rates, slowdowns = throughputs(flows, end).tolist(), flow_completion.slowdowns(flows).tolist()
    rows = []
    for row, rate, slowdown in zip(flows.to_pylist(), rates, slowdowns, strict=True):
        rows.append(
            {
                "name": row["name"],
                "source": row["source"],
                "destination": row["destination"],
                "algorithm": row["algorithm"],
                "cross_datacenter": bool(row["cross_datacenter"]),
                "throughput": rate,
                "delivered": row["delivered_bytes"],
                "start": None if row["start_ps"] is None else row["start_ps"] / 1e12,
                "completion": None if row["received_ps"] is None else (row["received_ps"] - row["start_ps"]) / 1e12,
                "slowdown": None if math.isnan(slowdown) else slowdown,
                "base_rtt": row["base_rtt_ps"] / 1e12,
                "retransmitted": row["retransmitted"],
                "timeouts": row["timeouts"],
                "marked": row["marked"],
                "packets": row["packets"],
                "loss_rate": _loss_rate(row),
                "spurious": row["spurious"],
                "outcome": row["outcome"],
            }
        )
    return rows


def _loss_rate(row: Mapping[str, Any]) -> float | None:
    """The part of a flow's packets that was lost; `None` where its packets are not counted."""
    if row["packets"] is None:
        return None
    return row["dropped"] / row["packets"] if row["packets"] else 0.0


def slowest(flows: pa.Table, most: int = MAX_FLOWS_LISTED) -> pa.Table:
    """The flows with the largest slowdown, in the order of the table; all of them if they are no more than `most`.

    Flows without a slowdown come last, the earlier ones first.
    """
    if flows.num_rows <= most:
        return flows
    order = np.argsort(-np.nan_to_num(flow_completion.slowdowns(flows), nan=-1.0), kind="stable")
    return flows.take(np.sort(order[:most]))


def bounds(keys: Sequence[str]) -> tuple[float, float | None]:
    """Returns the lower and the upper bound of a number of the summary, found by its keys, the outermost first."""
    last = keys[-1] if keys else ""
    floor = 1.0 if "slowdown" in keys and last != "flows" else 0.0
    return floor, 1.0 if last in ("jain", "utilisation", "loss_rate") else None


DROPS = tuple(field.name for field in fields.TABLES["ports"] if field.name.startswith("dropped_"))
"""Why switches drop packets: columns of the table of ports, and totals."""

LOST = tuple(field.name for field in fields.TABLES["ports"] if field.name.startswith(("lost", "corrupted")))
"""Why packets are lost on links and at circuit switches: the same."""

WORST = ("mean_queue", "max_queue", "drops", "paused")
"""Measurements by which a port can be the worst of all."""


def worst_ports(
    ports: pa.Table, series: Series, end: float, jobs_ran: tuple[float, float] | None = None
) -> dict[str, dict[str, Any] | None]:
    """The worst of all ports by mean queue, longest queue, drops and time paused; `None` where no port has any.

    Of ports that are equally bad the first in the table counts.

    Args:
        ports: The table of ports.
        series: The samples; only ports with series have a percentile of the queue.
        end: When the run ended, in seconds.
        jobs_ran: From when to when jobs ran, in seconds, where no flows did: mean and utilisation are over that time.
    """
    begin, until = jobs_ran or (0.0, end)
    seconds = until - begin
    # Nothing waits before and after.
    times = end / seconds if seconds > 0 else 1.0
    columns = {
        "mean_queue": flow_completion.column(ports, "mean_queue_bytes") * times,
        "max_queue": flow_completion.column(ports, "max_queue_bytes"),
        "drops": drops_of(ports),
        "paused": flow_completion.column(ports, "paused_ps") / 1e12,
    }
    worst: dict[str, dict[str, Any] | None] = {}
    for what in WORST:
        values = np.asarray(columns[what])
        # Where the run's gear has no such numbers, none is more than 0.
        row = int(np.argmax(values)) if values.size else 0
        worst[what] = (
            _port(ports.slice(row, 1).to_pylist()[0], series, seconds, times)
            if values.size and values[row] > 0
            else None
        )
    return worst


def drops_of(ports: pa.Table) -> Floats:
    """Packets that each port dropped, for any cause; NaN where the gear of the run counts none."""
    known = [flow_completion.column(ports, cause) for cause in DROPS if ports[cause].null_count < ports.num_rows]
    return np.sum(known, axis=0) if known else np.full(ports.num_rows, np.nan)


def _port(row: dict[str, Any], series: Series, seconds: float, times: float) -> dict[str, Any]:
    """One port: sizes in bytes, times in seconds, drops in packets, the utilisation as a share of its rate over so many seconds.

    Args:
        row: Its row of the table.
        series: The samples.
        seconds: Duration that the utilisation is over.
        times: The time of the run over that.
    """
    name = port_name(row)
    known = [kind for kind in ("port", "worst") if (f"{kind}/{name}", "queue") in series]
    queue = series.get(f"{known[0]}/{name}", "queue")[1] if known else np.empty(0)
    return {
        "port": name,
        "mean_queue": row["mean_queue_bytes"] * times,
        "p99_queue": float(np.percentile(queue, 99)) if queue.size else None,
        "max_queue": row["max_queue_bytes"],
        "drops": sum_known(row[cause] for cause in DROPS),
        "paused": None if row["paused_ps"] is None else row["paused_ps"] / 1e12,
        "utilisation": row["tx_bytes"] * 8 / (row["rate_bps"] * seconds) if seconds > 0 else None,
        "marked": row["marked"],
    }


def replace_infinite(value: Any) -> Any:
    """The same structure with `None` for numbers that JSON has no form for."""
    if isinstance(value, dict):
        made = {k: replace_infinite(v) for k, v in value.items()}
        return SplitAtMedian(made) if isinstance(value, SplitAtMedian) else made
    if isinstance(value, list | tuple):
        return [replace_infinite(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
