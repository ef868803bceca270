"""Facts of runs on the map of the network: links that were down, and each link's numbers over several seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from farloop.results.network_map import MAP_METRICS, NetworkMap
from farloop.results.tables import Floats, port_names

if TYPE_CHECKING:
    from farloop.results.run import Run


@dataclass(frozen=True)
class OverSeeds:
    """A metric of each direction of each link, over runs that differ in their seed.

    Attributes:
        mean: The mean.
        low: The least.
        high: The most.
    """

    mean: Floats
    low: Floats
    high: Floats


Spans = list[tuple[float, float]]
"""From when to when, in seconds."""


def metrics_over_seeds(drawn: NetworkMap, runs: Sequence[Run]) -> dict[str, OverSeeds]:
    """Every metric of the map over the whole runs; all three numbers are the same of a single run."""
    facts = {}
    totals = [drawn.totals(run) for run in runs]
    for metric in MAP_METRICS:
        table = np.array([of_run[metric.key] for of_run in totals])
        facts[metric.key] = OverSeeds(table.mean(axis=0), table.min(axis=0), table.max(axis=0))
    return facts


def frames_over_seeds(drawn: NetworkMap, runs: Sequence[Run], most: int) -> tuple[list[int], Floats, dict[str, Floats]]:
    """The frames of `NetworkMap.frames`, as means over the runs; none where the runs did not record the same ports at the same times."""
    each = [drawn.frames(run, most) for run in runs]
    known, times, first = each[0]
    if any(others != known or not np.array_equal(times, at) for others, at, _ in each[1:]):
        return [], np.empty(0), {}
    return known, times, {key: np.mean([frames[key] for _, _, frames in each], axis=0) for key in first}


def failures(drawn: NetworkMap, run: Run) -> dict[int, Spans]:
    """From when to when each link of the map was down, by its number; links that never were are left out."""
    ports = _ports(run)
    since: dict[str, float] = {}
    spans: dict[str, Spans] = {}
    for event in run.info.get("events", []):
        words = event["what"].split(", ")
        for port in (port for link in event["links"] for port in ports.get(link, ())):
            if "down" in words:
                since.setdefault(port, float(event["at_s"]))
            elif "up" in words and port in since:
                spans.setdefault(port, []).append((since.pop(port), float(event["at_s"])))
    for port, begin in since.items():
        spans.setdefault(port, []).append((begin, run.duration))
    names = port_names(run.ports)
    links = {}
    for number, edge in enumerate(drawn.edges):
        own = {span for row in (*edge.there, *edge.back) for span in spans.get(names[row], ())}
        if own:
            links[number] = sorted(own)
    return links


def _ports(run: Run) -> dict[str, list[str]]:
    """The ports by the names that events have for links that go down: "a<->b"."""
    names_by_link: dict[str, list[str]] = {}
    for row, name in zip(run.ports.select(["node", "peer"]).to_pylist(), port_names(run.ports), strict=True):
        number = name.removeprefix(f"{row['node']}->{row['peer']}")
        for link in (f"{row['node']}<->{row['peer']}{number}", f"{row['peer']}<->{row['node']}{number}"):
            names_by_link.setdefault(link, []).append(name)
    return names_by_link
