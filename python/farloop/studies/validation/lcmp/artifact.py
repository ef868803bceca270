"""The files of LCMP's artifact: topology, traffic and completion times, checked by their hashes.

LCMP (EuroSys 2026) publishes its ns-3, which is HPCC's with switches of a second kind between datacenters, with its inputs and what it
gave (github.com/dyyuCS/LCMP). Of these farloop reads the part with 13 datacenters. The repository of farloop has none of its files.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from farloop.errors import FarloopError, clip_text
from farloop.studies.validation.lcmp.sites import SiteNetwork

REPOSITORY = "https://github.com/dyyuCS/LCMP"
COMMIT = "a7854d90477f729a4f08f7079b229073eb9477ee"

LOADS = ("0.3", "0.5", "0.8")
"""Of the traffic files, in the order of their names."""
ECMP, UCMP, LCMP = "ECMP", "UCMP", "LCMP"
CHOOSERS = (ECMP, UCMP, LCMP)
"""The choices of paths. Those of the first two follow from addresses and ports, LCMP's own depends on queues."""
FOLDERS = {ECMP: "ECMP", UCMP: "UCMP", LCMP: "Ours"}
"""Of their results."""

_CONFIG = "simulation/mix/config/13DC-hetero"
TOPOLOGY = f"{_CONFIG}/topology_LeafSpine_MultiDC13.txt"
HASHES = {
    TOPOLOGY: "666dfa0d86249b858781a10ee4b661d09d7bf6ed19129ec7be1ff97005debc7f",
    "simulation/mix/config/13DC-hetero/traffic_WebSearch_13DC-0.3util.txt": (
        "8efe0b365f6c9517b8e65a6fa6adab54400f3a8b577ccd098f86a082c005e7b4"
    ),
    "simulation/mix/config/13DC-hetero/traffic_WebSearch_13DC-0.5util.txt": (
        "8aa0cb811fc4a1729c92f6b7ecaf6210a5be4187df8b59a2b8cd7e2009cab4c4"
    ),
    "simulation/mix/config/13DC-hetero/traffic_WebSearch_13DC-0.8util.txt": (
        "f68d6b27079e95f4a247353a1865981f2894e920e34ce85cc627451de2e86c01"
    ),
    "simulation/mix/config/13DC-hetero/server-output/Figure-7and8-13DC_3routing_3traffic/WebSearch/0.3util/ECMP/fct_dcqcn.txt": (
        "33314fdcb084dec6aa8567aa7b491324d6774c24c6ea0659280cfed69d60e223"
    ),
    "simulation/mix/config/13DC-hetero/server-output/Figure-7and8-13DC_3routing_3traffic/WebSearch/0.3util/UCMP/fct_dcqcn.txt": (
        "133b7fbc7c5f602424532719918a7358c1eaec69e33d0e590d7914101a0ac16d"
    ),
    "simulation/mix/config/13DC-hetero/server-output/Figure-7and8-13DC_3routing_3traffic/WebSearch/0.3util/Ours/fct_dcqcn.txt": (
        "3565d31da6fc5519173b14d16b8ba448d0b2e9096265134912047481619053a1"
    ),
    "simulation/mix/config/13DC-hetero/server-output/Figure-7and8-13DC_3routing_3traffic/WebSearch/0.5util/ECMP/fct_dcqcn.txt": (
        "8e80029c7e9782c45d2508e27810538bfb81d1dd0047e41f5a5b068d1efe1e4d"
    ),
    "simulation/mix/config/13DC-hetero/server-output/Figure-7and8-13DC_3routing_3traffic/WebSearch/0.5util/UCMP/fct_dcqcn.txt": (
        "45363c2c3412f5e81c068eeb687210140c1f1815750f3dcc0473856a460c5227"
    ),
    "simulation/mix/config/13DC-hetero/server-output/Figure-7and8-13DC_3routing_3traffic/WebSearch/0.5util/Ours/fct_dcqcn.txt": (
        "b3ffb2930f76858a8b6332821a1fe242986613bb2d2416b388630bbd7f1637a1"
    ),
    "simulation/mix/config/13DC-hetero/server-output/Figure-7and8-13DC_3routing_3traffic/WebSearch/0.8util/ECMP/fct_dcqcn.txt": (
        "108aa95a6ec1b62fc76147529e180b097e3adbb3e68daeaf9473a1338ff6cd4e"
    ),
    "simulation/mix/config/13DC-hetero/server-output/Figure-7and8-13DC_3routing_3traffic/WebSearch/0.8util/UCMP/fct_dcqcn.txt": (
        "7283697c71a1ed53c3253ef75b0d0a16c139c7bbbf4c94e9121824d5006c8bb7"
    ),
    "simulation/mix/config/13DC-hetero/server-output/Figure-7and8-13DC_3routing_3traffic/WebSearch/0.8util/Ours/fct_dcqcn.txt": (
        "ccdfe0512cea15e068b7f0e20051d9e635ee7db95f836f193a8d5ab7396d0c61"
    ),
}
"""SHA-256 of each file, by its place in the checkout."""

