"""Content of an answer as JSON: everything that its page and its files are made from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from farloop import _native
from farloop.algorithm import by_scope
from farloop.errors import FarloopError
from farloop.output import manifest
from farloop.results.headline import limit_sentence
from farloop.results.size_classes import MIN_TAIL_FLOWS
from farloop.statistics import Interval
from farloop.studies.advice import deployment, outlook
from farloop.studies.advice.answer import Answer
from farloop.studies.advice.deployment import HostAlgorithm, split_scopes
from farloop.studies.advice.racing import Place
from farloop.studies.advice.trying import TriedCondition
from farloop.studies.advice.tuning import Tuned
from farloop.studies.arena import requirements
from farloop.studies.arena.measuring import Measured
from farloop.studies.arena.quantities import Quantity, quantity

SHOWN = (
    "goodput",
    "p99 slowdown of small flows",
    "p99 slowdown of large flows",
    "fairness",
    "paused",
    "queue delay",
    "unfinished",
)
"""Quantities that stand beside a goal."""


def content(answer: Answer) -> dict[str, Any]:
    """An answer as JSON has it."""
    question = answer.question
    resolved = (
        question.scenario.resolved if not answer.race.places else answer.race.places[0].candidate.scenario.resolved
    )
    return {
        "farloop": _native.version(),
        "kind": "advice",
        "title": str(resolved.get("title", "")) or question.scenario.display_name,
        "answer": answer.sentence(),
        "is_tie": answer.is_tie,
        "is_decided": answer.race.is_decided,
        "question": {
            "scenario": question.scenario.display_name,
            "overrides": list(question.scenario.overrides),
            "goal": question.goal_text,
            "must": [constraint.written for constraint in question.must],
            "can": None if question.can is None else list(question.can),
            "candidates": None if question.candidates is None else list(question.candidates),
            "budget_s": question.budget,
            "seed": question.seed,
            "tune": question.tune,
        },
        "advised": [place.candidate.name for place in answer.advised],
        "nearest": _nearest_name(answer),
        "limit": _limit(answer),
        "leaders": [place.candidate.name for place in answer.race.leaders],
        "few_flows": _few_flows(answer),
        "seeds": answer.race.seeds,
        "rounds": answer.race.rounds,
        "candidates": [_place(place, answer) for place in answer.race.places],
        "excluded": [vars(refusal) for refusal in answer.excluded],
        "tuned": [_tuning_content(tuned, answer) for tuned in answer.tuned],
        "conditions": [_outcome(outcome) for outcome in answer.outcomes],
        "outlook": outlook.rows(answer),
        "cautions": [caution.row() for caution in answer.cautions],
        "left_out": answer.left_out,
        "flips": [outcome.condition.text for outcome in answer.flips],
        "watch": watch(answer),
        "deploy": {place.candidate.name: deploy(place, answer.find(place.candidate.name)) for place in answer.advised},
        "notes": answer.notes,
        "spent_s": round(answer.spent, 3),
        "runs": [row for name, each in answer.race.measured.items() for row in _runs(name, each, answer)],
    }


def _nearest_name(answer: Answer) -> str:
    """Where nothing holds the constraints, the candidate that is nearest to it; else nothing."""
    nearest = None if answer.race.leaders else answer.race.nearest
    return "" if nearest is None else nearest.candidate.name


def _limit(answer: Answer) -> str:
    """The limit of most of the time of the flows, under the advised candidate or the nearest one."""
    name = answer.advised[0].candidate.name if answer.advised else _nearest_name(answer)
    entries = [entry for run in answer.race.measured.get(name, ()) for entry in run.limits]
    return limit_sentence(f"Under {name}, ", entries)


def _place(place: Place, answer: Answer) -> dict[str, Any]:
    measured = answer.race.measured.get(place.candidate.name, [])
    algorithm = place.candidate.algorithm
    return {
        "name": place.candidate.name,
        "algorithm": algorithm,
        "state": place.state,
        "because": place.because,
        "against_best": _interval(place.against),
        "seeds": len(measured),
        "needs": requirements.in_words(algorithm),
        "linux": requirements.on_linux(algorithm),
        "is_shipped": requirements.is_shipped(algorithm),
        "quantities": _quantities(measured, answer),
    }


def _quantities(measured: Sequence[Measured], answer: Answer) -> dict[str, float]:
    """The mean over seeds of what stands beside the goal."""
    means = {}
    for what in _list_quantities(answer):
        values = [value for run in measured if (value := what.take_value(run.values)) is not None]
        if values:
            means[what.name] = math.fsum(values) / len(values)
    return means


def _few_flows(answer: Answer) -> dict[str, float]:
    """The 99th percentiles that are over few flows, with how many a seed has on average; the traffic is the same for all candidates."""
    measured = [run for runs in answer.race.measured.values() for run in runs]
    few = {}
    for what in _list_quantities(answer):
        counts = [run.values[what.flows_key] for run in measured] if what.flows_key else []
        mean = math.fsum(counts) / len(counts) if counts else 0.0
        if 0 < mean < MIN_TAIL_FLOWS:
            few[what.name] = mean
    return few


def _list_quantities(answer: Answer) -> list[Quantity]:
    named = [quantity(name) for name in SHOWN]
    asked = [answer.question.goal] if answer.question.goal else []
    return list({q.name: q for q in [*asked, *(c.quantity for c in answer.question.must), *named]}.values())


def _tuning_content(tuned: Tuned, answer: Answer) -> dict[str, Any]:
    return {
        "name": tuned.candidate.name,
        "settings": tuned.settings,
        "defaults": tuned.defaults,
        "trials": tuned.trials,
        "gain": _interval(tuned.gain),
        "breaks": tuned.breaks,
        "is_advised": tuned.is_advised,
        "because": tuned.because,
        "quantities": _quantities(tuned.measured, answer),
    }


def _outcome(outcome: TriedCondition) -> dict[str, Any]:
    return {
        "kind": outcome.condition.kind,
        "text": outcome.condition.text,
        "factor": outcome.condition.factor,
        "settings": dict(outcome.condition.settings),
        "because": outcome.because,
        "seeds": outcome.seeds,
        "first": outcome.first,
        "best": outcome.best,
        "standings": [
            {
                "name": standing.algorithm,
                "group": standing.group,
                "against_best": _finite_or_none(standing.against_best.estimate),
                "goal": _finite_or_none(outcome.changes[standing.algorithm].goal),
                "times_today": _finite_or_none(outcome.changes[standing.algorithm].times),
                "breaks": "; ".join(broken.beside_bound for broken in standing.broken),
            }
            for standing in outcome.standings
        ],
    }


def _runs(name: str, each: Sequence[Measured], answer: Answer) -> list[dict[str, Any]]:
    return [
        {"candidate": name, "seed": run.seed}
        | {q.name: _finite_or_none(q.take_value(run.values)) for q in _list_quantities(answer)}
        for run in each
    ]


def _interval(interval: Interval) -> dict[str, Any]:
    return {
        "estimate": _finite_or_none(interval.estimate),
        "low": _finite_or_none(interval.low),
        "high": _finite_or_none(interval.high),
        "n": interval.n,
    }


def _finite_or_none(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def watch(answer: Answer) -> list[str]:
    """Returns things to watch in operation: the constraints nearest to their bounds, and the algorithm's dependencies."""
    texts = []
    for place in answer.advised[:1]:
        name, measured = place.candidate.name, answer.race.measured[place.candidate.name]
        for constraint in answer.question.must:
            values = [value for run in measured if (value := constraint.quantity.take_value(run.values)) is not None]
            if not values or constraint.is_relative:
                continue
            worst = min(values) if constraint.is_least else max(values)
            mean = math.fsum(values) / len(values)
            if _is_near(mean, constraint.bound, constraint.is_least):
                texts.append(
                    f"{constraint.quantity.name}: {name} has {constraint.quantity.text(mean)} on average and "
                    f"{constraint.quantity.text(worst)} under its worst seed; you asked for {constraint}."
                )
        needs = requirements.list_requirements(place.candidate.algorithm)
        if "ecn" in needs:
            texts.append(
                f"ECN thresholds: {name} reacts to marks; a switch on the way that does not mark, or marks elsewhere, changes what it does."
            )
        if "int" in needs:
            texts.append(
                f"Telemetry: {name} needs it from every switch that can be congested; packets grow by what each hop writes."
            )
        if "dci" in needs or "switch agents" in needs:
            texts.append(f"Switch agents: {name} is in the switches as well; hosts and switches change together.")
    texts += [f"{outcome.condition.text}: {_leads(outcome)}." for outcome in answer.flips]
    return texts


