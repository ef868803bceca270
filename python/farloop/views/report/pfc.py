"""The report's section about PFC: who paused whom, how pauses spread, deadlocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from farloop.results import pfc
from farloop.units import count_text, time_text
from farloop.views.html import render
from farloop.views.tabular import Cell, Table

if TYPE_CHECKING:
    from markupsafe import Markup

    from farloop.results.run import Comparison, Run

MAX_ROWS = 50
"""Rows and branches per run; a large fabric has thousands."""

MAX_VICTIMS = 10

HEADER = ["run", "paused port", "by", "because of", "root", "depth", "pauses", "paused for"]


def has_pauses(comparison: Comparison) -> bool:
    """Returns true if anything was paused in any of the runs."""
    return any(run.pauses.num_rows for run in comparison.runs)


def pause_rows(run: Run) -> list[list[Cell]]:
    """Returns rows of pausing and paused ports, the longest pauses first."""
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


@dataclass
class BranchNode:
    """A paused port in the tree of a root.

    Attributes:
        text: Its text.
        children: The ports that it made pause.
    """

    text: str
    children: list[BranchNode] = field(default_factory=list)


def spread_trees(run: Run) -> list[tuple[str, list[BranchNode]]]:
    """The trees of pauses by their root, cut after so many branches as a page has room for."""
    trees: list[tuple[str, list[BranchNode]]] = []
    left = MAX_ROWS
    for root, branches in pfc.trees(run.pauses):
        if left <= 0:
            break
        trees.append((root, _nest(branches[:left])))
        left -= len(branches)
    return trees


def section(comparison: Comparison) -> Markup:
    """The section's HTML."""
    runs = []
    for run in comparison.runs:
        rows = pause_rows(run)
        runs.append(
            {
                "label": run.label,
                "total": len(rows),
                "headline": headline(run) if rows else "",
                "table": Table.from_rows(HEADER, rows[:MAX_ROWS]),
                "trees": spread_trees(run),
                "branches": sum(len(branches) for _, branches in pfc.trees(run.pauses)),
            }
        )
    return render("pfc.html.j2", runs=runs, most_rows=MAX_ROWS)


def _nest(branches: list[pfc.Branch]) -> list[BranchNode]:
    """Branches, which say their level, as a tree."""
    top: list[BranchNode] = []
    by_level = [top]
    for branch in branches:
        pause = branch.pause
        because = "" if branch.attached else f" because of {pause.cause}"
        node = BranchNode(f"{pause.port}: {count_text(pause.pauses, 'pause')}, {time_text(pause.paused)}{because}")
        del by_level[branch.level :]
        by_level[-1].append(node)
        by_level.append(node.children)
    return top


def _victims(run: Run) -> str:
    waited = run.flows["victim_packets"].to_numpy()
    names = [run.flows["name"][int(i)].as_py() for i in waited.nonzero()[0][:MAX_VICTIMS]]
    return ", ".join(names) + (", …" if (waited > 0).sum() > MAX_VICTIMS else "")
