"""Propagation delays from coordinates: great circles, and fibre along them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import NamedTuple, TypeVar

EARTH_RADIUS = 6371.0088
"""Mean radius of the Earth in km (IUGG, R1)."""

FIBRE_SPEED = 204_190.0
"""km/s: light in standard single-mode fibre, whose group index is 1.4682 at 1550 nm (ITU-T G.652)."""

MIN_DELAY = 1e-6
"""Seconds: the delay of a link between nodes at one place, such as two in a city."""

ROUTE_FACTOR = 1.0
"""Length of a fibre over the great-circle distance of its ends: the least there can be. ITU-T G.826: 1.5 below 1000 km, 1.25 above 1200."""

Name = TypeVar("Name")

_SETTLED = 1e-7
"""Degrees: places that move by less (1 cm) have settled."""

_MAX_VISITS = 5_000_000
"""Neighbours that are visited until then at most: some seconds."""


class Coordinates(NamedTuple):
    """A point on the Earth in degrees; north and east are positive."""

    latitude: float
    longitude: float

    def is_on_earth(self) -> bool:
        """Returns whether both are in their range."""
        return abs(self.latitude) <= 90.0 and abs(self.longitude) <= 180.0


def great_circle(a: Coordinates, b: Coordinates) -> float:
    """The distance of two places along the surface in km (haversine formula)."""
    between = math.radians(b.latitude - a.latitude)
    across = math.radians(b.longitude - a.longitude)
    cosines = math.cos(math.radians(a.latitude)) * math.cos(math.radians(b.latitude))
    h = math.sin(between / 2) ** 2 + cosines * math.sin(across / 2) ** 2
    return 2 * EARTH_RADIUS * math.asin(min(1.0, math.sqrt(h)))


def fibre_delay(a: Coordinates, b: Coordinates, route_factor: float = ROUTE_FACTOR) -> float:
    """The one-way delay of a fibre between two places in seconds, at least `MIN_DELAY`."""
    return max(great_circle(a, b) * route_factor / FIBRE_SPEED, MIN_DELAY)


def delay_text(seconds: float) -> str:
    """A delay as scenarios write it, to the nanosecond."""
    return f"{round(seconds * 1e9) / 1e3:.12g}us"


def fill_places(
    known: Mapping[Name, Coordinates], neighbours: Mapping[Name, Collection[Name]]
) -> dict[Name, Coordinates]:
    """The places of nodes: the known ones, and each other node at the mean of its neighbours, repeated until all have settled.

    A node from which no path leads to a known place has none.

    Args:
        known: The places that are known.
        neighbours: Of each node, those that it has links to, each once.
    """
    places = dict(known)
    filled: list[Name] = []
    # Outward from what is known, so that every node begins with a mean of some neighbours.
    border = list(known)
    while border:
        border = list(dict.fromkeys(near for node in border for near in neighbours[node] if near not in places))
        places |= {node: _mean([places[near] for near in neighbours[node] if near in places]) for node in border}
        filled += border
    visits = sum(len(neighbours[node]) for node in filled)
    for _ in range(_MAX_VISITS // max(1, visits)):
        moved = 0.0
        for node in filled:
            before, places[node] = places[node], _mean([places[near] for near in neighbours[node]])
            moved = max(moved, *(abs(new - old) for new, old in zip(places[node], before, strict=True)))
        if moved < _SETTLED:
            break
    return places


def _mean(places: list[Coordinates]) -> Coordinates:
    """The mean of some places; of longitudes around 180 degrees it is near 180 degrees, and not on the other side of the Earth."""
    first = places[0].longitude
    east = math.fsum((place.longitude - first + 180) % 360 - 180 for place in places) / len(places) + first
    return Coordinates(math.fsum(place.latitude for place in places) / len(places), (east + 180) % 360 - 180)
