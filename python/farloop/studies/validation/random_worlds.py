"""Small random networks with flows, as scenarios that can be changed part by part."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from farloop.scenario import Scenario

ALGORITHMS = ("fixed", "reno", "cubic", "dctcp", "hpcc", "dcqcn", "timely", "swift", "gear")
"""Algorithms of the worlds; in turn, so that each has its share."""

TCP = ("reno", "cubic")
"""Of these the ones that run over TCP."""

FULL_PACKET, HEADER, FRAMING, ACK = 1500, 40, 38, 64
"""Bytes of a packet: the IP packet, its headers, what a link adds, an acknowledgement."""

PAYLOAD = FULL_PACKET - HEADER


@dataclass(frozen=True)
class WorldLink:
    """A full-duplex link.

    Attributes:
        a: A node.
        b: The other one.
        rate: Bit/s of either direction.
        delay: Nanoseconds.
    """

    a: str
    b: str
    rate: int
    delay: int


@dataclass(frozen=True)
class WorldFlow:
    """A flow.

    Attributes:
        name: Its name.
        source: Its host.
        destination: Where to.
        start: Nanoseconds.
        size: Payload in bytes.
    """

    name: str
    source: str
    destination: str
    start: int
    size: int


@dataclass(frozen=True)
class World:
    """A network with flows. Two switches, or a chain of three, with hosts at each; one path between any two hosts.

    Attributes:
        algorithm: Algorithm of its flows.
        hosts: Names.
        switches: Names, along the chain.
        links: Between them.
        transfers: The flows.
        lossless: Priority flow control; else queues drop.
        bytes: Factor on all sizes in bytes.
        slower: Factor on all times.
        seconds: Duration.
        more: Further settings.
    """

    algorithm: str
    hosts: tuple[str, ...]
    switches: tuple[str, ...]
    links: tuple[WorldLink, ...]
    transfers: tuple[WorldFlow, ...]
    lossless: bool
    bytes: int = 1
    slower: int = 1
    seconds: float = 1.0
    more: Mapping[str, Any] = field(default_factory=dict)

    def scenario(self) -> Scenario:
        """As a scenario that can run."""
        times = self.bytes
        switch = {
            "buffer": f"{20_000_000 * times}B",
            "pfc": self.lossless,
            "kmin": f"{60_000 * times}B",
            "kmax": f"{60_000 * times}B",
            "hysteresis": f"{3_000 * times}B",
        }
        switch |= {"xoff": f"{100_000 * times}B"} if self.lossless else {"queue_limit": f"{150_000 * times}B"}
        transport: dict[str, Any] = {
            "kind": "tcp" if self.algorithm in TCP else "rdma",
            "mtu": f"{FULL_PACKET * times}B",
            "header": f"{HEADER * times}B",
            "framing": f"{FRAMING * times}B",
            "ack": f"{ACK * times}B",
            # Otherwise it is that of the hosts there are, with flows or without.
            "intra_rtt": f"{50 * self.slower}us",
        }
        if self.algorithm in TCP:
            # Reno without selective acknowledgements: their blocks keep their bytes where all others double.
            transport |= {"recovery": "newreno"} if self.algorithm == "reno" else {}
            transport |= {"min_rto": f"{5 * self.slower}ms", "initial_rto": f"{10 * self.slower}ms"}
        else:
            transport |= {"rto_intra": f"{1 * self.slower}ms", "rto_cross": f"{1 * self.slower}ms"}
        document = {
            "run": {"duration": f"{round(self.seconds * 1e9)}ns", "seed": 1},
            "network": {"topology": "links"},
            "node": [
                *({"name": name, "kind": "host", "datacenter": 0} for name in self.hosts),
                *({"name": name, "kind": "switch", "datacenter": 0} for name in self.switches),
            ],
            "link": [
                {"a": link.a, "b": link.b, "rate": f"{link.rate}bps", "delay": f"{link.delay}ns"} for link in self.links
            ],
            "switch": switch,
            "transport": transport,
            "algorithm": {"name": self.algorithm},
            "record": {"interval": "none"},
            "flow": [
                {
                    "name": flow.name,
                    "from": flow.source,
                    "to": flow.destination,
                    "start": f"{flow.start}ns",
                    "size": f"{flow.size}B",
                }
                for flow in self.transfers
            ],
        }
        return Scenario.load(document).override(dict(self.more))

    def rename_parts(self, name: Mapping[str, str]) -> World:
        """The same with other names of nodes and flows."""
        return replace(
            self,
            hosts=tuple(name[host] for host in self.hosts),
            switches=tuple(name[switch] for switch in self.switches),
            links=tuple(replace(link, a=name[link.a], b=name[link.b]) for link in self.links),
            transfers=tuple(
                replace(flow, name=name[flow.name], source=name[flow.source], destination=name[flow.destination])
                for flow in self.transfers
            ),
        )


def world(number: int) -> World:
    """The world of a number, always the same one."""
    draw = random.Random(number)
    switches = tuple(f"switch{i + 1}" for i in range(draw.choice((2, 3))))
    hosts = tuple(f"host{i + 1}" for i in range(draw.randint(4, 8)))
    rate = draw.choice((10, 25, 40)) * 10**9
    links = [WorldLink(host, draw.choice(switches), rate, draw.randint(1, 8) * 500) for host in hosts]
    # The chain is as fast as a host's link, so that what is offered to it can be too much.
    links += [WorldLink(a, b, rate, draw.randint(1, 20) * 1000) for a, b in itertools.pairwise(switches)]
    transfers = []
    for i in range(draw.randint(3, 8)):
        source, destination = draw.sample(hosts, 2)
        # Starts on a grid of their own, so that no two packets of a world are due at one instant by construction.
        start = draw.randrange(0, 200_000) * 10 + i
        transfers.append(WorldFlow(f"flow{i + 1}", source, destination, start, PAYLOAD * draw.randint(1, 800)))
    algorithm = ALGORITHMS[number % len(ALGORITHMS)]
    return World(algorithm, hosts, switches, tuple(links), tuple(transfers), lossless=algorithm not in TCP)
