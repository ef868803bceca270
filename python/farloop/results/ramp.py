"""Flows that could not reach their steady rate: a run ends before a window that doubles every round trip fills the path.

No algorithm here more than doubles its window in a round trip, and a handshake takes one as well, so the count of round trips is a bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from farloop.results import capped, flow_completion
from farloop.results.protocols import RunNumbers
from farloop.units import bytes_text, count_text, time_text


def sentences(runs: Sequence[RunNumbers]) -> list[str]:
    """One sentence for each algorithm and kind of path of which no flow reached its steady rate under any seed."""
    lives: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for run in runs:
        for algorithm, kind, life, text in _find_short(run):
            lives.setdefault((algorithm, kind), []).append((life, text))
    return [max(each)[1] for each in lives.values() if all(text for _, text in each)]


def _find_short(run: RunNumbers) -> Iterator[tuple[str, str, float, str]]:
    """Of each algorithm and kind with flows that have not finished, the longest life in base RTTs; and a sentence where it is too short."""
    flows, end = run.flows, run.duration * 1e12
    start, finish, stop, rtt = (
        flow_completion.column(flows, name) for name in ("start_ps", "finish_ps", "stop_ps", "base_rtt_ps")
    )
    is_open = np.isnan(finish)
    until = np.where(is_open, np.where(np.isnan(stop), end, np.minimum(stop, end)), finish)
    algorithms = np.array(flows["algorithm"].to_pylist(), dtype=object)
    windows = {entry["kind"]: int(entry["window_bytes"]) for entry in run.info.get("capped", [])}
    for entry in run.info.get("starts", []):
        chosen = (algorithms == entry["algorithm"]) & flow_completion.is_kind(flows, entry["kind"]) & (start < end)
        if not np.any(chosen & is_open) or not entry["first_rtt_bdps"][1]:
            continue
        trips = (until - start)[chosen] / rtt[chosen]
        longest = int(np.argmax(trips))
        life, needed, goal = float(trips[longest]), *_round_trips_needed(entry, windows.get(entry["kind"]))
        text = ""
        if life < needed:
            packets = max(1, round(entry["first_rtt_bytes"][1] / entry["mss_bytes"]))
            text = (
                f"{entry['algorithm']}: no flow {capped.KINDS[entry['kind']]} reached its steady rate: the longest lived {life:.3g} round "
                f"trips of {time_text(float(rtt[chosen][longest]) / 1e12)}, and from {count_text(packets, 'packet')} to "
                f"{bytes_text(goal)} a window that doubles takes {needed:.3g}"
            )
        yield str(entry["algorithm"]), str(entry["kind"]), life, text


def _round_trips_needed(entry: dict[str, Any], window: int | None) -> tuple[float, float]:
    """Round trips from the first window to one that fills the path or the receive window, and that window in bytes."""
    first, share = float(entry["first_rtt_bytes"][1]), float(entry["first_rtt_bdps"][1])
    goal = min(first / share, math.inf if window is None else float(window))
    return max(0.0, math.log2(goal / first)), goal
