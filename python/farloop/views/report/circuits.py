"""The report's section about circuits: what follows from the parameters, who is connected to whom when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from farloop.results.circuit_facts import EXPLANATION, HEADER, fact_row
from farloop.results.replicas import replicas
from farloop.views.html import render
from farloop.views.tabular import Table

if TYPE_CHECKING:
    from markupsafe import Markup

    from farloop.results.run import Comparison


def has_circuits(comparison: Comparison) -> bool:
    """Returns true if any of the runs has circuit switches."""
    return any(run.info.get("circuits") for run in comparison.runs)


def section(comparison: Comparison) -> Markup:
    """The section's HTML."""
    cases = [(of.caption, of.runs[0].info.get("circuits")) for of in replicas(comparison.runs)]
    rows = [fact_row(label, facts) for label, facts in cases if facts]
    return render(
        "circuits.html.j2", table=Table.from_rows(HEADER, rows), explanation=EXPLANATION, schedule=_schedule(comparison)
    )


def _schedule(comparison: Comparison) -> str:
    """The picture of the schedule as an address that holds it; empty where no day was over."""
    from farloop.views.figures.circuit_schedule import has_schedule, schedules
    from farloop.views.figures.draw import embed

    return embed(schedules(comparison.runs, "")) if any(has_schedule(run) for run in comparison.runs) else ""
