"""Networks from GraphML files, as the text of a scenario with `topology = "links"`."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

from farloop import _native, units
from farloop.errors import FarloopError, clip_text, nearest
from farloop.formats.distances import FIBRE_SPEED, delay_text, fibre_delay
from farloop.formats.graphml_file import edge_name, read
from farloop.formats.graphml_hosts import balanced_rate, host_names
from farloop.formats.graphml_places import COORDINATES, places

if TYPE_CHECKING:
    import networkx as nx

KINDS = ("host", "switch", "router")

LAST_DATACENTER = 65_535
HOSTS_PER_NODE = range(1, 1001)

NODE_ATTRIBUTES = ("kind", "datacenter", *COORDINATES)
SPEED = "LinkSpeedRaw"
"""The attribute of edges that the Internet Topology Zoo has for their rate, in bit/s (Knight et al., IEEE JSAC 2011)."""
EDGE_ATTRIBUTES = ("rate", "delay", "loss", "corruption", SPEED)

RATE = "10Gbps"
"""Of the edges of a map, which has no hosts and no rates."""
HOST_DELAY = "1us"
"""Of the links of hosts that are attached."""
RATES = (1e3, 1e13)
"""The slowest and the fastest link of a scenario in bit/s."""

_MAX_NAMED = 1000
"""Of more nodes a comment names the first ones."""

_QUANTITIES: dict[str, tuple[Callable[[str], float], str]] = {
    "rate": (units.rate, 'a rate with its unit, such as "100Gbps"'),
    "delay": (units.seconds, 'a time with its unit, such as "25ms"'),
}


@dataclass
class _Network:
    """A network on its way from file to text.

    Attributes:
        path: The file, for messages.
        graph: Its nodes and edges, without those that are left out.
        kinds: The kind of each node.
        comments: Notes on parts that are left out or assumed.
    """

    path: str
    graph: nx.MultiGraph
    kinds: dict[str, str] = field(default_factory=dict)
    comments: list[str] = field(default_factory=list)

    @property
    def is_map(self) -> bool:
        """No node is a host."""
        return "host" not in self.kinds.values()


def from_graphml(
    path: str | PathLike[str],
    *,
    kind: str | None = None,
    datacenter: int | None = None,
    rate: str | None = None,
    delay: str | None = None,
    loss: float | None = None,
    corruption: float | None = None,
    hosts_per_node: int | None = None,
    hosts_at: Sequence[str] | None = None,
    host_rate: str | None = None,
    route_factor: float = 1.0,
) -> str:
    """The network of an undirected GraphML file as scenario text (TOML).

    There are `[network]`, a `[[node]]` for each node, a `[[link]]` for each edge. Add `[run]` and traffic to make it a scenario that
    runs. The names of the nodes are their ids. Comments at the top say what is left out (attributes that farloop does not know, self-loops,
    all but the largest connected component) and what is assumed.

    A map without hosts, as those of the Internet Topology Zoo, gets some: see `hosts_per_node`. Edges of such files may have the
    attribute LinkSpeedRaw (bit/s) instead of a rate, nodes Latitude and Longitude (degrees). An edge without a delay gets that of the
    great-circle distance between its nodes; a node without coordinates is taken to be at the mean of its neighbours.

    Args:
        path: A GraphML file. Nodes may have the attributes kind ("host", "switch" or "router") and datacenter (a number); edges rate
            ("100Gbps"), delay ("5us"), loss and corruption (probabilities).
        kind: Kind of the nodes that have none. Without it they are hosts, but routers where no node has a kind.
        datacenter: Datacenter of the nodes that have none. Without it the hosts of each router get one of their own.
        rate: Rate of the edges that have none. Without it the scenario format's default holds; but in a file without hosts it is the median
            of the edges that have one, or 10 Gbps.
        delay: One-way propagation delay of the edges that have none, and no coordinates. Without it the scenario format's default holds,
            and so for the next two.
        loss: Probability that a packet is lost on an edge that has none.
        corruption: Probability that a packet is damaged on an edge that has none.
        hosts_per_node: Hosts to attach to each switch and router; without it 1 where the file has no hosts, else none.
        hosts_at: Attach hosts only to these nodes, by id or label.
        host_rate: Rate of the attached hosts' links. Without it uniform traffic of load 1 just fills the busiest link.
        route_factor: Length of a link over the great-circle distance between its ends. The default is the least there can be; ITU-T G.826
            has 1.5 below 1000 km and 1.25 above 1200 km.

    Raises:
        FarloopError: the file is no GraphML, a node or edge is not what a network needs, or an option does not fit; the text names it.
    """
    name = clip_text(path, 300)
    _check_options(name, hosts_per_node, route_factor)
    for option, key, value in (
        ("--rate", "rate", rate),
        ("--delay", "delay", delay),
        ("--host-rate", "rate", host_rate),
    ):
        if value is not None:
            _quantity(f"{name}: {option}", key, value)
    network = _Network(name, read(path, name))
    network.comments += _unused_attributes(network.graph)
    _reduce(network)
    _assign_kinds(network, kind)
    attached = _attach(network, hosts_per_node, hosts_at)
    edges = {"rate": rate, "delay": delay, "loss": loss, "corruption": corruption}
    nodes = _node_tables(network, datacenter)
    links = _link_tables(network, edges, route_factor)
    if attached:
        nodes += _host_tables(network, attached, nodes)
        links += _host_link_tables(network, attached, links, host_rate)
    elif host_rate is not None:
        raise FarloopError(
            f"{name}: --host-rate: no hosts are attached; expected --hosts-per-node or --hosts-at with it"
        )
    lines = [f"# Network of {json.dumps(str(path), ensure_ascii=False)}; add [run] and traffic.", *network.comments]
    lines += ["", "[network]", 'topology = "links"']
    for table, tables in (("node", nodes), ("link", links)):
        for keys in tables:
            lines += ["", f"[[{table}]]", *(f"{key} = {_toml(value)}" for key, value in keys.items())]
    text = "\n".join(lines) + "\n"
    _check_scenario(name, [keys["name"] for keys in nodes if keys["kind"] == "host"], text)
    return text


def _check_options(path: str, hosts_per_node: int | None, route_factor: float) -> None:
    if hosts_per_node is not None and hosts_per_node not in HOSTS_PER_NODE:
        most = HOSTS_PER_NODE[-1]
        raise FarloopError(f"{path}: --hosts-per-node: {hosts_per_node} is not accepted; expected 1 to {most}")
    if not 0 < route_factor <= 100:
        raise FarloopError(f"{path}: --route-factor: {route_factor} is not accepted; expected more than 0, at most 100")


def _toml(value: object) -> str:
    """Texts, numbers and lists of a table."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _node_list(nodes: Iterable[str]) -> str:
    """Some nodes in a comment."""
    names = [clip_text(node) for node in nodes]
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return ("node " if len(names) == 1 else "nodes ") + ", ".join(names[:_MAX_NAMED]) + more


