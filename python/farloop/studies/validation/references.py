"""References to hold the simulator to: what another program, a kernel or a formula gives for a scenario, with where it is from.

A reference is a directory under `references/`: `reference.toml` says what made it, which scenarios it is of and how near farloop has to be,
`results.json` has its numbers. docs/validation.md has the format.
"""

from __future__ import annotations

import datetime
import functools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from farloop.errors import FarloopError, clip_text, nearest
from farloop.formats.toml_table import TomlTable

DIRECTORY = Path(__file__).parent / "references"
FILE, RESULTS = "reference.toml", "results.json"

SIMULATOR, AUTHORS, KERNEL, THEORY = "simulator", "the authors' simulator", "kernel", "theory"
KINDS = (SIMULATOR, AUTHORS, KERNEL, THEORY)

RECEIVED, ACKNOWLEDGED = "received", "acknowledged"
"""Until when a flow's completion time counts: its last byte is at the receiver, or its acknowledgement at the sender."""

TIES, SEED = "ties", "seed"
"""Differences between repetitions: the order of simultaneous events and starts by less than a packet's time; or all that is drawn, too."""

MEAN, RANGE = "mean", "range"
"""Reference of farloop's mean: the mean of the reference's repetitions, or their range, each with the limit around it."""

OF_THE_PROGRAM = ("wall_s", "packet_hops", "memory_bytes")
"""Entries of results beside metrics: the program's wall-clock time, its packet-hops, and its memory."""


_TIME = re.compile(r"(\d+(?:\.\d+)?)(s|ms|us)")

PART = "a part of the reference above 0, such as 0.05"
"""Expected form of a limit."""


class InvalidReferenceError(FarloopError):
    """A reference is not valid; the text names file, entry and key, and what would be accepted."""


@dataclass(frozen=True)
class Explained:
    """A difference above the limit whose cause an experiment shows.

    Attributes:
        metric: The number that differs.
        difference: By how much, relative to the reference: farloop has to differ by this, within the limit.
        why: The cause.
        command: Command that shows it; empty where it takes the other program.
        gives: Output of the command, or result of the experiment with the other program.
        settled: True if the experiment removes the difference; if not, the cause is open.
    """

    metric: str
    difference: float
    why: str
    command: str
    gives: str
    settled: bool = True


@dataclass(frozen=True)
class Entry:
    """An algorithm in a case.

    Attributes:
        algorithm: farloop's name of it.
        reference: The other program's.
        set: Settings that the scenario gets for it.
        limits: By metric: the largest difference, relative to the reference; absolute where the reference is 0.
        numbers: By metric: the reference's values, one per repetition, in SI units.
        explained: Differences above the limit, by metric.
        program: The reference's entries on its own run; see `OF_THE_PROGRAM`.
    """

    algorithm: str
    reference: str
    set: Mapping[str, Any]
    limits: Mapping[str, float]
    numbers: Mapping[str, tuple[float, ...]]
    explained: Mapping[str, Explained]
    program: Mapping[str, tuple[float, ...]]

    @property
    def repetitions(self) -> int:
        """Number of repetitions of the reference."""
        return max(len(values) for values in self.numbers.values())


@dataclass(frozen=True)
class ReferenceCase:
    """A scenario of a reference.

    Attributes:
        name: Its name.
        what: Description in words.
        scenario: The scenario's file.
        quick: True if the quick part has it.
        fct: When a flow counts as complete: `RECEIVED` or `ACKNOWLEDGED`.
        since: From when on long flows are measured, in seconds.
        judge: The criterion for farloop: `MEAN` or `RANGE`, with which farloop runs once.
        vary: The difference between farloop's repetitions: `TIES`, or `SEED` where the program's have other hashes or losses, too.
        entries: The algorithms.
    """

    name: str
    what: str
    scenario: Path
    quick: bool
    fct: str
    since: float
    judge: str
    vary: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Reference:
    """Results of another program.

    Attributes:
        name: The directory's name.
        program: Name of the program.
        version: Version of the program.
        source: Where it is to be had.
        licence: The program's.
        date: When it ran.
        kind: One of `KINDS`.
        independent: True if it shares nothing with farloop: neither code nor authors.
        made_by: The script that makes it again.
        commands: Commands that made it.
        notes: Notes on the common setup, and the settings for it.
        cases: Its scenarios.
    """

    name: str
    program: str
    version: str
    source: str
    licence: str
    date: datetime.date
    kind: str
    independent: bool
    made_by: str
    commands: tuple[str, ...]
    notes: str
    cases: tuple[ReferenceCase, ...]

    @property
    def title(self) -> str:
        """Program and version, hashes of commits cut short."""
        return re.sub(r"([0-9a-f]{7})[0-9a-f]{33}", r"\1", f"{self.program} {self.version}")


