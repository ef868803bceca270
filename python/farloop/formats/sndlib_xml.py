"""Network files of SNDlib in XML."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import NoReturn
from xml.parsers import expat

from farloop.errors import FarloopError, clip_text
from farloop.formats.distances import Coordinates
from farloop.formats.sndlib_file import NetworkFile, SndlibDemand, SndlibLink, SndlibNode, coordinate
from farloop.formats.text_lines import decimal_number

MAX_DEPTH = 100
"""XML elements in each other."""

_IGNORED = {
    "cost": "costs", "routingCost": "costs", "setupCost": "costs", "maxPathLength": "longest paths of demands",
    "admissiblePaths": "admissible paths",
}  # fmt: skip
"""Elements that nothing here uses, and what comments call them."""

_KNOWN = {
    "network": "", "networkStructure": "network", "nodes": "networkStructure", "node": "nodes", "coordinates": "node", "x": "coordinates",
    "y": "coordinates", "links": "networkStructure", "link": "links", "preInstalledModule": "link", "additionalModules": "link",
    "addModule": "additionalModules", "demands": "network", "demand": "demands", "routingUnit": "demand", "demandValue": "demand",
    "meta": "network",
}  # fmt: skip
"""Elements, and which one each is in."""

_ENDS = ("source", "target")


def read_xml(content: bytes, name: str) -> NetworkFile:
    """Reads a network from XML.

    Raises:
        FarloopError: it is no XML, or no network of SNDlib; the text names file and line.
    """
    reader = _Reader(name)
    try:
        reader.parser.Parse(content, True)
    except expat.ExpatError as error:
        raise FarloopError(f"{name}:{error.lineno}: is not valid XML: {error}") from None
    except (LookupError, ValueError) as error:
        if isinstance(error, FarloopError):
            raise
        raise FarloopError(f"{name}:1: is not valid XML: {error}") from None
    return reader.network


class _Reader:
    def __init__(self, name: str) -> None:
        self.network = NetworkFile(name)
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self._open: list[str] = []
        self._skipped = 0
        """Depth from which elements are not used; 0 for none."""
        self._texts: list[str] = []
        self._line = 0
        self._name = ""
        self._values: dict[str, str] = {}
        self._modules: list[Decimal] = []

    def _fail(self, problem: str) -> NoReturn:
        raise FarloopError(f"{self.network.path}:{self.parser.CurrentLineNumber}: {problem}")

    def _start(self, element: str, attributes: dict[str, str]) -> None:
        kind, inside = element.rpartition(" ")[2], self._open[-1] if self._open else ""
        self._open.append(kind)
        self._texts = []
        if len(self._open) > MAX_DEPTH:
            self._fail(f"elements are nested more than {MAX_DEPTH} deep; expected a network file of SNDlib")
        if self._skipped or inside == "meta":
            return
        if kind in _IGNORED:
            self._skipped = len(self._open)
            self.network.leave_out(_IGNORED[kind])
            return
        if not self._is_known(kind, inside):
            if not inside:
                self._fail(f"the root is {clip_text(kind)}; expected network, as in the network files of SNDlib")
            self._skipped = len(self._open)
            self.network.leave_out(f"element {clip_text(kind)}")
            return
        if kind == "nodes":
            self.network.is_geographical = attributes.get("coordinatesType", "geographical") == "geographical"
        if kind in ("node", "link", "demand"):
            self._line, self._values, self._modules = self.parser.CurrentLineNumber, {}, []
            self._name = attributes.get("id", "").strip()
            if not self._name:
                self._fail(f"a {kind} has no id; expected one")

    @staticmethod
    def _is_known(kind: str, inside: str) -> bool:
        if kind in _ENDS:
            return inside in ("link", "demand")
        if kind == "capacity":
            return inside in ("preInstalledModule", "addModule")
        return _KNOWN.get(kind) == inside

    def _text(self, text: str) -> None:
        self._texts.append(text)

    def _end(self, _element: str) -> None:
        depth, kind = len(self._open), self._open.pop()
        inside = self._open[-1] if self._open else ""
        text = "".join(self._texts).strip()
        self._texts = []
        if self._skipped:
            self._skipped = 0 if depth == self._skipped else self._skipped
            return
        if inside == "meta":
            if kind == "unit":
                self.network.unit = (self.parser.CurrentLineNumber, text)
        elif kind == "capacity" and inside == "addModule":
            self._modules.append(self._number(text, "capacity"))
        elif kind in ("x", "y", "source", "target", "capacity", "routingUnit", "demandValue"):
            if kind in self._values:
                self._fail(f"{kind} a second time; expected it once")
            self._values[kind] = text
        elif kind in ("node", "link", "demand"):
            adders: dict[str, Callable[[], None]] = {
                "node": self._add_node, "link": self._add_link, "demand": self._add_demand
            }  # fmt: skip
            adders[kind]()

    def _number(self, text: str, what: str) -> Decimal:
        return decimal_number(f"{self.network.path}:{self.parser.CurrentLineNumber}", text, what)

    def _ends(self, kind: str) -> tuple[str, str]:
        for end in _ENDS:
            if not self._values.get(end):
                raise FarloopError(
                    f"{self.network.path}:{self._line}: the {kind} {clip_text(self._name)} has no {end}; expected a node"
                )
        return self._values["source"], self._values["target"]

    def _add_node(self) -> None:
        place = None
        if "x" in self._values or "y" in self._values:
            here = f"{self.network.path}:{self._line}"
            x, y = (coordinate(here, self._values.get(axis, "")) for axis in ("x", "y"))
            place = Coordinates(y, x)
        self.network.add(SndlibNode(self._line, self._name, place))

    def _add_link(self) -> None:
        source, target = self._ends("link")
        capacity = self._number(self._values.get("capacity", "0"), "capacity")
        self.network.add(SndlibLink(self._line, self._name, source, target, capacity, tuple(self._modules)))

    def _add_demand(self) -> None:
        source, target = self._ends("demand")
        unit = self._number(self._values.get("routingUnit", "1"), "routingUnit")
        if "demandValue" not in self._values:
            raise FarloopError(
                f"{self.network.path}:{self._line}: the demand {clip_text(self._name)} has no demandValue; expected a number"
            )
        value = self._number(self._values["demandValue"], "demandValue")
        self.network.add(SndlibDemand(self._line, self._name, source, target, unit, value))
