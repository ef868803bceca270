"""The limits of the flows: the time under each limit of their senders, by algorithm and kind of path (docs/why.md).

Every run counts this (`Run.info["limits"]`), one entry per algorithm and kind of path. The times of an entry add up to the time of its
flows, each from its start until it was over, or the run. `farloop why` explains one flow, packet by packet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from farloop.results.flow_completion import KINDS
from farloop.results.protocols import RunNumbers

HEADER = ["run", "flows", "first limit", "second limit"]


def entries(run: RunNumbers) -> list[dict[str, Any]]:
    """The times of a run's flows by limit, in picoseconds, one entry per algorithm and kind of path; none where an old output has none."""
    limits: list[dict[str, Any]] = run.info.get("limits", [])
    return limits


def summary_rows(limits: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """As summary.json has it: for each algorithm and kind of path the flows' time in seconds, and the shares of the limits, from 0 to 1."""
    return [
        {
            "name": f"{entry['algorithm']} {entry['kind']}",
            "algorithm": entry["algorithm"],
            "kind": entry["kind"],
            "flows": entry["flows"],
            "time": sum(entry["time_ps"].values()) / 1e12,
            "shares": shares_of([entry]),
        }
        for entry in limits
    ]


def shares(run: RunNumbers, kind: str) -> dict[str, float]:
    """The part of the time of a run's flows that each limit had, largest first; together 1, and empty where no flow took time.

    Args:
        run: The run.
        kind: "intra", "cross", or nothing for all flows.
    """
    return shares_of([entry for entry in entries(run) if kind in ("", entry["kind"])])


def shares_of(limits: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The same of entries, whose flows are added."""
    times: dict[str, int] = {}
    for entry in limits:
        for limit, time in entry["time_ps"].items():
            times[limit] = times.get(limit, 0) + time
    whole = sum(times.values())
    # Of equal times the first in the order of the simulator.
    return {limit: time / whole for limit, time in sorted(times.items(), key=lambda item: -item[1])} if whole else {}


def main_limit(run: RunNumbers, kind: str) -> tuple[str, float]:
    """The limit that a run's flows spent most of their time under, and its share; ("", 0.0) where no flow took time.

    Args:
        run: The run.
        kind: "intra", "cross", or nothing for all flows.
    """
    return next(iter(shares(run, kind).items()), ("", 0.0))


def rows(runs: Sequence[tuple[str, Sequence[RunNumbers]]]) -> list[list[str | None]]:
    """A row for each run and kind of path: the two limits with the largest shares.

    Args:
        runs: Each row's name, and its runs: those that differ in their seed, whose flows are added.
    """
    table: list[list[str | None]] = []
    for label, each in runs:
        for kind in KINDS:
            own = [entry for run in each for entry in entries(run) if entry["kind"] == kind]
            cells = [f"{limit} {100 * share:.0f} %" for limit, share in shares_of(own).items() if share >= 0.005]
            if cells:
                table.append([label, kind, cells[0], cells[1] if len(cells) > 1 else None])
    return table
