"""Tries relations over random networks: the simulator beside itself. No reference is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from farloop.results.flow_completion import column
from farloop.studies.validation.random_worlds import World, WorldFlow, world
from farloop.studies.validation.relations import RELATIONS, Relation, RelationOutcome

if TYPE_CHECKING:
    from farloop.experiments.execution import Execution
    from farloop.results.run import Run

NAME = "metamorphic"
"""Name on the command line."""

WORLDS, WORLDS_IN_FULL = 18, 90
"""Number of networks for each relation: two of each algorithm, and ten."""


def run(
    execution: Execution,
    number: int = WORLDS,
) -> list[RelationOutcome]:
    """Tries every relation in so many worlds.

    Raises:
        InvariantError: a simulation broke one of its own consistency checks.
    """
    from farloop.experiments.variants import Variant, run_variants

    tried: list[tuple[Relation, int, World, World]] = []
    for relation in RELATIONS:
        for k in range(number):
            own = _keep_first_flow(world(k)) if relation.name == "split link" else world(k)
            changed = relation.change(own)
            if changed is not None:
                tried.append((relation, k, own, changed))
    variants = [
        Variant(f"{relation.name}, world {k}{', changed' * is_changed}", "", each.algorithm, each.scenario())
        for relation, k, *both in tried
        for is_changed, each in enumerate(both)
    ]
    runs = run_variants(variants, execution, group=NAME)
    differences: dict[str, list[tuple[float, bool, str]]] = {}
    for (relation, k, own, _), before, after in zip(tried, runs[::2], runs[1::2], strict=True):
        apart = _relative_error(relation, own, before, after)
        differences.setdefault(relation.name, []).append((*apart, f"world {k}, {own.algorithm}"))
    return [_outcome(relation, differences[relation.name]) for relation in RELATIONS]


def _keep_first_flow(of: World) -> World:
    """Only a flow of the first host's."""
    other = next(host for host in of.hosts if host != of.hosts[0])
    size = of.transfers[0].size
    return replace(of, transfers=(WorldFlow("flow1", of.hosts[0], other, 0, size),))


def _relative_error(relation: Relation, own: World, before: Run, after: Run) -> tuple[float, bool]:
    """Returns the relative error of the mean completion time, and whether every flow is exact."""
    order = {name: row for row, name in enumerate(after.flows["name"].to_pylist())}
    rows = [order.get(name, row) for row, name in enumerate(before.flows["name"].to_pylist())]
    wanted = relation.factor * _times(before) + relation.added(own)
    apart = _times(after)[rows] - wanted
    known = ~(np.isnan(_times(after)[rows]) & np.isnan(wanted))
    mean = float(np.nanmean(wanted)) if known.any() else 1.0
    off = apart[known]
    largest = float("inf") if np.isnan(off).any() else abs(float(np.mean(off))) / mean if off.size else 0.0
    return largest, bool((off == 0).all())


def _times(of: Run) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Completion times in picoseconds, in the order of the table; NaN where a flow did not finish."""
    return column(of.flows, "received_ps") - column(of.flows, "start_ps")


def _outcome(relation: Relation, differences: Sequence[tuple[float, bool, str]]) -> RelationOutcome:
    largest, _, where = max(differences, key=lambda difference: difference[0])
    return RelationOutcome(relation, len(differences), sum(exact for _, exact, _ in differences), largest, where)
