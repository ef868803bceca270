"""Events of links in a run, as rows of a table and as moments of a picture: the same in reports and by `farloop explain`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from farloop.units import time_text

Events = Sequence[dict[str, Any]]
"""The simulator's facts of them: the entry "events" of a run's `info`; times in s."""

HEADER = ["run", "time", "links", "what happens"]

EXPLANATION = (
    "Switches know at once that a link of theirs is down; routes follow after network.detection_time. What was on the link counts as "
    "lost_down, what came for it as dropped_down, what no path was left for as dropped_unrouted (ports.parquet). Dotted lines in the "
    "charts are these times."
)

MAX_NAMED = 4
"""More links than this are counted."""

MAX_MARKED = 40
"""More times than this would cover a picture's curves."""


def event_rows(label: str, events: Events) -> list[list[str]]:
    """One row for each event."""
    return [[label, time_text(event["at_s"]), _links(event["links"]), event["what"]] for event in events]


def moments(info: dict[str, Any]) -> list[float]:
    """When something happens, in seconds, each time once; nothing where that is too often to be shown."""
    times = sorted({float(event["at_s"]) for event in info.get("events", [])})
    return times if len(times) <= MAX_MARKED else []


def _links(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
