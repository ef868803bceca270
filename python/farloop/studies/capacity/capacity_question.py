"""A question to `farloop plan`: a scenario, what is varied, what must hold, failures to survive, costs, and a budget of time."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from farloop.errors import FarloopError, clip_text, nearest
from farloop.results.gears import require_packets
from farloop.scenario import Scenario, Settings, Source, read_text
from farloop.studies.advice.question import seconds
from farloop.studies.arena import constraints
from farloop.studies.arena.constraints import Requirement
from farloop.studies.arena.quantities import RATE
from farloop.studies.capacity.variables import MEANINGS, Variable, make_variable, read_variable
from farloop.studies.question_files import apply_settings, load_named
from farloop.studies.sweep.document import Document, NotTomlError
from farloop.studies.sweep.expressions import Expression

BUDGET = "10min"
"""Default time budget of an answer."""

SEEDS = 3
"""Default number of seeds under which packets confirm an answer."""

MAX_SEEDS = 100

MAX_OPTIONS = 1024
"""Combinations of values; every one of them is simulated by rates."""

FLUID, NONE = "fluid", "none"
SCREENS = (FLUID, NONE)

KEYS = ("scenario", "vary", "along", "until", "survive", "cost", "seeds", "seed", "screen", "budget", "set")
"""Of a plan's file."""


@dataclass(frozen=True)
class Option:
    """One combination of the values that are varied.

    Attributes:
        values: A value of each variable, in their order.
        price: Its cost; without costs its place, as values are written from the cheapest on.
    """

    values: tuple[str, ...]
    price: float


@dataclass(frozen=True)
class CapacityQuestion:
    """A question to `farloop plan`.

    Attributes:
        scenario: The network and its traffic.
        vary: What is searched for its least value, or for the cheapest combination.
        along: What the answer is given for each value of; `None` without.
        until: What must hold under every seed.
        survive: Number of the busiest links between sites that are down, besides a network without failures.
        cost: Gives the cost of a combination; `None` where the values of one variable are written from the cheapest on.
        seeds: Number of seeds of packets.
        seed: The first of them, and that of rates.
        screen: "fluid" to drop by rates what their error bound separates, or "none".
        budget: Seconds of one processor that simulations may take.
    """

    scenario: Scenario
    vary: tuple[Variable, ...]
    along: Variable | None
    until: tuple[Requirement, ...]
    survive: int
    cost: Expression | None
    seeds: int
    seed: int
    screen: str
    budget: float

    @property
    def options(self) -> list[Option]:
        """All combinations, the cheapest first; of equal costs in the order in which they were written."""
        combined = itertools.product(*(variable.values for variable in self.vary))
        made = [Option(values, self._price(values, place)) for place, values in enumerate(combined)]
        return sorted(made, key=lambda option: option.price)

    @property
    def conditions(self) -> tuple[str, ...]:
        """The values along which the answer is given; an empty text for the scenario as it is."""
        return self.along.values if self.along is not None else ("",)

    def apply(self, option: Option, condition: str) -> Scenario:
        """The scenario of a combination under a condition.

        Raises:
            FarloopError: the scenario has no such thing.
        """
        resolved = self.scenario.resolved
        settings: dict[str, str] = {}
        for variable, value in zip(self.vary, option.values, strict=True):
            settings |= variable.settings(value, resolved)
        if self.along is not None:
            settings |= self.along.settings(condition, resolved)
        return self.scenario.override(settings)

    def text(self, option: Option) -> str:
        """A combination for people, such as "2 links, buffer 64MB"."""
        return ", ".join(variable.text(value) for variable, value in zip(self.vary, option.values, strict=True))

    def condition_text(self, condition: str) -> str:
        """A condition for people; empty for the scenario as it is."""
        return self.along.text(condition) if self.along is not None else ""

    @property
    def until_text(self) -> str:
        """What must hold, for people."""
        return " and ".join(map(str, self.until))

    def _price(self, values: Sequence[str], place: int) -> float:
        if self.cost is None:
            return float(place)
        numbers = {variable.name: variable.number(value) for variable, value in zip(self.vary, values, strict=True)}
        price = self.cost.evaluate(numbers.__getitem__)
        if isinstance(price, bool) or not isinstance(price, int | float):
            raise FarloopError(f"cost: {clip_text(self.cost.text)}: expected a number, not {price!r}")
        return float(price)


def read(
    source: Source | Path,
    *,
    vary: Sequence[str] | None = None,
    along: str | None = None,
    until: Sequence[str] | None = None,
    survive: int | None = None,
    cost: str | None = None,
    seeds: int | None = None,
    seed: int | None = None,
    screen: str | None = None,
    budget: str | None = None,
    set: Settings | None = None,
) -> CapacityQuestion:
    """A question; arguments stand over what a file says.

    Args:
        source: A scenario, its file, a paper's figure, or a plan's file: TOML with `scenario`, `vary` and `until`.
        vary: Variables with their values, the cheapest first, such as "links = 1..8".
        along: A variable for each value of which the answer is given, such as "distance = 100km, 1000km".
        until: What must hold, such as "p99 slowdown <= 3".
        survive: Number of links between sites that may fail.
        cost: An expression of the variables, such as "links * 100 + buffer"; needed for more than one variable.
        seeds: Number of seeds.
        seed: The first of the seeds.
        screen: "fluid" or "none".
        budget: Such as "10min".
        set: Settings of the scenario.

    Raises:
        FarloopError: something is wrong; nothing has been simulated.
        ScenarioError: the scenario is not valid.
    """
    document = _document(source)
    content = document.content if document else {}

    def read_key(key: str, given: Any, make: Any, default: Any = None) -> Any:
        """The value of a key, from the argument or else from the file, whose line an error names."""
        if given is not None or document is None or key not in content:
            return make(default if given is None else given)
        try:
            return make(content[key])
        except FarloopError as error:
            raise document.error((key,), str(error).removeprefix(f"{key}: ")) from None

    loaded = load_named(document) if document else Scenario.load(source)
    scenario = (apply_settings(loaded, document) if document else loaded).override(set)
    require_packets(scenario.parsed, f"{scenario.display_name}: plan")
    variables = read_key("vary", vary, _read_vary)
    made = CapacityQuestion(
        scenario,
        variables,
        read_key("along", along, _read_along),
        read_key("until", until, _read_until),
        read_key("survive", survive, lambda count: _read_count("survive", count, 0, 64), 0),
        read_key("cost", cost, lambda text: _read_cost(text, variables)),
        read_key("seeds", seeds, lambda count: _read_count("seeds", count, 1, MAX_SEEDS), SEEDS),
        read_key("seed", seed, lambda count: _read_count("seed", count, 0, 1_000_000), 1),
        read_key("screen", screen, _read_screen, FLUID),
        read_key("budget", budget, seconds, BUDGET),
    )
    _check(made)
    return made


