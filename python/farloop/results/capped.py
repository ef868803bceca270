"""Flows of TCP that the receive window keeps below the rates of their paths: one window for each base round-trip time.

The simulator says which these are (`Run.info["capped"]`), one entry for each kind of path. A flow that fits into one window is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from farloop.units import bytes_text, rate_text, time_text

KEY = "transport.receive_window"
"""The scenario's key that sets the window."""

KINDS = {"intra": "inside a datacenter", "cross": "across datacenters"}
"""The kinds of paths, in words."""


def sentences(each: Sequence[Sequence[dict[str, Any]]]) -> list[str]:
    """One sentence for each kind of path; of several runs the one with the lowest rate counts.

    Args:
        each: The entries of each run.
    """
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for entry in (entry for entries in each for entry in entries):
        by_kind.setdefault(entry["kind"], []).append(entry)
    return [_sentence(min(entries, key=lambda entry: entry["rate_bps"][0])) for entries in by_kind.values()]


def _sentence(entry: dict[str, Any]) -> str:
    count = entry["flows"]
    flows = entry["flow"] if count == 1 else f"{count:,} flows {KINDS[entry['kind']]}, such as {entry['flow']},"
    verb, paths = ("gets", "its path carries") if count == 1 else ("get", "their paths carry")
    return (
        f"{flows} {verb} {_span(entry['rate_bps'], rate_text)} at most, and {paths} {_span(entry['path_bps'], rate_text)}: "
        f"{KEY} is {bytes_text(entry['window_bytes'])}, one window for each base RTT of {_span(entry['base_rtt_s'], time_text)}"
    )


def _span(ends: Sequence[float], text: Callable[[float], str]) -> str:
    least, most = (text(end) for end in ends)
    return least if least == most else f"{least} to {most}"
