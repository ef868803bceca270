"""Networks from GraphML files, as the text of a scenario with `topology = "links"`."""

from __future__ import annotations

import bz2
import contextlib
import difflib
import gzip
import io
import json
import os
import re
import warnings
import zlib
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from xml.parsers import expat

from farloop import _native, units
from farloop.errors import FarloopError, shown
from farloop.formats.inputs import open_input

if TYPE_CHECKING:
    import networkx as nx

KINDS = ("host", "switch", "router")

LARGEST = 1 << 28
"""Most bytes of a file, unpacked: more is no network, but perhaps a device without end."""
DEEPEST = 100
"""Most XML elements in each other."""
LAST_DATACENTER = 65_535

NODE_ATTRIBUTES = ("kind", "datacenter")
EDGE_ATTRIBUTES = ("rate", "delay", "loss", "corruption")

_QUANTITIES: dict[str, tuple[Callable[[str], float], str]] = {
    "rate": (units.rate, 'a rate with its unit, such as "100Gbps"'),
    "delay": (units.seconds, 'a time with its unit, such as "25ms"'),
}


def from_graphml(
    path: str | PathLike[str],
    *,
    kind: str | None = None,
    datacenter: int | None = None,
    rate: str | None = None,
    delay: str | None = None,
    loss: float | None = None,
    corruption: float | None = None,
) -> str:
    """The network of an undirected GraphML file as scenario text (TOML).

    There are `[network]`, a `[[node]]` for each node, a `[[link]]` for each edge. Add `[run]` and traffic to make it a scenario that
    runs. The names of the nodes are their ids. Attributes that farloop does not know are left out, and named in a comment at the top.

    Args:
        path: A GraphML file. Nodes may have the attributes kind ("host", "switch" or "router") and datacenter (a number); edges rate
            ("100Gbps"), delay ("5us"), loss and corruption (probabilities).
        kind: Kind of the nodes that have none; without it they are hosts.
        datacenter: Datacenter of the hosts and switches that have none.
        rate: Rate of the edges that have none; without it the scenario format's default holds, and so for the next three.
        delay: One-way propagation delay of the edges that have none.
        loss: Probability that a packet is lost on an edge that has none.
        corruption: Probability that a packet is damaged on an edge that has none.

    Raises:
        FarloopError: the file is no GraphML, or a node or edge is not what a network needs; the text names it and its attribute.
    """
    name = shown(path, 300)
    graph = _read(path, name)
    nodes = {"kind": kind, "datacenter": datacenter}
    edges = {"rate": rate, "delay": delay, "loss": loss, "corruption": corruption}
    lines = [f"# Network of {json.dumps(str(path), ensure_ascii=False)}; add [run] and traffic."]
    lines += _left_out(graph)
    lines += ["", "[network]", 'topology = "links"']
    for node, attributes in graph.nodes(data=True):
        lines += ["", "[[node]]", *_node(name, graph, node, _with_defaults(attributes, nodes))]
    for a, b, attributes in graph.edges(data=True):
        lines += ["", "[[link]]", *_link(name, a, b, _with_defaults(attributes, edges))]
    text = "\n".join(lines) + "\n"
    _check_network(name, graph)
    _check_scenario(name, graph, text, kind or "host")
    return text


def _read(file: str | PathLike[str], path: str) -> nx.Graph:
    # Loading it takes longer than all the rest of farloop, and few need it.
    import networkx as nx

    content = _content(file, path)
    _Outline(path).check(content)
    try:
        with warnings.catch_warnings():
            # About types of attributes that are taken for texts, as farloop takes them all.
            warnings.simplefilter("ignore")
            graph = nx.read_graphml(io.BytesIO(content))
    except Exception as error:
        # What a reader of foreign files meets: not only the exceptions that it documents.
        raise FarloopError(f"{path}: is not valid GraphML: {shown(error, 300) or type(error).__name__}") from None
    if graph.is_directed():
        raise FarloopError(
            f'{path}: the graph is directed; links carry both directions: expected an undirected graph (edgedefault="undirected")'
        )
    if graph.is_multigraph():
        twice = next((e for e in graph.edges() if graph.number_of_edges(*e) > 1), None)
        if twice:
            raise FarloopError(f"{path}: edge {_edge(*twice)}: the nodes are linked twice; expected at most one edge")
        graph = nx.Graph(graph)
    return graph


