"""Titles of metrics, for axes, tables and sentences."""

from __future__ import annotations

import re

_NAME = re.compile(r"(?:(intra|cross)_)?(?:(\w+?)_)??(?:(aged)_)?(mean|p50|p95|p99|p999|max)_(slowdown|fct)")
_WORDS = {"slowdown": "FCT slowdown", "fct": "flow completion time"}
_STATISTICS = {"p50": "median", "p999": "p99.9", "max": "largest"}
_OTHERS = {
    "throughput": "goodput of all flows",
    "intra_throughput": "mean throughput of flows, intra",
    "cross_throughput": "mean throughput of flows, cross",
    "ratio": "throughput intra over cross",
    "jain": "Jain's index",
    "mean_queue": "mean queue of the worst port",
    "max_queue": "longest queue",
    "paused": "time paused by PFC",
    "pauses": "PFC pause frames",
    "unfinished": "unfinished flows",
    "dropped": "dropped packets",
    "lost": "packets lost on links",
    "retransmitted": "retransmitted packets",
    "exposed_share": "exposed communication",
}


def metric_title(name: str, *, as_sample: bool = False) -> str:
    """A metric of a study in a few words: "p99 FCT slowdown, cross, small".

    Args:
        name: The metric's name, such as "cross_small_p99_slowdown".
        as_sample: Without the statistic: "FCT slowdown, cross, small".
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return _OTHERS.get(name, name.replace("_", " "))
    kind, size, aged, statistic, last = match.groups()
    words = _WORDS[last] if as_sample else f"{_STATISTICS.get(statistic, statistic)} {_WORDS[last]}"
    more = [part.replace("_", " ") for part in (kind, size, "unfinished by age" if aged else "") if part]
    return ", ".join([words, *more])
