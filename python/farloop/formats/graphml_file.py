"""GraphML files as graphs of networkx: what a file holds, and where it is not what a network needs."""

from __future__ import annotations

import bz2
import contextlib
import difflib
import gzip
import io
import os
import warnings
import zlib
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from xml.parsers import expat

from farloop.errors import FarloopError, clip_text
from farloop.formats.inputs import open_input

if TYPE_CHECKING:
    import networkx as nx

LARGEST = 1 << 28
"""Most bytes of a file, unpacked: more is no network, but perhaps a device without end."""
DEEPEST = 100
"""Most XML elements in each other."""


def read(file: str | PathLike[str], path: str) -> nx.MultiGraph:
    """The undirected graph of a file, with parallel edges and self-loops as they are there.

    Args:
        file: The file; one that ends in .gz or .bz2 is unpacked.
        path: Its name in messages.

    Raises:
        FarloopError: the file is no GraphML, or has what no network has: directions, nested graphs, an id twice.
    """
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
        raise FarloopError(f"{path}: is not valid GraphML: {clip_text(error, 300) or type(error).__name__}") from None
    if graph.is_directed():
        raise FarloopError(
            f'{path}: the graph is directed; links carry both directions: expected an undirected graph (edgedefault="undirected")'
        )
    graph = nx.MultiGraph(graph)
    for attributes in (a for _, a in graph.nodes(data=True)):
        _complete(attributes, graph.graph.get("node_default", {}))
    for *_, attributes in graph.edges(data=True):
        _complete(attributes, graph.graph.get("edge_default", {}))
    return graph


def _complete(attributes: dict[str, Any], defaults: dict[str, Any]) -> None:
    """Adds the defaults that the file declares, which the reader leaves aside."""
    for name, value in defaults.items():
        attributes.setdefault(name, value)


def edge_name(a: str, b: str) -> str:
    """Name of an edge in messages."""
    return f"{clip_text(a)}–{clip_text(b)}"


def _content(file: str | PathLike[str], path: str) -> bytes:
    """Content of the file, unpacked."""
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
        self._edge_ids: dict[tuple[frozenset[str], str], int] = {}
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
                hint = f"; did you mean {clip_text(close[0])}?" if close else ""
                raise FarloopError(
                    f"{self._path}:{line}: edge {edge_name(a, b)}: there is no node {clip_text(unknown)}; "
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
                self._fail(
                    f"node {clip_text(name)}: the id is used twice, first in line {first}; expected a unique one"
                )
            self._nodes[name] = self._parser.CurrentLineNumber
        elif kind == "edge" and inside == "graph":
            self._data = set()
            a, b = attributes.get("source", ""), attributes.get("target", "")
            if not a or not b:
                self._fail(f"an edge has no {'target' if a else 'source'}; expected the id of a node")
            self._edges.append((a, b, self._parser.CurrentLineNumber))
            # Other edges may have it, too: networkx numbers parallel edges so. Of two with one id between the same nodes it reads one.
            own = (frozenset((a, b)), attributes.get("id", ""))
            if own[1] and own in self._edge_ids:
                self._fail(
                    f"edge {edge_name(a, b)}: the id {clip_text(own[1])} is used twice, first in line {self._edge_ids[own]}; "
                    "expected a unique one"
                )
            self._edge_ids[own] = self._parser.CurrentLineNumber
        elif kind == "data" and inside in ("node", "edge"):
            key = attributes.get("key", "")
            name = self._keys.get(key) or key
            if name in self._data:
                self._fail(f"the {inside} has two values for {clip_text(name)}; expected one")
            self._data.add(name)

    def _end(self, _element: str) -> None:
        self._open.pop()