def _content(file: str | PathLike[str], path: str) -> bytes:
    """What the file holds, unpacked."""
    try:
        name = os.fspath(file)
        with open_input(Path(name)) as raw:
            suffix = os.path.splitext(name)[1]  # noqa: PTH122
            unpack: dict[str, Callable[[Any], Any]] = {".gz": gzip.open, ".bz2": bz2.open}
            with unpack.get(suffix, contextlib.nullcontext)(raw) as unpacked:
                content: bytes = unpacked.read(LARGEST + 1)
    except OSError as error:
        raise FarloopError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (EOFError, zlib.error, ValueError, TypeError) as error:
        raise FarloopError(f"{path}: cannot be read: {error}") from None
    if len(content) > LARGEST:
        raise FarloopError(f"{path}: has more than {LARGEST} bytes; expected the file of a network")
    return content


class _Outline:
    """Nodes and edges with their lines, for what the reader would pass over in silence."""

    def __init__(self, path: object) -> None:
        self._path = path
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._open: list[str] = []
        self._graphs = 0
        self._nodes: dict[str, int] = {}
        self._edges: list[tuple[str, str, int]] = []
        self._keys: dict[str, str] = {}
        self._data: set[str] = set()

    def check(self, content: bytes) -> None:
        """Refuses an edge to a node that is not declared, an id given twice, nested graphs, several graphs."""
        try:
            self._parser.Parse(content, True)
        except expat.ExpatError as error:
            raise FarloopError(f"{self._path}:{error.lineno}: is not valid GraphML: {error}") from None
        except (LookupError, ValueError) as error:
            if isinstance(error, FarloopError):
                raise
            raise FarloopError(f"{self._path}:1: is not valid GraphML: {error}") from None
        for a, b, line in self._edges:
            unknown = next((name for name in (a, b) if name not in self._nodes), None)
            if unknown is not None:
                close = difflib.get_close_matches(unknown[:200], self._nodes, n=1)
                hint = f"; did you mean {shown(close[0])}?" if close else ""
                raise FarloopError(
                    f"{self._path}:{line}: edge {_edge(shown(a), shown(b))}: there is no node {shown(unknown)}; "
                    f"expected the id of a node{hint}"
                )

    def _fail(self, problem: str) -> NoReturn:
        raise FarloopError(f"{self._path}:{self._parser.CurrentLineNumber}: {problem}")

    def _start(self, element: str, attributes: dict[str, str]) -> None:
        kind = element.rpartition(" ")[2]
        inside = self._open[-1] if self._open else ""
        self._open.append(kind)
        if len(self._open) > DEEPEST:
            self._fail(f"elements are nested more than {DEEPEST} deep; expected GraphML")
        if kind == "graph":
            self._graphs += 1
            if inside != "graphml":
                self._fail("the graph is part of another one; expected no nested graphs")
            if self._graphs > 1:
                self._fail("the file has several graphs; expected one")
        elif kind == "key":
            # Several keys may stand for one attribute: each type of value has its own.
            self._keys[attributes.get("id", "")] = attributes.get("attr.name", "")
        elif kind == "node" and inside == "graph":
            self._data = set()
            name = attributes.get("id", "")
            if not name:
                self._fail("a node has no id; expected one")
            if name in self._nodes:
                first = self._nodes[name]
                self._fail(f"node {shown(name)}: the id is used twice, first in line {first}; expected a unique one")
            self._nodes[name] = self._parser.CurrentLineNumber
        elif kind == "edge" and inside == "graph":
            self._data = set()
            a, b = attributes.get("source", ""), attributes.get("target", "")
            if not a or not b:
                self._fail(f"an edge has no {'target' if a else 'source'}; expected the id of a node")
            self._edges.append((a, b, self._parser.CurrentLineNumber))
        elif kind == "data" and inside in ("node", "edge"):
            key = attributes.get("key", "")
            name = self._keys.get(key) or key
            if name in self._data:
                self._fail(f"the {inside} has two values for {shown(name)}; expected one")
            self._data.add(name)

    def _end(self, _element: str) -> None:
        self._open.pop()


