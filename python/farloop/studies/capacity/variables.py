"""What a plan varies: number of long-haul links, their rate, distance, buffers, oversubscription, load, or any key of the scenario."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from farloop import units
from farloop.errors import FarloopError, clip_text, nearest
from farloop.formats.distances import FIBRE_SPEED

MAX_VALUES = 64
"""Values of a variable."""

LINKS, RATE, DISTANCE, BUFFER, OVERSUBSCRIPTION, LOAD = (
    "links",
    "wan_rate",
    "distance",
    "buffer",
    "oversubscription",
    "load",
)
"""Variables that have a name of their own; any other is a key of the scenario, such as "switch.kmin"."""

MEANINGS = {
    LINKS: "long-haul links from each site to each other one",
    RATE: "rate of each long-haul link",
    DISTANCE: f"length of the long-haul links, as fibre of {FIBRE_SPEED:.0f} km/s",
    BUFFER: "buffer of each switch at which the long haul begins",
    OVERSUBSCRIPTION: "rate of a leaf switch's hosts over that of its links to the spines",
    LOAD: "load of the workload",
}

UNITS = {RATE: "Gbps", DISTANCE: "km", BUFFER: "MB"}
"""Units in which a cost sees the variables; the others are plain numbers."""

_RANGE = re.compile(r"(\d+)\s*\.\.\s*(\d+)")

_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*km")


@dataclass(frozen=True)
class Variable:
    """Something that a plan varies.

    Attributes:
        name: One of `MEANINGS`, or a key of the scenario.
        values: The values as they were written, in the order that they were written in.
    """

    name: str
    values: tuple[str, ...]

    def settings(self, value: str, resolved: Mapping[str, Any]) -> dict[str, str]:
        """Returns the settings that give a scenario a value.

        Args:
            value: One of `values`.
            resolved: The scenario with all keys.

        Raises:
            FarloopError: the scenario has no such thing, or the value is none.
        """
        make = _SETTINGS.get(self.name)
        return {self.name: value} if make is None else make(value, resolved)

    def number(self, value: str) -> float:
        """A value as a number: in the variable's unit, for axes and costs; the place of a text that is no number."""
        return _number(self.name, value, self.values.index(value))

    def text(self, value: str) -> str:
        """A value for people, such as "2 links", "1,000 km" or "a buffer of 64MB"."""
        if self.name == LINKS:
            return units.count_text(int(value), "link")
        if self.name == DISTANCE:
            return f"{self.number(value):,g} km"
        if self.name == OVERSUBSCRIPTION:
            return f"{value}:1"
        if self.name in MEANINGS:
            return f"a {self.name} of {value}"
        return f"{self.name} {value}"


def read_variable(text: str, option: str) -> Variable:
    """A variable with its values, such as "links = 1..8", "distance = 100km, 1000km" or "switch.kmin = 100kB, 400kB".

    Args:
        text: What was written.
        option: The option or key that it was written in.

    Raises:
        FarloopError: it is none.
    """
    name, equals, values = (part.strip() for part in text.partition("="))
    if not equals or not values:
        raise FarloopError(f'{option}: {clip_text(text)}: expected a name and its values, such as "links = 1..8"')
    return make_variable(name, values, option)


def make_variable(name: str, values: object, option: str) -> Variable:
    """A variable of a name and its values: a text "1..8" or "100km, 1000km", or a list.

    Raises:
        FarloopError: there is no such variable, or a value is none.
    """
    if name not in MEANINGS and "." not in name:
        hint = nearest(name, MEANINGS)
        raise FarloopError(
            f"{option}: {clip_text(name)}: no such variable; {hint}, or a key of the scenario such as switch.kmin"
        )
    variable = Variable(name, tuple(_values(values, f"{option}: {clip_text(name)}")))
    for value in variable.values:
        if name in MEANINGS:
            _check_value(name, value, option)
    return variable


def _values(written: object, where: str) -> list[str]:
    expected = f'expected values such as "1..8" or "1, 2, 4", at most {MAX_VALUES}'
    if isinstance(written, str) and (match := _RANGE.fullmatch(written.strip())):
        low, high = int(match[1]), int(match[2])
        if not low <= high < low + MAX_VALUES:
            raise FarloopError(f"{where}: {clip_text(written)}: {expected}, the lower end first")
        return [str(value) for value in range(low, high + 1)]
    parts = written.split(",") if isinstance(written, str) else written
    if not isinstance(parts, Sequence) or any(
        isinstance(part, bool) or not isinstance(part, str | int | float) for part in parts
    ):
        raise FarloopError(f"{where}: {clip_text(repr(written))}: {expected}")
    values = [str(part).strip() for part in parts]
    if not values or "" in values or len(values) > MAX_VALUES:
        raise FarloopError(f"{where}: {clip_text(repr(written))}: {expected}")
    if twice := next((value for value in values if values.count(value) > 1), None):
        raise FarloopError(f"{where}: {clip_text(twice)}: is there twice")
    return values


