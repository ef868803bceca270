"""Choice of the flows and iterations of a run that are worth an explanation, and their explanations (docs/why.md)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from farloop.results import collectives, flow_completion
from farloop.results.why import Explanation
from farloop.results.why_job import JobExplanation

if TYPE_CHECKING:
    from farloop.results.run import Run
    from farloop.results.tables import Floats

FLOWS: Mapping[str, float] = {"slowest": 1.0, "99 %": 0.99, "median": 0.5}
"""The flows that a report explains: the share of flows with at most their FCT slowdown, by what it is called."""

TAIL = "99 %"
"""Of these the one that stands for the tail."""

MAX_JOBS = 8
"""Of more jobs than this a report explains the first ones."""


@dataclass(frozen=True)
class Chosen:
    """A flow, or an iteration of a job, whose time is to be explained.

    Attributes:
        name: The name of the flow or job.
        role: Why this one, such as "slowest, 99 %".
        slowdown: FCT slowdown of a flow, of one that did not finish by its age; of an iteration its time over that on an ideal network;
            `None` where it has none.
        iteration: Number of the iteration, from 1; `None` of a flow.
        packets: Data packets that the flow sent; 0 of a job.
    """

    name: str
    role: str
    slowdown: float | None
    iteration: int | None = None
    packets: int = 0


@dataclass(frozen=True)
class WhyAnswer:
    """Answer to a question.

    Attributes:
        label: The run's label.
        chosen: The flow or iteration in question; `None` where the run has none of the kind.
        explanation: Where its time went; `None` where that cannot be known.
        because: Why not.
    """

    label: str
    chosen: Chosen | None
    explanation: Explanation | JobExplanation | None
    because: str = ""


def flow_at(run: Run, slowdowns: Floats, role: str) -> Chosen | None:
    """The flow whose slowdown is the least that so many flows do not exceed; `None` where no flow has one.

    Args:
        run: The run.
        slowdowns: The FCT slowdown of each of its flows; NaN for those that do not count. Of equal ones the first flow is taken.
        role: The role, of `FLOWS`.
    """
    order = np.argsort(slowdowns, kind="stable")[: int(np.count_nonzero(~np.isnan(slowdowns)))]
    if not order.size:
        return None
    number = int(order[int(np.ceil(FLOWS[role] * order.size)) - 1])
    row = run.flows.slice(number, 1).select(["name", "packets"]).to_pylist()[0]
    return Chosen(str(row["name"]), role, float(slowdowns[number]), packets=int(row["packets"]))


def flows_of(run: Run) -> list[Chosen]:
    """The flows that a report explains, the slowest first, each once; flows that did not finish count with their age."""
    slowdowns = flow_completion.bound_slowdowns(run.flows, run.duration)
    flows: dict[str, Chosen] = {}
    for role in FLOWS:
        chosen = flow_at(run, slowdowns, role)
        if chosen is not None:
            before = flows.get(chosen.name)
            roles = role if before is None else f"{before.role}, {role}"
            flows[chosen.name] = Chosen(chosen.name, roles, chosen.slowdown, packets=chosen.packets)
    return list(flows.values())


def iterations_of(run: Run) -> tuple[list[Chosen], list[str]]:
    """The slowest iteration of each of the first `MAX_JOBS` jobs; and the names of those without one that is over."""
    slowest: dict[str, Chosen | None] = {}
    for job, own in itertools.islice(collectives.iterations_by_job(run.iterations), MAX_JOBS):
        slowest[job] = None
        over = own.select(["iteration", "time_ps", "ideal_ps"]).filter(own["time_ps"].is_valid())
        if over.num_rows:
            # The first of the longest.
            row = over.slice(int(np.argmax(over["time_ps"].to_numpy())), 1).to_pylist()[0]
            slowdown = row["time_ps"] / row["ideal_ps"] if row["ideal_ps"] else None
            slowest[job] = Chosen(job, "slowest", slowdown, int(row["iteration"]))
    return [chosen for chosen in slowest.values() if chosen], [job for job, chosen in slowest.items() if not chosen]