def _with_defaults(attributes: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """The attributes that farloop knows; an empty one counts as missing."""
    written = {name: value for name, value in attributes.items() if value not in (None, "")}
    return {name: written.get(name, default) for name, default in defaults.items()}


def _node(path: object, graph: nx.Graph, name: str, attributes: dict[str, Any]) -> list[str]:
    where = f"{path}: node {shown(name)}"
    if not re.fullmatch(r"[\w-]+", name):
        raise FarloopError(f'{where}: the id cannot be a name; expected letters, digits, "_" and "-"')
    kind = "host" if attributes["kind"] is None else str(attributes["kind"])
    if kind not in KINDS:
        close = difflib.get_close_matches(kind, KINDS, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise FarloopError(
            f"{where}: kind: {shown(repr(kind))} is not accepted; expected one of {', '.join(KINDS)}{hint}"
        )
    lines = [f'name = "{name}"', f'kind = "{kind}"']
    datacenter = attributes["datacenter"]
    if datacenter is None:
        if kind != "router":
            raise FarloopError(
                f"{where}: datacenter: missing; expected its number on the node, or for all nodes without one (--datacenter); "
                "only a router can be outside of all"
            )
        return lines
    if not re.fullmatch(r"[0-9]+", str(datacenter)):
        raise FarloopError(f"{where}: datacenter: {shown(repr(datacenter))} is no whole number; expected 0, 1, …")
    if len(str(datacenter)) > 9 or int(datacenter) > LAST_DATACENTER:
        raise FarloopError(f"{where}: datacenter: {shown(datacenter)} is too large; expected 0 to {LAST_DATACENTER}")
    if kind == "host" and graph.degree(name) != 1:
        raise FarloopError(f"{where}: a host with {graph.degree(name)} links; expected exactly one, or another kind")
    return [*lines, f"datacenter = {int(datacenter)}"]


def _link(path: object, a: str, b: str, attributes: dict[str, Any]) -> list[str]:
    where = f"{path}: edge {_edge(shown(a), shown(b))}"
    if a == b:
        raise FarloopError(f"{where}: connects a node with itself; expected another node")
    lines = [f'a = "{a}"', f'b = "{b}"']
    for name, value in attributes.items():
        if value is None:
            continue
        if name in _QUANTITIES:
            parse, expected = _QUANTITIES[name]
            try:
                parse(str(value))
            except ValueError:
                raise FarloopError(
                    f"{where}: {name}: {shown(repr(value))} is not accepted; expected {expected}"
                ) from None
            lines.append(f"{name} = {json.dumps(str(value), ensure_ascii=False)}")
        else:
            lines.append(f"{name} = {_probability(where, name, value)!r}")
    return lines


def _probability(where: str, name: str, value: object) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= 1.0:
        raise FarloopError(f"{where}: {name}: {shown(repr(value))} is no probability; expected a number from 0 to 1")
    return number


def _left_out(graph: nx.Graph) -> list[str]:
    """A comment about the attributes that are not used."""
    unknown = {f"node {k}" for _, d in graph.nodes(data=True) for k in d if k not in NODE_ATTRIBUTES}
    unknown |= {f"edge {k}" for _, _, d in graph.edges(data=True) for k in d if k not in (*EDGE_ATTRIBUTES, "id")}
    # A name is anything in GraphML; in a comment it must stay on its line.
    return [f"# Attributes left out: {', '.join(json.dumps(u)[1:-1] for u in sorted(unknown))}."] if unknown else []


def _check_network(path: object, graph: nx.Graph) -> None:
    if not graph.nodes:
        raise FarloopError(f"{path}: the graph has no nodes")
    first = next(iter(graph))
    reached, ahead = {first}, [first]
    while ahead:
        neighbours = [n for n in graph.neighbors(ahead.pop()) if n not in reached]
        reached.update(neighbours)
        ahead += neighbours
    for name in graph:
        if name not in reached:
            raise FarloopError(
                f"{path}: no path leads from node {shown(first)} to node {shown(name)}; expected a connected graph"
            )


def _check_scenario(path: object, graph: nx.Graph, text: str, default: str) -> None:
    """What only the simulator knows, such as ranges: the network must load with a flow between two of its hosts."""
    hosts = [name for name, attributes in graph.nodes(data=True) if (attributes.get("kind") or default) == "host"]
    if len(hosts) < 2:
        raise FarloopError(
            f'{path}: the graph has {len(hosts)} hosts; flows need two: add nodes of kind "host", each with one edge to a switch'
        )
    traffic = f'[run]\nduration = "1s"\n[algorithm]\nname = "fixed"\n[[flow]]\nfrom = "{hosts[0]}"\nto = "{hosts[1]}"\n'
    try:
        _native.Scenario(text + traffic, str(path)).resolved()
    except _native.ScenarioError as error:
        # The line is one of the text above, not of the user's file.
        raise FarloopError(re.sub(rf"^{re.escape(str(path))}:\d+(:\d+)?: ", f"{path}: ", str(error))) from None


def _edge(a: str, b: str) -> str:
    return f"{a}–{b}"
