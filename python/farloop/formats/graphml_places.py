"""Delays of links from where their ends are: great circles, at the speed of light in fibre."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from farloop.errors import FarloopError, shown

if TYPE_CHECKING:
    import networkx as nx

EARTH_RADIUS = 6371.0088
"""Mean radius of the earth in km (R1 of the International Union of Geodesy and Geophysics)."""
FIBRE_SPEED = 204_190.0
"""Light in single-mode fibre in km/s: 299,792.458 km/s over a group index of 1.4682 (G.652 fibre at 1550 nm)."""
SHORTEST_DELAY = 1e-6
"""Least delay in seconds of a link whose ends have coordinates: both may be in one city."""

COORDINATES = {"Latitude": 90.0, "Longitude": 180.0}
"""Attributes of nodes, in degrees, with the largest value of each."""

_SETTLED = 1e-7
"""Degrees: places that move by less (1 cm) have settled."""
_MOST_VISITS = 5_000_000
"""Means that are taken at most until then: some seconds."""


class Coordinates(NamedTuple):
    """A point on the earth, in degrees."""

    latitude: float
    longitude: float


def delay_between(a: Coordinates, b: Coordinates, route_factor: float) -> float:
    """The one-way propagation delay in seconds between two places: their great-circle distance times the factor, through fibre."""
    north_a, north_b = math.radians(a.latitude), math.radians(b.latitude)
    up, across = (north_b - north_a) / 2, math.radians(b.longitude - a.longitude) / 2
    haversine = math.sin(up) ** 2 + math.cos(north_a) * math.cos(north_b) * math.sin(across) ** 2
    distance = 2 * EARTH_RADIUS * math.asin(min(1.0, math.sqrt(haversine)))
    return max(SHORTEST_DELAY, distance * route_factor / FIBRE_SPEED)


def places(path: str, graph: nx.MultiGraph) -> tuple[dict[str, Coordinates], list[str]]:
    """The places of nodes, by name, and the names of those whose places are assumed.

    A node without coordinates is at the mean of its neighbours, repeated until all such nodes have settled. Where no path leads to a node
    with coordinates, it has no place.

    Raises:
        FarloopError: a node has coordinates that are none, or one of two.
    """
    at = {name: place for name, data in graph.nodes(data=True) if (place := _place(path, name, data))}
    assumed: list[str] = []
    # Outward from what is known, so that every node begins with a mean of some neighbours.
    border = list(at)
    while border:
        border = list(dict.fromkeys(near for name in border for near in graph[name] if near not in at))
        at |= {name: _mean(at[near] for near in graph[name] if near in at) for name in border}
        assumed += border
    visits = sum(len(graph[name]) for name in assumed)
    for _ in range(_MOST_VISITS // max(1, visits)):
        moved = 0.0
        for name in assumed:
            before, at[name] = at[name], _mean(at[near] for near in graph[name])
            moved = max(moved, *(abs(new - old) for new, old in zip(at[name], before, strict=True)))
        if moved < _SETTLED:
            break
    unknown = set(assumed)
    return at, [name for name in graph if name in unknown]


def _place(path: str, name: str, attributes: dict[str, Any]) -> Coordinates | None:
    written = {key: attributes[key] for key in COORDINATES if attributes.get(key) not in (None, "")}
    if not written:
        return None
    degrees = []
    for key, most in COORDINATES.items():
        where = f"{path}: node {shown(name)}: {key}"
        if key not in written:
            raise FarloopError(f"{where}: missing beside {next(iter(written))}; expected both or none")
        try:
            degrees.append(float(written[key]))
        except ValueError:
            degrees.append(math.nan)
        if not abs(degrees[-1]) <= most:
            raise FarloopError(
                f"{where}: {shown(repr(written[key]))} is not accepted; expected degrees from -{most:.0f} to {most:.0f}"
            )
    return Coordinates(*degrees)


def _mean(near: Iterable[Coordinates]) -> Coordinates:
    """The mean of some places; of longitudes around 180 degrees it is near 180 degrees, and not on the other side of the earth."""
    there = list(near)
    first = there[0].longitude
    east = math.fsum((place.longitude - first + 180) % 360 - 180 for place in there) / len(there) + first
    return Coordinates(math.fsum(place.latitude for place in there) / len(there), (east + 180) % 360 - 180)
