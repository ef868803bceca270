"""The report's section about circuits: what follows from the parameters, who is connected to whom when."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from farloop.results.circuit_facts import EXPLANATION, HEADER, fact_row
from farloop.results.replicas import replicas

if TYPE_CHECKING:
    from farloop.results.run import Comparison


def has_circuits(comparison: Comparison) -> bool:
    """Whether any of the runs has circuit switches."""
    return any(run.info.get("circuits") for run in comparison.runs)


def section(comparison: Comparison, table: Any) -> str:
    """The section's HTML; `table` makes a table of a header and rows."""
    cases = [(of.caption, of.runs[0].info.get("circuits")) for of in replicas(comparison.runs)]
    rows = [fact_row(label, facts) for label, facts in cases if facts]
    facts = f'{table(HEADER, rows)}<p class="soft">{escape(EXPLANATION)}</p>'
    return f'<h2 id="circuits">Circuits</h2>{_schedule(comparison)}{facts}'


def _schedule(comparison: Comparison) -> str:
    """The picture of the schedule; nothing where no day was over."""
    from farloop.figures.circuit_schedule import has_schedule, schedules
    from farloop.figures.draw import embedded

    if not any(has_schedule(run) for run in comparison.runs):
        return ""
    address = embedded(schedules(comparison.runs, ""))
    return (
        '<p class="soft">Who is connected to whom when, what waits meanwhile in the queues of the recorded switch (record.queues), '
        "and how full the days are. Nights are grey.</p>"
        f'<div class="card scroll"><img class="schedule" alt="Circuits over the last week of each run" src="{address}"></div>'
    )
