"""The report's section about circuits: what follows from the parameters, who is connected to whom when."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from farloop.circuit_facts import EXPLANATION, HEADER, fact_row
from farloop.seeds import replicas

if TYPE_CHECKING:
    from farloop.results import Comparison


def has_circuits(comparison: Comparison) -> bool:
    """Whether any of the runs has circuit switches."""
    return any(run.info.get("circuits") for run in comparison.runs)


def section(comparison: Comparison, table: Any) -> str:
    """The section's HTML; `table` makes a table of a header and rows."""
    found = [(of.told, of.runs[0].info.get("circuits")) for of in replicas(comparison.runs)]
    rows = [fact_row(told, facts) for told, facts in found if facts]
    return f'<h2 id="circuits">Circuits</h2>{table(HEADER, rows)}<p class="soft">{escape(EXPLANATION)}</p>'
