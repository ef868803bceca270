"""Searches the cheapest option that holds: rates drop what their bound separates, packets decide the rest and confirm the neighbours."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from farloop.errors import FarloopError
from farloop.studies.advice.runs import Ask, Runs
from farloop.studies.capacity import screening
from farloop.studies.capacity.capacity_question import FLUID, CapacityQuestion, Option
from farloop.studies.capacity.confirming import HOLDS, Confirmed, confirm
from farloop.studies.capacity.screening import FAILS, Screened, screen


@dataclass
class ConditionAnswer:
    """The answer under one condition.

    Attributes:
        condition: A value of the variable along which answers are given; empty for the scenario as it is.
        screened: Each option by rates, in the order of the options; empty where nothing was screened.
        confirmed: The options that were simulated packet by packet, by their place.
        answer: The place of the cheapest option that holds; `None` where none does or the budget ended.
        is_decided: False where the budget ended before packets had decided.
        notes: Sentences about what packets and rates say differently, and about options whose order contradicts the search.
    """

    condition: str
    screened: list[Screened] = field(default_factory=list)
    confirmed: dict[int, Confirmed] = field(default_factory=dict)
    answer: int | None = None
    is_decided: bool = True
    notes: list[str] = field(default_factory=list)


class BudgetSpentError(Exception):
    """The budget has no room for another simulation."""


def search(question: CapacityQuestion, runs: Runs, note: Callable[[str], None]) -> list[ConditionAnswer]:
    """The answer under each condition.

    Args:
        question: The question.
        runs: Makes simulations.
        note: Shows a sentence while the search goes on.

    Raises:
        FarloopError: runs cannot be made or kept, or the budget has room for none.
        ScenarioError: the scenario is not valid.
    """
    options = question.options
    answers = [ConditionAnswer(condition) for condition in question.conditions]
    if question.screen == FLUID:
        note(
            f"{len(options) * len(answers)} simulations by rates: {len(options)} options under each of {len(answers)} conditions"
        )
        _screen(question, options, answers, runs)
    for answer in answers:
        try:
            _Search(question, options, answer, runs).run()
        except BudgetSpentError:
            answer.is_decided = False
    if not any(answer.confirmed for answer in answers):
        raise FarloopError(
            f"budget: {question.budget:g} s: no room for packets after {runs.spent:.3g} s; expected more"
        )
    return answers


def _screen(
    question: CapacityQuestion, options: Sequence[Option], answers: Sequence[ConditionAnswer], runs: Runs
) -> None:
    """Simulates all options under all conditions by rates, under one seed."""
    wanted = []
    for answer in answers:
        for option in options:
            scenario = question.apply(option, answer.condition).override(
                {"run.gear": "fluid", "run.seed": question.seed}
            )
            name = str(scenario.parsed.get("algorithm", {}).get("name", ""))
            label = ", ".join(
                filter(None, (question.text(option), question.condition_text(answer.condition), "by rates"))
            )
            wanted.append(Ask(label, name, scenario))
    answered = iter(runs.ask(wanted))
    for answer in answers:
        answer.screened = [screen(next(answered), question.until) for _ in options]


class _Search:
    """The search under one condition."""

    def __init__(
        self, question: CapacityQuestion, options: Sequence[Option], answer: ConditionAnswer, runs: Runs
    ) -> None:
        self.question = question
        self.options = options
        self.answer = answer
        self.runs = runs
        states = [screened.state for screened in answer.screened] or [screening.OPEN] * len(options)
        self.is_dropped = [state == FAILS for state in states]
        self.looks_good = [state == screening.HOLDS for state in states]
        self.ranks = _rank_options(options)

    def run(self) -> None:
        """Finds the cheapest option that holds, and confirms that its cheaper neighbours do not."""
        place = self._bisect() if len(self.question.vary) == 1 else self._walk()
        if place is None:
            place = self._try_dropped()
        while place is not None:
            better = next((i for i in self._cheaper_neighbours(place) if self._holds(i)), None)
            if better is None:
                break
            if self.is_dropped[better]:
                text = self.question.text(self.options[better])
                self.answer.notes.append(f"rates dropped {text}, which holds packet by packet")
            place = better
        self.answer.answer = place
        self._note_order()

    def _holds(self, place: int) -> bool:
        if place not in self.answer.confirmed:
            if self.runs.spent >= self.question.budget:
                raise BudgetSpentError
            self.answer.confirmed[place] = confirm(self.question, self.options[place], self.answer.condition, self.runs)
        return self.answer.confirmed[place].state == HOLDS

    def _bisect(self) -> int | None:
        """The first option that holds of those that rates leave, if more of the variable never breaks what less of it holds."""
        places = [i for i in range(len(self.options)) if not self.is_dropped[i]]
        low, high = 0, len(places)
        # Where rates say that one surely holds, it is the first to be tried.
        guess = next((k for k, i in enumerate(places) if self.looks_good[i]), None)
        while low < high:
            middle = guess if guess is not None and low <= guess < high else (low + high) // 2
            guess = None
            if self._holds(places[middle]):
                high = middle
            else:
                low = middle + 1
        return places[low] if low < len(places) else None

    def _walk(self) -> int | None:
        """The first option that holds in the order of costs, without those that have no more of anything than one that fails."""
        for place in range(len(self.options)):
            if self.is_dropped[place] or self._has_less_than_failing(place):
                continue
            if self._holds(place):
                return place
        return None

    def _has_less_than_failing(self, place: int) -> bool:
        own = self.ranks[place]
        failing = (i for i, each in self.answer.confirmed.items() if each.state != HOLDS)
        return any(all(a <= b for a, b in zip(own, self.ranks[i], strict=True)) for i in failing)

    def _cheaper_neighbours(self, place: int) -> Iterable[int]:
        """The options with one step less of one variable, the dearest first."""
        own = self.ranks[place]
        near = [i for i in range(place) if self._is_one_step(own, self.ranks[i])]
        return reversed(near)

    @staticmethod
    def _is_one_step(own: Sequence[int], other: Sequence[int]) -> bool:
        """Returns true if an option has one step less of one variable, and as much of the others."""
        return sorted(a - b for a, b in zip(own, other, strict=True)) == [0] * (len(own) - 1) + [1]

    def _try_dropped(self) -> int | None:
        """Where nothing holds, rates have dropped the dearest option as well: packets say whether they were right."""
        last = len(self.options) - 1
        if not self.is_dropped[last] or not self._holds(last):
            return None
        self.answer.notes.append(
            f"rates dropped {self.question.text(self.options[last])}, which holds packet by packet"
        )
        return last

    def _note_order(self) -> None:
        """Notes where rates are sure that more of the variable fails: it is not always better there."""
        if self.answer.answer is None:
            return
        own = self.ranks[self.answer.answer]
        worse = [i for i, ranks in enumerate(self.ranks) if self.is_dropped[i] and all(map(operator.le, own, ranks))]
        failing = [self.question.text(self.options[i]) for i in worse if i not in self.answer.confirmed]
        if failing:
            self.answer.notes.append(
                f"rates are sure that {', '.join(failing)} does not hold, although less does: more is not always better there"
            )


def _rank_options(options: Sequence[Option]) -> list[tuple[int, ...]]:
    """Of each option the place of each of its values among those of its variable, from the cheapest on."""
    ranks: list[dict[str, int]] = []
    for number in range(len(options[0].values)):
        # Options stand in the order of their costs, so a value's first one is the cheapest.
        values = dict.fromkeys(option.values[number] for option in options)
        ranks.append({value: rank for rank, value in enumerate(values)})
    return [tuple(ranks[number][value] for number, value in enumerate(option.values)) for option in options]
