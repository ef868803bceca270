"""The head of an answer's page and of what the terminal prints: what to run, by how much, and when that no longer holds.

Everything is made from the answer as JSON has it (`answer.json`), so that an old output is drawn like a new one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from farloop import statistics
from farloop.results.effects import Effect
from farloop.results.headline import Headline, KeyNumber
from farloop.results.measures import LESS, limits
from farloop.statistics import Interval
from farloop.studies.arena.quantities import quantity
from farloop.units import count_text

TODAY = "today"
TIMES = "times the best candidate's cost"
TIMES_TODAY = "times today's cost"

TOO_WIDE = 100
"""Where an interval's ends are further apart than this many times, its numbers say no more than "unsure"."""

_RAN = ("leads", "open", "left")


def headline_advice(content: Mapping[str, Any]) -> Headline:
    """The answer with three numbers and the effects; a scope is today or another condition.

    Args:
        content: The answer as JSON has it.
    """
    effects = [*_quantities(content), *_conditions(content)]
    goal = content["question"]["goal"]
    today = [effect for effect in effects if effect.scope == TODAY]
    first = next((e for e in today if e.name == goal), None) or next((e for e in today if e.name == TIMES), None)
    sentences = [content["answer"], margin_text(content), stays_text(content)]
    return Headline(
        tuple(sentence for sentence in sentences if sentence),
        tuple(_key_numbers(content)),
        str(content.get("limit", "")),
        first or next(iter(today), None),
        tuple(effects),
    )


def subject(content: Mapping[str, Any]) -> str:
    """The candidate that the conditions are about: the first of the advised, or the nearest where nothing holds the constraints."""
    return str(content["advised"][0]) if content["advised"] else str(content.get("nearest", ""))


def margin_text(content: Mapping[str, Any]) -> str:
    """The distance of the advised from the next candidate and from the last, and how many break a constraint; may be empty."""
    parts = []
    first = subject(content)
    behind = _list_followers(content)
    if content["advised"] and behind:
        named = [behind[0], *behind[1:][-1:]]
        texts = [f"{row['name']} has {_cost_text(content, row)}" for row in named]
        parts.append(f"{_own_text(content, first)}{' and '.join(texts)}")
    failing = [row for row in content["candidates"] if row["state"] == "fails"]
    if failing and content["advised"]:
        names = "; ".join(f"{row['name']}: {row['because']}" for row in failing[:2])
        more = f" and {len(failing) - 2} more" if len(failing) > 2 else ""
        verb = "breaks" if len(failing) == 1 else "break"
        parts.append(
            f"{count_text(len(failing), 'candidate')} of {len(content['candidates'])} {verb} a constraint ({names}{more})"
        )
    return "; ".join(parts) + "." if parts else ""


def stays_text(content: Mapping[str, Any]) -> str:
    """Returns a sentence on how the choice holds under other conditions; only simulated conditions count."""
    made = [outcome for outcome in content["conditions"] if not outcome["because"]]
    if not made:
        return "No other condition was simulated: nothing is known of when the choice changes."
    first = subject(content)
    without = len(content["conditions"]) - len(made)
    rest = f"; {without} could not be simulated" if without else ""
    if not content["advised"]:
        holds = [outcome["text"] for outcome in made if _holds(outcome, first)]
        if holds:
            return f"{first} holds all constraints with: {', '.join(holds)}{rest}."
        others = f"under none of {len(made)} other conditions" if len(made) > 1 else "not under the one other condition"
        return f"{first} holds them {others}{rest}."
    if content["flips"]:
        return f"The choice changes with: {', '.join(content['flips'])}{rest}."
    best = sum(first in outcome["best"] for outcome in made)
    within = "each of them" if best == len(made) else f"{best} of them"
    return f"{first} stays in the first group under {_count_conditions(len(made))}, and is within 5 % of the best under {within}{rest}."


def range_text(ratio: Mapping[str, Any]) -> str:
    """The interval of a ratio in brackets, that it is unsure, or nothing where there is none."""
    if ratio["low"] is None or ratio["low"] == ratio["high"]:
        return ""
    if ratio["high"] > TOO_WIDE * ratio["low"]:
        return f"(unsure after {count_text(ratio['n'], 'seed')})"
    return f"[{ratio['low']:.3g}, {ratio['high']:.3g}]"


def _count_conditions(count: int) -> str:
    return "the one condition that was simulated" if count == 1 else f"all {count} conditions that were simulated"


def _holds(outcome: Mapping[str, Any], name: str) -> bool:
    return any(standing["name"] == name and standing["group"] is not None for standing in outcome["standings"])


