"""Topologies and flows of HPCC's ns-3 simulator (Li et al., SIGCOMM 2019) and of those that are built on it.

A topology has the numbers of nodes, switches and links, then the numbers of the switches, then one line for each link: `SRC DST RATE DELAY
ERROR`, where the error is the probability that a packet is lost. A flow file has the number of flows, then one line for each: `SRC DST PG
PORT SIZE START`, or `SRC DST PG SIZE START` as ConWeave's fork has it; size in bytes, start in seconds. Rates and times are those of ns-3.
Text after the announced lines is not read, as in that simulator: notes for readers, or links and flows that are set aside.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from os import PathLike

from farloop.errors import FarloopError, clip_text
from farloop.formats.flow_text import MAX_FLOWS, ListedFlow, flow_text
from farloop.formats.network_text import NetworkText, rate_text, time_text
from farloop.formats.text_lines import decimal_number, numbered_lines, shown_path, whole_number

MAX_NODES = 1_000_000

_LINK = 'expected links such as "0 320 25Gbps 1000ns 0"'
_FLOW = 'expected flows such as "0 1 3 100 2000000 2.0": source, destination, priority group, port, bytes, seconds'
_TOPOLOGY = f'expected "NODES SWITCHES LINKS", then the numbers of the switches; then {_LINK}'

# ns-3's DataRate: a B is a byte, and both "bps" and "b/s" are a second's.
_RATE = re.compile(r"([0-9.eE+-]+)([kKMGT]i?)?([bB])(?:ps|/s)")
_PREFIXES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12} | {
    f"{letter}i": 2 ** (10 * power) for power, letter in enumerate("KMGT", 1)
}  # fmt: skip
_TIME = re.compile(r"([0-9.eE+-]+)(fs|ps|ns|us|ms|s|min|h)?")
_PICOSECONDS = {
    "fs": Decimal("0.001"), "ps": Decimal(1), "ns": Decimal(10**3), "us": Decimal(10**6), "ms": Decimal(10**9),
    "s": Decimal(10**12), "min": Decimal(60 * 10**12), "h": Decimal(3600 * 10**12),
}  # fmt: skip


@dataclass(frozen=True)
class _Link:
    line: int
    a: int
    b: int
    rate: str
    delay: str
    loss: Decimal


@dataclass
class _Topology:
    nodes: int
    switches: dict[int, int] = field(default_factory=dict)
    """By number: the line."""
    links: list[_Link] = field(default_factory=list)
    ports: dict[int, list[int]] = field(default_factory=dict)
    """The links of each host, by position."""
    unread: int = 0
    """Lines behind the announced ones that would be links."""

    def hosts(self, node: int) -> list[str]:
        """The names of the hosts that stand for a node: one for each of its links."""
        count = len(self.ports.get(node, ()))
        return [f"h{node}"] if count < 2 else [f"h{node}-{port}" for port in range(1, count + 1)]


@dataclass
class _Flows:
    unread: int = 0
    """Lines behind the announced ones that would be flows."""


def from_hpcc(path: str | PathLike[str]) -> str:
    """The network of a topology file as scenario text (TOML); add `[run]` and traffic.

    Host N is called hN, switch N sN, all in datacenter 0. A host with several links becomes one host for each, hN-1, hN-2, …, as each queue
    pair of HPCC's hosts uses one of the links.

    Args:
        path: The file.

    Raises:
        FarloopError: the file cannot be read, is no such topology, or is a network that no scenario can have; the text names file and line.
    """
    name = shown_path(path)
    topology = _read_topology(path, name)
    split = sum(len(ports) > 1 for ports in topology.ports.values())
    comments = [
        f"Network of {name}, a topology of HPCC's simulator; add [run] and traffic.",
        "Buffers, ECN and PFC are in that simulator's config.txt, here in [switch].",
    ]
    if split:
        comments.append(f"{split} hosts have several links: one host hN-1, hN-2, … for each.")
    if topology.unread:
        comments.append(f"Not read: {topology.unread} links more than line 1 says, as in HPCC's simulator.")
    text = NetworkText(name, comments)
    for node in range(topology.nodes):
        line = topology.switches.get(node)
        if line is not None:
            text.add_node(line, f"s{node}", "switch", 0)
            continue
        for host in topology.hosts(node):
            text.add_node(0, host, "host", 0)
    for position, link in enumerate(topology.links):
        a, b = (
            f"s{node}" if node in topology.switches else topology.hosts(node)[topology.ports[node].index(position)]
            for node in (link.a, link.b)
        )
        text.add_link(link.line, a, b, rate=link.rate, delay=link.delay, loss=link.loss)
    return text.check_text()


def flows_from_hpcc(path: str | PathLike[str], flows: str | PathLike[str]) -> str:
    """The flows of a flow file as the CSV that a `[workload]` with `pattern = "list"` reads.

    The hosts are those of `from_hpcc`. Where a host has several links, its flows use them in turn, at the source and at the destination.
    Priority group and port have no effect: `[[flow]] class` has two classes.

    Args:
        path: The topology file.
        flows: The flow file.

    Raises:
        FarloopError: a file cannot be read or is none of HPCC's, or a flow is not between two hosts; the text names file and line.
    """
    name = shown_path(flows)
    topology = _read_topology(path, shown_path(path))
    turns: dict[tuple[int, str], Iterator[str]] = {}

    def next_host(node: int, role: str) -> str:
        if (node, role) not in turns:
            turns[node, role] = itertools.cycle(topology.hosts(node))
        return next(turns[node, role])

    rows = []
    listed = _Flows()
    for number, (here, source, destination, size, start) in enumerate(_read_flows(flows, name, listed), 1):
        for node in (source, destination):
            if node >= topology.nodes or node in topology.switches:
                what = "a switch" if node in topology.switches else f"not among the {topology.nodes} nodes"
                raise FarloopError(f"{here}: node {node} is {what} of {shown_path(path)}; expected a host")
        if source == destination:
            raise FarloopError(f"{here}: the flow goes from node {source} to itself; expected two hosts")
        ends = next_host(source, "from"), next_host(destination, "to")
        rows.append(ListedFlow(f"f{number}", *ends, time_text(start), f"{size}B"))
    if not rows:
        raise FarloopError(f"{name}: no flow; {_FLOW}")
    comments = [f"Flows of {name}."]
    if listed.unread:
        comments.append(f"Not read: {listed.unread} flows more than line 1 says, as in HPCC's simulator.")
    return flow_text(rows, comments)


def _has_numbers(words: list[str], columns: int) -> bool:
    """Returns whether a line would be a link or a flow."""
    return len(words) == columns and words[0].isdigit() and words[1].isdigit()


def _read_topology(path: str | PathLike[str], name: str) -> _Topology:
    lines = ((number, line.split()) for number, line in numbered_lines(path, expected=_TOPOLOGY))
    rows = ((number, words) for number, words in lines if words)
    number, words = next(rows, (1, []))
    here = f"{name}:{number}"
    if len(words) != 3:
        raise FarloopError(f"{here}: {clip_text(' '.join(words))}: {_TOPOLOGY}")
    nodes, switches, links = (
        whole_number(here, word, what, most=MAX_NODES)
        for word, what in zip(words, ("nodes", "switches", "links"), strict=True)
    )
    topology = _Topology(nodes)
    seen: dict[frozenset[int], int] = {}
    for number, words in rows:
        here = f"{name}:{number}"
        if len(topology.switches) < switches:
            # They may take several lines.
            for word in words:
                switch = whole_number(here, word, "switch", most=nodes - 1)
                if switch in topology.switches:
                    raise FarloopError(f"{here}: the switch {switch} a second time; expected {switches} switches")
                topology.switches[switch] = number
            if len(topology.switches) > switches:
                raise FarloopError(f"{here}: {len(topology.switches)} switches; expected {switches}, as line 1 says")
            continue
        if len(topology.links) == links:
            topology.unread += _has_numbers(words, 5)
            continue
        link = _read_link(here, number, words, nodes)
        pair = frozenset((link.a, link.b))
        if pair in seen:
            raise FarloopError(
                f"{here}: the nodes {link.a} and {link.b} have a link already, in line {seen[pair]}; expected one: HPCC's "
                "simulator sends over the last of several only"
            )
        seen[pair] = number
        for node in (link.a, link.b):
            if node not in topology.switches:
                topology.ports.setdefault(node, []).append(len(topology.links))
        topology.links.append(link)
    for what, count, wanted in (("switches", len(topology.switches), switches), ("links", len(topology.links), links)):
        if count < wanted:
            raise FarloopError(
                f"{name}:{number}: the file ends after {count} {what}; expected {wanted}, as line 1 says"
            )
    return topology


def _read_link(here: str, number: int, words: list[str], nodes: int) -> _Link:
    if len(words) != 5:
        raise FarloopError(f"{here}: {clip_text(' '.join(words))}: {len(words)} columns; {_LINK}")
    a, b = (whole_number(here, word, "node", most=nodes - 1) for word in words[:2])
    if a == b:
        raise FarloopError(f"{here}: the link connects node {a} with itself; expected two nodes")
    loss = decimal_number(here, words[4], "error rate", most=1)
    return _Link(number, a, b, rate_text(_rate(here, words[2])), time_text(_time(here, words[3])), loss)


def _rate(here: str, text: str) -> int:
    """ns-3's DataRate in bit/s."""
    matched = _RATE.fullmatch(text)
    if not matched or (matched[2] or "") not in _PREFIXES:
        raise FarloopError(f'{here}: rate: {clip_text(text)}: expected a rate of ns-3, such as "25Gbps"')
    number = decimal_number(here, matched[1], "rate")
    return int(number * _PREFIXES[matched[2] or ""] * (8 if matched[3] == "B" else 1))