def _check(question: CapacityQuestion) -> None:
    """Refuses a question before anything is simulated: of the first and the last combination all keys are read."""
    if question.along is not None and question.along.name in {variable.name for variable in question.vary}:
        raise FarloopError(f"along: {question.along.name}: is searched already; expected another variable")
    options = question.options
    for option in (options[0], options[-1]):
        for condition in (question.conditions[0], question.conditions[-1]):
            _ = question.apply(option, condition).resolved


def _document(source: Source | Path) -> Document | None:
    """A plan's file; `None` for a scenario."""
    if isinstance(source, Scenario | Mapping) or not str(source).endswith(".toml") or not Path(source).is_file():
        return None
    try:
        document = Document.from_text(read_text(Path(source), str(source)), str(source))
    except NotTomlError:
        # The scenario's reader says where.
        return None
    own = [key for key in ("vary", "until", "along") if key in document.content]
    if "scenario" not in document.content and not own:
        return None
    if "scenario" not in document.content:
        problem = f'expected the file of a scenario beside {own[0]}, such as scenario = "sites.toml"'
        raise document.error((own[0],), f"is missing; {problem}", "scenario")
    document.refuse_others(document.content, KEYS)
    for key, kind, expected in (("scenario", str, "the name of a file"), ("set", dict, "a table of settings")):
        if not isinstance(document.content.get(key, kind()), kind):
            raise document.error((key,), f"expected {expected}")
    return document


def _read_vary(written: Any) -> tuple[Variable, ...]:
    if not written:
        raise FarloopError('vary: is missing; expected what is searched, such as --vary "links = 1..8"')
    if isinstance(written, Mapping):
        variables = tuple(make_variable(name, values, "vary") for name, values in written.items())
    elif isinstance(written, Sequence) and not isinstance(written, str):
        variables = tuple(read_variable(str(text), "vary") for text in written)
    else:
        raise FarloopError('vary: expected a table of variables, such as vary = { links = "1..8" }')
    names = [variable.name for variable in variables]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise FarloopError(f"vary: {twice}: is there twice")
    count = 1
    for variable in variables:
        count *= len(variable.values)
    if count > MAX_OPTIONS:
        raise FarloopError(f"vary: {count:,} combinations; expected at most {MAX_OPTIONS:,}")
    return variables


def _read_along(written: Any) -> Variable | None:
    if written is None:
        return None
    if isinstance(written, str):
        return read_variable(written, "along")
    if not isinstance(written, Mapping) or len(written) != 1:
        raise FarloopError(
            'along: expected one variable with its values, such as along = { distance = ["100km", "1000km"] }'
        )
    ((name, values),) = written.items()
    return make_variable(name, values, "along")


def _read_until(written: Any) -> tuple[Requirement, ...]:
    texts = [written] if isinstance(written, str) else written
    if not texts:
        raise FarloopError('until: is missing; expected what must hold, such as --until "p99 slowdown <= 3"')
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        raise FarloopError('until: expected a list of texts, such as ["p99 slowdown <= 3"]')
    try:
        requirements = constraints.read(texts)
    except FarloopError as error:
        raise FarloopError(f"until: {error}") from None
    if not requirements:
        raise FarloopError('until: expected what must hold, such as "p99 slowdown <= 3"')
    for requirement in requirements:
        if requirement.is_relative and requirement.quantity.kind == RATE:
            raise FarloopError(
                f"until: {requirement}: there is no best one to compare with; expected a rate, such as 40Gbps"
            )
    return requirements


def _read_count(key: str, count: Any, low: int, high: int) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or not low <= count <= high:
        raise FarloopError(f"{key}: {clip_text(repr(count))}: expected a whole number from {low} to {high}")
    return count


def _read_screen(screen: Any) -> str:
    if screen not in SCREENS:
        raise FarloopError(f"screen: {clip_text(repr(screen))}: expected {FLUID} or {NONE}")
    return str(screen)


def _read_cost(text: Any, variables: Sequence[Variable]) -> Expression | None:
    names = [variable.name for variable in variables]
    if text is None:
        if len(variables) > 1:
            raise FarloopError(
                f"cost: is missing; {len(variables)} variables need an expression of {' and '.join(names)}, such as "
                f'"{names[0]} * 100 + {names[1]}"'
            )
        return None
    try:
        expression = Expression.read(text)
    except FarloopError as error:
        raise FarloopError(f"cost: {error}") from None
    for key in expression.keys:
        if key not in names:
            known = "" if key not in MEANINGS else "is not varied; "
            raise FarloopError(f"cost: {clip_text(key)}: {known}{nearest(key, names)}")
    return expression
