"""The same question under other loads, RTTs and buffers, with a failed link, with other ties: where does the answer change?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from farloop import _native, units
from farloop.scenario import Scenario
from farloop.studies.advice.question import Question
from farloop.studies.advice.racing import Candidate, judged
from farloop.studies.advice.runs import Ask, Runs
from farloop.studies.arena.ranking import Standing, standings

SEEDS = 3
"""Seeds of each condition."""

NEAR = (0.8, 1.2)
"""Factors within which an answer is to hold."""

FAR = (0.5, 2.0)
"""Factors that show where it changes."""

_DELAYS = ("network.wan_delay",)

_BUFFERS = ("switch.buffer",)


@dataclass(frozen=True)
class Condition:
    """A scenario that is a little different.

    Attributes:
        kind: "load", "RTT", "buffer", "failed link" or "ties".
        text: What is different, for people.
        factor: By how much, where that is a number.
        settings: The settings that make it.
    """

    kind: str
    text: str
    factor: float | None
    settings: Mapping[str, str]


@dataclass(frozen=True)
class TriedCondition:
    """What a condition changes.

    Attributes:
        condition: The condition.
        standings: The candidates under it.
        because: Why it could not be tried; empty if it was.
    """

    condition: Condition
    standings: list[Standing] = field(default_factory=list)
    because: str = ""

    @property
    def first(self) -> list[str]:
        """The first group."""
        return [standing.algorithm for standing in self.standings if standing.group == 1]


def conditions(scenario: Scenario) -> list[Condition]:
    """What can be varied of a scenario.

    Raises:
        ScenarioError: the scenario is not valid.
    """
    resolved = scenario.resolved
    varied = []
    loads = _loads(resolved)
    if loads:
        varied += [
            Condition(
                "load", f"load × {factor:g}", factor, {key: f"{value * factor:.6g}" for key, value in loads.items()}
            )
            for factor in (*NEAR, *FAR)
        ]
    varied += _scaled(resolved, "RTT", "RTT across", _DELAYS, units.seconds, lambda v: f"{round(v * 1e12)}ps")
    varied += _scaled(resolved, "buffer", "buffer", _BUFFERS, units.size, lambda v: f"{round(v)}B")
    varied += [
        Condition("ties", f"another order of ties ({number})", None, {"run.jitter": str(number)}) for number in (1, 2)
    ]
    return varied


def _loads(resolved: Mapping[str, Any]) -> dict[str, float]:
    workloads = resolved.get("workload") or []
    each = workloads if isinstance(workloads, list) else [workloads]
    loads = {}
    for workload in each:
        if isinstance(workload.get("load"), int | float):
            name = workload.get("name")
            loads[f"workload.{name}.load" if name and len(each) > 1 else "workload.load"] = float(workload["load"])
    return loads


def _scaled(
    resolved: Mapping[str, Any], kind: str, words: str, keys: Sequence[str], read: Any, write: Any
) -> list[Condition]:
    values = {}
    for key in keys:
        section, _, name = key.partition(".")
        text = resolved.get(section, {}).get(name)
        if isinstance(text, str) and text != "none":
            values[key] = read(text)
    if not any(values.values()):
        return []
    return [
        Condition(kind, f"{words} × {factor:g}", factor, {key: write(value * factor) for key, value in values.items()})
        for factor in (*NEAR, *FAR)
    ]


def failed_link(scenario: Scenario) -> Condition | None:
    """One of several long-haul links fails in the middle of the arrivals; `None` where there is one only."""
    resolved = scenario.resolved
    network = resolved["network"]
    if network.get("topology") != "datacenters" or resolved.get("event"):
        return None
    links = network.get("wan_links")
    border = network.get("border")
    if border == "core" or not isinstance(links, int) or links < 2:
        return None
    name = {"dci": "dci", "router": "border"}[str(border)]
    middle = units.seconds(str(resolved["run"]["duration"])) / 4
    text = f'\n[[event]]\nat = "{round(middle * 1e12)}ps"\nlink = "dc0-{name}1<->dc1-{name}1"\nstate = "down"\n'
    return Condition("failed link", "a long-haul link fails", None, {"": text})


def tried(condition: Condition, candidates: Sequence[Candidate], question: Question, runs: Runs) -> TriedCondition:
    """The candidates under a condition."""
    wanted = []
    for candidate in candidates:
        scenario = _under(candidate.scenario, condition)
        wanted += [
            (
                candidate,
                Ask(
                    f"{candidate.name}, {condition.text}, seed {seed}",
                    candidate.algorithm,
                    scenario.override(seed=seed),
                ),
            )
            for seed in range(question.seed, question.seed + SEEDS)
        ]
    rows, because = [], ""
    for (candidate, _), answer in zip(wanted, runs.ask([ask for _, ask in wanted]), strict=True):
        if answer.measured is None:
            because = because or f"{candidate.name}: {answer.because}"
        else:
            rows += judged([answer.measured], question, candidate.name)
    if because:
        return TriedCondition(condition, because=because)
    return TriedCondition(condition, standings(rows, constraints=question.must))


def _under(scenario: Scenario, condition: Condition) -> Scenario:
    text = condition.settings.get("")
    if text is not None:
        return Scenario(scenario.text + text, scenario.file, scenario.overrides)
    return scenario.override(dict(condition.settings))


def estimated_cost(condition: Condition, cost: float) -> float:
    """Nominal seconds of a condition whose runs without it take `cost`.

    Twice the load has twice the packets. With half of them a run takes more than half: its network is built, its tables are written.
    """
    return cost * max(1.0, condition.factor or 1.0) if condition.kind == "load" else cost


def affordable(all_: Sequence[Condition], cost: float, budget: float) -> list[Condition]:
    """The conditions that a budget has room for, those near the scenario first.

    Args:
        all_: All that there are.
        cost: Nominal seconds of one of them.
        budget: Nominal seconds for all.
    """
    ordered = sorted(all_, key=lambda c: 0 if c.factor in NEAR else 1 if c.kind in ("failed link", "ties") else 2)
    conditions = []
    for condition in ordered:
        budget -= estimated_cost(condition, cost)
        if budget < 0:
            break
        conditions.append(condition)
    return conditions


def is_valid(scenario: Scenario) -> bool:
    """Whether a scenario can be simulated."""
    try:
        _ = scenario.resolved
    except _native.ScenarioError:
        return False
    return True
