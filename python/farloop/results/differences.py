"""Differences between two outputs in settings, numbers and tables, run by run: the result of `farloop diff` (docs/outputs.md)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from farloop.errors import FarloopError, clip_text
from farloop.results.effects import ALL, SCOPES, Effect, effects
from farloop.results.measures import declared_measures
from farloop.units import count_text

if TYPE_CHECKING:
    from farloop.results.protocols import RunNumbers
    from farloop.results.run import Comparison, Run

Cell = str | None
Rows = tuple[list[str], list[list[Cell]]]

OLD, NEW = "old", "new"
"""The two sides of a difference."""

VERSION, SEED = "farloop", "run.seed"
"""Settings that no table of a scenario has, or that a run has for itself."""

MAX_NAMED = 10
"""Names of runs that a message lists."""

_NO_SETTINGS = ("title", "source", "figure", "template", "case", "claim")
"""Keys of a scenario that change nothing in a run."""


@dataclass(frozen=True)
class SettingChange:
    """A setting that differs.

    Attributes:
        name: Its dotted key, such as "network.wan_delay"; "farloop" for the version, "file NAME" for a file that the scenario names.
        old: Its value in the older output, in the scenario's own units; `None` where that has no such setting. Several keys of one table
            that only one side has are one setting, whose value is a dictionary of them.
        new: The same in the newer one.
    """

    name: str
    old: Any
    new: Any


@dataclass(frozen=True)
class NumberChange:
    """A headline number of both outputs, over several seeds its mean.

    Attributes:
        measure: Its identifier among the declared measures; of a job's number followed by the job's name.
        name: Its name in tables.
        unit: The unit of both values; "1" where there is none.
        old: Its value in the older output; `None` where that has no such number.
        new: The same in the newer one.
        is_bound: True where a value is a lower bound, because some flows did not finish.
    """

    measure: str
    name: str
    unit: str
    old: float | None
    new: float | None
    is_bound: bool = False
    text: Callable[[float], str] = field(default=str, repr=False, compare=False)

    @property
    def differs(self) -> bool:
        """True if the values are not exactly equal: the same scenario gives the same bytes."""
        return self.old != self.new

    @property
    def change(self) -> float | None:
        """The new value over the old one, less 1: 0.25 is 25 % more; `None` where a value is missing or the old one is 0."""
        return None if self.new is None or not self.old else self.new / self.old - 1


@dataclass(frozen=True)
class RunDifference:
    """Differences of one run, or of the runs of several seeds.

    Attributes:
        label: Its name in the outputs; "OLD to NEW" where two outputs of one run have different names for it.
        settings: The settings that differ.
        numbers: All numbers that were compared, those that decide first.
        tables: Names of the tables with other rows, such as "flows"; seeds that only one output has are not compared.
    """

    label: str
    settings: tuple[SettingChange, ...]
    numbers: tuple[NumberChange, ...]
    tables: tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """Differences between two outputs.

    Attributes:
        runs: One entry for each run of both.
        only_old: Names of the runs that only the older output has.
        only_new: Names of those that only the newer one has.
    """

    runs: tuple[RunDifference, ...]
    only_old: tuple[str, ...] = ()
    only_new: tuple[str, ...] = ()

    @property
    def settings(self) -> list[str]:
        """Names of the settings that differ in some run, each once."""
        return list(dict.fromkeys(change.name for run in self.runs for change in run.settings))

    @property
    def numbers(self) -> list[NumberChange]:
        """All numbers of all runs that were compared."""
        return [number for run in self.runs for number in run.numbers]

    @property
    def tables(self) -> list[str]:
        """Names of the tables that differ in some run, each once."""
        return list(dict.fromkeys(name for run in self.runs for name in run.tables))

    @property
    def is_equal(self) -> bool:
        """True if both have the same runs with equal settings, numbers and tables."""
        differs = any(number.differs for number in self.numbers)
        return not (self.settings or differs or self.tables or self.only_old or self.only_new)

    @property
    def answer(self) -> str:
        """The difference in a sentence or two."""
        if self.is_equal:
            return "The two outputs are equal: same settings, same numbers, same tables."
        count, of = sum(number.differs for number in self.numbers), len(self.numbers)
        settings = count_text(len(self.settings), "setting")
        verb = "differs" if len(self.settings) == 1 else "differ"
        if self.settings and count:
            sentence = f"{settings} and {count} of {of} numbers differ."
        elif self.settings:
            sentence = f"{settings} {verb}; the numbers are equal."
        elif count:
            sentence = f"The settings are equal, but {count} of {of} numbers {'differs' if count == 1 else 'differ'}."
        else:
            sentence = "Settings and numbers are equal."
        if self.tables and not count:
            word, verb = ("table", "differs") if len(self.tables) == 1 else ("tables", "differ")
            sentence += f" The {word} {', '.join(self.tables)} {verb}."
        sides = ((OLD, self.only_old), (NEW, self.only_new))
        only = [f" Only the {side} output has {_names_text(labels)}." for side, labels in sides if labels]
        return sentence + "".join(only)

    @property
    def as_json(self) -> dict[str, Any]:
        """All of it, with numbers that are equal; `change` is a share, not percent."""
        return {
            "answer": self.answer,
            "equal": self.is_equal,
            "runs": [
                {
                    "label": run.label,
                    "settings": [{"name": row.name, "old": row.old, "new": row.new} for row in run.settings],
                    "numbers": [_number_row(number) for number in run.numbers],
                    "tables": list(run.tables),
                }
                for run in self.runs
            ],
            "only_old": list(self.only_old),
            "only_new": list(self.only_new),
        }

    def setting_rows(self) -> Rows:
        """Header and rows of the settings that differ; one row for all runs in which a setting differs alike."""
        cells: dict[tuple[str, str, str], list[str]] = {}
        for run in self.runs:
            for row in run.settings:
                cells.setdefault((row.name, _value_text(row.old), _value_text(row.new)), []).append(run.label)
        rows = [[clip_text(name), old or None, new or None] for name, old, new in cells]
        header = ["setting", OLD, NEW]
        if len(self.runs) == 1:
            return header, rows
        labels = ["all" if len(runs) == len(self.runs) else ", ".join(runs) for runs in cells.values()]
        return [*header, "run"], [[*row, label] for row, label in zip(rows, labels, strict=True)]

    def number_rows(self) -> Rows:
        """Header and rows of the numbers that differ, in the order of `numbers`; the change is in percent of the old value."""
        rows: list[list[Cell]] = [
            [
                run.label,
                number.name + (" (lower bound)" if number.is_bound else ""),
                *_value_texts(number),
                _change_text(number.change),
            ]
            for run in self.runs
            for number in run.numbers
            if number.differs
        ]
        header = ["run", "number", OLD, NEW, "change"]
        return (header, rows) if len(self.runs) > 1 else (header[1:], [row[1:] for row in rows])


def compare_outputs(old: Comparison, new: Comparison) -> Difference:
    """Compares two outputs: the only run of each, whatever their names, or all runs of the same name.

    Args:
        old: The output that numbers are compared with.
        new: The other one.

    Raises:
        FarloopError: no run of one has the name of a run of the other.
    """
    before, after = old.groups, new.groups
    if len(before) == len(after) == 1:
        ((was, old_runs),), ((now, new_runs),) = before.items(), after.items()
        label = was if was == now else f"{was} to {now}"
        return Difference((_compare_runs(label, old_runs, new_runs),))
    common = [label for label in before if label in after]
    if not common:
        raise FarloopError(
            f"no run has the same name in both outputs: the old one has {_names_text(list(before))}, the new one "
            f"{_names_text(list(after))}; expected outputs of the same runs, or of one run each"
        )
    return Difference(
        tuple(_compare_runs(label, before[label], after[label]) for label in common),
        tuple(label for label in before if label not in after),
        tuple(label for label in after if label not in before),
    )


def _compare_runs(label: str, old: Sequence[Run], new: Sequence[Run]) -> RunDifference:
    return RunDifference(label, _compare_settings(old, new), _compare_numbers(old, new), _compare_tables(old, new))


def _compare_settings(old: Sequence[Run], new: Sequence[Run]) -> tuple[SettingChange, ...]:
    before, after = _settings(old), _settings(new)
    alone: dict[str, list[str]] = {}
    for name in {**before, **after}:
        if name not in before or name not in after:
            alone.setdefault(name.rpartition(".")[0], []).append(name)
    changes: dict[str, SettingChange] = {}
    for name in {**before, **after}:
        table = name.rpartition(".")[0]
        if name in before and name in after:
            if before[name] != after[name]:
                changes[name] = SettingChange(name, before[name], after[name])
        elif table and len(alone[table]) > 1:
            # Keys of another topology, transport or algorithm: one choice makes dozens of them.
            sides = [
                {key.removeprefix(f"{table}."): side[key] for key in alone[table] if key in side}
                for side in (before, after)
            ]
            changes[f"{table}."] = SettingChange(table, sides[0] or None, sides[1] or None)
        else:
            changes[name] = SettingChange(name, before.get(name), after.get(name))
    return tuple(changes.values())


def _settings(runs: Sequence[Run]) -> dict[str, Any]:
    """The settings of runs that differ in nothing but their seed, by dotted key."""
    run = runs[0]
    settings: dict[str, Any] = {VERSION: run.info["version"]}
    settings |= {key: value for key, value in _leaves(run.scenario) if key.partition(".")[0] not in _NO_SETTINGS}
    settings[SEED] = run.seed if len(runs) == 1 else [each.seed for each in runs]
    digests = dict(run.inputs) | {text.file: text.sha256 for text in run.algorithm_texts}
    return settings | {f"file {name}": f"SHA-256 {digest[:12]}" for name, digest in digests.items()}


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys and values; entries of a list of tables by their names, or their numbers."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(item, f"{key}.{name}" if key else name)
    elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        for number, item in enumerate(value):
            yield from _leaves(item, f"{key}.{item.get('name', number)}")
    elif value != []:
        yield key, value


@dataclass(frozen=True)
class _Groups:
    """Runs by side, as effects take them."""

    groups: Mapping[str, Sequence[RunNumbers]]
    seeds: tuple[int, ...] = ()

    @property
    def runs(self) -> Sequence[RunNumbers]:
        return [run for runs in self.groups.values() for run in runs]


def _compare_numbers(old: Sequence[Run], new: Sequence[Run]) -> tuple[NumberChange, ...]:
    """The numbers that tell groups of runs apart, and those that only one side has."""
    together = {effect.identifier: effect for effect in effects(_Groups({OLD: old, NEW: new}))}
    alone = [{e.identifier: e for e in effects(_Groups({side: runs}))} for side, runs in ((OLD, old), (NEW, new))]
    changes = []
    for identifier in dict.fromkeys([*together, *alone[0], *alone[1]]):
        known = [together[identifier]] * 2 if identifier in together else [each.get(identifier) for each in alone]
        shown = next(effect for effect in known if effect is not None)
        changes.append(
            NumberChange(
                identifier,
                _name(shown),
                _unit(identifier),
                _estimate(known[0], OLD),
                _estimate(known[1], NEW),
                is_bound=any(effect is not None and bool(effect.bounded) for effect in known),
                text=shown.text,
            )
        )
    return tuple(changes)


def _estimate(effect: Effect | None, side: str) -> float | None:
    """The value of a side; a job that only one side has has no value on the other."""
    return effect.values[side].estimate if effect is not None and side in effect.values else None


def _name(effect: Effect) -> str:
    is_of_flows = effect.scope != ALL or effect.identifier.startswith("fct_slowdown")
    return f"{effect.name}, {SCOPES[effect.scope]}" if is_of_flows else effect.name


def _unit(identifier: str) -> str:
    """The unit of a measure; a job's number has the job's name behind its identifier."""
    measures = declared_measures()
    parts = identifier.split("/")
    return next(
        measures[name].unit for count in range(len(parts), 0, -1) if (name := "/".join(parts[:count])) in measures
    )


def _compare_tables(old: Sequence[Run], new: Sequence[Run]) -> tuple[str, ...]:
    """Names of the tables that differ between runs of the same seed; of one run each, whatever their seeds are."""
    is_single = len(old) == len(new) == 1
    pairs = [(a, b) for a in old for b in new if is_single or a.seed == b.seed]
    names = old[0].tables
    return tuple(name for name in names if any(not a.table(name).equals(b.table(name)) for a, b in pairs))


def _number_row(number: NumberChange) -> dict[str, Any]:
    names = ("measure", "name", "unit", "old", "new", "change", "differs", "is_bound")
    return {name: getattr(number, name) for name in names}


def _value_text(value: Any) -> str:
    """A setting as scenarios write it; empty where there is none."""
    if value is None:
        return ""
    if isinstance(value, dict):
        return count_text(len(value), "own key")
    return clip_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _value_texts(number: NumberChange) -> list[Cell]:
    """Both values in the digits of all tables; where these are equal, the change still says that the values differ."""
    return [None if value is None else number.text(value) for value in (number.old, number.new)]


def _change_text(change: float | None) -> Cell:
    return None if change is None else f"{100 * change:+.3g} %"


def _names_text(labels: Sequence[str]) -> str:
    rest = f" and {len(labels) - MAX_NAMED} more" if len(labels) > MAX_NAMED else ""
    return ", ".join(clip_text(label) for label in labels[:MAX_NAMED]) + rest
