"""Where the time of a flow went: `farloop why` (docs/why.md). The stored run is simulated again, until the flow is over."""

from __future__ import annotations

import json
from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farloop import _native
from farloop.errors import FarloopError, shown
from farloop.results.why import Explanation
from farloop.scenario import Scenario

if TYPE_CHECKING:
    from farloop.results.run import Run

MOST_FOLLOWED = 1000
"""Flows of a chain of `after`."""


def why(
    run: Run | Scenario | str | PathLike[str],
    flow: str | int,
    *,
    follow: bool = False,
    progress: Callable[[float, float, float], bool | None] | None = None,
) -> Explanation:
    """Says where the time of a flow went, exact to the picosecond.

    Args:
        run: A run, the directory of a run that farloop wrote, or a scenario (a file, the name of a paper's figure, or a `Scenario`).
        flow: The flow's name, or its number in the table of flows, from 0.
        follow: Also explain the flow whose end it waited for (`after`), the one that this waited for, and so on.
        progress: Called now and then with simulated seconds, simulated seconds at the end, and packet-hops so far; returns False to stop.

    Raises:
        ScenarioError: there is no such flow, it does not begin, or its endpoints are not followed (TCP, multipath).
        FarloopError: there is no such run, several of them, or this farloop simulates it differently.
    """
    stored, scenario = _located(run)
    explanation = _asked(scenario, str(flow), progress)
    if stored is not None:
        _check(stored, explanation)
    latest = explanation
    for _ in range(MOST_FOLLOWED if follow else 0):
        if latest.after is None:
            break
        latest.before = _asked(scenario, str(latest.after["flow"]), progress)
        latest = latest.before
    return explanation


def _asked(scenario: Scenario, flow: str, progress: Callable[[float, float, float], bool | None] | None) -> Explanation:
    def tell(now: float, end: float, hops: float) -> bool:
        return progress is None or progress(now, end, hops) is not False

    if scenario.classes:
        raise FarloopError("why: algorithms in Python are not followed yet; expected a run of built-in algorithms")
    native = _native.Scenario(scenario.text, scenario.file, list(scenario.overrides))
    content: dict[str, Any] = json.loads(native.why(flow, tell))
    return Explanation(**{key: value for key, value in content.items() if key != "slices"}, slices=content["slices"])


def _located(run: Run | Scenario | str | PathLike[str]) -> tuple[Run | None, Scenario]:
    """The run, where it is a stored one, and its scenario."""
    from farloop.results.run import Run

    if isinstance(run, Scenario):
        return None, run
    if not isinstance(run, Run):
        path = Path(fspath(run))
        if not path.is_dir():
            return None, Scenario.load(run)
        from farloop.output.reading import load

        runs = load(path).runs
        if len(runs) != 1:
            raise FarloopError(
                f"{shown(path, 4096)}: has {len(runs)} runs; expected one of them, such as {shown(path / 'runs', 4096)}/NAME"
            )
        run = runs[0]
    if not run.scenario:
        raise FarloopError("why: the run has no scenario; expected one that farloop simulated")
    return run, _rewritten(run)


def _rewritten(run: Run) -> Scenario:
    """The scenario with all of its defaults: files that it names are looked for beside the scenario's own."""
    from farloop.formats.scenario_text import from_tables

    return Scenario.from_text(from_tables(run.scenario), run.file)


def _check(run: Run, explanation: Explanation) -> None:
    """Refuses a run that this farloop simulates differently.

    Raises:
        FarloopError: start or finish are others.
    """
    number = explanation.number
    rows = run.flows.slice(number, 1).select(["start_ps", "finish_ps"]).to_pylist()
    finish = explanation.end_ps if explanation.finished else None
    if not rows or rows[0] != {"start_ps": explanation.start_ps, "finish_ps": finish}:
        raise FarloopError(
            f"why: flow {shown(explanation.flow)} goes another way when it is simulated again: another version of farloop, or other "
            "files, made the run; expected one of this version, so run it again"
        )
