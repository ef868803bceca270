"""Content of a network file of SNDlib in either form: nodes, links and demands with their lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from farloop.errors import FarloopError, clip_text, nearest
from farloop.formats.distances import Coordinates
from farloop.formats.text_lines import decimal_number

MAX_COORDINATE = 10**9

HEADER = "?SNDlib native format"

EXPECTED = (
    f'expected a network file of SNDlib: native, which begins with "{HEADER}; type: network; version: 1.0", or XML'
)


@dataclass(frozen=True)
class SndlibNode:
    """A node; its place is `None` without coordinates."""

    line: int
    name: str
    place: Coordinates | None


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
    """Content of a network file.

    Attributes:
        path: The file, for messages.
        unit: Line and word of the unit of capacities and demands, where the file states it.
        is_geographical: True if coordinates may be degrees: false where XML says that they are pixels.
        left_out: Parts of the file that nothing here uses.
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
                    f"{here}: the node {clip_text(item.name)} is in line {self.nodes[item.name].line} already; expected a unique name"
                )
            self.nodes[item.name] = item
            return
        for end in (item.source, item.target):
            if end not in self.nodes:
                raise FarloopError(
                    f"{here}: there is no node {clip_text(end)}; {nearest(end, map(clip_text, self.nodes))}"
                )
        if item.source == item.target:
            raise FarloopError(
                f"{here}: {clip_text(item.name)} goes from {clip_text(item.source)} to itself; expected two nodes"
            )
        if isinstance(item, SndlibLink):
            self.links.append(item)
        else:
            self.demands.append(item)

    def leave_out(self, what: str) -> None:
        """Notes what is not used."""
        if what not in self.left_out:
            self.left_out.append(what)


def coordinate(here: str, text: str) -> float:
    """A coordinate, in degrees or pixels.

    Raises:
        FarloopError: it is no number.
    """
    sign = -1 if text.startswith("-") else 1
    return sign * float(decimal_number(here, text.removeprefix("-"), "coordinate", most=MAX_COORDINATE))
