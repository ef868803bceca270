"""The links between sites of any topology, from the tables of the network: which delays make the RTT across, and which link may fail."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from farloop.results import tables
from farloop.scenario import Scenario


@dataclass(frozen=True)
class HaulLink:
    """A link between switches on the way from site to site.

    Attributes:
        name: Its name in events, such as "dc0-border1<->dc1-border1".
        ends: The nodes at its ends.
        joins_sites: True for the long haul itself, between two sites or two routers; false for a link from a site to a router.
        offered_bytes: Offered bytes of both directions.
    """

    name: str
    ends: tuple[str, str]
    joins_sites: bool
    offered_bytes: int


@dataclass(frozen=True)
class LongHaul:
    """The network between sites.

    Attributes:
        links: Its links, in the order of the network.
        neighbours: The switches that each switch has links to, by name; parallel links count each.
        middle: When half of the time is over in which flows arrive, in seconds.
    """

    links: tuple[HaulLink, ...]
    neighbours: Mapping[str, tuple[str, ...]]
    middle: float

    def stays_connected(self, down: Sequence[HaulLink]) -> bool:
        """Returns true if the ends of each of these links reach each other without all of them."""
        neighbours = {node: list(peers) for node, peers in self.neighbours.items()}
        for a, b in (link.ends for link in down):
            neighbours[a].remove(b)
            neighbours[b].remove(a)
        for begin, end in (link.ends for link in down):
            reached, waiting = {begin}, [begin]
            while waiting:
                new = [peer for peer in dict.fromkeys(neighbours[waiting.pop()]) if peer not in reached]
                reached.update(new)
                waiting += new
            if end not in reached:
                return False
        return True

    def failing(self) -> HaulLink | None:
        """The link whose failure says most: of those with a detour the busiest, one between sites where there is one."""
        able = [link for link in self.links if link.offered_bytes > 0 and self.stays_connected([link])]
        return max(able, key=lambda link: (link.joins_sites, link.offered_bytes), default=None)


def read_long_haul(scenario: Scenario) -> LongHaul:
    """The links between sites of a scenario.

    Raises:
        ScenarioError: the scenario is not valid.
    """
    columns, *_ = scenario.prepare_handle(take=True).forecast()
    ports = tables.to_arrow(columns["ports"]).to_pylist()
    begin, until = scenario.forecast["network"]["arrivals"]
    site = {port["node"]: port["datacenter"] for port in ports}
    kind = {port["node"]: port["kind"] for port in ports}
    between = [port for port in ports if kind[port["node"]] != "host" and kind.get(port["peer"], "host") != "host"]
    neighbours: dict[str, tuple[str, ...]] = {}
    for port in between:
        neighbours[port["node"]] = (*neighbours.get(port["node"], ()), port["peer"])
    return LongHaul(tuple(_links(between, site)), neighbours, (begin + until) / 2)


def _links(ports: Iterable[Mapping[str, Any]], site: Mapping[str, int | None]) -> Iterable[HaulLink]:
    """Each link once, with what both of its ports are to carry."""
    offered: dict[tuple[str, str, int], int] = {}
    for port in ports:
        ends = (port["node"], port["peer"])
        key = (*ends, port["link"]) if (*ends[::-1], port["link"]) not in offered else (*ends[::-1], port["link"])
        offered[key] = offered.get(key, 0) + int(port["offered_bytes"] or 0)
    for (a, b, number), bytes_ in offered.items():
        if not is_across(site[a], site[b]):
            continue
        joins_sites = (site[a] is None) == (site[b] is None)
        yield HaulLink(f"{a}<->{b}{f'#{number}' if number > 1 else ''}", (a, b), joins_sites, bytes_)


def is_across(a: Any, b: Any) -> bool:
    """Returns true if a link between switches of these sites is part of the way across; `None` is a router of the wide-area network."""
    return a is None or b is None or a != b
