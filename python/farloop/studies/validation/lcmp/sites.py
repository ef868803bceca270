"""LCMP's network of datacenters: its nodes, the program's paths, and its completion times of an empty network."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Sequence

PAYLOAD, HEADER = 1000, 48
"""Of a full packet, in bytes."""

MASK = 0xFFFFFFFF

Link = tuple[int, int, int, int]
"""Both ends, rate in Gbps, delay in nanoseconds."""


class SiteNetwork:
    """Hosts, switches of datacenters, and outer switches, which join them.

    Attributes:
        links: In the order of the file.
        switches: Inside datacenters.
        outer: Between datacenters.
    """

    def __init__(self, links: Sequence[Link], switches: Sequence[int], outer: Sequence[int]) -> None:
        self.links = list(links)
        self.switches, self.outer = frozenset(switches), frozenset(outer)
        self._near: dict[int, dict[int, tuple[int, int]]] = defaultdict(dict)
        for a, b, gbps, delay in links:
            self._near[a][b] = self._near[b][a] = gbps, delay
        self._next: dict[int, dict[int, list[int]]] = {}
        self._ideal_paths: dict[tuple[int, int], tuple[int, int, int]] = {}

    @property
    def nodes(self) -> list[int]:
        """All of them."""
        return sorted(self._near)

    def is_host(self, node: int) -> bool:
        """Returns whether a node is a host."""
        return node not in self.switches and node not in self.outer

    def rate_gbps(self, a: int, b: int) -> int:
        """The rate of the link between two nodes."""
        return self._near[a][b][0]

    def ports(self, node: int) -> list[tuple[int, int]]:
        """Rate in Gbps and delay in nanoseconds of a node's links."""
        return list(self._near[node].values())

    @functools.cached_property
    def datacenters(self) -> dict[int, int]:
        """The datacenter of each node: what hangs together without the links between outer switches."""
        datacenter: dict[int, int] = {}
        for first in self.nodes:
            if first in datacenter:
                continue
            number, edge = len(set(datacenter.values())), [first]
            datacenter[first] = number
            while edge:
                node = edge.pop()
                for near in self._near[node]:
                    if near not in datacenter and not (node in self.outer and near in self.outer):
                        datacenter[near] = number
                        edge.append(near)
        return datacenter

    def next_hops(self, target: int) -> dict[int, list[int]]:
        """The next nodes on shortest paths to a host, by node, in the order of the program's tables.

        It searches from the host (CalculateRoute of third.cc). Neighbours come in the order of their addresses in memory, which in its runs
        is that of falling numbers: its routing_table.csv says so.
        """
        if target not in self._next:
            distance, order, hops = {target: 0}, [target], defaultdict(list)
            for node in order:
                for near in sorted(self._near[node], reverse=True):
                    if near not in distance:
                        distance[near] = distance[node] + 1
                        if not self.is_host(near):
                            order.append(near)
                    if distance[near] == distance[node] + 1:
                        hops[near].append(node)
            self._next[target] = dict(hops)
        return self._next[target]

    def path(self, source: int, target: int, ports: tuple[int, int], *, fastest: bool = False) -> list[int]:
        """The nodes that packets with these ports (source, destination) pass.

        Args:
            source: The host that they come from.
            target: The host that they go to.
            ports: Of UDP.
            fastest: Outer switches choose among their fastest links alone (UCMP there).
        """
        hops, path = self.next_hops(target), [source]
        while path[-1] != target:
            here = path[-1]
            ways = hops[here]
            if fastest and here in self.outer:
                most = max(self.rate_gbps(here, way) for way in ways)
                ways = [way for way in ways if self.rate_gbps(here, way) == most]
            key = address(source), address(target), ports[0] | ports[1] << 16
            # A host has one link, and asks no hash.
            path.append(ways[0] if self.is_host(here) else ways[hash_words(key, here) % len(ways)])
        return path

    def ideal_ns(self, source: int, target: int, size: int) -> int:
        """The program's completion time of a flow of so many bytes alone in the network.

        That is twice the propagation and once the transmission of a full payload at each hop, and all bytes with their headers at the rate
        of the slowest link: of the shortest paths by hops the fastest by propagation, and of these the one with the fastest slowest link
        (CalculateRoute, qp_finish of third.cc). The program divides whole numbers.
        """
        delay, gbps, transmission = self._find_ideal_path(source, target)
        base_rtt = 2 * delay + transmission
        wire = size + ((size - 1) // PAYLOAD + 1) * HEADER
        return base_rtt + wire * 8_000_000_000 // (gbps * 1_000_000_000)

    def base_rtt_ns(self, source: int, target: int) -> int:
        """The program's base round-trip time between two hosts."""
        delay, _, transmission = self._find_ideal_path(source, target)
        return 2 * delay + transmission

    def _find_ideal_path(self, source: int, target: int) -> tuple[int, int, int]:
        """Propagation in ns, rate of the slowest link in Gbps and transmission in ns of the path that the program takes for the ideal."""
        if (source, target) not in self._ideal_paths:
            ways = self._list_ways(source, target)
            self._ideal_paths[source, target] = min(ways, key=lambda way: (way[0], -way[1]))
        return self._ideal_paths[source, target]

    def _list_ways(self, node: int, target: int) -> list[tuple[int, int, int]]:
        """Propagation, slowest link and transmission of each shortest path by hops."""
        if node == target:
            return [(0, 1 << 30, 0)]
        ways = []
        for near in self.next_hops(target)[node]:
            gbps, delay = self._near[node][near]
            own = PAYLOAD * 1_000_000_000 * 8 // (gbps * 1_000_000_000)
            for further, slowest, transmission in self._list_ways(near, target):
                ways.append((further + delay, min(slowest, gbps), transmission + own))
        return ways


def address(node: int) -> int:
    """The IP address of a host (node_id_to_ip of third.cc)."""
    return 0x0B000001 + (node // 256) * 0x00010000 + (node % 256) * 0x00000100


def hash_words(words: Sequence[int], seed: int) -> int:
    """MurmurHash3 of words of 32 bits, as the program's switches apply it (SwitchNode::EcmpHash); the seed is a switch's number.

    It multiplies by 5 with a shift and a sum, and adds 0xe6546b64.
    """
    value = seed
    for word in words:
        scrambled = word * 0xCC9E2D51 & MASK
        scrambled = (scrambled << 15 | scrambled >> 17) & MASK
        value ^= scrambled * 0x1B873593 & MASK
        value = (value << 13 | value >> 19) & MASK
        value = (value + (value << 2) + 0xE6546B64) & MASK
    value ^= 4 * len(words)
    value ^= value >> 16
    value = value * 0x85EBCA6B & MASK
    value ^= value >> 13
    value = value * 0xC2B2AE35 & MASK
    return value ^ value >> 16
