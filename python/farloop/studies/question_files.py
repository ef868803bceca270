"""The scenario of a question's file: which it is, and the settings that the file gives it (`farloop advise`, `farloop plan`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from farloop._native import ScenarioError
from farloop.scenario import Scenario
from farloop.studies.sweep.document import Document


def load_named(document: Document) -> Scenario:
    """The scenario that a question's file names: a file beside it, or a paper's figure, whose name has no ending.

    Raises:
        FarloopError: it cannot be read.
        ScenarioError: it is not valid.
    """
    written = str(document.content["scenario"])
    beside = Path(document.file).parent / written
    try:
        return Scenario.load(str(beside) if beside.suffix else written)
    except ScenarioError as error:
        if beside.suffix and beside.is_file():
            raise
        raise document.error(("scenario",), str(error)) from None


def apply_settings(scenario: Scenario, document: Document) -> Scenario:
    """The scenario with the settings of a question's file; an error about one of them names its line.

    Raises:
        FarloopError: a setting is not valid.
        ScenarioError: the scenario is not valid.
    """
    settings = {".".join(way): (way, value) for way, value in _leaves(document.content.get("set", {}))}
    changed = scenario.override({name: value for name, (_, value) in settings.items()})
    try:
        # Settings are read when something is asked of a scenario.
        _ = changed.resolved
    except ScenarioError as error:
        option, _, problem = str(error).partition(": ")
        name, _, rest = problem.partition(": ")
        if option not in ("--set", "set") or name not in settings:
            raise
        raise document.error(("set", *settings[name][0]), rest) from None
    return changed


def _leaves(tables: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Settings with the way to each: TOML reads `run.duration = "1s"` as a table in a table."""
    for key, value in tables.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*above, key))
        else:
            yield (*above, key), value
