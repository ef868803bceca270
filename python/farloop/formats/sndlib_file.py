"""Network files of SNDlib in their two forms, native text and XML, as nodes, links and demands with their lines.

The formats are those of sndlib.zib.de (docu/io-formats): sections NODES, LINKS, DEMANDS and ADMISSIBLE_PATHS, before them perhaps META.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import NoReturn

from farloop.errors import FarloopError, nearest, shown
from farloop.formats.distances import Place
from farloop.formats.inputs import open_input
from farloop.formats.text_lines import decimal_number

MAX_BYTES = 1 << 26
"""Of a file; the largest of SNDlib has 4 MB."""

MAX_COORDINATE = 10**9

HEADER = "?SNDlib native format"

_EXPECTED = (
    f'expected a network file of SNDlib: native, which begins with "{HEADER}; type: network; version: 1.0", or XML'
)
_SECTIONS = ("META", "NODES", "LINKS", "DEMANDS", "ADMISSIBLE_PATHS")
_TOKENS = re.compile(r"[()]|[^\s()]+")

_NODE = 'expected "NODE ( LONGITUDE LATITUDE )"'
_LINK = 'expected "LINK ( SOURCE TARGET ) CAPACITY COST ROUTING_COST SETUP_COST ( MODULE_CAPACITY MODULE_COST … )"'
_DEMAND = 'expected "DEMAND ( SOURCE TARGET ) ROUTING_UNIT VALUE MAX_PATH_LENGTH"'


@dataclass(frozen=True)
class SndlibNode:
    """A node; its place is `None` without coordinates."""

    line: int
    name: str
    place: Place | None


@dataclass(frozen=True)
class SndlibLink:
    """A link: pre-installed capacity and capacities of modules, in units of the file."""

    line: int
    name: str
    source: str
    target: str
    capacity: Decimal
    modules: tuple[Decimal, ...]


@dataclass(frozen=True)
class SndlibDemand:
    """A demand: its value, and the capacity that 1 of it takes."""

    line: int
    name: str
    source: str
    target: str
    routing_unit: Decimal
    value: Decimal


@dataclass
class NetworkFile:
    """What a network file holds.

    Attributes:
        path: The file, for messages.
        unit: Line and word of the unit of capacities and demands, where the file states it.
        is_geographical: Whether coordinates may be degrees: false where XML says that they are pixels.
        left_out: What the file has and nothing here uses.
    """

    path: str
    nodes: dict[str, SndlibNode] = field(default_factory=dict)
    links: list[SndlibLink] = field(default_factory=list)
    demands: list[SndlibDemand] = field(default_factory=list)
    unit: tuple[int, str] | None = None
    is_geographical: bool = True
    left_out: list[str] = field(default_factory=list)

    def add(self, item: SndlibNode | SndlibLink | SndlibDemand) -> None:
        """Adds what a line declares.

        Raises:
            FarloopError: there is one of this name, or its ends are not two nodes.
        """
        here = f"{self.path}:{item.line}"
        if isinstance(item, SndlibNode):
            if item.name in self.nodes:
                raise FarloopError(
                    f"{here}: the node {shown(item.name)} is in line {self.nodes[item.name].line} already; expected a unique name"
                )
            self.nodes[item.name] = item
            return
        for end in (item.source, item.target):
            if end not in self.nodes:
                raise FarloopError(f"{here}: there is no node {shown(end)}; {nearest(end, map(shown, self.nodes))}")
        if item.source == item.target:
            raise FarloopError(
                f"{here}: {shown(item.name)} goes from {shown(item.source)} to itself; expected two nodes"
            )
        if isinstance(item, SndlibLink):
            self.links.append(item)
        else:
            self.demands.append(item)

    def leave_out(self, what: str) -> None:
        """Notes what is not used."""
        if what not in self.left_out:
            self.left_out.append(what)


def read_network(path: str | PathLike[str], name: str) -> NetworkFile:
    """Reads a file of either form.

    Args:
        path: The file.
        name: What messages call it.

    Raises:
        FarloopError: it cannot be read or is no network file; the text names file and line.
    """
    content = _content(path, name)
    if content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        from farloop.formats.sndlib_xml import read_xml

        network = read_xml(content, name)
    else:
        network = _read_native(content, name)
    if not network.nodes:
        raise FarloopError(f"{name}: no nodes; {_EXPECTED}")
    return network


def _content(path: str | PathLike[str], name: str) -> bytes:
    try:
        with open_input(Path(path)) as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise FarloopError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(content) > MAX_BYTES:
        raise FarloopError(f"{name}: has more than {MAX_BYTES} bytes; {_EXPECTED}")
    return content


def _read_native(content: bytes, name: str) -> NetworkFile:
    network = NetworkFile(name)
    section, depth, number, headed = "", 0, 0, False
    seen: dict[str, int] = {}
    readers: dict[str, Callable[[NetworkFile, int, list[str]], None]] = {
        "NODES": _read_node, "LINKS": _read_link, "DEMANDS": _read_demand
    }  # fmt: skip
    for number, line in _native_lines(content, name):
        here = f"{name}:{number}"
        if not headed:
            _check_header(here, line)
            headed = True
            continue
        tokens = _TOKENS.findall(line)
        if not section:
            section = tokens[0]
            if section not in _SECTIONS or tokens[1:2] != ["("]:
                raise FarloopError(
                    f'{here}: {shown(line)}: expected a section such as "NODES (": {", ".join(_SECTIONS)}'
                )
            if section in seen:
                raise FarloopError(f"{here}: {section} a second time, first in line {seen[section]}; expected it once")
            seen[section] = number
            tokens, depth = tokens[2:], 1
            if not tokens:
                continue
        if section == "META":
            # Values are free text, and may have parentheses.
            if tokens == [")"]:
                section = ""
            else:
                _read_meta(network, number, line)
            continue
        end = tokens == [")"] and depth == 1
        if section == "ADMISSIBLE_PATHS":
            depth += tokens.count("(") - tokens.count(")")
            end = depth == 0
            if not end:
                network.leave_out("admissible paths")
        elif not end:
            readers[section](network, number, tokens)
        if end:
            section = ""
    if not headed:
        raise FarloopError(f"{name}: is empty; {_EXPECTED}")
    if section:
        raise FarloopError(f'{name}:{number}: the file ends in the section {section}; expected ")"')
    return network


def _native_lines(content: bytes, name: str) -> Iterator[tuple[int, str]]:
    """Lines that are not empty, without comments, from 1."""
    if b"\0" in content:
        raise FarloopError(f"{name}: is not text; {_EXPECTED}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        # Older files have names of people in Latin-1, in META.
        text = content.decode("latin-1")
    for number, line in enumerate(text.split("\n"), 1):
        if line := line.partition("#")[0].strip():
            yield number, line


def _check_header(here: str, line: str) -> None:
    parts = [part.strip() for part in line.split(";")]
    if parts[0] != HEADER:
        raise FarloopError(f"{here}: {shown(line)}: {_EXPECTED}")
    keys = {key.strip(): value.strip() for key, _, value in (part.partition(":") for part in parts[1:])}
    if keys.get("type") != "network":
        kind = shown(keys.get("type", "no type"))
        raise FarloopError(f"{here}: type: {kind}: expected network: models and solutions are other files")


def _read_meta(network: NetworkFile, number: int, line: str) -> None:
    key, separator, value = line.partition("=")
    if not separator:
        raise FarloopError(f'{network.path}:{number}: {shown(line)}: expected "KEY = VALUE" or ")"')
    if key.strip() == "unit":
        network.unit = (number, value.strip())


class _Tokens:
    """The tokens of a line, taken one after the other."""

    def __init__(self, network: NetworkFile, number: int, tokens: list[str], expected: str) -> None:
        self.here = f"{network.path}:{number}"
        self._tokens = tokens
        self._at = 0
        self._expected = expected

    def fail(self) -> NoReturn:
        raise FarloopError(f"{self.here}: {shown(' '.join(self._tokens))}: {self._expected}")

    def peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def word(self) -> str:
        token = self.peek()
        if token in ("", "(", ")"):
            self.fail()
        self._at += 1
        return token

    def mark(self, mark: str) -> None:
        if self.peek() != mark:
            self.fail()
        self._at += 1

    def numbers(self, what: str) -> list[Decimal]:
        """The numbers in parentheses."""
        self.mark("(")
        numbers = []
        while self.peek() != ")":
            numbers.append(decimal_number(self.here, self.word(), what))
        self.mark(")")
        return numbers

    def end(self) -> None:
        """Nothing more but parentheses with nothing in them, which the format has room for."""
        while self.peek():
            self.mark("(")
            self.mark(")")


def _read_node(network: NetworkFile, number: int, tokens: list[str]) -> None:
    line = _Tokens(network, number, tokens, _NODE)
    name, place = line.word(), None
    if line.peek() == "(":
        line.mark("(")
        if line.peek() != ")":
            longitude = coordinate(line.here, line.word())
            place = Place(coordinate(line.here, line.word()), longitude)
        line.mark(")")
    line.end()
    network.add(SndlibNode(number, name, place))


def _read_link(network: NetworkFile, number: int, tokens: list[str]) -> None:
    line = _Tokens(network, number, tokens, _LINK)
    name = line.word()
    line.mark("(")
    source, target = line.word(), line.word()
    line.mark(")")
    capacity = decimal_number(line.here, line.word(), "capacity")
    costs = [decimal_number(line.here, line.word(), what) for what in ("cost", "routing cost", "setup cost")]
    modules = line.numbers("module")
    if len(modules) % 2:
        line.fail()
    line.end()
    if any(costs) or any(modules[1::2]):
        network.leave_out("costs")
    network.add(SndlibLink(number, name, source, target, capacity, tuple(modules[::2])))


def _read_demand(network: NetworkFile, number: int, tokens: list[str]) -> None:
    line = _Tokens(network, number, tokens, _DEMAND)
    name = line.word()
    line.mark("(")
    source, target = line.word(), line.word()
    line.mark(")")
    routing_unit = decimal_number(line.here, line.word(), "routing unit")
    value = decimal_number(line.here, line.word(), "value")
    if line.word() != "UNLIMITED":
        network.leave_out("longest paths of demands")
    line.end()
    network.add(SndlibDemand(number, name, source, target, routing_unit, value))


def coordinate(here: str, text: str) -> float:
    """A coordinate, in degrees or pixels.

    Raises:
        FarloopError: it is no number.
    """
    sign = -1 if text.startswith("-") else 1
    return sign * float(decimal_number(here, text.removeprefix("-"), "coordinate", most=MAX_COORDINATE))
