"""Today and the four changes that operators ask about first: who is best, and how bad it gets for the advised candidate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from farloop.studies.advice.conditions import BUFFER, FAILED_LINK, FIRST_ASKED, LOAD, RTT
from farloop.studies.advice.trying import TriedCondition

if TYPE_CHECKING:
    from farloop.studies.advice.answer import Answer

WORDS = {FAILED_LINK: "a link fails", BUFFER: "half the buffer", RTT: "twice the RTT", LOAD: "load + 20 %"}
"""The rows after today's."""

_LACKING = {
    BUFFER: "No switch has a buffer that can be varied.",
    LOAD: "The scenario has no workload with a load.",
}


def rows(answer: Answer) -> list[dict[str, Any]]:
    """The rows, as JSON has them; none where nothing is advised.

    Each has the condition in words, the first group, the goal's quantity of the advised candidate (`None` without a goal or without runs),
    how many times its cost of today that is, the constraints that it breaks, seeds, and why nothing was simulated.
    """
    if not answer.advised:
        return []
    advised = answer.advised[0].candidate.name
    runs = answer.race.measured[advised]
    goal = answer.question.goal
    values = [] if goal is None else [value for run in runs if (value := goal.of(run.values)) is not None]
    today = {
        "text": "today",
        "condition": "",
        "first": [place.candidate.name for place in answer.race.leaders],
        "goal": math.fsum(values) / len(values) if values else None,
        "times_today": 1.0,
        "breaks": "",
        "seeds": len(runs),
        "because": "",
    }
    tried = {(outcome.condition.kind, outcome.condition.factor): outcome for outcome in answer.outcomes}
    return [today, *(_row(kind, tried.get((kind, factor)), advised, answer) for kind, factor in FIRST_ASKED)]


def _row(kind: str, outcome: TriedCondition | None, advised: str, answer: Answer) -> dict[str, Any]:
    row: dict[str, Any] = {"text": WORDS[kind], "condition": outcome.condition.text if outcome else ""}
    row |= {"first": [], "goal": None, "times_today": None, "breaks": "", "seeds": 0, "because": ""}
    if outcome is None:
        missing = answer.left_out.get(kind) or (_LACKING.get(kind) if kind not in answer.kinds else "")
        return row | {"because": missing or "The budget has no room for it."}
    if outcome.because:
        return row | {"because": outcome.because}
    row |= {"first": outcome.first, "seeds": outcome.seeds}
    row |= _change(outcome, advised)
    return row


def _change(outcome: TriedCondition, advised: str) -> dict[str, Any]:
    own = next((standing for standing in outcome.standings if standing.algorithm == advised), None)
    if own is None:
        return {"because": f"{advised} has nothing that the goal measures there."}
    change = outcome.changes[advised]
    finite = change.goal is not None and math.isfinite(change.goal)
    return {
        "goal": change.goal if finite else None,
        "times_today": change.times,
        "breaks": "; ".join(broken.beside_bound for broken in own.broken),
    }
