"""The simulated network as a map: where nodes are drawn, and what each link carried.

Datacenters stand side by side, hosts below, tiers of switches above them, routers of the wide area on top. Networks without
tiers (a backbone, a ring) are laid out by their links alone. The hosts of a switch are drawn as one where there are many.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from farloop.results.flow_completion import column
from farloop.results.summary import drops_of
from farloop.results.tables import Floats, port_names

if TYPE_CHECKING:
    from farloop.results.run import Run

MAX_HOSTS = 64
"""Of more hosts than this those of one switch are drawn as one."""

LARGE = 500
"""Switches from which on networkx lays nothing out without scipy."""

MAX_FORCED = 2000
"""Of more switches than this the forces would take too long: they stand on a circle."""

FORCED_STEPS = 50

MAX_SIDE_BY_SIDE = 4
"""Datacenters in a row."""

FABRIC_SWITCHES = 5
"""From this many switches and routers on a network is a fabric, whose report opens with the map."""


@dataclass(frozen=True)
class MapMetric:
    """Measurement that colours the links.

    Attributes:
        key: Its name in data.
        title: Its name for people.
        series: The metric of the series that gives it over time.
        together: Rule by which the values of several links that are drawn as one become one.
        over_time: Rule by which the values of neighbouring samples become one.
        unit: "share", "bytes" or "packets".
    """

    key: str
    title: str
    series: str
    together: Callable[..., Floats]
    over_time: Callable[..., Floats]
    unit: str


MAP_METRICS = [
    MapMetric("load", "load", "utilisation", np.mean, np.mean, "share"),
    MapMetric("queue", "longest queue", "max_queue", np.max, np.max, "bytes"),
    MapMetric("paused", "time paused (PFC)", "paused", np.max, np.mean, "share"),
    MapMetric("dropped", "drops", "dropped", np.sum, np.sum, "packets"),
]


@dataclass(frozen=True)
class MapNode:
    """A node of the map, or several hosts drawn as one.

    Attributes:
        name: Its name; for several hosts the first one's and the last one's.
        kind: "host", "switch" or "router".
        datacenter: Where it stands; `None` in the wide area.
        x: Position from the left, in widths of a node's slot.
        y: Position from the top, in rows.
        hosts: Number of hosts that it stands for; 0 for a switch.
    """

    name: str
    kind: str
    datacenter: int | None
    x: float
    y: float
    hosts: int


@dataclass(frozen=True)
class MapLink:
    """A full-duplex link of the map, or the links of several hosts to their switch.

    Attributes:
        a: Index of the place at one end.
        b: Index of the place at the other end.
        there: Rows of the table of ports that send from `a` to `b`.
        back: Rows that send from `b` to `a`.
        rates: The slowest and the fastest of these links, in bit/s of each direction.
        delays: The shortest and the longest of their propagation delays, in seconds.
    """

    a: int
    b: int
    there: tuple[int, ...]
    back: tuple[int, ...]
    rates: tuple[float, float]
    delays: tuple[float, float]


@dataclass(frozen=True)
class NetworkMap:
    """A network drawn: places and edges, and the size of the drawing in slots and rows."""

    places: list[MapNode]
    edges: list[MapLink]
    width: float
    height: float

    @property
    def is_fabric(self) -> bool:
        """True if it has so many switches that a look at it says more than their names."""
        return sum(p.hosts == 0 for p in self.places) >= FABRIC_SWITCHES

    @property
    def directions(self) -> list[tuple[int, ...]]:
        """Both directions of every edge, in turn: rows of the table of ports."""
        return [rows for edge in self.edges for rows in (edge.there, edge.back)]

    def bend(self, edge: MapLink) -> float:
        """Returns how far, in rows, the middle of an edge is drawn above a straight line: edges along a row must not cover each other."""
        a, b = self.places[edge.a], self.places[edge.b]
        return min(0.5, 0.2 + 0.03 * abs(a.x - b.x)) if abs(a.y - b.y) < 1e-6 and abs(a.x - b.x) > 1e-6 else 0.0

    def totals(self, run: Run) -> dict[str, Floats]:
        """Each metric over the whole run (of jobs alone: as long as they ran), one value per direction of each edge (see `directions`).

        NaN where the gear of the run does not have the metric.
        """
        ports, end = run.ports, run.loaded_time
        drops = drops_of(ports)
        seconds = end if end > 0 else math.inf
        of_ports = {
            "load": column(ports, "tx_bytes") * 8 / (column(ports, "rate_bps") * seconds),
            "queue": column(ports, "max_queue_bytes"),
            "paused": column(ports, "paused_ps") / 1e12 / seconds,
            "dropped": np.asarray(drops, dtype=np.float64),
        }
        return {
            m.key: np.array([m.together(of_ports[m.key][list(rows)]) for rows in self.directions], dtype=np.float64)
            for m in MAP_METRICS
        }

    def frames(self, run: Run, most: int) -> tuple[list[int], Floats, dict[str, Floats]]:
        """The recorded series: which directions have one, the times in seconds, and per recorded metric an array (direction, time).

        Args:
            run: A run on this network.
            most: Most times; neighbouring samples become one.
        """
        recorded = set(run.samples.objects("port"))
        names = port_names(run.ports)
        known = [i for i, rows in enumerate(self.directions) if all(names[row] in recorded for row in rows)]
        if not known:
            return [], np.empty(0), {}
        directions = self.directions
        first = f"port/{names[directions[known[0]][0]]}"
        times = run.samples.get(first, "utilisation")[0]
        step = max(1, math.ceil(times.size / most))
        starts = np.arange(0, times.size, step)
        frames_by_metric = {}
        for metric in (m for m in MAP_METRICS if (first, m.series) in run.samples):
            rows = []
            for i in known:
                series = [run.samples.get(f"port/{names[row]}", metric.series)[1] for row in directions[i]]
                values = metric.together(np.array(series), axis=0)
                rows.append([float(metric.over_time(values[s : s + step])) for s in starts])
            frames_by_metric[metric.key] = np.array(rows)
        return known, times[np.minimum(starts + step, times.size) - 1], frames_by_metric


def build_map(ports: pa.Table) -> NetworkMap:
    """The map of the network that a table of ports describes."""
    graph = _graph(ports)
    homes = _homes(graph)
    switches = [n for n, kind in graph.kinds.items() if kind != "host"]
    below: dict[str, list[str]] = defaultdict(list)
    loose = []
    for name in (n for n, kind in graph.kinds.items() if kind == "host"):
        switch = next((p for p in graph.near[name] if graph.kinds[p] != "host"), None)
        below[switch].append(name) if switch else loose.append(name)
    grouped = sum(map(len, below.values())) > MAX_HOSTS
    groups = {s: [hosts] if grouped else [[h] for h in hosts] for s, hosts in below.items()}
    tiers = _tiers(graph, switches, below)
    spots = (_spread if _has_no_tiers(graph, switches, homes, tiers) else _place_in_tiers)(
        graph, switches, groups, homes, tiers
    )
    for i, name in enumerate(loose):
        spots[name] = (i + 0.5, 0.0)
    return _assemble(graph, ports, switches, [*(g for gs in groups.values() for g in gs), *([n] for n in loose)], spots, homes)  # fmt: skip


@dataclass(frozen=True)
class _Graph:
    """Nodes and links, in the order of the table: kind, datacenter and neighbours of each node."""

    kinds: dict[str, str]
    datacenters: dict[str, int | None]
    near: dict[str, dict[str, None]]

    def links_between(self, names: Iterable[str]) -> list[tuple[str, str]]:
        """The links between these nodes, each once."""
        seen: dict[str, None] = {}
        inside = set(names)
        links = []
        for a in names:
            seen[a] = None
            links += [(a, b) for b in self.near[a] if b in inside and b not in seen]
        return links


def _graph(ports: pa.Table) -> _Graph:
    names, peers, kinds, datacenters = (ports[c].to_pylist() for c in ("node", "peer", "kind", "datacenter"))
    graph = _Graph(
        dict(zip(names, kinds, strict=True)),
        {n: d if d is not None and d >= 0 else None for n, d in zip(names, datacenters, strict=True)},
        {name: {} for name in names},
    )
    for name, peer in zip(names, peers, strict=True):
        graph.near[name][peer] = graph.near[peer][name] = None
    return graph


def _homes(graph: _Graph) -> dict[str, int | None]:
    """The datacenter beside which each node is drawn: a border router's is that of its neighbours inside."""
    homes = {}
    for name, own in graph.datacenters.items():
        near = {graph.datacenters[p] for p in graph.near[name]} - {None}
        homes[name] = own if own is not None or len(near) != 1 else near.pop()
    return homes


