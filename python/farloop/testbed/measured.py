"""Measurements as the tables and facts that a simulation gives."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from farloop import _native
from farloop.output.store import Simulated
from farloop.results import fields, tables
from farloop.testbed.blueprint import PS, Blueprint
from farloop.testbed.connections import Measurement, Transfer
from farloop.testbed.link_emulator import Lateness
from farloop.testbed.network import Network

MEASURED = "measured"
"""The key of a run's facts that says that it was measured, and where."""

MAX_GAP = 0.01
"""Seconds that a measurement may stand still for, by its own instruments, and still say something of the network."""


def make_tables(network: Network, measurement: Measurement, lateness: Sequence[tuple[Lateness, Lateness]]) -> Simulated:
    """The tables of what was measured; what no testbed has, such as pauses, is empty or 0."""
    plan = network.plan
    rows = [_flow(plan, i, transfer, network) for i, transfer in enumerate(measurement.transfers)]
    port_rows = _ports(plan, measurement)
    measured = {"flows": rows, "series": _series(plan, measurement), "ports": port_rows}
    made = {name: tables.from_rows(name, measured.get(name, [])) for name in fields.TABLES}
    totals = {total.name: total.nothing for total in fields.TOTALS} | {
        "packet_hops": sum(row["packets"] for row in port_rows),
        "end_s": measurement.duration,
        "injected": sum(row["packets"] for row in rows),
        "delivered": sum(row["packets"] - row["dropped"] for row in rows),
        "dropped_limit": sum(row["dropped_limit"] for row in port_rows),
        "finished": sum(row["outcome"] == "finished" for row in rows),
        "gave_up": sum(row["outcome"] == "gave-up" for row in rows),
    }
    lines = [way for both in lateness for way in both]
    conditions = {
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "real_time": measurement.urgent,
        "longest_gap_s": max([measurement.gap, *(way.most for way in lines)]),
        "delay_lines": [
            {
                "link": _link_name(plan, link),
                "delay_s": plan.links[link].delay_ps / PS,
                "there": asdict(there),
                "back": asdict(back),
            }
            for link, (there, back) in zip(network.emulated, lateness, strict=True)
        ],
        "least_rtt_s": {t.flow.name: t.info.min_rtt for t in measurement.transfers if t.info and t.info.min_rtt},
    }
    info = {
        "version": _native.version(),
        "wall_s": measurement.duration,
        "bytes_per_packet": None,
        "parts": 1,
        "totals": totals,
        "invariants": [],
        "deadlocks": [],
        "circuits": None,
        "notes": notes(conditions),
        MEASURED: conditions,
    }
    return Simulated(made, info)


def notes(conditions: dict[str, Any]) -> list[str]:
    """Returns notes for the reader of a measurement."""
    lines = []
    if not conditions["real_time"]:
        lines.append("measured without real-time priority: other processes may have delayed it; root has it")
    stalls = sum(line[way]["stalls"] for line in conditions["delay_lines"] for way in ("there", "back"))
    if conditions["longest_gap_s"] > MAX_GAP:
        took = conditions["longest_gap_s"] * 1e3
        late = f"{stalls} delayed packets were more than 10 ms late"
        lines.append(
            f"this host paused the testbed for up to {took:.0f} ms ({late}), so delays and shares may be off; repeat it on an idle host"
        )
    return lines


