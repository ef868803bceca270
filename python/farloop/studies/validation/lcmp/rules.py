"""A run of LCMP's program as a scenario of farloop: the rules of the comparison, each with its place in the program.

They were set with load 0.3 and committed before any other was simulated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from farloop.studies.validation.lcmp.artifact import TrafficFlow
from farloop.studies.validation.lcmp.sites import HEADER, PAYLOAD, SiteNetwork

FRAME = PAYLOAD + HEADER
"""A full packet on the wire, in bytes."""
INNER_BUFFER, OUTER_BUFFER = 32 * 2**20, 128 * 2**20
"""Of a switch inside a datacenter and of one between them, in bytes (BUFFER_SIZE, DCI_BUFFER_SIZE of config_batch.txt)."""
RESERVED = 4 * 1024
"""Bytes that each port has to itself (SwitchMmu::reserve)."""
STOP_S = 0.6
"""The program ends so long after the first flow may begin (SIMULATOR_STOP_TIME)."""


def scenario(
    network: SiteNetwork,
    flows: Sequence[TrafficFlow],
    paths: Sequence[tuple[list[int], list[int]] | None],
    title: str,
    *,
    outer: str = "flow",
) -> dict[str, Any]:
    """The scenario.

    Args:
        network: The network.
        flows: Its flows.
        paths: Of each flow the nodes that its data passes, and those of its ACKs; `None` for farloop's own.
        title: Of the scenario.
        outer: How outer switches choose the paths of flows without one: `ecmp`.
    """
    names = {node: _name(network, node) for node in network.nodes}
    listed = []
    for flow, path in zip(flows, paths, strict=True):
        own: dict[str, Any] = {
            "from": names[flow.source],
            "to": names[flow.target],
            "size": f"{flow.size}B",
            "start": f"{flow.start_ns}ns",
        }
        if path is not None:
            own |= {key: [names[node] for node in nodes] for key, nodes in zip(("path", "ack_path"), path, strict=True)}
        listed.append(own)
    return {
        "title": title,
        "run": {"duration": f"{STOP_S}s"},
        "network": {"topology": "links"},
        "node": [
            {
                "name": names[node],
                "kind": "host" if network.is_host(node) else "switch",
                "datacenter": network.datacenters[node],
            }
            for node in network.nodes
        ],
        "link": [_link(network, names, *link) for link in network.links],
        "hosts": {"order": "cycle"},  # RdmaEgressQueue::GetNextQindex
        "transport": {
            "kind": "rdma",
            "mtu": f"{FRAME - 14}B",  # 1000 B of payload, SeqTsHeader 6, UDP 8, IP 20
            "header": "34B",
            "framing": "14B",
            "ack": "46B",  # 60 B with framing
            "control_priority": False,  # ACK_HIGH_PRIO 0
            "rto_intra": "10s",  # it has no timeout
            "rto_cross": "10s",
        },
        "switch": {
            "pfc": True,
            "xoff_alpha": 0.125,  # pfc_a_shift = 3 at ports as fast as hosts
            "xoff_alpha_rate": "100Gbps",
            "hysteresis": "3072B",  # resume_offset
            "ecn_at": "departure",
            "kmin": "400kB",  # KMIN_MAP, KMAX_MAP: in proportion to the rate
            "kmax": "1600kB",
            "pmax": 0.2,
            "ecn_rate": "100Gbps",
        },
        "switch_override": [
            {"match": names[node], "buffer": f"{buffer_bytes(network, node)}B"}
            | ({"ecmp": outer} if node in network.outer and outer != "flow" else {})
            for node in network.nodes
            if not network.is_host(node)
        ],
        "algorithm": {
            "name": "dcqcn",
            "dcqcn": {
                "alpha_interval": "55us",  # alpha_resume_interval: config_batch.txt does not set it
                "cnp_interval": "4us",  # RATE_DECREASE_INTERVAL
                "increase_interval": "900us",  # RP_TIMER
                "g": 0.00390625,
                "fast_recovery": 1,
                "ai": "50Mbps",
                "hai": "100Mbps",
                "min_rate": "100Mbps",
                "window_cap": True,  # HAS_WIN, GLOBAL_T: the largest product of rate and base RTT
                "window_cap_bytes": "400157000B",
                "window_cap_scaling": "rate",  # VAR_WIN
            },
        },
        "flow": listed,
        "record": {"ports": "none", "flows": "none"},
    }


def buffer_bytes(network: SiteNetwork, node: int) -> int:
    """The buffer of a switch: what its ports share in the program, and the headroom that farloop reserves.

    The program reserves three one-way delays a port, and counts in 32 bits (SwitchMmu::GetPfcThreshold). Where links of 5 and 10 ms end,
    the reserve is more than the buffer, so that gigabytes are left: these switches hardly ever pause.
    """
    ports = network.ports(node)
    reserve = sum(int(gbps * 1_000_000_000 * delay // 8 // 1_000_000_000) * 3 + RESERVED for gbps, delay in ports)
    size = OUTER_BUFFER if node in network.outer else INNER_BUFFER
    shared = (size - reserve) % 2**32
    # docs/network-model.md: the computed headroom of a link.
    headroom = sum((2000 * delay + 1) * gbps // 8000 + 3 * FRAME + 2 * 84 + 1 for gbps, delay in ports)
    return shared + headroom


def _name(network: SiteNetwork, node: int) -> str:
    """h0, s208, d286: by the kind of the node, with the program's number."""
    return f"{'h' if network.is_host(node) else 'd' if node in network.outer else 's'}{node}"


def _link(network: SiteNetwork, names: dict[int, str], a: int, b: int, gbps: int, delay: int) -> dict[str, Any]:
    link: dict[str, Any] = {"a": names[a], "b": names[b], "rate": f"{gbps}Gbps", "delay": f"{delay}ns"}
    # PFC acts on all of its links.
    return link | ({"pfc": "on"} if {a, b} <= network.outer else {})
