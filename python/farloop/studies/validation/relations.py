"""Changes of a network with flows that must not matter, or matter by a known amount.

Each relation changes a world and says what the flows' completion times have to be then. Where it holds exactly, it has to, to the
picosecond; where ties or roundings decide, its limit says how far the mean over a world's flows may move.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from farloop.studies.validation.random_worlds import FRAMING, FULL_PACKET, TCP, World, WorldLink


@dataclass(frozen=True)
class Relation:
    """A change, and what it has to do.

    Attributes:
        name: Its name.
        what: The change, and what has to come of it, in words.
        change: The changed world; `None` where a world does not suit it.
        factor: Factor on each completion time.
        added: Picoseconds added to every completion time.
        limit: Tolerated relative change of a world's mean completion time beyond that; 0 where every flow has to be exact.
    """

    name: str
    what: str
    change: Callable[[World], World | None]
    factor: float = 1.0
    added: Callable[[World], float] = lambda _: 0.0
    limit: float = 0.0


@dataclass(frozen=True)
class RelationOutcome:
    """Result of a relation.

    Attributes:
        relation: The relation.
        worlds: In how many worlds it was tried.
        exact: In how many of them every flow was as it had to be, to the picosecond.
        largest: The largest change beyond that of a world's mean completion time, relative to it.
        where: The number and algorithm of the world that has the largest one.
    """

    relation: Relation
    worlds: int
    exact: int
    largest: float
    where: str

    def row(self) -> dict[str, Any]:
        """As validation.json has it."""
        return {
            "relation": self.relation.name,
            "what": self.relation.what,
            "worlds": self.worlds,
            "exact": self.exact,
            "largest": None if math.isinf(self.largest) else self.largest,
            "where": self.where,
            "limit": self.relation.limit,
            "holds": self.holds,
        }

    @property
    def holds(self) -> bool:
        """True if it held everywhere."""
        return self.exact == self.worlds if not self.relation.limit else self.largest <= self.relation.limit


def _idle_host(of: World) -> World:
    spare = WorldLink("spare", of.switches[0], of.links[0].rate, 2000)
    return replace(of, hosts=(*of.hosts, "spare"), links=(*of.links, spare))


def _other_names(of: World) -> World:
    names = [*of.hosts, *of.switches, *(flow.name for flow in of.transfers)]
    shuffled = [f"n{i}" for i in range(len(names))]
    random.Random(len(names)).shuffle(shuffled)
    return of.rename_parts(dict(zip(names, shuffled, strict=True)))


def _delay_flows(of: World) -> World:
    moved = tuple(replace(flow, start=flow.start + 1_000_000) for flow in of.transfers)
    return replace(of, transfers=moved, seconds=of.seconds + 1e-3)


def _larger(of: World) -> World | None:
    """Twice the rates and twice the bytes. Only where no law has a rate or a size of its own."""
    if of.algorithm not in ("fixed", "reno", "hpcc", "gear"):
        return None
    return replace(
        of,
        bytes=2 * of.bytes,
        links=tuple(replace(link, rate=2 * link.rate) for link in of.links),
        transfers=tuple(replace(flow, size=2 * flow.size) for flow in of.transfers),
    )


def _slower(of: World) -> World | None:
    """Twice the bytes and the delays. Only where no law has a time of its own."""
    if of.algorithm not in ("fixed", "reno"):
        return None
    return replace(
        of,
        bytes=2 * of.bytes,
        slower=2 * of.slower,
        seconds=2 * of.seconds,
        links=tuple(replace(link, delay=2 * link.delay) for link in of.links),
        transfers=tuple(replace(flow, size=2 * flow.size, start=2 * flow.start) for flow in of.transfers),
    )


def _mirror_world(of: World) -> World:
    return replace(
        of,
        hosts=of.hosts[::-1],
        switches=of.switches[::-1],
        links=tuple(replace(link, a=link.b, b=link.a) for link in of.links[::-1]),
        transfers=of.transfers[::-1],
    )


def _record_ports(of: World) -> World:
    return replace(of, more={**of.more, "record.interval": "100us", "record.ports": "all"})


def _other_tables(of: World) -> World:
    unused = "algorithm.vegas.alpha=3" if of.algorithm != "vegas" else "algorithm.hpcc.eta=0.9"
    key, _, value = unused.partition("=")
    return replace(of, more={**of.more, key: float(value)})


def _more_buffer(of: World) -> World | None:
    return replace(of, more={**of.more, "switch.buffer": "200MB"}) if of.lossless else None


def _split(of: World) -> World | None:
    """A lone flow whose host's link becomes two, with a switch between them, each with half of the delay.

    Telemetry tells a law of one more hop, and a window of TCP's makes the flow wait for ACKs.
    """
    if of.algorithm in (*TCP, "hpcc", "gear"):
        return None
    first = of.links[0]
    halves = (
        WorldLink(first.a, "between", first.rate, first.delay // 2),
        WorldLink("between", first.b, first.rate, first.delay // 2),
    )
    return replace(of, switches=(*of.switches, "between"), links=(*halves, *of.links[1:]))


def _full_packet(of: World) -> float:
    """Returns the transmission time of a full packet on a link, in picoseconds."""
    return 8e12 * (FULL_PACKET + FRAMING) / of.links[0].rate


RELATIONS = (
    Relation(
        "again",
        "The same run once more: all times are the same.",
        lambda of: of,
    ),
    Relation(
        "names",
        "Hosts, switches and flows have other names: all times are the same.",
        _other_names,
    ),
    Relation(
        "idle host",
        "One more host, which does nothing: all times are the same.",
        _idle_host,
    ),
    Relation(
        "later",
        "All flows start 1 ms later: completion times are the same.",
        _delay_flows,
    ),
    Relation(
        "recorded",
        "Queues and rates are recorded: all times are the same.",
        _record_ports,
    ),
    Relation(
        "other tables",
        "The file sets a parameter of an algorithm that does not run: all times are the same.",
        _other_tables,
    ),
    Relation(
        "more buffer",
        "Ten times the buffer where nothing is dropped, and Xoff fixed: all times are the same.",
        _more_buffer,
    ),
    Relation(
        "twice as fast",
        "Rates and bytes doubled: times are the same but for roundings of windows and rates, and frames of pauses, which keep their bytes.",
        _larger,
        limit=0.001,
    ),
    Relation(
        "twice as slow",
        "Delays, timeouts and bytes doubled: times double but for frames of pauses.",
        _slower,
        factor=2.0,
        limit=0.001,
    ),
    Relation(
        "mirrored",
        "Nodes, links and flows in reverse order: times differ by ties alone.",
        _mirror_world,
        limit=0.05,
    ),
    Relation(
        "split link",
        "A lone flow's first link becomes two of half the delay: a full packet's time more.",
        _split,
        added=_full_packet,
    ),
)


def read(row: Mapping[str, Any]) -> RelationOutcome:
    """An outcome from a row of validation.json."""
    relation = next(known for known in RELATIONS if known.name == row["relation"])
    largest = math.inf if row["largest"] is None else float(row["largest"])
    return RelationOutcome(relation, int(row["worlds"]), int(row["exact"]), largest, str(row["where"]))
