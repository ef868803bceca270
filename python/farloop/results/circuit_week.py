"""The last whole week of a run with circuit switches: its days, and what waited in the recorded queues."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow.compute as pc

from farloop.results.tables import Floats

if TYPE_CHECKING:
    from farloop.results.run import Run

MAX_SLOTS = 160
"""Maximum number of slots shown, the last ones of a longer week: more would be illegible."""


class Day(NamedTuple):
    """A circuit in a day; times in seconds."""

    source: str
    sink: str
    begin: float
    end: float
    occupancy: float


@dataclass(frozen=True)
class Week:
    """Circuits and queues of a week.

    Attributes:
        caption: The part of the run that it is, in words.
        begin: When it begins, in seconds.
        end: When it ends.
        days: Its circuits, day by day.
        sources: Where circuits come from, in the order of their names, by number.
        sinks: Where they lead to.
        switch: The switch whose queues are recorded; empty where there is none.
        times: When the queues were sampled.
        queues: Bytes in each queue at these times; those of parallel links to the packet network are added.
    """

    caption: str
    begin: float
    end: float
    days: list[Day]
    sources: list[str]
    sinks: list[str]
    switch: str
    times: Floats
    queues: dict[str, Floats]


def week_of(run: Run) -> Week:
    """The last whole week of a run, or all of a shorter one; of several circuit switches that of the first.

    The run must have a circuit with a day that is over.
    """
    facts = run.info["circuits"]
    names = run.circuits["circuit"].unique().to_pylist()
    table = run.circuits.filter(pc.equal(run.circuits["circuit"], names[0])) if len(names) > 1 else run.circuits
    slots = table["slot"].to_numpy()
    cycle, last = max(1, int(facts["slots"])), int(slots[-1])
    weeks = (last + 1) // cycle
    first = max(0, weeks - 1) * cycle
    until = min(last + 1, first + cycle) if weeks else last + 1
    text = f"week {weeks} of the run" if weeks else "the whole run, less than a week"
    if until - first > MAX_SLOTS:
        first = until - MAX_SLOTS
        text += f", its last {MAX_SLOTS} of {cycle} slots"
    if len(names) > 1:
        text += f"; {names[0]}, the first of {len(names)} circuit switches"
    table = table.slice(
        int(np.searchsorted(slots, first)), int(np.searchsorted(slots, until) - np.searchsorted(slots, first))
    )
    begins = table["start_ps"].to_numpy() / 1e12
    ends = begins + table["day_ps"].to_numpy() / 1e12
    columns = (
        table["source"].to_pylist(),
        table["destination"].to_pylist(),
        begins,
        ends,
        table["occupancy"].to_numpy(),
    )
    days = [Day(*row) for row in zip(*columns, strict=True)]
    begin = float(begins.min(initial=np.inf)) if days else 0.0
    end = begin + float(facts["week_s"]) if weeks and until - first == cycle else float(ends.max(initial=0.0))
    switch, times, queues = _queues(run, begin, end)
    sources, sinks = (sorted(set(column), key=_natural) for column in columns[:2])
    return Week(text, begin, end, days, sources, sinks, switch, times, queues)


def _natural(name: str) -> list[tuple[int, str]]:
    """Sorts "tor2" before "tor10"."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


def daily_occupancy(run: Run) -> tuple[Floats, Floats]:
    """When the days of a run began, in seconds, and the mean occupancy of the circuits of each."""
    slots, starts = run.circuits["slot"].to_numpy(), run.circuits["start_ps"].to_numpy() / 1e12
    known, first, number = np.unique(slots, return_index=True, return_inverse=True)
    sums = np.bincount(number, weights=run.circuits["occupancy"].to_numpy(), minlength=len(known))
    return starts[first], sums / np.bincount(number, minlength=len(known))


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Names without what all of them begin with, as far as that is no number: "tor1" and "tor12" become "1" and "12"."""
    least, most = min(names), max(names)
    same = next((i for i, (a, b) in enumerate(zip(least, most, strict=False)) if a != b), min(len(least), len(most)))
    common = re.sub(r"\d+$", "", least[:same])
    return {name: name.removeprefix(common) or name for name in names}


def _queues(run: Run, begin: float, end: float) -> tuple[str, Floats, dict[str, Floats]]:
    """The recorded queues of the first switch that has any."""
    empty: Floats = np.array([])
    times, queues, switch = empty, dict[str, Floats](), ""
    for name in run.samples.objects("queue"):
        port, _, queue = name.rpartition("/")
        node = port.partition("->")[0]
        switch = switch or node
        if node != switch:
            continue
        at, values = run.samples.get(f"queue/{name}", "waiting")
        inside = (at >= begin - 1e-12) & (at <= end + 1e-12)
        times = at[inside]
        queues[queue] = queues[queue] + values[inside] if queue in queues else values[inside]
    return switch, times, queues