FIRST_PORT = 10_000
"""Source port of the first flow of a pair of hosts; the next ones count up (portNumder of third.cc)."""
ORIGIN_NS = 2_000_000_000
"""Flows begin two seconds after the program does."""


def traffic_file(load: str) -> str:
    """The place of the flow list of a load."""
    return f"{_CONFIG}/traffic_WebSearch_13DC-{load}util.txt"


def times_file(load: str, chooser: str) -> str:
    """The place of the completion times of a load under a choice of paths."""
    folder = f"{_CONFIG}/server-output/Figure-7and8-13DC_3routing_3traffic/WebSearch/{load}util/{FOLDERS[chooser]}"
    return f"{folder}/fct_dcqcn.txt"


@dataclass(frozen=True)
class TrafficFlow:
    """A flow of the traffic file.

    Attributes:
        source: Number of its host.
        target: Number of the host that it goes to.
        source_port: Of its packets.
        target_port: Of its packets.
        size: In bytes.
        start_ns: After the first flow may begin.
    """

    source: int
    target: int
    source_port: int
    target_port: int
    size: int
    start_ns: int

    @property
    def key(self) -> tuple[int, int, int]:
        """What tells it from all others."""
        return self.source, self.target, self.source_port


@dataclass(frozen=True)
class ProgramTime:
    """A completion time of the program, and that of its empty network, both in nanoseconds.

    Attributes:
        size: In bytes.
        start_ns: After the first flow may begin.
        took_ns: Until the last byte is acknowledged.
        ideal_ns: The program's: the base round-trip time of the fastest shortest path, and all bytes at its slowest link's rate.
    """

    size: int
    start_ns: int
    took_ns: int
    ideal_ns: int


def read(checkout: Path, place: str) -> list[list[str]]:
    """The words of a file's lines, without comments and empty lines.

    Raises:
        FarloopError: the file is missing, or is another one than that of the commit.
    """
    path = checkout / place
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FarloopError(
            f"{clip_text(str(path), 300)}: cannot be read: {error.strerror}; expected a checkout of {REPOSITORY} at {COMMIT[:7]}"
        ) from None
    digest = hashlib.sha256(content).hexdigest()
    if digest != HASHES[place]:
        raise FarloopError(
            f"{clip_text(str(path), 300)}: is another file than at commit {COMMIT[:7]} of {REPOSITORY}: its SHA-256 begins with "
            f"{digest[:12]}; expected {HASHES[place][:12]}"
        )
    lines = content.decode("utf-8").splitlines()
    return [line.split() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def read_network(checkout: Path) -> SiteNetwork:
    """The network of the 13 datacenters.

    Raises:
        FarloopError: as `read`.
    """
    rows = read(checkout, TOPOLOGY)
    _, _, _, links = map(int, rows[0])
    switches, outer = ([int(word) for word in row] for row in rows[1:3])
    ends = [(int(a), int(b), _gbps(rate), _nanoseconds(delay)) for a, b, rate, delay, _ in rows[3 : 3 + links]]
    return SiteNetwork(ends, switches, outer)


def _gbps(text: str) -> int:
    return int(text.removesuffix("Gbps"))


def _nanoseconds(text: str) -> int:
    return int(text[:-2]) * {"us": 1_000, "ms": 1_000_000}[text[-2:]]


def read_traffic(checkout: Path, load: str) -> list[TrafficFlow]:
    """The flows of a load, with the ports that the program gives them.

    Raises:
        FarloopError: as `read`.
    """
    ports: Counter[tuple[int, int]] = Counter()
    flows = []
    for source, target, _, port, size, start in read(checkout, traffic_file(load))[1:]:
        pair = int(source), int(target)
        # ns-3's Seconds() of a double, in whole nanoseconds.
        start_ns = round(float(start) * 1e9) - ORIGIN_NS
        flows.append(TrafficFlow(*pair, FIRST_PORT + ports[pair], int(port), int(size), start_ns))
        ports[pair] += 1
    return flows


def read_times(checkout: Path, load: str, chooser: str) -> dict[tuple[int, int, int], ProgramTime]:
    """The program's completion times, by what tells a flow from all others.

    Raises:
        FarloopError: as `read`.
    """
    times = {}
    for source, target, port, _, size, start, took, ideal in read(checkout, times_file(load, chooser)):
        key = _node(source), _node(target), int(port)
        times[key] = ProgramTime(int(size), int(start) - ORIGIN_NS, int(took), int(ideal))
    return times


def _node(address: str) -> int:
    """The node of an IP address in hexadecimal digits (ip_to_node_id of third.cc)."""
    return int(address, 16) >> 8 & 0xFFFF
