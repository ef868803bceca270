"""The report's section about what happened to links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from farloop.results.event_facts import EXPLANATION, HEADER, event_rows
from farloop.results.replicas import replicas
from farloop.views.html import render
from farloop.views.tabular import Table

if TYPE_CHECKING:
    from markupsafe import Markup

    from farloop.results.run import Comparison


def has_events(comparison: Comparison) -> bool:
    """Returns true if anything happened to a link in any of the runs."""
    return any(run.info.get("events") for run in comparison.runs)


def section(comparison: Comparison) -> Markup:
    """The section's HTML."""
    rows = [
        row for of in replicas(comparison.runs) for row in event_rows(of.caption, of.runs[0].info.get("events", []))
    ]
    return render("link_events.html.j2", table=Table.from_rows(HEADER, rows), explanation=EXPLANATION)
