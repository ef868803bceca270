"""The answer of a plan: as sentences, and as answer.json has it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from farloop import _native
from farloop.results.headline import Headline, KeyNumber
from farloop.studies.advice.runs import Runs
from farloop.studies.arena.quantities import quantity
from farloop.studies.capacity.capacity_question import CapacityQuestion
from farloop.studies.capacity.confirming import Confirmed
from farloop.studies.capacity.screening import REFUSED, Screened
from farloop.studies.capacity.searching import ConditionAnswer
from farloop.units import count_text

ANSWER = "answer.json"


def make_content(question: CapacityQuestion, answers: Sequence[ConditionAnswer], runs: Runs) -> dict[str, Any]:
    """The answer as JSON has it."""
    options = question.options
    scenario = question.scenario
    content: dict[str, Any] = {
        "farloop": _native.version(),
        "title": str(scenario.resolved.get("title") or scenario.display_name),
        "question": {
            "scenario": scenario.display_name,
            "overrides": [[key, str(value)] for key, value in scenario.overrides],
            "algorithm": str(scenario.resolved["algorithm"]["name"]),
            "vary": {variable.name: list(variable.values) for variable in question.vary},
            "along": {question.along.name: list(question.along.values)} if question.along else None,
            "until": [requirement.written for requirement in question.until],
            "until_text": question.until_text,
            "bounds": {r.quantity.name: None if r.is_relative else r.bound for r in question.until},
            "survive": question.survive,
            "cost": question.cost.text if question.cost else None,
            "seeds": question.seeds,
            "seed": question.seed,
            "screen": question.screen,
            "budget_s": question.budget,
        },
        "options": [
            {"values": list(option.values), "text": question.text(option), "price": option.price} for option in options
        ],
        "conditions": [
            {
                "value": answer.condition,
                "text": question.condition_text(answer.condition),
                "number": question.along.number(answer.condition) if question.along else None,
                "answer": answer.answer,
                "is_decided": answer.is_decided,
                "notes": answer.notes,
                "by_rates": [_screened_row(each) for each in answer.screened],
                "by_packets": {str(place): _confirmed_row(each) for place, each in sorted(answer.confirmed.items())},
            }
            for answer in answers
        ],
        "numbers": {variable.name: [variable.number(value) for value in variable.values] for variable in question.vary},
        "spent_s": runs.spent,
        "simulations": sum(map(_count_simulations, answers)),
    }
    content["answer"] = sentence(content)
    content["untried"] = list_untried(content)
    return content


def _count_simulations(answer: ConditionAnswer) -> int:
    by_rates = sum(each.state != REFUSED for each in answer.screened)
    return by_rates + sum(each.seeds * (2 if each.down else 1) for each in answer.confirmed.values())


def sentence(content: Mapping[str, Any]) -> str:
    """The answer in a sentence, such as "1 link holds p99 slowdown <= 3 up to 1,000 km; 2 links from 2,000 km on"."""
    conditions, options, what = content["conditions"], content["options"], content["question"]["until_text"]
    groups: list[list[Mapping[str, Any]]] = []
    for condition in conditions:
        if groups and _key(groups[-1][0]) == _key(condition):
            groups[-1].append(condition)
        else:
            groups.append([condition])
    parts = []
    for place, group in enumerate(groups):
        first, last = group[0], group[-1]
        is_alone = len(conditions) == 1
        where = "" if is_alone else _place_text(first["text"], last["text"], place, len(groups))
        parts.append(f"{_group_text(first, options, what, is_first=place == 0)}{where}")
    text = "; ".join(parts)
    survive = content["question"]["survive"]
    links = f", also with {count_text(survive, 'link')} between sites down" if survive else ""
    return f"{text[:1].upper()}{text[1:]}{links}."


def _key(condition: Mapping[str, Any]) -> tuple[Any, bool]:
    return condition["answer"], bool(condition["is_decided"])


def _place_text(first: str, last: str, place: int, groups: int) -> str:
    if groups == 1:
        return f" from {first} to {last}"
    if place == 0:
        return f" up to {last}" if first != last else f" at {first}"
    if place == groups - 1:
        return f" from {first} on" if first != last else f" at {first}"
    return f" from {first} to {last}" if first != last else f" at {first}"


def _group_text(
    condition: Mapping[str, Any], options: Sequence[Mapping[str, Any]], what: str, *, is_first: bool
) -> str:
    about = f" {what}" if is_first else ""
    if not condition["is_decided"]:
        return f"the budget ended before packets decided{about}"
    if condition["answer"] is None:
        return f"nothing up to {options[-1]['text']} {'leaves' if what.startswith('no ') else 'holds'}{about}"
    text = options[condition["answer"]]["text"]
    verb = "leave" if what.startswith("no ") else "hold"
    is_plural = text.endswith(" links") and "," not in text
    return f"{text} {verb}{'' if is_plural else 's'}{about}"


def list_untried(content: Mapping[str, Any]) -> list[str]:
    """Sentences on what no packet was simulated for."""
    conditions, options = content["conditions"], content["options"]
    lines = []
    whole, confirmed = len(conditions) * len(options), sum(len(c["by_packets"]) for c in conditions)
    if confirmed < whole:
        by = "by rates, or not at all" if content["question"]["screen"] == "fluid" else "not at all"
        lines.append(f"{whole - confirmed} of {whole} points were not simulated packet by packet ({by}).")
    lines += _refusals(conditions)
    unbounded = {
        name
        for c in conditions
        for row in c["by_rates"]
        for name, value in row["values"].items()
        if value["low"] is None
    }
    if unbounded:
        lines.append(f"Rates have no error bound for {' and '.join(sorted(unbounded))}: packets decided it.")
    if content["question"]["survive"]:
        lines.append("Only the busiest links were taken down, from the start of the run on; no switch was.")
    lines.append(
        f"Only {content['question']['algorithm']} was tried, and only this traffic; more of a variable was taken to be no worse, "
        "which the neighbours of each answer confirm and points further off do not."
    )
    return lines


def _refusals(conditions: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence on the points that rates could not simulate, with the first reason."""
    rows = [row for condition in conditions for row in condition["by_rates"]]
    refused = [row["because"] for row in rows if row["state"] == REFUSED]
    if not refused:
        return []
    which = "any point" if len(refused) == len(rows) else f"{len(refused)} of {len(rows)} points"
    # The place in the file is that of the scenario with the point's settings.
    reason = re.sub(r"^\S+?\.toml:\d+: ", "", refused[0])
    return [f"Rates could not simulate {which}, which packets decided: {reason}."]


