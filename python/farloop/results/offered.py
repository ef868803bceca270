"""Load that a scenario's traffic offers to its network, layer by layer, independent of what the network then carries.

A layer is all links between two tiers of the network: hosts' links up and down, leaves to spines, the long haul. Its load is what the flows
would put on these links by their sizes and paths, with framing, acknowledgements and handshakes, over the time in which flows arrive (of
jobs, without flows, over the time in which these run), divided by what the links carry in that time. Where datacenters are loaded
differently, that of the most loaded one counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from farloop import units
from farloop.results import flow_completion
from farloop.results.tables import port_names
from farloop.units import bytes_text, rate_text, time_text

OVERLOAD = 0.95
"""Above this load of a layer there is a caution."""

MAX_TIERS = 8
"""Maximum number of names of tiers; with more, names tell nothing, and only hosts, switches and routers are distinguished."""

HOPS_PER_SECOND = 12e6
"""Packet-hops that one idle core simulates in a second, about (docs/performance.md, D3): for what a run takes."""

NAMED = 2
"""Overloaded layers that the caution names; the table has all."""

HEADER = ["layer", "links", "capacity", "offered", "load", "highest of a link"]

_DATACENTER = re.compile(r"^dc(\d+)-")
_PLANE = re.compile(r"^plane\d+-")
_TIER = re.compile(r"^[A-Za-z]+")


def layers(ports: pa.Table, arrivals: tuple[float, float]) -> dict[str, Any]:
    """The load of every layer, by its name such as "leaf->spine".

    Each has `links` and `capacity_bps` (of the most loaded datacenter or pair of them), `offered_bps`, `load`, and the most loaded port
    with its load (`port`, `port_load`); the last four are `None` where a flow without a size passes, which takes what it gets.

    Args:
        ports: The table of ports.
        arrivals: From when to when flows arrive, or jobs run, in seconds.
    """
    seconds = arrivals[1] - arrivals[0]
    rate = flow_completion.column(ports, "rate_bps")
    offered = (
        flow_completion.column(ports, "offered_bytes") * 8 / seconds if seconds > 0 else np.full(rate.size, np.nan)
    )
    names, groups = _groups(ports)
    layers_by_name: dict[str, Any] = {}
    for number, (layer, _) in enumerate(names):
        chosen = groups == number
        capacity, demand = float(rate[chosen].sum()), offered[chosen]
        known = not np.isnan(demand).any()
        facts: dict[str, Any] = {"links": int(chosen.sum()), "capacity_bps": capacity}
        if known:
            each = demand / rate[chosen]
            port = int(np.flatnonzero(chosen)[int(np.argmax(each))])
            total = float(demand.sum())
            facts |= {"offered_bps": total, "load": total / capacity}
            facts |= {"port": port_names(ports.slice(port, 1))[0], "port_load": float(each.max())}
        else:
            facts |= {"offered_bps": None, "load": None, "port": None, "port_load": None}
        before = layers_by_name.get(layer)
        if before is None or _weight(facts) > _weight(before):
            layers_by_name[layer] = facts
    return layers_by_name


def window(flows: pa.Table, scenario: Mapping[str, Any], end: float) -> tuple[float, float]:
    """From when to when flows arrive, in seconds: the times of the workloads; else from the first start to the end of the run."""
    written = scenario.get("workload", [])
    workloads = written if isinstance(written, list) else [written]
    timed = [workload for workload in workloads if workload.get("pattern") in ("poisson", "rounds", "incast")]
    if timed and len(timed) == len(workloads):
        starts = [units.seconds(str(entry.get("start", "0s"))) for entry in timed]
        stops = [entry.get("stop", "none") for entry in timed]
        return min(starts), min(end, max(end if stop == "none" else units.seconds(str(stop)) for stop in stops))
    starts_ps = flow_completion.column(flows, "start_ps")
    known = starts_ps[~np.isnan(starts_ps) & (starts_ps / 1e12 < end)]
    return (float(known.min()) / 1e12 if known.size else 0.0), end


def overloads(layers_by_name: Mapping[str, Any], seconds: float) -> list[str]:
    """One sentence where a layer is offered more than it can carry; none otherwise."""
    worst = sorted(
        (
            (name, layer)
            for name, layer in layers_by_name.items()
            if layer["load"] is not None and layer["load"] > OVERLOAD
        ),
        key=lambda pair: -pair[1]["load"],
    )
    if not worst:
        return []
    text = "; ".join(
        f"{name}: {_rate(layer['offered_bps'])} offered to {_rate(layer['capacity_bps'])} ({100 * layer['load']:,.0f} %)"
        for name, layer in worst[:NAMED]
    ) + (f"; and {len(worst) - NAMED} more layers" if len(worst) > NAMED else "")
    return [
        f"the traffic asks for more than the network carries, over {time_text(seconds)} of arrivals: {text}; "
        "the queues grow as long as flows arrive, and the flows that finish are the lucky ones"
    ]


def worst_overload(networks: Sequence[Mapping[str, Any]]) -> list[str]:
    """One sentence for several runs, of the most loaded one, and how many are overloaded; none where none is.

    Args:
        networks: Result of `facts` for each run.
    """
    texts = []
    for network in networks:
        # Ranks wait for their messages: a job is longer then, and no queue grows without an end.
        if network.get("of_jobs"):
            continue
        begin, until = network["arrivals"]
        text = overloads(network["layers"], until - begin)
        texts += [(max(layer["load"] or 0.0 for layer in network["layers"].values()), text[0])] if text else []
    if not texts:
        return []
    more = f" (the worst of {len(texts)} overloaded runs of {len(networks)})" if len(set(texts)) > 1 else ""
    return [max(texts)[1] + more]


def rows(layers_by_name: Mapping[str, Any]) -> list[list[str | None]]:
    """A row for each layer."""
    return [
        [
            name,
            str(layer["links"]),
            _rate(layer["capacity_bps"]),
            None if layer["offered_bps"] is None else _rate(layer["offered_bps"]),
            "as much as they get" if layer["load"] is None else f"{100 * layer['load']:,.1f} %",
            None if layer["port"] is None else f"{100 * layer['port_load']:,.1f} % ({layer['port']})",
        ]
        for name, layer in layers_by_name.items()
    ]


def rows_of_seeds(each: Sequence[Mapping[str, Any]]) -> list[list[str | None]]:
    """The rows of runs that differ in their seed as one: from the least to the most offered, and the highest load of a link in any."""
    joined = []
    for name, first in each[0].items():
        of = [network[name] for network in each if name in network]
        known = [layer for layer in of if layer["load"] is not None]
        (row,) = rows({name: max(of, key=lambda layer: layer["port_load"] or 0.0)})
        if known and len(known) == len(of) and first["links"] == known[-1]["links"]:
            ends = [min(known, key=lambda layer: layer["load"]), max(known, key=lambda layer: layer["load"])]
            ends_in_words = [rows({name: end})[0] for end in ends]
            row[3:5] = [
                a if a == b else f"{a} to {b}"
                for a, b in zip(ends_in_words[0][3:5], ends_in_words[1][3:5], strict=True)
            ]
        joined.append(row)
    return joined


def line(runs: Sequence[Mapping[str, Any]]) -> str:
    """The layers of one or several runs whose load is known, in one line; empty where flows without an end leave none."""
    loads: dict[str, list[float]] = {}
    for network in runs:
        for name, layer in network.items():
            if layer["load"] is not None:
                loads.setdefault(name, []).append(100 * layer["load"])
    parts = [f"{name} {_percent(min(of), max(of))} %" for name, of in loads.items()]
    return f"offered load: {', '.join(parts)}" if parts else ""


def _percent(low: float, high: float) -> str:
    least, most = (f"{value:,.0f}" if value == 0 or value >= 1 else f"{value:.2g}" for value in (low, high))
    return least if least == most else f"{least} to {most}"


def round_trips(flows: pa.Table) -> dict[str, list[float] | None]:
    """Least and largest base round-trip time of the flows' paths in seconds, by kind."""
    times = flow_completion.column(flows, "base_rtt_ps") / 1e12
    times_by_kind: dict[str, list[float] | None] = {}
    for kind in flow_completion.KINDS:
        own = times[flow_completion.is_kind(flows, kind)]
        times_by_kind[kind] = [float(own.min()), float(own.max())] if own.size else None
    return times_by_kind


