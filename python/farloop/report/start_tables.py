"""How flows began, and what the traffic asks of the network, in a report."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

from farloop.report.tables import Cell, load_rows, start_rows
from farloop.results import offered

if TYPE_CHECKING:
    from farloop.results.run import Comparison

Table = Callable[[list[str], list[list[Cell]]], str]

STARTS = (
    "How flows began: what window and rate allowed when a flow might send its first packet, and how much of it fits into the first base "
    "round-trip time, in which no ACK can be back. BDP: the rate of the host's link times the base round-trip time. Slow start: whether "
    "the window was below its threshold."
)

_LOADS = (
    "What the traffic asks of each layer of the network by the flows' sizes and paths, with framing and ACKs, while flows arrive, over "
    "what its links carry: in the most loaded datacenter, or between the most loaded pair."
)


def starts(comparison: Comparison, table: Table) -> str:
    """The starts of the algorithms; nothing where an old output does not say."""
    header, rows = start_rows(comparison)
    return f'{table(header, rows)}<p class="soft">{STARTS}</p>' if rows else ""


def loads(comparison: Comparison, table: Table) -> str:
    """The offered load of the layers, round-trip times, buffers and thresholds."""
    header, rows = load_rows(comparison)
    if not rows:
        return ""
    sentences = dict.fromkeys(s for run in comparison.runs for s in offered.sentences(run.numbers["network"]))
    return f'{table(header, rows)}<p class="soft">{_LOADS}</p>' + "".join(
        f'<p class="soft">{escape(sentence)}</p>' for sentence in sentences
    )
