"""Today and the four changes that operators ask about first: who is best, and how bad it gets for the advised candidate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from farloop.studies.advice.conditions import BUFFER, FAILED_LINK, FIRST_ASKED, LOAD, RTT
from farloop.studies.advice.trying import TriedCondition
from farloop.studies.arena.ranking import CLOSE

if TYPE_CHECKING:
    from farloop.studies.advice.answer import Answer

WORDS = {FAILED_LINK: "a link fails", BUFFER: "half the buffer", RTT: "twice the RTT", LOAD: "load + 20 %"}
"""The rows after today's."""

_LACKING = {
    BUFFER: "No switch has a buffer that can be varied.",
    LOAD: "The scenario has no workload with a load.",
}


def rows(answer: Answer) -> list[dict[str, Any]]:
    """The rows, as JSON has them; where nothing holds the constraints they are about the nearest candidate.

    Each has the condition in words, the first group, those of it within 5 % of the best, and the goal's quantity of the advised candidate
    with what it is today under the same seeds (`None` without a goal or without runs). The multiple of its cost of today, the
    constraints that it breaks, seeds, and why nothing was simulated follow.
    """
    subject = answer.advised[0] if answer.advised else answer.race.nearest
    if subject is None:
        return []
    advised = subject.candidate.name
    runs = answer.race.measured[advised]
    goal = answer.question.goal
    values = [] if goal is None else [value for run in runs if (value := goal.take_value(run.values)) is not None]
    today = {
        "text": "today",
        "condition": "",
        "first": [place.candidate.name for place in answer.race.leaders],
        "best": [p.candidate.name for p in answer.race.leaders if (p.against.estimate or 1.0) < CLOSE],
        "goal": math.fsum(values) / len(values) if values else None,
        "goal_today": None,
        "times_today": 1.0,
        "breaks": "" if answer.advised else subject.because,
        "seeds": len(runs),
        "because": "",
    }
    tried = {(outcome.condition.kind, outcome.condition.factor): outcome for outcome in answer.outcomes}
    return [today, *(_row(kind, tried.get((kind, factor)), advised, answer) for kind, factor in FIRST_ASKED)]


def _row(kind: str, outcome: TriedCondition | None, advised: str, answer: Answer) -> dict[str, Any]:
    row: dict[str, Any] = {"text": WORDS[kind], "condition": outcome.condition.text if outcome else ""}
    row |= {
        "first": [],
        "best": [],
        "goal": None,
        "goal_today": None,
        "times_today": None,
        "breaks": "",
        "seeds": 0,
        "because": "",
    }
    if outcome is None:
        missing = answer.left_out.get(kind) or (_LACKING.get(kind) if kind not in answer.kinds else "")
        return row | {"because": missing or "The budget has no room for it."}
    if outcome.because:
        return row | {"because": outcome.because}
    row |= {"first": outcome.first, "best": outcome.best, "seeds": outcome.seeds}
    row |= _change(outcome, advised)
    return row


def _change(outcome: TriedCondition, advised: str) -> dict[str, Any]:
    own = next((standing for standing in outcome.standings if standing.algorithm == advised), None)
    if own is None:
        return {"because": f"{advised} has nothing that the goal measures there."}
    change = outcome.changes[advised]
    return {
        "goal": change.goal,
        "goal_today": change.today,
        "times_today": change.times,
        "breaks": "; ".join(broken.beside_bound for broken in own.broken),
    }