def _flow(plan: Blueprint, number: int, transfer: Transfer, network: Network) -> dict[str, Any]:
    flow, info = transfer.flow, transfer.info
    outcome = "unfinished"
    if transfer.finished is not None:
        outcome = "finished"
    elif transfer.failed:
        outcome = "gave-up"
    elif transfer.stopped and flow.stop_ps is not None:
        outcome = "stopped"
    return {
        "name": flow.name,
        "source": plan.nodes[flow.source].name,
        "destination": plan.nodes[flow.destination].name,
        "algorithm": plan.algorithms[flow.algorithm].name,
        "cross_datacenter": int(flow.cross_datacenter),
        "start_ps": flow.start_ps if transfer.begun is None else _ps(transfer.begun),
        "stop_ps": flow.stop_ps,
        "finish_ps": _ps(transfer.finished),
        "received_ps": _ps(transfer.received) if transfer.finished is not None else None,
        "delivered_bytes": transfer.delivered,
        "size_bytes": flow.size,
        "ideal_fct_ps": flow.ideal_fct_ps,
        "base_rtt_ps": flow.base_rtt_ps,
        "retransmitted": info.retransmitted if info else 0,
        "timeouts": info.timeouts if info else 0,
        "marked": info.marked if info else 0,
        "packets": info.packets if info else 0,
        "dropped": network.ports.count_dropped(number),
        "spurious": info.spurious if info else 0,
        "outcome": outcome,
        "first_limit": "",
    }


def _ports(plan: Blueprint, measurement: Measurement) -> list[dict[str, Any]]:
    rows = []
    for link_number, link in enumerate(plan.links):
        for end in (0, 1):
            number = Network.port(link_number, end)
            counters, node = measurement.ports[number], plan.nodes[link.ends[end]]
            rows.append(
                {
                    "node": node.name,
                    "peer": plan.nodes[link.ends[1 - end]].name,
                    "link": link.number,
                    "kind": node.kind,
                    "datacenter": node.datacenter,
                    "rate_bps": link.rate,
                    "delay_ps": link.delay_ps,
                    "tx_bytes": counters.sent,
                    "packets": counters.packets,
                    "dropped_limit": counters.dropped,
                    "marked": counters.marked,
                    "max_queue_bytes": counters.longest,
                    "mean_queue_bytes": measurement.queue_means[number],
                }
            )
    return rows


def _series(plan: Blueprint, measurement: Measurement) -> list[dict[str, Any]]:
    """The samples in long form; rates are over the time since the sample before."""
    rows: list[dict[str, Any]] = []

    def put(time: float, what: str, values: dict[str, float]) -> None:
        for metric, value in values.items():
            rows.append({"time_ps": _ps(time), "object": what, "metric": metric, "value": value})

    rates = [link.rate for link in plan.links for _ in (0, 1)]
    before: dict[str, tuple[float, Any]] = {}
    for sample in measurement.samples:
        for number, (delivered, info) in sample.flows.items():
            what = f"flow/{plan.flows[number].name}"
            since, had = before.get(what, (measurement.transfers[number].begun or 0.0, 0))
            rate = (delivered - had) * 8 / (sample.time - since) if sample.time > since else 0.0
            put(sample.time, what, {"throughput": rate, "cwnd": info.cwnd, "pacing": info.pacing, "rtt": info.rtt})
            before[what] = (sample.time, delivered)
        for number, port in sample.ports.items():
            what = f"port/{_port_name(plan, number)}"
            since, (sent, dropped) = before.get(what, (0.0, (0, 0)))
            took = max(sample.time - since, math.ulp(1.0))
            values = {
                "queue": port.queue,
                "max_queue": port.longest_of_epoch,
                "utilisation": (port.sent - sent) * 8 / (took * rates[number]),
                "paused": 0.0,
                "dropped": port.dropped - dropped,
            }
            put(sample.time, what, values)
            before[what] = (sample.time, (port.sent, port.dropped))
    return rows


def _port_name(plan: Blueprint, number: int) -> str:
    link, end = plan.links[number // 2], number % 2
    row = {
        "node": plan.nodes[link.ends[end]].name,
        "peer": plan.nodes[link.ends[1 - end]].name,
        "link": link.number,
    }
    return tables.port_name(row)


def _link_name(plan: Blueprint, link: int) -> str:
    a, b = plan.links[link].ends
    return f"{plan.nodes[a].name}-{plan.nodes[b].name}"


def _ps(time: float | None) -> int | None:
    return None if time is None else round(time * PS)