def _list_followers(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The candidates that do not lead, or else those that lead with the first one; the nearest first."""
    ran = [row for row in content["candidates"] if row["state"] in _RAN and row["against_best"]["estimate"] is not None]
    others = [row for row in ran if row["name"] not in content["leaders"]]
    chosen = others or [row for row in ran if row["name"] != subject(content)]
    return sorted(chosen, key=lambda row: row["against_best"]["estimate"])


def _row(content: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    return next((row for row in content["candidates"] if row["name"] == name), None)


def _own_text(content: Mapping[str, Any], name: str) -> str:
    """The goal of the advised where it is a quantity, to stand before those of the others."""
    goal, row = content["question"]["goal"], _row(content, name)
    if row is None or goal not in row["quantities"]:
        return ""
    return f"{name} has {goal} {quantity(goal).text(row['quantities'][goal])}, "


def _cost_text(content: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    goal, ratio = content["question"]["goal"], row["against_best"]
    interval = range_text(ratio)
    times = f"{ratio['estimate']:.3g} times{f' {interval}' if interval else ''}"
    if goal in row["quantities"]:
        return f"{quantity(goal).text(row['quantities'][goal])}, {times} the cost"
    return f"{times} its cost"


def _key_numbers(content: Mapping[str, Any]) -> list[KeyNumber]:
    numbers = []
    first, goal = subject(content), content["question"]["goal"]
    own = _row(content, first)
    if own is not None and content["advised"]:
        if goal in own["quantities"]:
            others = [
                f"{r['name']} {quantity(goal).text(r['quantities'][goal])}"
                for r in _list_followers(content)[:2]
                if goal in r["quantities"]
            ]
            numbers.append(
                KeyNumber(f"{goal}, {first}", quantity(goal).text(own["quantities"][goal]), ", ".join(others))
            )
        for row in _list_followers(content)[:1]:
            ratio = row["against_best"]
            note = range_text(ratio)
            numbers.append(
                KeyNumber(
                    f"{row['name']}, cost over the best",
                    f"{ratio['estimate']:.3g} ×",
                    f"95 % confidence {note}" if note else "",
                )
            )
    elif own is not None:
        name, _, bound = str(own["because"]).split(";")[0].partition(", not ")
        numbers.append(KeyNumber(f"{first} is nearest", name, f"not {bound}" if bound else ""))
    made = [outcome for outcome in content["conditions"] if not outcome["because"]]
    if made:
        if content["advised"]:
            held = [outcome for outcome in made if first in outcome["first"]]
            note = (
                f"changes with {', '.join(content['flips'][:3])}"
                if content["flips"]
                else "buffers, RTT, load, failed links"
            )
            name = f"{first} stays in the first group under"
        else:
            held = [outcome for outcome in made if _holds(outcome, first)]
            note, name = ", ".join(outcome["text"] for outcome in held[:3]), f"{first} holds the constraints under"
        numbers.append(KeyNumber(name, f"{len(held)} of {count_text(len(made), 'condition')}", note))
    failing = sum(row["state"] == "fails" for row in content["candidates"])
    if failing and len(numbers) < 3:
        numbers.append(
            KeyNumber("break a constraint", f"{failing} of {count_text(len(content['candidates']), 'candidate')}")
        )
    return numbers[:3]


def _quantities(content: Mapping[str, Any]) -> list[Effect]:
    """The goal, its multiples and all other quantities today."""
    ran = {row["name"]: row for row in content["candidates"] if row["state"] in _RAN} or {
        row["name"]: row for row in content["candidates"] if row["quantities"]
    }
    made = []
    ratios = {name: row["against_best"] for name, row in ran.items() if row["against_best"]["estimate"] is not None}
    if ratios:
        values = {name: Interval(r["estimate"], r["low"], r["high"], r["n"]) for name, r in ratios.items()}
        made.append(Effect("times", TIMES, TODAY, LESS, _times_text, values))
    goal = content["question"]["goal"]
    names = list(dict.fromkeys(name for row in ran.values() for name in row["quantities"]))
    for name in sorted(names, key=lambda each: each != goal):
        what = quantity(name)
        floor, ceiling = limits(what.measure)
        by_candidate = {
            own: [r[name] for r in content["runs"] if r["candidate"] == own and r.get(name) is not None] for own in ran
        }
        means = {
            own: statistics.mean(values, floor=floor, ceiling=ceiling) for own, values in by_candidate.items() if values
        }
        # Of what is equal for all there is nothing to see.
        if len({value.estimate for value in means.values()}) > 1 or len(means) == 1:
            made.append(Effect(name, name, TODAY, what.better, what.text, means))
    return made


def _conditions(content: Mapping[str, Any]) -> list[Effect]:
    """The multiples under each other condition."""
    made = []
    for outcome in content["conditions"]:
        for identifier, title, key in (("times", TIMES, "against_best"), ("times_today", TIMES_TODAY, "times_today")):
            values = {
                s["name"]: Interval(s[key], None, None, outcome.get("seeds", 1))
                for s in outcome["standings"]
                if s.get(key) is not None
            }
            if values:
                made.append(Effect(identifier, title, outcome["text"], LESS, _times_text, values))
    return made


def _times_text(value: float) -> str:
    return f"{value:.3g} ×"


def cautions_of(content: Mapping[str, Any]) -> Sequence[str]:
    """The sentences that one should know before one believes the answer, those first that decide."""
    return [f"{caution['text']}." for caution in content["cautions"]]
