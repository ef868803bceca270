"""Network files of SNDlib in their native form.

The format is that of sndlib.zib.de (docu/io-formats/native): sections NODES, LINKS, DEMANDS and ADMISSIBLE_PATHS, before them perhaps META.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import NoReturn

from farloop.errors import FarloopError, clip_text
from farloop.formats.distances import Coordinates
from farloop.formats.sndlib_file import EXPECTED, HEADER, NetworkFile, SndlibDemand, SndlibLink, SndlibNode, coordinate
from farloop.formats.text_lines import decimal_number

_SECTIONS = ("META", "NODES", "LINKS", "DEMANDS", "ADMISSIBLE_PATHS")
_TOKENS = re.compile(r"[()]|[^\s()]+")

_NODE = 'expected "NODE ( LONGITUDE LATITUDE )"'
_LINK = 'expected "LINK ( SOURCE TARGET ) CAPACITY COST ROUTING_COST SETUP_COST ( MODULE_CAPACITY MODULE_COST … )"'
_DEMAND = 'expected "DEMAND ( SOURCE TARGET ) ROUTING_UNIT VALUE MAX_PATH_LENGTH"'


def read_native(content: bytes, name: str) -> NetworkFile:
    """Reads a network from native text.

    Raises:
        FarloopError: it is none; the text names file and line.
    """
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
                    f'{here}: {clip_text(line)}: expected a section such as "NODES (": {", ".join(_SECTIONS)}'
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
        raise FarloopError(f"{name}: is empty; {EXPECTED}")
    if section:
        raise FarloopError(f'{name}:{number}: the file ends in the section {section}; expected ")"')
    return network


def _native_lines(content: bytes, name: str) -> Iterator[tuple[int, str]]:
    """Lines that are not empty, without comments, from 1."""
    if b"\0" in content:
        raise FarloopError(f"{name}: is not text; {EXPECTED}")
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
        raise FarloopError(f"{here}: {clip_text(line)}: {EXPECTED}")
    keys = {key.strip(): value.strip() for key, _, value in (part.partition(":") for part in parts[1:])}
    if keys.get("type") != "network":
        kind = clip_text(keys.get("type", "no type"))
        raise FarloopError(f"{here}: type: {kind}: expected network: models and solutions are other files")


def _read_meta(network: NetworkFile, number: int, line: str) -> None:
    key, separator, value = line.partition("=")
    if not separator:
        raise FarloopError(f'{network.path}:{number}: {clip_text(line)}: expected "KEY = VALUE" or ")"')
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
        raise FarloopError(f"{self.here}: {clip_text(' '.join(self._tokens))}: {self._expected}")

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
            place = Coordinates(coordinate(line.here, line.word()), longitude)
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