def buffers(flows: pa.Table, ports: pa.Table, scenario: Mapping[str, Any]) -> dict[str, Any]:
    """The bandwidth-delay product of each kind of path at the fastest host's rate, and what each kind of switch has for it.

    Buffer and PFC headroom in bytes; ECN thresholds at the rates of its ports as the time that such a queue takes to drain, in seconds.
    """
    kinds = np.array(ports["kind"].to_pylist(), dtype=object)
    rate, headroom = flow_completion.column(ports, "rate_bps"), flow_completion.column(ports, "headroom_bytes")
    hosts = rate[kinds == "host"]
    line = float(hosts.max()) if hosts.size else 0.0
    trips = round_trips(flows)
    facts: dict[str, Any] = {
        "line_rate_bps": line,
        "bdp_bytes": {kind: None if trip is None else line * trip[1] / 8 for kind, trip in trips.items()},
    }
    nodes = np.array(ports["node"].to_pylist(), dtype=object)
    for section, kind in (("switch", "switch"), ("wan_switch", "router")):
        own = kinds == kind
        if own.any():
            _, number = np.unique(nodes[own].astype(str), return_inverse=True)
            reserved = float(np.bincount(number, weights=np.nan_to_num(headroom[own])).max())
            rates = sorted(set(rate[own].tolist()))
            facts[section] = _switch(scenario[section], rates) | {"headroom_bytes": reserved}
    return facts


