"""What somebody asks: a scenario, a goal, what must hold, what can be built, and how long the answer may take."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from farloop import catalogue
from farloop.arena import constraints, requirements
from farloop.arena.constraints import Requirement
from farloop.arena.measuring import Measured
from farloop.arena.quantities import MORE, RATE, SHARE, TIME, Quantity, quantity
from farloop.errors import FarloopError, nearest, shown
from farloop.scenario import Scenario, Settings, Source, read_text
from farloop.sweep import toml_lines

BUDGET = "10min"
"""How long an answer may take if nobody says otherwise."""

KEYS = ("scenario", "goal", "must", "can", "candidates", "budget", "seed", "tune", "set")
"""Of a question's file."""

_DURATION = re.compile(r"(\d+(?:\.\d+)?) ?(s|min|h)")

_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}

_FLOORS = {SHARE: 1e-4, TIME: 1e-9, RATE: 1.0}
"""Below these, values of a goal count as equal: ratios are compared, and of nothing there is none."""


@dataclass(frozen=True)
class Question:
    """What is asked.

    Attributes:
        scenario: The network and its traffic.
        goal: The quantity that is to be good; `None` for the arena's score.
        must: What must hold.
        can: What hosts and switches can be made to do, by the words of [CAPABILITIES][farloop.arena.requirements.CAPABILITIES]; `None` for
            all that the scenario's network offers.
        candidates: The algorithms that are asked about; `None` for all that are no references.
        budget: Seconds of one processor that simulations may take, by `runs.cost`.
        seed: The first of the seeds.
        tune: Whether parameters of the best are tuned; `None` to do so where the search's library is there.
    """

    scenario: Scenario
    goal: Quantity | None
    must: tuple[Requirement, ...]
    can: tuple[str, ...] | None
    candidates: tuple[str, ...] | None
    budget: float
    seed: int
    tune: bool | None

    @property
    def goal_text(self) -> str:
        """The goal for people."""
        return self.goal.name if self.goal else "the arena's score"

    def costs(self, measured: Measured) -> dict[str, float]:
        """What is compared: the goal as a number of which half is twice as good; without a goal what the arena judges by.

        Empty where the run has no such quantity.
        """
        if self.goal is None:
            return measured.costs
        value = self.goal.of(measured.values)
        if value is None:
            return {}
        value = max(value, _FLOORS.get(self.goal.kind, 1e-6))
        return {self.goal.name: 1 / value if self.goal.better == MORE else value}


def read(
    source: Source | Path,
    *,
    goal: str | None = None,
    must: Sequence[str] | None = None,
    can: Sequence[str] | None = None,
    candidates: str | Sequence[str] | None = None,
    budget: str | None = None,
    seed: int | None = None,
    tune: bool | None = None,
    set: Settings | None = None,
) -> Question:
    """A question; arguments stand over what a file says.

    Args:
        source: A scenario, its file, a paper's figure, or a question's file: TOML with the key `scenario` beside any of `goal`, `must`,
            `can`, `candidates`, `budget`, `seed`, `tune` and `set`.
        goal: Such as "p99 slowdown of small flows".
        must: Such as "no pfc across"; in place of the usual constraints of the same quantities.
        can: Words of [CAPABILITIES][farloop.arena.requirements.CAPABILITIES].
        candidates: Names, or one text "gear,hpcc".
        budget: Such as "10min".
        seed: The first of the seeds.
        tune: Whether parameters are tuned; by default where the search's library is there.
        set: Settings of the scenario.

    Raises:
        FarloopError: something is wrong; nothing has been simulated.
        ScenarioError: the scenario is not valid.
    """
    content: dict[str, Any] = {}
    if isinstance(source, Scenario | Mapping):
        loaded = Scenario.load(source)
    else:
        if str(source).endswith(".toml") and Path(source).is_file():
            content = _file(Path(source))
        beside = Path(source).parent / str(content.get("scenario", ""))
        # A name without an ending is a paper's figure.
        named = str(beside) if beside.suffix else str(content.get("scenario"))
        loaded = Scenario.load(named if content else str(source))
    where = f"{source}: " if content else ""
    try:
        return Question(
            loaded.override(dict(_dotted(content.get("set", {})))).override(set),
            _goal(goal if goal is not None else content.get("goal")),
            constraints.read(must if must is not None else content.get("must", ()), constraints.ARENA),
            _can(can if can is not None else content.get("can")),
            _candidates(candidates if candidates is not None else content.get("candidates")),
            seconds(budget if budget is not None else content.get("budget", BUDGET)),
            _seed(seed if seed is not None else content.get("seed", 1)),
            tune if tune is not None else content.get("tune"),
        )
    except FarloopError as error:
        if type(error) is not FarloopError:
            raise
        raise FarloopError(f"{where}{error}") from None