def _reduce(network: _Network) -> None:
    """Leaves out self-loops and all components but the largest."""
    graph, comments = network.graph, network.comments
    if not graph.nodes:
        raise FarloopError(f"{network.path}: the graph has no nodes")
    loops = [(a, b, key) for a, b, key in graph.edges(keys=True) if a == b]
    if loops:
        graph.remove_edges_from(loops)
        names = ", ".join(dict.fromkeys(edge_name(a, b) for a, b, _ in loops))
        comments.append(
            f"# Left out, because a link joins two nodes: {units.count_text(len(loops), 'self-loop')}, {names}."
        )
    if not graph.edges:
        raise FarloopError(f"{network.path}: the graph has no edges that join two nodes; expected one at least")
    parts: list[list[str]] = []
    reached: set[str] = set()
    for first in graph:
        if first not in reached:
            part = [first]
            reached.add(first)
            for node in part:
                near = [n for n in graph[node] if n not in reached]
                reached.update(near)
                part += near
            parts.append(part)
    most = max(parts, key=len)
    largest = set(most)
    others = [node for node in graph if node not in largest]
    if others:
        graph.remove_nodes_from(others)
        comments.append(
            f"# Left out, because no path leads to the {len(largest)} nodes of the largest component: {_node_list(others)}."
        )


