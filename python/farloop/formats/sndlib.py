"""Networks of SNDlib (Orlowski et al., Networks 55, 2010) as scenarios, and their demands as flows.

Nodes become routers with hosts, links full-duplex links, a demand flows from hosts of its source to hosts of its target.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from os import PathLike
from pathlib import Path

from farloop import units
from farloop.errors import FarloopError, clip_text
from farloop.formats.distances import FIBRE_SPEED, ROUTE_FACTOR, Coordinates, delay_text, fibre_delay, fill_places
from farloop.formats.flow_text import MAX_FLOWS, ListedFlow, flow_text
from farloop.formats.inputs import open_input
from farloop.formats.network_text import NetworkText, name_for, rate_text, time_text
from farloop.formats.sndlib_file import EXPECTED, NetworkFile, SndlibLink
from farloop.formats.sndlib_native import read_native
from farloop.formats.sndlib_xml import read_xml
from farloop.formats.text_lines import shown_path

UNIT = "1Mbps"
"""Of capacities and demands in a file that states none."""

HOST_DELAY = "1us"

MAX_BYTES = 1 << 26
"""Of a file; the largest of SNDlib has 4 MB."""

MAX_HOSTS_PER_NODE = 1000

_UNIT_WORD = re.compile(r"([KMGT]?)BITS?PERSEC")
_PREFIXES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def from_sndlib(
    path: str | PathLike[str],
    *,
    unit: str | None = None,
    rate: str | None = None,
    delay: str | None = None,
    route_factor: float = ROUTE_FACTOR,
    hosts_per_node: int = 1,
    host_rate: str | None = None,
) -> str:
    """The network of an SNDlib network file (native or XML) as scenario text (TOML); add `[run]` and traffic.

    A link has its pre-installed capacity, else that of its smallest module. Two links in opposite directions are one full-duplex link where
    all links of the file come in such pairs. The delay is the great circle between the ends × `route_factor` / 204,190 km/s, at least 1 us;
    a node without coordinates is at the mean of its neighbours. The host at node N is called host-N, several are host-N-1, host-N-2, ….

    Args:
        path: The file.
        unit: Unit of capacities and demands, such as "1Mbps"; without it what the file's META section says, else 1Mbps.
        rate: Rate of links that have neither capacity nor module.
        delay: One-way delay of links whose ends have no geographical coordinates; without it the scenario format's default holds.
        route_factor: Length of a fibre over the great-circle distance of its ends.
        hosts_per_node: Hosts to attach to each node.
        host_rate: Rate of the hosts' links; without it that of the fastest link of the network.

    Raises:
        FarloopError: the file is no network file of SNDlib, or the network is none that a scenario can have; the text names file and line.
    """
    name = shown_path(path)
    network = _read_network(path, name)
    _check_option(name, "route_factor", 0 < route_factor <= 100, route_factor, "more than 0, at most 100")
    _check_hosts(name, hosts_per_node)
    if host_rate is not None:
        _quantity(name, "host_rate", host_rate, units.rate)
    bits, unit_note = _unit(network, unit)
    comments = [f"Network of {name}, a network of SNDlib; add [run] and traffic.", unit_note]
    links = _duplex_links(network, comments)
    capacities = [_capacity(network, link, bits, rate) for link in links]
    delays = _delays(network, links, delay, route_factor, comments)
    fastest = host_rate or rate_text(max((c for c, _ in capacities), default=0))
    notes = sorted({note for _, note in capacities if note})
    comments += [f"{sum(n == note for _, n in capacities)} of {len(links)} links: {note}." for note in notes]
    why = "" if host_rate else ", the rate of the fastest link (--host-rate)"
    comments.append(f"Links of hosts: {clip_text(fastest)}{why} and {HOST_DELAY}; each node is a datacenter.")
    if network.left_out:
        comments.append(f"Left out: {', '.join(network.left_out)}.")
    text = NetworkText(name, comments)
    names = _node_names(network)
    for node in network.nodes.values():
        text.add_node(node.line, names[node.name], "router", None)
    for number, node in enumerate(network.nodes.values()):
        for host in _hosts(names[node.name], hosts_per_node):
            text.add_node(node.line, host, "host", number)
    for link, (capacity, _), link_delay in zip(links, capacities, delays, strict=True):
        text.add_link(link.line, names[link.source], names[link.target], rate=rate_text(capacity), delay=link_delay)
    for node in network.nodes.values():
        for host in _hosts(names[node.name], hosts_per_node):
            text.add_link(node.line, host, names[node.name], rate=fastest, delay=HOST_DELAY)
    return text.check_text()


def flows_from_sndlib(
    path: str | PathLike[str],
    *,
    duration: str = "1s",
    scale: float = 1.0,
    size: str = "1MB",
    seed: int = 1,
    unit: str | None = None,
    hosts_per_node: int = 1,
) -> str:
    """The demands of an SNDlib network file as flows: the CSV that a `[workload]` with `pattern = "list"` reads.

    Each demand sends demand value × routing unit × `unit` × `scale` × `duration` in flows of `size`, the last one smaller. They start at
    uniformly random times within the duration: a Poisson process of which the number of arrivals is known. So the offered load is that of
    the demand, exactly. The hosts are those of `from_sndlib`; several hosts of a node take turns. A demand has the direction that the file
    writes, source to target.

    Args:
        path: The file.
        duration: The time in which flows start.
        scale: Factor of all demands.
        size: The size of a flow.
        seed: Of the start times: the same seed gives the same flows.
        unit: As in `from_sndlib`.
        hosts_per_node: As in `from_sndlib`.

    Raises:
        FarloopError: the file is no network file of SNDlib or has no demands, or an option is out of range; the text names it.
    """
    name = shown_path(path)
    network = _read_network(path, name)
    _check_hosts(name, hosts_per_node)
    _check_option(name, "scale", 0 < scale < float("inf"), scale, "a number above 0")
    bits, unit_note = _unit(network, unit)
    span = round(_quantity(name, "duration", duration, units.seconds) * 1e9)
    _check_option(name, "duration", 1 <= span <= 3600 * 10**9, duration, "1ns to 3600s")
    flow_size = round(_quantity(name, "size", size, units.size))
    _check_option(name, "size", 1 <= flow_size <= 10**15, size, "1B to 1000TB")
    names = _node_names(network)
    if not network.demands:
        raise FarloopError(f"{name}: the file has no demands; expected a section of demands")
    drawn: list[tuple[int, ListedFlow]] = []
    total = left = 0
    turns: dict[tuple[str, str], int] = defaultdict(int)
    for demand in network.demands:
        here = f"{name}:{demand.line}"
        volume = round(demand.value * demand.routing_unit * bits * Decimal(repr(scale)) * span / (8 * 10**9))
        total += volume
        left += volume == 0
        count = -(-volume // flow_size)
        if len(drawn) + count > MAX_FLOWS:
            raise FarloopError(
                f"{here}: more than {MAX_FLOWS} flows up to here; expected a larger --size or less traffic (--scale)"
            )
        starts = sorted(_starts(seed, demand.name, span, count))
        for number, start in enumerate(starts, 1):
            ends = []
            for role, node in (("from", demand.source), ("to", demand.target)):
                hosts = _hosts(names[node], hosts_per_node)
                ends.append(hosts[turns[role, node] % len(hosts)])
                turns[role, node] += 1
            bytes_ = flow_size if number < count else volume - flow_size * (count - 1)
            label = f"{name_for(demand.name)[:80]}-{number}"
            drawn.append((start, ListedFlow(label, ends[0], ends[1], time_text(start * 1000), f"{bytes_}B")))
    if not drawn:
        raise FarloopError(f"{name}: no demand has a byte to send in {clip_text(duration)}; expected a larger --scale")
    drawn.sort(key=lambda each: each[0])
    offered = units.rate_text(total * 8e9 / span)
    comments = [
        f"Demands of {name}, a network of SNDlib; {unit_note}",
        f"{len(network.demands) - left} demands x {scale:g} offer {offered} for {duration}: {units.bytes_text(total)} in {len(drawn)} "
        "flows.",
    ]
    if left:
        comments.append(f"{left} demands have no byte to send in that time.")
    return flow_text(_check_unique(name, (flow for _, flow in drawn)), comments)


def _read_network(path: str | PathLike[str], name: str) -> NetworkFile:
    """Reads a file of either form."""
    content = _content(path, name)
    is_xml = content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    network = (read_xml if is_xml else read_native)(content, name)
    if not network.nodes:
        raise FarloopError(f"{name}: no nodes; {EXPECTED}")
    return network


def _content(path: str | PathLike[str], name: str) -> bytes:
    try:
        with open_input(Path(path)) as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise FarloopError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(content) > MAX_BYTES:
        raise FarloopError(f"{name}: has more than {MAX_BYTES} bytes; {EXPECTED}")
    return content


def _starts(seed: int, demand: str, span: int, count: int) -> Iterator[int]:
    """Start times in ns. Each demand has a stream of its own, so that other demands do not change it."""
    stream = random.Random(f"{seed}/{demand}")
    return (stream.randrange(span) for _ in range(count))


def _check_unique(path: str, flows: Iterable[ListedFlow]) -> Iterator[ListedFlow]:
    names: set[str] = set()
    for flow in flows:
        if flow.name in names:
            raise FarloopError(f"{path}: two flows would be called {flow.name}; expected demands with other names")
        names.add(flow.name)
        yield flow


def _check_option(path: str, option: str, accepted: bool, value: object, expected: str) -> None:
    if not accepted:
        raise FarloopError(
            f"{path}: --{option.replace('_', '-')}: {clip_text(value)} is not accepted; expected {expected}"
        )


def _check_hosts(path: str, count: int) -> None:
    _check_option(path, "hosts_per_node", 1 <= count <= MAX_HOSTS_PER_NODE, count, f"1 to {MAX_HOSTS_PER_NODE}")


def _quantity(path: str, option: str, text: str, parse: Callable[[str], float]) -> float:
    try:
        return parse(text)
    except ValueError as error:
        raise FarloopError(f"{path}: --{option.replace('_', '-')}: {clip_text(error)}") from None


def _unit(network: NetworkFile, given: str | None) -> tuple[int, str]:
    """bit/s of 1 in the file, and where that is from."""
    if given is not None:
        bits = round(_quantity(network.path, "unit", given, units.rate))
        _check_option(network.path, "unit", bits >= 1, given, "at least 1bps")
        return bits, f"1 in it is {rate_text(bits)} (--unit)."
    if network.unit is None:
        return round(units.rate(UNIT)), f"1 in it is assumed to be {UNIT}, as it states no unit (--unit)."
    line, word = network.unit
    matched = _UNIT_WORD.fullmatch(word.upper())
    if not matched:
        raise FarloopError(
            f"{network.path}:{line}: unit: {clip_text(word)} is not known; "
            "expected BITPERSEC, KBITPERSEC, MBITPERSEC or GBITPERSEC, or --unit"
        )
    bits = _PREFIXES[matched[1]]
    return bits, f"1 in it is {rate_text(bits)}, as it says."


def _node_names(network: NetworkFile) -> dict[str, str]:
    """The names of nodes in the scenario, by those in the file."""
    return {node: name_for(node)[:80] for node in network.nodes}


def _hosts(node: str, count: int) -> list[str]:
    return [f"host-{node}"] if count == 1 else [f"host-{node}-{number}" for number in range(1, count + 1)]


def _duplex_links(network: NetworkFile, comments: list[str]) -> Sequence[SndlibLink]:
    """One of two opposite links where all have an opposite; else all links."""
    by_ends: dict[tuple[str, str], list[SndlibLink]] = defaultdict(list)
    for link in network.links:
        by_ends[link.source, link.target].append(link)
    if any(len(links) != len(by_ends.get((b, a), ())) for (a, b), links in by_ends.items()):
        return network.links
    kept = []
    for (a, b), links in by_ends.items():
        for link, back in zip(links, by_ends[b, a], strict=True):
            if (link.capacity, link.modules[:1]) != (back.capacity, back.modules[:1]):
                raise FarloopError(
                    f"{network.path}:{back.line}: capacity: other than in the opposite direction, line {link.line}; expected the same: a "
                    "link has one rate"
                )
            if link.line < back.line:
                kept.append(link)
    comments.append(f"{len(network.links)} directed links are {len(kept)} full-duplex links.")
    return sorted(kept, key=lambda link: link.line)


def _capacity(network: NetworkFile, link: SndlibLink, bits: int, default: str | None) -> tuple[int, str]:
    """bit/s of a link, and what was assumed for it."""
    if link.capacity:
        return round(link.capacity * bits), ""
    if modules := [module for module in link.modules if module]:
        return round(min(modules) * bits), "no pre-installed capacity, so one of the smallest module"
    if default is None:
        raise FarloopError(
            f"{network.path}:{link.line}: the link {clip_text(link.name)} has no capacity; expected --rate"
        )
    return round(_quantity(network.path, "rate", default, units.rate)), "no capacity, so --rate"


def _delays(
    network: NetworkFile, links: Sequence[SndlibLink], default: str | None, route_factor: float, comments: list[str]
) -> list[str]:
    """The delay of each link as text; empty for the scenario format's default."""
    if default is not None:
        _quantity(network.path, "delay", default, units.seconds)
    known = {node.name: node.place for node in network.nodes.values() if node.place is not None}
    places: dict[str, Coordinates] = {}
    if network.is_geographical and all(place.is_on_earth() for place in known.values()):
        near: dict[str, dict[str, None]] = {node: {} for node in network.nodes}
        for link in links:
            near[link.source][link.target] = near[link.target][link.source] = None
        places = fill_places(known, near)
    elif known:
        comments.append("The coordinates are those of a picture, not degrees, so no delay follows from them (--delay).")
    delays = [
        delay_text(fibre_delay(places[link.source], places[link.target], route_factor))
        if link.source in places and link.target in places
        else default or ""
        for link in links
    ]
    if places:
        comments.append(
            f"Delays: great circle x {route_factor:g} (--route-factor) / {FIBRE_SPEED:.0f} km/s, at least 1us."
        )
    if assumed := [clip_text(node) for node in places if node not in known]:
        comments.append(f"Without coordinates, so at the mean of their neighbours: {', '.join(assumed[:20])}.")
    return delays