def seconds(budget: str) -> float:
    """A budget such as "10min" in seconds.

    Raises:
        FarloopError: it is none.
    """
    match = _DURATION.fullmatch(str(budget).strip())
    if match is None or not 0 < float(match[1]) < math.inf:
        raise FarloopError(f"budget: {shown(str(budget))}: expected a time such as 90s, 10min or 2h")
    return float(match[1]) * _SECONDS[match[2]]


def budget_text(budget: float) -> str:
    """A budget in seconds as `seconds` reads it."""
    unit = next(unit for unit in ("h", "min", "s") if budget >= _SECONDS[unit] or unit == "s")
    return f"{budget / _SECONDS[unit]:g} {unit}"


def _file(path: Path) -> dict[str, Any]:
    """The keys of a question's file; empty for a file that is a scenario."""
    text = read_text(path, str(path))
    if isinstance(trouble := toml_lines.spans(text), toml_lines.Trouble):
        raise FarloopError(f"{path}:{trouble.line}: {trouble.problem}")
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        # The scenario's reader says where.
        return {}
    if "scenario" not in content:
        if "goal" in content or "must" in content or "can" in content:
            raise FarloopError(
                f'{path}: scenario: is missing; expected the file of a scenario, such as scenario = "sites.toml"'
            )
        return {}
    for key, value in content.items():
        if key not in KEYS:
            raise FarloopError(f"{path}: {shown(key)}: unknown key; {nearest(key, KEYS)}")
        _check_type(path, key, value)
    return content


def _dotted(tables: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Settings by dotted keys: TOML reads `run.duration = "1s"` as a table in a table."""
    for key, value in tables.items():
        if isinstance(value, Mapping):
            yield from _dotted(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _check_type(path: Path, key: str, value: Any) -> None:
    texts = isinstance(value, list) and all(isinstance(element, str) for element in value)
    expected = {
        "scenario": (isinstance(value, str), "the name of a file"),
        "goal": (isinstance(value, str), 'a text, such as "p99 slowdown of small flows"'),
        "must": (texts, 'a list of texts, such as ["no pfc across"]'),
        "can": (texts, 'a list of texts, such as ["ecn", "int"]'),
        "candidates": (texts, 'a list of names, such as ["dctcp", "gemini"]'),
        "budget": (isinstance(value, str), 'a text, such as "10min"'),
        "seed": (isinstance(value, int) and not isinstance(value, bool), "a whole number"),
        "tune": (isinstance(value, bool), "true or false"),
        "set": (isinstance(value, Mapping), "a table of settings"),
    }[key]
    if not expected[0]:
        raise FarloopError(f"{path}: {key}: expected {expected[1]}")


def _goal(text: str | None) -> Quantity | None:
    if text is None:
        return None
    try:
        return quantity(text)
    except FarloopError as error:
        raise FarloopError(f"goal: {error}") from None


def _can(words: Sequence[str] | None) -> tuple[str, ...] | None:
    if words is None:
        return None
    known = requirements.CAPABILITIES
    for word in words:
        if word not in known:
            raise FarloopError(f"can: {shown(word)}: unknown; {nearest(word, known)}")
    return tuple(dict.fromkeys(words))


def _candidates(wanted: str | Sequence[str] | None) -> tuple[str, ...] | None:
    if wanted is None:
        return None
    names = [name.strip() for name in wanted.split(",")] if isinstance(wanted, str) else list(wanted)
    names = [name for name in names if name]
    if len(set(names)) < 2:
        raise FarloopError("candidates: expected two algorithms or more; `farloop list algorithms` shows them")
    for name in names:
        catalogue.algorithm(name)
    return tuple(dict.fromkeys(names))


def _seed(seed: int) -> int:
    if not 0 <= seed <= 1_000_000:
        raise FarloopError(f"seed: {seed}: expected a whole number from 0 to 1000000")
    return seed