def facts(
    flows: pa.Table,
    ports: pa.Table,
    scenario: Mapping[str, Any],
    end: float,
    time_of_jobs: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """All of this, as summary.json has it under "network".

    Args:
        flows: The table of flows.
        ports: The table of ports.
        scenario: The scenario with all keys.
        end: When the run ends, in seconds.
        time_of_jobs: From when to when jobs run, in seconds, where no flows do.
    """
    arrivals = time_of_jobs or window(flows, scenario, end)
    return {
        "arrivals": list(arrivals),
        "of_jobs": time_of_jobs is not None,
        "layers": layers(ports, arrivals),
        "base_rtt": round_trips(flows),
        **buffers(flows, ports, scenario),
    }


def hops(ports: pa.Table, scenario: Mapping[str, Any], end: float) -> float:
    """Packet-hops of a run that has not run, about: what is offered to each port, at most what it carries until the end."""
    rate = flow_completion.column(ports, "rate_bps")
    most = rate * end / 8
    offered = flow_completion.column(ports, "offered_bytes")
    # A flow without a size takes what it gets: half of the links that it passes, for want of knowing better.
    carried = np.where(np.isnan(offered), most / 2, np.minimum(offered, most))
    transport = scenario["transport"]
    framing = units.size(str(transport["framing"]))
    pair = units.size(str(transport["mtu"])) + units.size(str(transport["ack"])) + 2 * framing
    return float(2 * carried.sum() / pair)


def sentences(facts: Mapping[str, Any]) -> list[str]:
    """Round-trip times, bandwidth-delay products, buffers and thresholds, in a line each."""
    trips = [f"{_span(trip)} {kind}" for kind, trip in facts["base_rtt"].items() if trip is not None]
    products = [f"{bytes_text(size)} {kind}" for kind, size in facts["bdp_bytes"].items() if size is not None]
    text = (
        [f"base RTT: {', '.join(trips)}; BDP at {_rate(facts['line_rate_bps'])}: {', '.join(products)}"]
        if trips
        else []
    )
    for section in ("switch", "wan_switch"):
        if section in facts:
            text.append(f"{section}: {_switch_text(facts[section])}")
    return text


def _switch(keys: Mapping[str, Any], rates: Sequence[float]) -> dict[str, Any]:
    buffer = None if keys["buffer"] == "none" else units.size(str(keys["buffer"]))
    facts: dict[str, Any] = {"buffer_bytes": buffer, "pfc": bool(keys["pfc"]), "ecn": None}
    if keys["ecn"]:
        scale = None if keys["ecn_rate"] == "none" else units.rate(str(keys["ecn_rate"]))
        least, most = (units.size(str(keys[key])) for key in ("kmin", "kmax"))
        facts["ecn"] = [
            {"rate_bps": rate, "kmin_s": least * 8 / (scale or rate), "kmax_s": most * 8 / (scale or rate)}
            for rate in rates
        ]
    return facts


def _switch_text(switch: Mapping[str, Any]) -> str:
    parts = [f"{bytes_text(switch['buffer_bytes'])} of buffer"] if switch["buffer_bytes"] is not None else []
    parts += [f"PFC headroom {bytes_text(switch['headroom_bytes'])}"] if switch["pfc"] else ["no PFC"]
    if switch["ecn"] is None:
        return ", ".join([*parts, "no ECN"])
    marks = [
        f"{_span([at['kmin_s'], at['kmax_s']])} at {_rate(at['rate_bps'])}"
        for at in (switch["ecn"][0], switch["ecn"][-1])
    ]
    return ", ".join([*parts, f"ECN marks from {' and '.join(dict.fromkeys(marks))}"])


def _rate(bits_per_second: float) -> str:
    """A rate for people, also in Tbps, which many links together have."""
    return f"{bits_per_second / 1e12:.3g} Tbps" if bits_per_second >= 1e12 else rate_text(bits_per_second)


def _span(times: Sequence[float]) -> str:
    low, high = time_text(min(times)), time_text(max(times))
    return low if low == high else f"{low} to {high}"


def _weight(workload: Mapping[str, Any]) -> float:
    return float("inf") if workload["load"] is None else float(workload["load"])


def _groups(ports: pa.Table) -> tuple[list[tuple[str, str]], Any]:
    """The layer, and the datacenters, of each group of ports, the layers in the order in which they stand; and each port's group."""
    nodes, peers, kinds = (ports[name].to_pylist() for name in ("node", "peer", "kind"))
    places = dict(zip(nodes, ports["datacenter"].to_pylist(), strict=True))
    datacenters = {node: _datacenter(node, place) for node, place in places.items()}
    kind_of = dict(zip(nodes, kinds, strict=True))
    by_name = {node: _tier(node) for node in kind_of if kind_of[node] != "host"}
    named = len(set(by_name.values())) <= MAX_TIERS
    tier = {node: "host" if kind == "host" else by_name[node] if named else kind for node, kind in kind_of.items()}
    numbers: dict[tuple[str, str], int] = {}
    groups = np.empty(len(nodes), dtype=np.int64)
    for row, (node, peer) in enumerate(zip(nodes, peers, strict=True)):
        key = (f"{tier[node]}->{tier[peer]}", f"{datacenters[node]}->{datacenters[peer]}")
        groups[row] = numbers.setdefault(key, len(numbers))
    return list(numbers), groups


def _datacenter(node: str, place: int | None) -> str:
    """Where a node stands; a router that is in no datacenter and called after none stands by itself."""
    match = _DATACENTER.match(node)
    return f"dc{place}" if place is not None else f"dc{match[1]}" if match else node


def _tier(node: str) -> str:
    match = _TIER.match(_PLANE.sub("", _DATACENTER.sub("", node)))
    return match[0] if match else "switch"
