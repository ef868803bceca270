"""The report's section about PFC: who paused whom, how pauses spread, deadlocks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from farloop.report.tables import Cell
from farloop.results import pfc
from farloop.units import count_text, time_text

if TYPE_CHECKING:
    from farloop.results.run import Comparison, Run

MOST_ROWS = 50
"""Rows and branches per run; a large fabric has thousands."""

MOST_VICTIMS = 10

HEADER = ["run", "paused port", "by", "because of", "root", "depth", "pauses", "paused for"]


def has_pauses(comparison: Comparison) -> bool:
    """Whether anything was paused in any of the runs."""
    return any(run.pauses.num_rows for run in comparison.runs)


def pause_rows(run: Run) -> list[list[Cell]]:
    """Who paused whom, the longest pauses first."""
    return [
        [
            run.label,
            pause.port,
            pause.port.partition("->")[2],
            pause.cause,
            pause.root,
            str(pause.depth),
            str(pause.pauses),
            time_text(pause.paused),
        ]
        for pause in pfc.rows(run.pauses)
    ]


def headline(run: Run) -> str:
    """One run's totals in words."""
    total = run.summary["pfc"]
    text = (
        f"{total['pauses']} pauses, {time_text(total['paused'])} over all ports; {count_text(total['roots'], 'root')}, "
        f"spreading up to depth {total['depth']}; {count_text(total['victims'], 'victim flow')}"
    )
    return text + (f" ({victims})" if (victims := _victims(run)) else "")


def spreading(run: Run) -> str:
    """The trees of pauses as indented lists."""
    parts: list[str] = []
    left = MOST_ROWS
    trees = pfc.trees(run.pauses)
    for root, branches in trees:
        if left <= 0:
            break
        parts.append(f"<li><b>{escape(root)}</b>{_nested(branches[:left])}</li>")
        left -= len(branches)
    total = sum(len(branches) for _, branches in trees)
    note = _cut(total) if total > MOST_ROWS else ""
    return f'<ul class="tree">{"".join(parts)}</ul>{note}'


def section(comparison: Comparison, table: Any) -> str:
    """The section's HTML; `table` makes a table of a header and rows."""
    parts = [
        '<h2 id="pfc">PFC</h2><p class="soft">Which port paused its neighbour, which full egress port made it do so, and the '
        "root: the congested port where that chain ends. A victim is a flow that waited for a pause although its path avoids the root.</p>"
    ]
    for run in comparison.runs:
        if not run.pauses.num_rows:
            parts.append(f"<p><b>{escape(run.label)}</b>: no pauses</p>")
            continue
        rows = pause_rows(run)
        note = _cut(len(rows)) if len(rows) > MOST_ROWS else ""
        parts.append(
            f"<p><b>{escape(run.label)}</b>: {escape(headline(run))}</p>"
            f"<details><summary>Who paused whom</summary>{table(HEADER, rows[:MOST_ROWS])}{note}</details>"
            f"<details><summary>How it spread</summary>{spreading(run)}</details>"
        )
    return "".join(parts)


def alert(deadlocks: Sequence[str]) -> str:
    """Deadlocks and other findings, where nobody can overlook them; nothing if there are none."""
    return "".join(f'<p class="card alert">{escape(text)}</p>' for text in deadlocks)


def _nested(branches: list[pfc.Branch]) -> str:
    parts: list[str] = []
    level = 0
    for branch in branches:
        if branch.level > level:
            parts.append("<ul><li>")
        else:
            parts.append("</li></ul>" * (level - branch.level) + "</li><li>")
        level = branch.level
        pause = branch.pause
        because = "" if branch.attached else f" because of {pause.cause}"
        parts.append(escape(f"{pause.port}: {count_text(pause.pauses, 'pause')}, {time_text(pause.paused)}{because}"))
    return "".join(parts) + "</li></ul>" * level


def _victims(run: Run) -> str:
    waited = run.flows["victim_packets"].to_numpy()
    names = [run.flows["name"][int(i)].as_py() for i in waited.nonzero()[0][:MOST_VICTIMS]]
    return ", ".join(names) + (", …" if (waited > 0).sum() > MOST_VICTIMS else "")


def _cut(total: int) -> str:
    return f'<p class="soft">{MOST_ROWS} of {total}; all are in pauses.parquet.</p>'