def _assign_kinds(network: _Network, default: str | None) -> None:
    written = {name: data.get("kind") for name, data in network.graph.nodes(data=True)}
    if default is None:
        default = "host"
        if all(kind in (None, "") for kind in written.values()):
            default = "router"
            network.comments.append("# Assumed: all nodes are routers, because none has a kind (--kind).")
    for name, kind in written.items():
        own = default if kind in (None, "") else str(kind)
        if own not in KINDS:
            close = difflib.get_close_matches(own[:200], KINDS, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise FarloopError(
                f"{network.path}: node {clip_text(name)}: kind: {clip_text(repr(own))} is not accepted; "
                f"expected one of {', '.join(KINDS)}{hint}"
            )
        network.kinds[name] = own


def _attach(network: _Network, per_node: int | None, at: Sequence[str] | None) -> dict[str, str]:
    """The hosts to attach, each with its node."""
    inner = [name for name, kind in network.kinds.items() if kind != "host"]
    if not network.is_map and per_node is None and at is None:
        return {}
    chosen = inner if at is None else _find_nodes(network, at)
    if not chosen:
        raise FarloopError(f"{network.path}: --hosts-per-node: the graph has no switch or router to attach hosts to")
    hosts = host_names(network.graph, chosen, per_node or 1)
    why = "because no node is one" if network.is_map else "as the options say"
    where = "each node" if at is None else _node_list(chosen)
    network.comments.append(
        f"# Assumed: {units.count_text(len(hosts), 'host')} attached, {per_node or 1} at {where}, {why}."
    )
    return hosts


def _find_nodes(network: _Network, at: Sequence[str]) -> list[str]:
    """The nodes of `--hosts-at`."""
    by_label: dict[str, list[str]] = {}
    for name, data in network.graph.nodes(data=True):
        by_label.setdefault(str(data.get("label", "")), []).append(name)
    chosen: list[str] = []
    for word in [at] if isinstance(at, str) else at:
        where = f"{network.path}: --hosts-at: {clip_text(word)}"
        labelled = by_label.get(word, []) if word else []
        if word in network.kinds:
            name = word
        elif len(labelled) == 1:
            name = labelled[0]
        elif labelled:
            raise FarloopError(f"{where}: is the label of {_node_list(labelled)}; expected an id")
        else:
            raise FarloopError(
                f"{where}: there is no such node in the largest component; {nearest(word, network.kinds)}"
            )
        if network.kinds[name] == "host":
            raise FarloopError(f"{where}: is a host; expected a switch or router")
        if name in chosen:
            raise FarloopError(f"{where}: is named twice; expected each node once")
        chosen.append(name)
    return chosen


def _node_tables(network: _Network, datacenter: int | None) -> list[dict[str, Any]]:
    tables: list[dict[str, Any]] = []
    for name, kind in network.kinds.items():
        where = f"{network.path}: node {clip_text(name)}"
        if not re.fullmatch(r"[\w-]+", name):
            raise FarloopError(f'{where}: the id cannot be a name; expected letters, digits, "_" and "-"')
        keys: dict[str, Any] = {"name": name, "kind": kind}
        own = _add_defaults(network.graph.nodes[name], {"datacenter": datacenter})["datacenter"]
        if own is None:
            if kind != "router":
                raise FarloopError(
                    f"{where}: datacenter: missing; expected its number on the node, or for all nodes without one (--datacenter); "
                    "only a router can be outside of all"
                )
            tables.append(keys)
            continue
        if not re.fullmatch(r"[0-9]+", str(own)):
            raise FarloopError(f"{where}: datacenter: {clip_text(repr(own))} is no whole number; expected 0, 1, …")
        if len(str(own)) > 9 or int(own) > LAST_DATACENTER:
            raise FarloopError(f"{where}: datacenter: {clip_text(own)} is too large; expected 0 to {LAST_DATACENTER}")
        degree = network.graph.degree(name)
        if kind == "host" and degree != 1:
            raise FarloopError(f"{where}: a host with {degree} links; expected exactly one, or another kind")
        tables.append(keys | {"datacenter": int(own)})
    return tables


def _host_tables(network: _Network, hosts: dict[str, str], nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The attached hosts, in the datacenter of their switch or router, else in one for each router."""
    numbers = {keys["name"]: keys["datacenter"] for keys in nodes if "datacenter" in keys}
    taken = set(numbers.values())
    free = (number for number in range(LAST_DATACENTER + 1) if number not in taken)
    without = list(dict.fromkeys(node for node in hosts.values() if node not in numbers))
    for node in without:
        number = next(free, None)
        if number is None:
            raise FarloopError(
                f"{network.path}: there are more routers with hosts than datacenters; expected --datacenter"
            )
        numbers[node] = number
    if without:
        network.comments.append("# Assumed: the hosts of each router form a datacenter of their own (--datacenter).")
    return [{"name": host, "kind": "host", "datacenter": numbers[node]} for host, node in hosts.items()]


def _link_tables(network: _Network, defaults: dict[str, Any], route_factor: float) -> list[dict[str, Any]]:
    """A table for each edge; one with `links` for parallel edges that are equal."""
    edges = [(a, b, _link(network.path, a, b, data, defaults)) for a, b, data in network.graph.edges(data=True)]
    _assume_rates(network, [keys for *_, keys in edges], defaults["rate"])
    _assume_delays(network, edges, defaults["delay"], route_factor)
    tables: list[dict[str, Any]] = []
    for _, _, keys in edges:
        last = tables[-1] if tables else {}
        if {key: value for key, value in last.items() if key != "links"} == keys:
            last["links"] = last.get("links", 1) + 1
        else:
            tables.append(keys)
    return tables


def _link(path: str, a: str, b: str, attributes: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """The keys of a link that its edge, or an option, has; rate and delay only those of the edge."""
    where = f"{path}: edge {edge_name(a, b)}"
    keys: dict[str, Any] = {"a": a, "b": b}
    written = _add_defaults(attributes, defaults | {"rate": None, "delay": None, SPEED: None})
    speed = written.pop(SPEED)
    if written["rate"] is None and speed is not None:
        written["rate"] = _speed_text(where, speed)
    for name, value in written.items():
        if name in _QUANTITIES:
            keys[name] = None if value is None else _quantity(where, name, value)
        elif value is not None:
            keys[name] = _probability(where, name, value)
    return keys


def _quantity(where: str, name: str, value: object) -> str:
    parse, expected = _QUANTITIES[name]
    try:
        parse(str(value))
    except ValueError:
        raise FarloopError(f"{where}: {name}: {clip_text(repr(value))} is not accepted; expected {expected}") from None
    return str(value)


def _speed_text(where: str, value: object) -> str:
    try:
        rate = float(str(value))
    except ValueError:
        rate = math.nan
    if not RATES[0] <= rate <= RATES[1]:
        raise FarloopError(
            f"{where}: {SPEED}: {clip_text(repr(value))} is not accepted; expected bit/s, from {RATES[0]:.0f} to {RATES[1]:.0f}"
        )
    return _rate_text(round(rate))


def _rate_text(bits_per_second: int) -> str:
    """A rate as scenarios have it, exactly."""
    unit, factor = next(
        ((unit, factor) for unit, factor in (("Gbps", 9), ("Mbps", 6), ("kbps", 3)) if bits_per_second >= 10**factor),
        ("bps", 0),
    )
    whole, rest = divmod(bits_per_second, 10**factor)
    return (f"{whole}.{rest:0{factor}d}".rstrip("0").rstrip(".") if rest else str(whole)) + unit


def _assume_rates(network: _Network, edges: list[dict[str, Any]], rate: str | None) -> None:
    """Fills the rates that are missing."""
    missing = [keys for keys in edges if keys["rate"] is None]
    if not missing:
        return
    known = sorted((units.rate(keys["rate"]), keys["rate"]) for keys in edges if keys["rate"] is not None)
    if rate is not None:
        text, why = rate, ""
    elif network.is_map and known:
        text, why = known[(len(known) - 1) // 2][1], ", the median of the others (--rate)"
    elif network.is_map:
        text, why = RATE, " (--rate)"
    else:
        text, why = None, ", the scenario format's default (--rate)"
    what = units.count_text(len(missing), "edge")
    network.comments.append(f"# Assumed: the rate of {what}, {text or '100Gbps'}{why}.")
    for keys in missing:
        if text is None:
            del keys["rate"]
        else:
            keys["rate"] = text


def _assume_delays(
    network: _Network, edges: list[tuple[str, str, dict[str, Any]]], delay: str | None, route_factor: float
) -> None:
    """Fills the delays that are missing: by distance, else by the option."""
    missing = [(a, b, keys) for a, b, keys in edges if keys["delay"] is None]
    at, assumed = places(network.path, network.graph)
    far = [(keys, at[a], at[b]) for a, b, keys in missing if a in at and b in at]
    for keys, here, there in far:
        keys["delay"] = delay_text(fibre_delay(here, there, route_factor))
    rest = [keys for *_, keys in missing if keys["delay"] is None]
    for keys in rest:
        if delay is None:
            del keys["delay"]
        else:
            keys["delay"] = delay
    comments = network.comments
    if far and assumed:
        comments.append(f"# Assumed: the coordinates of {_node_list(assumed)}, the means of their neighbours'.")
    if far:
        comments.append(
            f"# Assumed: the delay of {units.count_text(len(far), 'edge')}, great-circle distance x {route_factor:g} (--route-factor) / "
            f"{FIBRE_SPEED:.0f} km/s, at least 1us."
        )
    elif route_factor != 1:
        comments.append("# Not used: --route-factor, because no edge without a delay has coordinates at its ends.")
    if rest:
        why = "" if delay else ", the scenario format's default (--delay)"
        what = units.count_text(len(rest), "edge")
        comments.append(f"# Assumed: the delay of {what} without coordinates, {delay or '5.25us'}{why}.")


def _host_link_tables(
    network: _Network, hosts: dict[str, str], links: list[dict[str, Any]], rate: str | None
) -> list[dict[str, Any]]:
    """The links of attached hosts, all of one rate."""
    if rate is not None:
        text, why = rate, ""
    else:
        text, why = _balanced_rate(network, hosts, links)
    network.comments.append(f"# Assumed: links of attached hosts, {text} (--host-rate) and {HOST_DELAY}.{why}")
    return [{"a": host, "b": node, "rate": text, "delay": HOST_DELAY} for host, node in hosts.items()]


def _balanced_rate(network: _Network, hosts: dict[str, str], links: list[dict[str, Any]]) -> tuple[str, str]:
    """A rate that the network can carry from all hosts at once, and why it is that."""
    rates: dict[tuple[str, str], float] = {}
    for keys in links:
        rate = units.rate(keys.get("rate", "100Gbps")) * keys.get("links", 1)
        for ends in ((keys["a"], keys["b"]), (keys["b"], keys["a"])):
            rates[ends] = rates.get(ends, 0.0) + rate
    balanced = balanced_rate(network.graph, hosts, rates)
    if balanced is None:
        return _rate_text(round(max(rates.values()))), ""
    rate, (a, b) = balanced
    # Three digits, which telemetry can carry.
    step = 10.0 ** (math.floor(math.log10(rate)) - 2)
    rate = min(max(math.floor(rate / step) * step, RATES[0]), RATES[1])
    return _rate_text(
        round(rate)
    ), f" Uniform traffic of load 1 then fills the busiest link, {clip_text(a)}->{clip_text(b)}."


def _add_defaults(attributes: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """The attributes that farloop knows; an empty one counts as missing."""
    written = {name: value for name, value in attributes.items() if value not in (None, "")}
    return {name: written.get(name, default) for name, default in defaults.items()}


def _probability(where: str, name: str, value: object) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= 1.0:
        raise FarloopError(
            f"{where}: {name}: {clip_text(repr(value))} is no probability; expected a number from 0 to 1"
        )
    return number


def _unused_attributes(graph: nx.Graph) -> list[str]:
    """A comment about the attributes that are not used."""
    unknown = {f"node {k}" for _, d in graph.nodes(data=True) for k in d if k not in NODE_ATTRIBUTES}
    unknown |= {f"edge {k}" for _, _, d in graph.edges(data=True) for k in d if k not in (*EDGE_ATTRIBUTES, "id")}
    # A name is anything in GraphML; in a comment it must stay on its line.
    return [f"# Attributes left out: {', '.join(json.dumps(u)[1:-1] for u in sorted(unknown))}."] if unknown else []


def _check_scenario(path: str, hosts: list[str], text: str) -> None:
    """Checks what only the simulator knows, such as ranges: the network must load with a flow between two of its hosts."""
    if len(hosts) < 2:
        raise FarloopError(
            f"{path}: the network has {units.count_text(len(hosts), 'host')}; flows need two: "
            'expected nodes of kind "host", each with one edge to a switch, or --hosts-per-node or --hosts-at'
        )
    traffic = f'[run]\nduration = "1s"\n[algorithm]\nname = "fixed"\n[[flow]]\nfrom = "{hosts[0]}"\nto = "{hosts[1]}"\n'
    try:
        _native.Scenario(text + traffic, path).resolved()
    except _native.ScenarioError as error:
        # The line is one of the text above, not of the user's file.
        raise FarloopError(re.sub(rf"^{re.escape(path)}:\d+(:\d+)?: ", f"{path}: ", str(error))) from None
