"""Priority flow control (IEEE 802.1Qbb): how much was paused, and how pauses spread from congested ports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa


@dataclass(frozen=True)
class Pause:
    """A port that was paused for one reason.

    Attributes:
        port: The paused port, "left->right": the node `right` made `left` stop.
        cause: The port of `right` that the packets were bound for that exceeded its threshold.
        root: Where the chain of causes ends: the congested port that was not held back by a pause itself.
        depth: Largest number of links from `right` back to the root; 1 where `right` owns it.
        pauses: Pause frames that reached the port.
        paused: Seconds for which it was paused; each data class counted for itself.
    """

    port: str
    cause: str
    root: str
    depth: int
    pauses: int
    paused: float


@dataclass(frozen=True)
class Branch:
    """A pause in the tree of its root.

    Attributes:
        level: 1 for ports that the root had paused, 2 for those that these had paused, and so on.
        pause: The pause.
        attached: True if the branch above it is its cause; false only inside a cycle.
    """

    level: int
    pause: Pause
    attached: bool


def totals(flows: pa.Table, ports: pa.Table, pauses: pa.Table, deadlocks: list[str]) -> dict[str, Any]:
    """Pause frames, paused time in seconds over all ports, victim flows, roots, spreading depth, deadlocks.

    The first three are `None` where the gear of the run has no pauses.
    """
    paused = _sum(ports, "paused_ps")
    waited = flows["victim_packets"]
    is_counted = not flows.num_rows or waited.null_count < flows.num_rows
    return {
        "pauses": _sum(ports, "pauses"),
        "paused": None if paused is None else paused / 1e12,
        "victims": int(np.count_nonzero(waited.to_numpy())) if is_counted else None,
        "roots": len({p.root for p in rows(pauses)}),
        "depth": max(pauses["depth"].to_pylist(), default=0),
        "deadlocks": len(deadlocks),
    }


def rows(pauses: pa.Table) -> list[Pause]:
    """Returns pairs of pausing and paused ports, the longest pauses first."""
    pauses_of_port = [
        Pause(
            port=f"{row['node']}->{row['peer']}",
            cause=f"{row['cause_node']}->{row['cause_peer']}",
            root=f"{row['root_node']}->{row['root_peer']}",
            depth=row["depth"],
            pauses=row["pauses"],
            paused=row["paused_ps"] / 1e12,
        )
        for row in pauses.to_pylist()
    ]
    return sorted(pauses_of_port, key=lambda p: (-p.paused, p.port, p.cause, p.root))


def trees(pauses: pa.Table) -> list[tuple[str, list[Branch]]]:
    """Returns the trees by which pauses spread: each root, and the branches of its tree in the order of an indented list.

    The root with the longest pauses comes first. A port that was paused for several causes stands under each of them; what it
    paused in turn stands under the first only.
    """
    by_root: dict[str, list[Pause]] = {}
    for pause in rows(pauses):
        by_root.setdefault(pause.root, []).append(pause)
    ordered = sorted(by_root, key=lambda root: (-sum(p.paused for p in by_root[root]), root))
    return [(root, list(_branches(root, by_root[root]))) for root in ordered]


def _branches(root: str, pauses: list[Pause]) -> Iterator[Branch]:
    by_cause: dict[str, list[Pause]] = {}
    for pause in pauses:
        by_cause.setdefault(pause.cause, []).append(pause)
    yield from _take_branches(root, by_cause, attached=True)
    while by_cause:
        # A cycle that no longer leads to its root: begin where it is nearest.
        nearest = min(by_cause, key=lambda cause: (min(p.depth for p in by_cause[cause]), cause))
        yield from _take_branches(nearest, by_cause, attached=False)


def _take_branches(cause: str, by_cause: dict[str, list[Pause]], *, attached: bool) -> Iterator[Branch]:
    """Yields the ports that a port had paused, directly and through others; removes them from `by_cause`."""
    stack = [Branch(1, p, attached) for p in reversed(by_cause.pop(cause, []))]
    while stack:
        branch = stack.pop()
        yield branch
        stack += [Branch(branch.level + 1, p, True) for p in reversed(by_cause.pop(branch.pause.port, []))]


def _sum(table: pa.Table, column: str) -> int | None:
    """The sum of a column; `None` where no row has a value."""
    if not table.num_rows:
        return 0
    return None if table[column].null_count == table.num_rows else int(np.sum(table[column].to_numpy()))