def _tiers(graph: _Graph, switches: list[str], below: dict[str, list[str]]) -> dict[str, int]:
    """Links between a switch and the nearest host; routers above all switches."""
    tiers: dict[str, int] = {}
    # A host with several ports is below one of its switches, and beside all of them.
    reached = [s for s in switches if below.get(s) or any(graph.kinds[p] == "host" for p in graph.near[s])]
    tier = 1
    while reached:
        tiers |= dict.fromkeys(reached, tier)
        beyond = dict.fromkeys(p for s in reached for p in graph.near[s] if graph.kinds[p] != "host" and p not in tiers)
        reached, tier = list(beyond), tier + 1
    tiers = {s: tiers.get(s, 1) for s in switches}
    top = max((tiers[s] for s in switches if graph.kinds[s] == "switch"), default=0)
    return {s: top + 1 if graph.kinds[s] == "router" else tier for s, tier in tiers.items()}


def _has_no_tiers(graph: _Graph, switches: list[str], homes: dict[str, int | None], tiers: dict[str, int]) -> bool:
    """Returns true if most links between switches join equals: more than a few such would cover each other in a row."""
    links = graph.links_between(switches)
    level = sum(tiers[a] == tiers[b] for a, b in links)
    blocks = len({homes[s] for s in switches})
    crowded = len(switches) > FABRIC_SWITCHES or blocks > MAX_SIDE_BY_SIDE
    per_block = len(switches) / max(1, blocks)
    return crowded and 2 * level > len(links) and (per_block <= 2 or blocks == 1)


