"""Hosts for networks that come without: where they are attached, and at which rate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import networkx as nx

MAX_VISITS = 5_000_000
"""Ports that are visited at most to find the busiest link: some seconds. In larger networks a part of the destinations stands for all."""


def host_names(graph: nx.MultiGraph, nodes: list[str], per_node: int) -> dict[str, str]:
    """New names for so many hosts at each of these nodes, with the node of each: `host-NODE`, of several `host-NODE-1`, ...."""
    hosts: dict[str, str] = {}
    for node in nodes:
        for number in range(1, per_node + 1):
            name = f"host-{node}" if per_node == 1 else f"host-{node}-{number}"
            while name in graph or name in hosts:
                name = f"{name}-x"
            hosts[name] = node
    return hosts


def balanced_rate(
    graph: nx.MultiGraph, hosts: Mapping[str, str], rates: Mapping[tuple[str, str], float]
) -> tuple[float, tuple[str, str]] | None:
    """The rate of hosts' links, all the same, at which uniform traffic of full load just fills the busiest link.

    Each host sends as much to each other one, on shortest paths; switches spread it evenly over the links on such paths.

    Args:
        graph: The switches and routers.
        hosts: The node that each host is attached to.
        rates: bit/s of one direction of all links together that join two nodes, by both orders of these.

    Returns:
        Rate in bit/s and the busiest link; nothing where no link has traffic.
    """
    count: dict[str, int] = dict.fromkeys(graph, 0)
    for node in hosts.values():
        count[node] += 1
    ports = {a: [(b, len(links)) for b, links in graph[a].items()] for a in graph}
    visits = sum(len(own) for own in ports.values())
    sites = [node for node in graph if count[node]]
    every = max(1, math.ceil(visits * len(sites) / MAX_VISITS))
    load: dict[tuple[str, str], float] = {}
    for destination in sites[::every]:
        for link, share in _loads(ports, count, destination).items():
            load[link] = load.get(link, 0.0) + share * every
    # Of what a host sends each other one gets a part.
    share = 1 / max(1, len(hosts) - 1)
    filled = [(rates[link] / (amount * share), link) for link, amount in load.items() if amount > 0]
    return min(filled, key=lambda each: each[0], default=None)


def _loads(
    ports: Mapping[str, list[tuple[str, int]]], count: Mapping[str, int], destination: str
) -> dict[tuple[str, str], float]:
    """Loads of the links if each host sends 1 to each host at the destination."""
    distance = {destination: 0}
    order = [destination]
    for node in order:
        for peer, _ in ports[node]:
            if peer not in distance:
                distance[peer] = distance[node] + 1
                order.append(peer)
    amount = {node: float(count[node] * count[destination]) for node in order}
    loads: dict[tuple[str, str], float] = {}
    for node in reversed(order[1:]):
        nearer = [(peer, links) for peer, links in ports[node] if distance[peer] < distance[node]]
        total = sum(links for _, links in nearer)
        for peer, links in nearer:
            part = amount[node] * links / total
            loads[node, peer] = part
            amount[peer] += part
    return loads