@functools.cache
def names() -> tuple[str, ...]:
    """The references that there are."""
    return tuple(sorted(path.parent.name for path in DIRECTORY.glob(f"*/{FILE}")))


@functools.cache
def load(name: str) -> Reference:
    """One of them.

    Raises:
        FarloopError: there is no such reference, or it is not valid.
    """
    if name not in names():
        raise FarloopError(f"{clip_text(name)}: no such reference; {nearest(name, names())}")
    return read(DIRECTORY / name)


@functools.cache
def programs_by_algorithm() -> dict[str, tuple[str, ...]]:
    """By algorithm, the programs of independent references that have it, such as "ns-3"; algorithms without any are not in it."""
    by_algorithm: dict[str, dict[str, None]] = {}
    for name in names():
        reference = load(name)
        if not reference.independent or reference.kind == THEORY:
            continue
        for case in reference.cases:
            for entry in case.entries:
                by_algorithm.setdefault(entry.algorithm, {})[reference.program] = None
    return {algorithm: tuple(programs) for algorithm, programs in by_algorithm.items()}


def programs(algorithm: str) -> str:
    """The programs and kernels that an algorithm has been compared with, such as "ns-3, Linux"; empty for none."""
    return ", ".join(programs_by_algorithm().get(algorithm, ()))


def read(directory: Path) -> Reference:
    """The reference in a directory.

    Raises:
        InvalidReferenceError: it is not valid.
    """
    results = _results(directory / RESULTS)
    document = TomlTable.of_file(directory / FILE, "a TOML file with [[case]] entries", InvalidReferenceError)
    texts = ("program", "version", "source", "licence", "made_by", "notes")
    document.only(*texts, "date", "kind", "independent", "commands", "case")
    date = document.values.get("date")
    if not isinstance(date, datetime.date):
        raise document.refused("date", "expected a date, such as 2026-11-23")
    cases = tuple(_case(case_table, directory, results) for case_table in document.tables("case"))
    called = [case.name for case in cases]
    for name in called:
        if called.count(name) > 1:
            raise document.refused("[[case]]", f"{clip_text(name)} stands twice; expected names of their own")
    for name in results:
        if name not in called:
            raise InvalidReferenceError(f"{directory / RESULTS}: {clip_text(name)}: no such case in {FILE}")
    return Reference(
        name=directory.name,
        **{key: document.text(key) for key in texts},
        date=date,
        kind=document.one_of("kind", KINDS),
        independent=document.flag("independent"),
        commands=document.texts("commands", "one command or more"),
        cases=cases,
    )


def _case(table: TomlTable, directory: Path, results: Mapping[str, Any]) -> ReferenceCase:
    table.only("name", "what", "scenario", "set", "quick", "judge", "limit", "limits", "fct", "since", "vary", "run")
    name = table.text("name")
    scenario = directory / table.text("scenario")
    if not scenario.is_file():
        raise table.refused("scenario", f"{clip_text(scenario.name)}: no such file beside {FILE}")
    own = results.get(name, {})
    limits = _limits(table, {"": table.number("limit", PART, above=0)})
    settings = table.table("set", "keys with their values").values
    entries = tuple(_entry(run_table, own, limits, settings) for run_table in table.tables("run"))
    for algorithm in own:
        if algorithm not in {entry.algorithm for entry in entries}:
            raise table.refused("run", f"{RESULTS} has {clip_text(algorithm)}; expected a [[case.run]] of it")
    return ReferenceCase(
        name,
        table.text("what"),
        scenario,
        table.flag("quick"),
        table.one_of("fct", (RECEIVED, ACKNOWLEDGED)) if "fct" in table.values else RECEIVED,
        _seconds(table),
        table.one_of("judge", (MEAN, RANGE)) if "judge" in table.values else MEAN,
        table.one_of("vary", (TIES, SEED)) if "vary" in table.values else TIES,
        entries,
    )


