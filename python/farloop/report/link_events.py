"""The report's section about what happened to links."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from farloop.results.event_facts import EXPLANATION, HEADER, event_rows
from farloop.results.replicas import replicas

if TYPE_CHECKING:
    from farloop.results.run import Comparison


def has_events(comparison: Comparison) -> bool:
    """Whether anything happened to a link in any of the runs."""
    return any(run.info.get("events") for run in comparison.runs)


def section(comparison: Comparison, table: Any) -> str:
    """The section's HTML; `table` makes a table of a header and rows."""
    rows = [
        row for of in replicas(comparison.runs) for row in event_rows(of.caption, of.runs[0].info.get("events", []))
    ]
    return f'<h2 id="events">Links</h2>{table(HEADER, rows)}<p class="soft">{escape(EXPLANATION)}</p>'