Spots = dict[str, tuple[float, float]]


def _place_in_tiers(
    graph: _Graph,
    switches: list[str],
    groups: dict[str, list[list[str]]],
    homes: dict[str, int | None],
    tiers: dict[str, int],
) -> Spots:
    """Datacenters side by side, tiers in rows, hosts under their switches, what stands in none of them in the middle."""
    blocks: dict[int | None, list[str]] = defaultdict(list)
    for switch in switches:
        blocks[homes[switch]].append(switch)
    ordered: list[int | None] = [*sorted(b for b in blocks if b is not None)]
    if None in blocks:
        ordered.insert(len(ordered) // 2, None)
    top = max(tiers.values(), default=0)
    spots: Spots = {}
    x, y, in_row = 0.0, 0.0, 0
    for block in ordered:
        if in_row == MAX_SIDE_BY_SIDE:
            x, y, in_row = 0.0, y + top + 1.5, 0
        rows: dict[int, list[str]] = defaultdict(list)
        for switch in blocks[block]:
            rows[tiers[switch]].append(switch)
        need = {s: max(1, len(groups.get(s, []))) for s in blocks[block]}
        width = max(sum(need[s] for s in row) for row in rows.values())
        for tier, row in rows.items():
            stretch = width / sum(need[s] for s in row)
            at = x
            for switch in row:
                slot = need[switch] * stretch
                spots[switch] = (at + slot / 2, y + top - tier)
                hosts = groups.get(switch, [])
                for i, group in enumerate(hosts):
                    left = at + (slot - len(hosts)) / 2
                    spots[group[0]] = (left + i + 0.5, y + top - tier + 1)
                at += slot
        x, in_row = x + width + 1, in_row + 1
    return spots


def _spread(
    graph: _Graph,
    switches: list[str],
    groups: dict[str, list[list[str]]],
    _homes: dict[str, int | None],
    _tiers: dict[str, int],
) -> Spots:
    """By forces along the links; always the same for the same network."""
    # Few networks are laid out so, and loading networkx takes longer than drawing most others.
    import networkx as nx

    drawn = nx.Graph()
    drawn.add_nodes_from(switches)
    drawn.add_edges_from(graph.links_between(switches))
    places, distance = nx.circular_layout(drawn), 1.6 / math.sqrt(max(1, len(switches)))
    if len(switches) < LARGE:
        places = nx.spring_layout(drawn, pos=places, seed=1, iterations=200, k=distance)
    points = np.array([places[s] for s in switches])
    if LARGE <= len(switches) <= MAX_FORCED:
        number = {s: i for i, s in enumerate(switches)}
        points = _apply_forces(
            points, np.array([(number[a], number[b]) for a, b in drawn.edges]).reshape(-1, 2), distance
        )
    low, span = points.min(axis=0), np.maximum(np.ptp(points, axis=0), 1e-9)
    side = max(2.5, 1.4 * math.sqrt(len(switches)))
    scaled = {s: (p - low) / span * (3 * side, side) for s, p in zip(switches, points, strict=True)}
    middle = np.mean(list(scaled.values()), axis=0)
    spots: Spots = {}
    for switch, at in scaled.items():
        spots[switch] = (float(at[0]), float(at[1]))
        outward = at - middle
        angle = math.atan2(outward[1], outward[0]) if np.hypot(*outward) > 1e-6 else math.pi / 2
        hosts = groups.get(switch, [])
        for i, group in enumerate(hosts):
            turned = angle + (i - (len(hosts) - 1) / 2) * min(0.6, 4.0 / len(hosts))
            spots[group[0]] = (float(at[0] + 0.9 * math.cos(turned)), float(at[1] + 0.5 * math.sin(turned)))
    return spots


def _apply_forces(points: Floats, links: npt.NDArray[np.int_], distance: float) -> Floats:
    """Lets points push each other away and links pull theirs together (Fruchterman and Reingold 1991, equations 1 and 2).

    Args:
        points: Where they begin: a row for each.
        links: The numbers of the two points of each link.
        distance: The length of a link on which both forces are equal.
    """
    points = points.copy()
    first, second = links.T
    for step in range(FORCED_STEPS):
        away = points[:, None] - points[None]
        squared = np.maximum((away**2).sum(axis=2), 1e-6)
        moves = (away * (distance**2 / squared)[..., None]).sum(axis=1)
        along = points[first] - points[second]
        pull = along * np.hypot(*along.T)[:, None] / distance
        np.subtract.at(moves, first, pull)
        np.add.at(moves, second, pull)
        length = np.maximum(np.hypot(*moves.T), 1e-9)
        points += moves * (np.minimum(length, 0.1 * (1 - step / FORCED_STEPS)) / length)[:, None]
    return points


def _assemble(
    graph: _Graph,
    ports: pa.Table,
    switches: list[str],
    groups: list[list[str]],
    spots: Spots,
    homes: dict[str, int | None],
) -> NetworkMap:
    units = [([s], 0) for s in switches] + [(g, len(g)) for g in groups]
    index = {name: i for i, (names, _) in enumerate(units) for name in names}
    xs, ys = _extent(spots[names[0]] for names, _ in units)
    places = [
        MapNode(
            name=names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}",
            kind=graph.kinds[names[0]],
            datacenter=homes[names[0]],
            x=spots[names[0]][0] - xs[0],
            y=spots[names[0]][1] - ys[0],
            hosts=hosts,
        )
        for names, hosts in units
    ]
    rows: dict[tuple[int, int], list[int]] = defaultdict(list)
    for row, (node, peer) in enumerate(zip(ports["node"].to_pylist(), ports["peer"].to_pylist(), strict=True)):
        rows[index[node], index[peer]].append(row)
    rates, delays = column(ports, "rate_bps"), column(ports, "delay_ps") / 1e12
    edges = [
        MapLink(a, b, tuple(there), tuple(rows[b, a]), _ends(rates[there]), _ends(delays[there]))
        for (a, b), there in list(rows.items())
        if a < b
    ]
    return NetworkMap(places, edges, xs[1] - xs[0], ys[1] - ys[0])


def _ends(values: Floats) -> tuple[float, float]:
    """The least and the largest."""
    return float(values.min()), float(values.max())


def _extent(spots: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Left, right and top, bottom of a drawing, with margins."""
    points = np.array(list(spots)).reshape(-1, 2)
    if not points.size:
        return (0.0, 1.0), (0.0, 1.0)
    (left, top), (right, bottom) = points.min(axis=0), points.max(axis=0)
    return (float(left) - 0.6, float(right) + 0.6), (float(top) - 0.6, float(bottom) + 0.6)
