"""A question to `advise`: a scenario, a goal, constraints, available capabilities, and a time budget."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from farloop import catalogue
from farloop.algorithm import Algorithm, name_of
from farloop.errors import FarloopError, clip_text, nearest
from farloop.results.gears import require_packets
from farloop.results.measures import MORE
from farloop.scenario import Scenario, Settings, Source, read_text
from farloop.studies.arena import constraints, requirements
from farloop.studies.arena.constraints import Requirement
from farloop.studies.arena.measuring import Measured
from farloop.studies.arena.quantities import RATE, SHARE, TIME, Quantity, quantity
from farloop.studies.question_files import apply_settings, load_named
from farloop.studies.sweep.document import Document, NotTomlError

T = TypeVar("T")
R = TypeVar("R")

BUDGET = "10min"
"""Default time budget of an answer."""

KEYS = ("scenario", "goal", "must", "can", "candidates", "budget", "seed", "tune", "set")
"""Of a question's file."""

_DURATION = re.compile(r"(\d+(?:\.\d+)?) ?(s|min|h)")

_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}

_FLOORS = {SHARE: 1e-4, TIME: 1e-9, RATE: 1.0}
"""Below these, values of a goal count as equal: ratios are compared, and of nothing there is none."""


@dataclass(frozen=True)
class Question:
    """A question to `advise`.

    Attributes:
        scenario: The network and its traffic.
        goal: The quantity that is to be good; `None` for the arena's score.
        must: The constraints.
        can: Available capabilities of hosts and switches, by the words of [CAPABILITIES][farloop.studies.arena.requirements.CAPABILITIES];
            `None` for all that the scenario's network offers.
        candidates: The algorithms that are asked about; `None` for all that are no references.
        budget: Seconds of one processor that simulations may take, by `runs.cost`.
        seed: The first of the seeds.
        tune: True to tune parameters of the best; `None` to do so where the search's library is installed.
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
        """Returns the compared costs: the goal as a number of which half is twice as good; without a goal the arena's costs.

        Empty where the run has no such quantity.
        """
        if self.goal is None:
            return measured.costs
        value = self.goal.take_value(measured.values)
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
    classes: Sequence[type[Algorithm]] = (),
) -> Question:
    """A question; arguments stand over what a file says.

    Args:
        source: A scenario, its file, a paper's figure, or a question's file: TOML with the key `scenario` beside any of `goal`, `must`,
            `can`, `candidates`, `budget`, `seed`, `tune` and `set`.
        goal: Such as "p99 slowdown of small flows".
        must: Such as "no pfc across"; in place of the usual constraints of the same quantities.
        can: Words of [CAPABILITIES][farloop.studies.arena.requirements.CAPABILITIES].
        candidates: Names, or one text "gear,hpcc".
        budget: Such as "10min".
        seed: The first of the seeds.
        tune: True to tune parameters; by default where the search's library is installed.
        set: Settings of the scenario.
        classes: Algorithms in Python that there are besides.

    Raises:
        FarloopError: something is wrong; nothing has been simulated.
        ScenarioError: the scenario is not valid.
    """
    document = None
    if not isinstance(source, Scenario | Mapping) and str(source).endswith(".toml") and Path(source).is_file():
        document = _document(Path(source))
    content = document.content if document else {}

    def read_key(key: str, given: T | None, make: Callable[[Any], R], default: Any = None) -> R:
        """The value of a key, from the argument or else from the file, whose line an error names."""
        if given is not None or document is None or key not in content:
            return make(default if given is None else given)
        try:
            return make(content[key])
        except FarloopError as error:
            raise document.error((key,), str(error).removeprefix(f"{key}: ")) from None

    loaded = (load_named(document) if document else Scenario.load(source)).with_classes(classes)
    names = list(map(name_of, loaded.classes))
    asked = (apply_settings(loaded, document) if document else loaded).override(set)
    require_packets(asked.parsed, f"{asked.display_name}: advise")
    return Question(
        asked,
        read_key("goal", goal, _goal),
        read_key("must", must, lambda texts: constraints.read(texts, constraints.ARENA), ()),
        read_key("can", can, _can),
        read_key("candidates", candidates, lambda wanted: _candidates(wanted, names)),
        read_key("budget", budget, seconds, BUDGET),
        read_key("seed", seed, _seed, 1),
        read_key("tune", tune, lambda value: value),
    )


def seconds(budget: str) -> float:
    """A budget such as "10min" in seconds.

    Raises:
        FarloopError: it is none.
    """
    match = _DURATION.fullmatch(str(budget).strip())
    if match is None or not 0 < float(match[1]) < math.inf:
        raise FarloopError(f"budget: {clip_text(str(budget))}: expected a time such as 90s, 10min or 2h")
    return float(match[1]) * _SECONDS[match[2]]


def budget_text(budget: float) -> str:
    """A budget in seconds as `seconds` reads it."""
    unit = next(unit for unit in ("h", "min", "s") if budget >= _SECONDS[unit] or unit == "s")
    return f"{budget / _SECONDS[unit]:g} {unit}"


def _document(path: Path) -> Document | None:
    """A question's file; `None` for a file that is a scenario."""
    try:
        document = Document.from_text(read_text(path, str(path)), str(path))
    except NotTomlError:
        # The scenario's reader says where.
        return None
    content = document.content
    of_question = [key for key in ("goal", "must", "can") if key in content]
    if "scenario" not in content and not of_question:
        return None
    if "scenario" not in content:
        problem = f'expected the file of a scenario beside {of_question[0]}, such as scenario = "sites.toml"'
        raise document.error((of_question[0],), f"is missing; {problem}", "scenario")
    document.refuse_others(content, KEYS)
    for key, value in content.items():
        _check_type(document, key, value)
    return document


def _check_type(document: Document, key: str, value: Any) -> None:
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
        raise document.error((key,), f"expected {expected[1]}")


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
            raise FarloopError(f"can: {clip_text(word)}: unknown; {nearest(word, known)}")
    return tuple(dict.fromkeys(words))


def _candidates(wanted: str | Sequence[str] | None, classes: Sequence[str]) -> tuple[str, ...] | None:
    if wanted is None:
        return None
    names = [name.strip() for name in wanted.split(",")] if isinstance(wanted, str) else list(wanted)
    names = [name for name in names if name]
    if len(set(names)) < 2:
        raise FarloopError("candidates: expected two algorithms or more; `farloop list algorithms` shows them")
    for name in names:
        catalogue.check_algorithm(name, classes)
    return tuple(dict.fromkeys(names))


def _seed(seed: int) -> int:
    if not 0 <= seed <= 1_000_000:
        raise FarloopError(f"seed: {seed}: expected a whole number from 0 to 1000000")
    return seed