def headline_plan(content: Mapping[str, Any]) -> Headline:
    """The answer with at most three numbers, for the head of the page and for the terminal."""
    numbers = []
    for condition in content["conditions"]:
        if condition["answer"] is None:
            continue
        row = condition["by_packets"][str(condition["answer"])]
        (name, value), *_ = row["values"].items()
        note = value_text(name, value["worst"])
        numbers.append(
            KeyNumber(condition["text"] or "answer", content["options"][condition["answer"]]["text"], f"{name} {note}")
        )
    sentences = [content["answer"], *(_neighbour_text(content, c) for c in content["conditions"][:1])]
    limit = _limit_sentence(content)
    return Headline(
        tuple(filter(None, sentences)), tuple([*numbers[:2], *numbers[-1:]] if len(numbers) > 3 else numbers), limit
    )


def _neighbour_text(content: Mapping[str, Any], condition: Mapping[str, Any]) -> str:
    """A sentence on the cheaper neighbour of the first answer."""
    place = condition["answer"]
    cheaper = [int(i) for i in condition["by_packets"] if place is not None and int(i) < place]
    if not cheaper:
        return ""
    near = max(cheaper)
    row = condition["by_packets"][str(near)]
    why = row["because"] or "; ".join(row["broken"])
    where = f" at {condition['text']}" if condition["text"] else ""
    text = content["options"][near]["text"]
    return f"{text[:1].upper()}{text[1:]}{where}: {why}."


def _limit_sentence(content: Mapping[str, Any]) -> str:
    texts = []
    for condition in content["conditions"]:
        if condition["answer"] is not None:
            limit = condition["by_packets"][str(condition["answer"])]["limit"]
            if limit:
                texts.append(f"{condition['text'] or 'there'}: {limit}")
    return f"What the flows wait for at the answers: {'; '.join(dict.fromkeys(texts))}." if texts else ""


def value_text(name: str, value: float | None) -> str:
    """A value of a required quantity for people; its name may end with the network in which it was measured."""
    if value is None:
        return "without end"
    return quantity(name.partition(", ")[0]).text(value)


def _screened_row(screened: Screened) -> dict[str, Any]:
    values = {
        name: {"value": _finite_or_none(value), "low": _finite_or_none(low), "high": _finite_or_none(high)}
        for name, (value, low, high) in screened.values.items()
    }
    return {"state": screened.state, "values": values, "because": screened.because}


def _confirmed_row(confirmed: Confirmed) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, each in confirmed.values.items():
        better = quantity(name.partition(", ")[0]).better
        worst = min(each) if better == "more" else max(each)
        values[name] = {
            "mean": _finite_or_none(math.fsum(each) / len(each)) if all(map(math.isfinite, each)) else None,
            "low": _finite_or_none(min(each)),
            "high": _finite_or_none(max(each)),
            "worst": _finite_or_none(worst),
            "each": list(map(_finite_or_none, each)),
        }
    return {
        "state": confirmed.state,
        "values": values,
        "broken": list(confirmed.broken),
        "limit": confirmed.limit,
        "seeds": confirmed.seeds,
        "because": confirmed.because,
        "down": list(confirmed.down),
    }


def _finite_or_none(value: float | None) -> float | None:
    """As JSON can have it: no value for what has no end."""
    return value if value is not None and math.isfinite(value) else None
