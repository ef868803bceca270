"""Flows with and without ECN in one network whose switches mark: the latter wait unmarked where the former must slow down."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow.compute as pc

from farloop import _native
from farloop.results.protocols import RunNumbers

MAX_NAMED = 4
"""Algorithms that a sentence on candidates names."""

KEY = "ecn_drops_others"
"""The key of switches that drop what cannot be marked, as RED and WRED do (RFC 3168 §5, RFC 7567)."""


def sentence(run: RunNumbers) -> str | None:
    """States that some flows of a run were marked while others could not be, and no switch dropped those instead; `None` otherwise.

    An algorithm in Python counts only where its flows were marked: the catalog does not have its needs.
    """
    if run.scenario["transport"]["kind"] != "tcp" or any(_drops(section) for section in _switches(run.scenario)):
        return None
    totals = run.flows.group_by("algorithm", use_threads=False).aggregate([("marked", "sum")]).to_pylist()
    marked = [row["algorithm"] for row in totals if row["marked_sum"]]
    needs_marks = _needs_marks()
    others = [row["algorithm"] for row in totals if needs_marks.get(row["algorithm"]) is False]
    ports = pc.sum(pc.greater(run.ports["marked"], 0)).as_py()
    if not (marked and others and ports):
        return None
    return (
        f"{ports:,} {'port marks' if ports == 1 else 'ports mark'} {_listing(marked)}; {_listing(others)} is not ECN-capable, and where it "
        f"shares their queue it waits unmarked (switch.{KEY} = false). RED and WRED drop it there: --set switch.{KEY}=true"
    )


def sentence_of_candidates(algorithms: Sequence[str], scenario: Mapping[str, Any]) -> str | None:
    """States what happens, where switches mark, to those of some algorithms that are not ECN-capable; `None` where all or none are.

    Args:
        algorithms: Names, or pairs "A/B".
        scenario: The scenario that all of them run in, with all keys.
    """
    if scenario["transport"]["kind"] != "tcp" or not any(section.get("ecn") for section in _switches(scenario)):
        return None
    needs_marks = _needs_marks()
    names = dict.fromkeys(name for pair in algorithms for name in pair.split("/"))
    marked = [name for name in names if needs_marks.get(name)]
    others = [name for name in names if needs_marks.get(name) is False]
    if not (marked and others):
        return None
    verbs = ["is" if len(each) == 1 else "are" for each in (marked, others)]
    capable = f"{_listing(_list_some(marked))} {verbs[0]} ECN-capable, {_listing(_list_some(others))} {verbs[1]} not"
    if any(_drops(section) for section in _switches(scenario)):
        return f"{capable}: where switches would mark, they drop the latter's packets, as RED and WRED do (switch.{KEY} = true)"
    return (
        f"{capable}: where switches mark, the latter's packets wait unmarked (switch.{KEY} = false). RED and WRED drop them there: "
        f"--set switch.{KEY}=true"
    )


def _list_some(names: Sequence[str]) -> list[str]:
    return list(names) if len(names) <= MAX_NAMED else [*names[: MAX_NAMED - 1], f"{len(names) - MAX_NAMED + 1} more"]


@functools.cache
def _needs_marks() -> dict[str, bool]:
    return {a["name"]: bool(a["needs"]["ecn"]) for a in json.loads(_native.algorithms())}


def _switches(scenario: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [scenario["switch"], scenario["wan_switch"], *scenario.get("switch_override", [])]


def _drops(section: Mapping[str, Any]) -> bool:
    # Outputs from before the key have none.
    return bool(section.get(KEY, False))


def _listing(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