def _entry(table: TomlTable, own: Mapping[str, Any], above: Mapping[str, float], settings: Mapping[str, Any]) -> Entry:
    table.only("algorithm", "reference", "set", "limit", "limits", "explained")
    algorithm = table.text("algorithm")
    numbers = own.get(algorithm)
    if not isinstance(numbers, Mapping) or not set(numbers) - set(OF_THE_PROGRAM):
        raise table.refused("algorithm", f"{clip_text(algorithm)}: expected numbers of it in {RESULTS}")
    if "limit" in table.values:
        above = {**above, "": table.number("limit", PART, above=0)}
    limits = _limits(table, above)
    by_metric = {metric: _numbers(values, f"{table.where}: {RESULTS}: {metric}") for metric, values in numbers.items()}
    for metric in table.table("limits", "metrics with their limits").values:
        if metric not in by_metric:
            raise table.refused("limits", f"{clip_text(metric)}: {nearest(metric, sorted(by_metric))}")
    explained = [_read_explained(explained_table, sorted(by_metric)) for explained_table in table.tables("explained")]
    return Entry(
        algorithm,
        table.text("reference"),
        {**settings, **table.table("set", "keys with their values").values},
        {metric: limits.get(metric, limits[""]) for metric in by_metric},
        {metric: values for metric, values in by_metric.items() if metric not in OF_THE_PROGRAM},
        {cause.metric: cause for cause in explained},
        {metric: values for metric, values in by_metric.items() if metric in OF_THE_PROGRAM},
    )


def _read_explained(table: TomlTable, metrics: Sequence[str]) -> Explained:
    table.only("metric", "difference", "why", "command", "gives", "settled")
    return Explained(
        table.one_of("metric", metrics),
        table.number("difference", "a part of the reference, such as -0.12"),
        table.text("why"),
        table.optional_text("command", "a command line"),
        table.text("gives"),
        table.flag("settled", True),
    )


def _results(path: Path) -> Mapping[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidReferenceError(f"{path}: {error}; expected the numbers of each case and algorithm") from None
    if not isinstance(content, Mapping) or not all(isinstance(case, Mapping) for case in content.values()):
        raise InvalidReferenceError(f"{path}: expected an object by case, algorithm and metric")
    return content


def _limits(table: TomlTable, above: Mapping[str, float]) -> dict[str, float]:
    own = table.table("limits", "metrics with their limits")
    return {**above, **{metric: own.number(metric, PART, above=0) for metric in own.values}}


def _numbers(values: Any, where: str) -> tuple[float, ...]:
    if not isinstance(values, Sequence) or isinstance(values, str) or not values:
        raise InvalidReferenceError(f"{where}: expected one number for each repetition")
    if any(isinstance(v, bool) or not isinstance(v, int | float) or not math.isfinite(v) for v in values):
        raise InvalidReferenceError(f"{where}: expected numbers")
    return tuple(float(value) for value in values)


def _seconds(table: TomlTable) -> float:
    """From when on flows are measured."""
    value = table.values.get("since", "0s")
    matched = _TIME.fullmatch(value) if isinstance(value, str) else None
    if not matched:
        raise table.refused("since", f"{clip_text(value)}: expected a time, such as 5s or 100ms")
    return float(matched[1]) * {"s": 1.0, "ms": 1e-3, "us": 1e-6}[matched[2]]