def _leads(outcome: TriedCondition) -> str:
    return f"{' and '.join(outcome.first)} would be the choice" if outcome.first else "nothing holds your constraints"


def _is_near(value: float, bound: float, is_least: bool) -> bool:
    """Returns true if less than half of the way to the bound is left."""
    return value <= 2 * bound and value < 1 if is_least else bound > 0 and value >= bound / 2


def deploy(place: Place, tuned: Tuned | None) -> dict[str, Any]:
    """Returns the deployment of a candidate: the scenario's keys, a script for Linux hosts, and the commands that run it."""
    algorithm = place.candidate.algorithm
    settings = dict(tuned.settings) if tuned is not None and tuned.is_advised else {}
    lines = ["[algorithm]", f'name = "{algorithm}"']
    sides = by_scope(algorithm)
    of_side: dict[str, dict[str, Any]] = {}
    for side in sides:
        before = f"{side}." if len(sides) > 1 else ""
        own = {key.removeprefix(before): value for key, value in settings.items() if key.startswith(before)}
        of_side[side] = own
        if own:
            lines += ["", f"[algorithm.{side}]" if "." not in side else f'[algorithm."{side}"]']
            lines += [f"{name} = {_toml(value)}" for name, value in own.items()]
    inside, across = (
        HostAlgorithm.from_algorithm(name, _kernel_load(name, of_side.get(name, {}), place))
        for name in split_scopes(algorithm)
    )
    made: dict[str, Any] = {"scenario": "\n".join(lines) + "\n", "commands": [], "script": ""}
    if inside is None or across is None:
        return made
    file = f"{manifest.slug(place.candidate.name)}.sh"
    made["script"] = deployment.script(inside, across, place.candidate.scenario, file)
    loads = dict.fromkeys(each.load for each in (inside, across) if not each.load.startswith("modprobe"))
    made["commands"] = [
        *(["make kernel", *(f"sudo {load}" for load in loads)] if loads else []),
        f"sudo sh {file} inside PREFIX GATEWAY DEVICE across PREFIX GATEWAY DEVICE",
        f"sudo sh {file} --undo",
    ]
    return made