def _time(here: str, text: str) -> int:
    """ns-3's Time in picoseconds; without a unit it is seconds."""
    matched = _TIME.fullmatch(text)
    if not matched:
        raise FarloopError(f'{here}: delay: {clip_text(text)}: expected a time of ns-3, such as "1000ns"')
    return round(decimal_number(here, matched[1], "delay", most=10**15) * _PICOSECONDS[matched[2] or "s"])


def _read_flows(path: str | PathLike[str], name: str, listed: _Flows) -> Iterator[tuple[str, int, int, int, int]]:
    """Of each flow: file and line, source, destination, bytes, start in picoseconds."""
    count, seen, number = -1, 0, 1
    for number, line in numbered_lines(path, expected=_FLOW):
        words, here = line.split(), f"{name}:{number}"
        if not words:
            continue
        if count < 0:
            if len(words) != 1:
                raise FarloopError(f"{here}: {clip_text(line.strip())}: expected the number of flows; then {_FLOW}")
            count = whole_number(here, words[0], "flows", most=MAX_FLOWS)
            continue
        if seen == count:
            listed.unread += _has_numbers(words, 5) or _has_numbers(words, 6)
            continue
        if len(words) not in (5, 6):
            raise FarloopError(f"{here}: {clip_text(line.strip())}: {len(words)} columns; {_FLOW}")
        seen += 1
        source, destination = (whole_number(here, word, "node", most=MAX_NODES) for word in words[:2])
        whole_number(here, words[2], "priority group")
        if len(words) == 6:
            whole_number(here, words[3], "port")
        size = whole_number(here, words[-2], "size", least=1)
        start = decimal_number(here, words[-1], "start", most=10**6)
        yield here, source, destination, size, round(start * 10**12)
    if seen < count or count < 0:
        raise FarloopError(
            f"{name}:{number}: the file ends after {seen} flows; expected {max(count, 1)}, as line 1 says"
        )
