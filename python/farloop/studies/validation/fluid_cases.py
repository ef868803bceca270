"""The cases of `farloop validate fluid`, and what was recorded of them.

`fluid/cases.toml` lists them, with the bars that the fluid simulation has to be below; `fluid/recorded.json` has the errors that
`validation/fluid/make.py` measured.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from farloop.errors import FarloopError
from farloop.formats.toml_table import TomlTable

DIRECTORY = Path(__file__).parent / "fluid"
FILE, RECORDED = "cases.toml", "recorded.json"

STATISTICS = ("mean", "median", "p90", "p99", "end")
"""Of the errors of flows' completion times the mean, median and 90th percentile; the errors of the run's p99 slowdown and of its end."""


class InvalidCaseError(FarloopError):
    """The list of cases is not valid; the text names file, entry and key, and what would be accepted."""


@dataclass(frozen=True)
class FluidCase:
    """A scenario that is simulated as rates and packet by packet.

    Attributes:
        name: Its name.
        family: The kind of scenarios that it is one of.
        what: Description in words.
        scenario: The scenario's file.
        set: Settings that it gets.
        algorithms: With which algorithms.
        seeds: With which seeds; their flows count together.
        quick: True if the quick part has it.
        bars: By statistic (`STATISTICS`): the largest error, as a part of the packets' number.
        known: By algorithm: why it is above a bar.
    """

    name: str
    family: str
    what: str
    scenario: Path
    set: Mapping[str, Any]
    algorithms: tuple[str, ...]
    seeds: tuple[int, ...]
    quick: bool
    bars: Mapping[str, float]
    known: Mapping[str, str]


def read(directory: Path) -> tuple[FluidCase, ...]:
    """The cases that a directory lists.

    Raises:
        InvalidCaseError: the list is not valid.
    """
    document = TomlTable.of_file(directory / FILE, "a TOML file with [[case]] entries", InvalidCaseError)
    document.only("case")
    cases = tuple(_case(table, directory) for table in document.tables("case"))
    names = [case.name for case in cases]
    for name in names:
        if names.count(name) > 1:
            raise document.refused("[[case]]", f"{name} stands twice; expected names of their own")
    return cases


@functools.cache
def load() -> tuple[FluidCase, ...]:
    """The cases of the package."""
    return read(DIRECTORY)


@functools.cache
def load_recorded() -> Mapping[str, Any]:
    """What was measured, by case, algorithm, class of sizes ("run" for the run) and number; empty before anything was.

    Raises:
        InvalidCaseError: the file is not valid.
    """
    path = DIRECTORY / RECORDED
    try:
        content = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InvalidCaseError(f"{path}: {error}; expected errors by case and algorithm") from None
    if not isinstance(content, Mapping):
        raise InvalidCaseError(f"{path}: expected errors by case and algorithm")
    return content


def _case(table: TomlTable, directory: Path) -> FluidCase:
    table.only("name", "family", "what", "scenario", "set", "algorithms", "seeds", "quick", "bars", "known")
    scenario = directory / table.text("scenario")
    if not scenario.is_file():
        raise table.refused("scenario", f"{scenario.name}: no such file beside {FILE}")
    seeds = table.values.get("seeds")
    if not isinstance(seeds, list) or not seeds or not all(type(seed) is int for seed in seeds):
        raise table.refused("seeds", "expected one whole number or more")
    bars = table.table("bars", "statistics with their bars")
    bars.only(*STATISTICS)
    algorithms = table.texts("algorithms", "one algorithm or more")
    known = table.table("known", "algorithms with a text")
    known.only(*algorithms)
    return FluidCase(
        table.text("name"),
        table.text("family"),
        table.text("what"),
        scenario,
        table.table("set", "keys with their values").values,
        algorithms,
        tuple(seeds),
        table.flag("quick"),
        {
            name: bars.number(name, "a part of the packets' number above 0, such as 0.08", above=0)
            for name in bars.values
        },
        {name: known.text(name) for name in known.values},
    )