def _takes(algorithm: str, known: Mapping[str, str], name: str, value: str) -> bool:
    """Returns true if the kernel program has a parameter: some exist only in the simulator."""
    from farloop.kernel import gear, gemini

    read = {"gear": gear.parameters, "gemini": gemini.GEMINI.parameters}[algorithm]
    try:
        read([*(f"{key}={text}" for key, text in known.items()), f"{name}={value}"])
    except FarloopError:
        return False
    return True


def _toml(value: str) -> str:
    try:
        float(value)
    except ValueError:
        return f'"{value}"'
    return value


def _kernel_load(algorithm: str, settings: Mapping[str, str], place: Place) -> str:
    """The command that loads an algorithm of `farloop kernel`; empty for every other."""
    if requirements.on_linux(algorithm) != "farloop kernel":
        return ""
    resolved = place.candidate.scenario.resolved
    rate = str(resolved["network"].get("rate", ""))
    given = {
        k: str(v) for k, v in resolved["algorithm"].get(algorithm, {}).items() if k == "ecn_threshold" and v != "none"
    }
    inside = place.candidate.scenario.forecast["network"]["base_rtt"].get("intra")
    known = {"capacity": rate or "10Gbps"} | (
        {"irtt": f"{inside[0] * 1e6:.3g}us"} if algorithm == "gear" and inside else {}
    )
    more = given | dict(settings)
    pairs = known | {name: value for name, value in more.items() if _takes(algorithm, known, name, value)}
    options = " ".join(f"--set {name}={value}" for name, value in pairs.items())
    return f".venv/bin/farloop kernel load {algorithm} {options}".rstrip()
