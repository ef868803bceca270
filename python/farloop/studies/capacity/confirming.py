"""Confirms options packet by packet: under every seed, without failures and with links down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from farloop.results import limits
from farloop.scenario import Scenario
from farloop.studies.advice.long_haul import HaulLink, LongHaul, read_long_haul
from farloop.studies.advice.runs import Answered, Ask, Runs
from farloop.studies.arena.constraints import Requirement
from farloop.studies.capacity.capacity_question import CapacityQuestion, Option

HOLDS, FAILS, DEPENDS, REFUSED = "holds", "fails", "depends on the seed", "refused"
"""Outcomes packet by packet. Only the first answers a question."""

HEALTHY, FAILED = "", "with failures"
"""The networks in which an option is tried."""


@dataclass(frozen=True)
class Confirmed:
    """An option packet by packet.

    Attributes:
        state: "holds" under every seed, "fails" under every seed, "depends on the seed", or "refused".
        values: The values of each required quantity under every seed, by its name; those with failures by the name and ", with failures".
        broken: The requirements that some seed breaks, with the worst value.
        limit: The limit under which the flows spent most of their time, with its share; empty where that is not known.
        seeds: Number of seeds.
        because: Why it was refused, or fails without a simulation.
        down: The names of the links that were down.
    """

    state: str
    values: Mapping[str, Sequence[float]] = field(default_factory=dict)
    broken: Sequence[str] = ()
    limit: str = ""
    seeds: int = 0
    because: str = ""
    down: Sequence[str] = ()


def confirm(question: CapacityQuestion, option: Option, condition: str, runs: Runs) -> Confirmed:
    """Simulates an option under every seed.

    Raises:
        FarloopError: runs cannot be made or kept here.
        ScenarioError: the scenario is not valid.
    """
    scenario = question.apply(option, condition)
    networks = {HEALTHY: scenario}
    down: list[str] = []
    if question.survive:
        haul = read_long_haul(scenario)
        failing = choose_failing(haul, question.survive)
        down = [link.name for link in failing]
        if len(failing) < question.survive or not haul.stays_connected(failing):
            return Confirmed(
                FAILS, because=f"no path is left with {question.survive} of its links between sites down", down=down
            )
        networks[FAILED] = _without_links(scenario, down)
    label = ", ".join(filter(None, (question.text(option), question.condition_text(condition))))
    algorithm = str(scenario.resolved["algorithm"]["name"])
    asks = [
        Ask(f"{label}{f' {name}' if name else ''}, seed {seed}", algorithm, network.override({"run.seed": seed}))
        for name, network in networks.items()
        for seed in range(question.seed, question.seed + question.seeds)
    ]
    answered = runs.ask(asks)
    if refused := next((each for each in answered if each.measured is None), None):
        return Confirmed(REFUSED, because=refused.because, down=down)
    parts = {
        name: answered[place * question.seeds : (place + 1) * question.seeds] for place, name in enumerate(networks)
    }
    return _judge(question.until, parts, down)


def choose_failing(haul: LongHaul, count: int) -> list[HaulLink]:
    """The busiest links between sites; fewer where there are fewer.

    Of links that are as busy the first in the order of the network; links that join two sites come before those from a site to a router.
    """
    return sorted(haul.links, key=lambda link: (not link.joins_sites, -link.offered_bytes))[:count]


def _without_links(scenario: Scenario, names: Sequence[str]) -> Scenario:
    """The scenario with links down from its start on."""
    text = "".join(f'\n[[event]]\nat = "0s"\nlink = "{name}"\nstate = "down"\n' for name in names)
    return Scenario(scenario.text + text, scenario.file, scenario.overrides, scenario.classes, scenario.case)


def _judge(until: Sequence[Requirement], parts: Mapping[str, Sequence[Answered]], down: Sequence[str]) -> Confirmed:
    values: dict[str, list[float]] = {}
    broken: list[str] = []
    breaks: dict[int, bool] = {}
    for name, answered in parts.items():
        for requirement in until:
            key = f"{requirement.quantity.name}, {name}" if name else requirement.quantity.name
            worst: tuple[float, float] = (0.0, 0.0)
            for seed, each in enumerate(answered):
                assert each.measured is not None
                value = requirement.quantity.take_value(each.measured.values)
                if value is None:
                    return Confirmed(REFUSED, because=f"no run has {requirement.quantity.name}", down=down)
                values.setdefault(key, []).append(value)
                excess = requirement.measure_excess(value, requirement.limit(each.measured.values, {}))
                breaks[seed] = breaks.get(seed, False) or excess > 0
                worst = max(worst, (excess, value))
            if worst[0] > 0:
                broken.append(f"{key} {requirement.quantity.text(worst[1])}")
    count = sum(breaks.values())
    state = HOLDS if count == 0 else FAILS if count == len(breaks) else DEPENDS
    return Confirmed(state, values, broken, _limit_text(parts[HEALTHY]), len(breaks), down=down)


def _limit_text(answered: Sequence[Answered]) -> str:
    entries: list[dict[str, Any]] = [
        dict(entry) for each in answered if each.measured for entry in each.measured.limits
    ]
    shares = limits.shares_of(entries)
    if not shares:
        return ""
    name, share = next(iter(shares.items()))
    return f"{name} {100 * share:.0f} %"