def _check_value(name: str, value: str, option: str) -> None:
    """Refuses a value that no scenario can have."""
    expected = {
        LINKS: "a whole number from 1 on",
        RATE: 'a rate, such as "400Gbps"',
        DISTANCE: 'a length, such as "1000km"',
        BUFFER: 'a size, such as "64MB"',
        OVERSUBSCRIPTION: "a ratio above 0, such as 2",
        LOAD: "a number above 0, such as 0.5",
    }[name]
    try:
        number = _number(name, value, None)
    except ValueError:
        number = 0.0
    if number <= 0:
        raise FarloopError(f"{option}: {name}: {clip_text(value)}: expected {expected}")


def _number(name: str, value: str, place: int | None) -> float:
    """The value of a variable in its unit; `place` for a text that is no number.

    Raises:
        ValueError: it is no number, and has no place.
    """
    if name == LINKS:
        return float(int(value))
    if name == RATE:
        return float(units.rate(value)) / 1e9
    if name == BUFFER:
        return float(units.size(value)) / 1e6
    if name == DISTANCE:
        if (match := _LENGTH.fullmatch(value)) is None:
            raise ValueError(value)
        return float(match[1])
    for read in (float, units.seconds, units.rate, units.size):
        try:
            return float(read(value))
        except ValueError:
            continue
    if place is None:
        raise ValueError(value)
    return float(place)


Make = Callable[[str, Mapping[str, Any]], dict[str, str]]


def _require_key(resolved: Mapping[str, Any], name: str, key: str, instead: str) -> None:
    if key not in resolved["network"]:
        raise FarloopError(
            f'{name}: topology "{resolved["network"].get("topology", "of nodes and links")}" has no network.{key}; '
            f"expected {instead}"
        )


def _links(value: str, resolved: Mapping[str, Any]) -> dict[str, str]:
    _require_key(resolved, LINKS, "wan_links", 'topology = "datacenters", or a key of a link such as "link.a->b.links"')
    return {"network.wan_links": value}


def _rate(value: str, resolved: Mapping[str, Any]) -> dict[str, str]:
    _require_key(
        resolved,
        RATE,
        "wan_rate",
        'topology = "datacenters" or "dumbbell", or a key of a link such as "link.a->b.rate"',
    )
    return {"network.wan_rate": value}


def _distance(value: str, resolved: Mapping[str, Any]) -> dict[str, str]:
    _require_key(
        resolved, DISTANCE, "wan_delay", 'a topology with a long haul, or a key of a link such as "link.a->b.delay"'
    )
    return {"network.wan_delay": f"{round(_number(DISTANCE, value, None) / FIBRE_SPEED * 1e12)}ps"}


def _buffer(value: str, resolved: Mapping[str, Any]) -> dict[str, str]:
    """Of the routers between sites where there are such; of the switches that carry the long haul otherwise."""
    if resolved["network"].get("border", "router") == "router" and "wan_switch" in resolved:
        return {"wan_switch.buffer": value}
    borders = [table["match"] for table in resolved.get("switch_override") or [] if "dci" in str(table["match"])]
    return {f"switch_override.{borders[0]}.buffer": value} if borders else {"switch.buffer": value}


def _oversubscription(value: str, resolved: Mapping[str, Any]) -> dict[str, str]:
    network = resolved["network"]
    _require_key(resolved, OVERSUBSCRIPTION, "hosts_per_leaf", 'a fabric = "spine-leaf"')
    down = int(network["hosts_per_leaf"]) * float(units.rate(str(network["rate"])))
    up = float(value) * int(network["spines"])
    return {"network.fabric_rate": f"{round(down / up)}bps"}


def _load(value: str, resolved: Mapping[str, Any]) -> dict[str, str]:
    workloads = resolved.get("workload") or {}
    if isinstance(workloads, list):
        names = [str(workload.get("name", "none")) for workload in workloads if "load" in workload]
        raise FarloopError(
            f"{LOAD}: the scenario has several workloads; expected a key such as workload.{names[0] if names else 'NAME'}.load"
        )
    if "load" not in workloads:
        raise FarloopError(f"{LOAD}: the scenario has no [workload] with a load; expected a key of the scenario")
    return {"workload.load": value}


_SETTINGS: dict[str, Make] = {
    LINKS: _links,
    RATE: _rate,
    DISTANCE: _distance,
    BUFFER: _buffer,
    OVERSUBSCRIPTION: _oversubscription,
    LOAD: _load,
}
