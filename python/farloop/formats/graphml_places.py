"""Where the nodes of a GraphML file are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from farloop.errors import FarloopError, clip_text
from farloop.formats.distances import Coordinates, fill_places

if TYPE_CHECKING:
    import networkx as nx

COORDINATES = {"Latitude": 90.0, "Longitude": 180.0}
"""Attributes of nodes, in degrees, with the largest value of each."""


def places(path: str, graph: nx.MultiGraph) -> tuple[dict[str, Coordinates], list[str]]:
    """The places of nodes, by name, and the names of those whose places are assumed.

    A node without coordinates is at the mean of its neighbours, repeated until all such nodes have settled. Where no path leads to a node
    with coordinates, it has no place.

    Raises:
        FarloopError: a node has coordinates that are none, or one of two.
    """
    known = {name: place for name, data in graph.nodes(data=True) if (place := _place(path, name, data))}
    at = fill_places(known, graph.adj)
    return at, [name for name in graph if name in at and name not in known]


def _place(path: str, name: str, attributes: dict[str, Any]) -> Coordinates | None:
    written = {key: attributes[key] for key in COORDINATES if attributes.get(key) not in (None, "")}
    if not written:
        return None
    degrees = []
    for key, most in COORDINATES.items():
        where = f"{path}: node {clip_text(name)}: {key}"
        if key not in written:
            raise FarloopError(f"{where}: missing beside {next(iter(written))}; expected both or none")
        try:
            degrees.append(float(written[key]))
        except ValueError:
            degrees.append(math.nan)
        if not abs(degrees[-1]) <= most:
            raise FarloopError(
                f"{where}: {clip_text(repr(written[key]))} is not accepted; expected degrees from -{most:.0f} to {most:.0f}"
            )
    return Coordinates(*degrees)
