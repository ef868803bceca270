"""A testbed's plan of a scenario; the scenario's own code reads and refuses (crates/scenario/src/testbed.rs)."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from farloop.formats.scenario_text import worded_for_python
from farloop.scenario import Scenario

PS = 10**12
"""Picoseconds of a second."""


@dataclass(frozen=True)
class Port:
    """Settings of a switch's egress port, in bytes on the wire.

    Attributes:
        limit: The longest queue.
        packets: The longest queue in packets, or `None`.
        kmin: Beyond it marking begins; `None` for no marking.
        kmax: Beyond it every packet is marked.
        pmax: Probability just below `kmax`.
    """

    limit: int
    packets: int | None
    kmin: int | None
    kmax: int | None
    pmax: float | None


@dataclass(frozen=True)
class Node:
    """A host or a switch; `kind` is "host", "switch" or "router"."""

    name: str
    kind: str
    datacenter: int | None


@dataclass(frozen=True)
class Link:
    """A link between two nodes, by their numbers.

    Attributes:
        ends: The nodes.
        number: Number among the links between these nodes, from 1.
        rate: In bit/s.
        delay_ps: One-way.
        ports: Settings of each end's port; `None` for hosts.
    """

    ends: tuple[int, int]
    number: int
    rate: int
    delay_ps: int
    ports: tuple[Port | None, Port | None]


@dataclass(frozen=True)
class Flow:
    """A flow; nodes and algorithm by number, `size` in bytes of payload (`None`: endless), the rest as in flows.parquet."""

    name: str
    source: int
    destination: int
    algorithm: int
    cross_datacenter: bool
    start_ps: int
    stop_ps: int | None
    size: int | None
    ideal_fct_ps: int | None
    base_rtt_ps: int


@dataclass(frozen=True)
class Control:
    """An algorithm: its name in scenarios, what the kernel calls it, its parameters."""

    name: str
    kernel: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Blueprint:
    """All that is to be built and to happen.

    Attributes:
        mtu: Largest IP packet.
        unseen: Bytes of a packet on the wire that the kernel does not count.
        duration: In seconds.
        interval: Of samples, in seconds; `None` for no series.
        nodes, links, algorithms, flows: By number.
        recorded_flows: Numbers of the flows with series.
        recorded_ports: Node, peer and link number of the ports with series.
    """

    mtu: int
    unseen: int
    duration: float
    interval: float | None
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    algorithms: tuple[Control, ...]
    flows: tuple[Flow, ...]
    recorded_flows: tuple[int, ...]
    recorded_ports: tuple[tuple[str, str, int], ...]

    @property
    def hosts(self) -> list[int]:
        """Numbers of the hosts."""
        return [i for i, node in enumerate(self.nodes) if node.kind == "host"]

    @property
    def used(self) -> list[int]:
        """Numbers of the links that flows or their acknowledgements pass; nothing happens elsewhere."""
        return sorted({link for path in self.paths() for link, _ in path})

    def paths(self) -> Iterator[list[tuple[int, int]]]:
        """The ways of flows and of their acknowledgements: by hop the link, and the end of it that sends."""
        for source, destination in sorted({(f.source, f.destination) for f in self.flows}):
            for start, end in ((source, destination), (destination, source)):
                routes, node, path = self.routes(end), start, []
                while node != end and node in routes:
                    path.append(routes[node])
                    link, side = routes[node]
                    node = self.links[link].ends[1 - side]
                yield path

    @functools.cached_property
    def fed_by_one(self) -> set[tuple[int, int]]:
        """The ports, by link and end, that all traffic reaches by one link which is no faster: where nothing ever waits."""
        feeds: dict[tuple[int, int], set[int | None]] = {}
        for path in self.paths():
            for before, port in zip([None, *path], path, strict=False):
                feeds.setdefault(port, set()).add(None if before is None else before[0])
        ports = set()
        for port, links in feeds.items():
            (first, *others) = links
            if not others and first is not None and self.links[first].rate <= self.links[port[0]].rate:
                ports.add(port)
        return ports

    def routes(self, destination: int) -> dict[int, tuple[int, int]]:
        """By node the link, and which end of it is the node's, that leads to a host; a scenario with more than one such path is refused."""
        next_links: dict[int, tuple[int, int]] = {}
        reached = [destination]
        for node in reached:
            for number, link in enumerate(self.links):
                for end in (0, 1):
                    peer = link.ends[end]
                    if link.ends[1 - end] == node and peer not in next_links and peer != destination:
                        next_links[peer] = (number, end)
                        reached.append(peer)
        return next_links


def plan(scenario: Scenario) -> Blueprint:
    """Plans a testbed for a scenario.

    Raises:
        ScenarioError: it is not valid, or has what a testbed cannot build.
    """
    with worded_for_python(scenario.text, scenario.display_name, scenario.case):
        text = scenario.prepare_handle().testbed()
    resolved = json.loads(text)
    return Blueprint(
        mtu=resolved["mtu"],
        unseen=resolved["unseen_framing"],
        duration=resolved["duration_ps"] / PS,
        interval=None if resolved["interval_ps"] is None else resolved["interval_ps"] / PS,
        nodes=tuple(Node(**node) for node in resolved["nodes"]),
        links=tuple(_link(link) for link in resolved["links"]),
        algorithms=tuple(Control(**algorithm) for algorithm in resolved["algorithms"]),
        flows=tuple(Flow(size=flow.pop("size_bytes"), **flow) for flow in resolved["flows"]),
        recorded_flows=tuple(resolved["recorded_flows"]),
        recorded_ports=tuple((a, b, k) for a, b, k in resolved["recorded_ports"]),
    )


def _link(link: dict[str, Any]) -> Link:
    ports = tuple(None if port is None else _port(port) for port in link["ports"])
    return Link((link["a"], link["b"]), link["number"], link["rate_bps"], link["delay_ps"], (ports[0], ports[1]))


def _port(port: dict[str, Any]) -> Port:
    return Port(port["limit_bytes"], port["limit_packets"], port["kmin_bytes"], port["kmax_bytes"], port["pmax"])
