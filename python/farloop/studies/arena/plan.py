"""The simulations of an arena: every algorithm in every scenario under every seed, and reasons of those that cannot run."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from farloop import _native, catalogue
from farloop.algorithm import Algorithm, name_of
from farloop.errors import FarloopError, clip_text, nearest
from farloop.experiments.variants import Variant
from farloop.formats.scenario_text import worded_for_python
from farloop.output.manifest import slug
from farloop.results import gears
from farloop.results.gears import require_packets
from farloop.results.jitter import read_jitter
from farloop.results.seeds import Seeds, read_seeds, seed_suffix
from farloop.results.starts import KEY, OWN, read_same_start
from farloop.scenario import ARENA, Scenario, Settings, arena_names, figure_names, parse_settings
from farloop.studies.arena import constraints
from farloop.studies.arena.constraints import Requirement

SEEDS = "1-3"
"""Default seeds of an arena: a spread takes more than one, and an engineer waits for each."""

FULL = "full"
"""The case of a scenario whose settings make it that of the full scale."""

ALIKE = "-same-start"
"""Suffix of a scenario's name in which all algorithms start alike."""

_MAX_NAME_LENGTH = 120
"""Characters of the name of a point."""

_OWN = {
    **{"run.seed": "--seeds", "algorithm.name": "--algorithms", KEY: "--same-start"},
    **{"algorithm.intra": "--algorithms dctcp/bbr", "algorithm.cross": "--algorithms dctcp/bbr"},
}
"""Settings that the arena makes itself, and the options for them."""


@dataclass(frozen=True)
class Incompatible:
    """A simulation that cannot be: the scenario's network does not offer what the algorithm needs.

    Attributes:
        algorithm: The algorithm.
        seed: The seed.
        because: The simulator's reason.
    """

    algorithm: str
    seed: int
    because: str


@dataclass(frozen=True)
class ScenarioPlan:
    """One scenario of an arena.

    Attributes:
        name: Its name.
        base: The scenario with the arena's settings, but for algorithm and seed.
        variants: The simulations, one per algorithm that can run and seed.
        refusals: Those that cannot be.
        facts: Title, source, how flows begin, and what the network offers, in words.
        part_of: Name in the arena of the scenario that this is a point of.
        point: The settings that make it that point; empty where there is one only.
    """

    name: str
    base: Scenario
    variants: list[Variant]
    refusals: list[Incompatible]
    facts: dict[str, str] = field(default_factory=dict)
    part_of: str = ""
    point: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """The simulations and settings of an arena.

    Attributes:
        scenario_plans: Its scenarios.
        algorithms: The algorithms, in the order of their rows.
        seeds: The seeds.
        scale: "quick" or "full".
        jitter: Number of variations in ties and starts of each simulation of the first seed, with own starts only.
        constraints: Constraints that must hold for an algorithm to be ranked.
        why: True to explain why the tail is slow.
    """

    scenario_plans: list[ScenarioPlan]
    algorithms: list[str]
    seeds: tuple[int, ...]
    scale: str
    jitter: int = 0
    constraints: tuple[Requirement, ...] = ()
    why: bool = False


def plan(
    scenarios: Sequence[str] = (),
    algorithms: str | Sequence[str] | None = None,
    *,
    set: Settings | None = None,
    seeds: Seeds | None = None,
    full: bool = False,
    same_start: str | None = None,
    jitter: int = 0,
    must: Sequence[str] = (),
    over: str | None = None,
    why: bool = False,
    classes: Sequence[type[Algorithm]] = (),
) -> Plan:
    """Plans an arena; everything is checked, nothing is simulated.

    Args:
        scenarios: Names of the arena's own scenarios, files, or papers' figures; by default all of its own.
        algorithms: Names, or one text "gear,hpcc"; by default every algorithm that there is.
        set: Settings that replace some of each scenario's.
        seeds: The seeds; by default three.
        full: At full scale, which is longer.
        same_start: Each scenario a second time, all algorithms with this start: "line-rate", "bdp", or a number of segments per base RTT.
        jitter: Number of variations in ties and starts of each simulation of the first seed, with own starts only.
        must: Constraints, such as "paused <= 5 %", in place of the usual ones of the same quantities; "none" leaves those out.
        over: A key and its values, such as "workload.load=0.3,0.5,0.8": each scenario once with each.
        why: Simulate each algorithm once more, to explain why the tail is slow.
        classes: Algorithms in Python that there are besides.

    Raises:
        FarloopError: there is no such scenario or algorithm, one is named twice, seeds that are none, a setting that is the arena's, or a
            constraint that is none.
        ScenarioError: a scenario or a setting is not valid, under whatever algorithm.
    """
    required = constraints.read(must, constraints.ARENA)
    chosen = _algorithms(algorithms, list(map(name_of, classes)))
    replicated = read_seeds(SEEDS if seeds is None else seeds)
    settings = list(parse_settings(set))
    for key, _ in settings:
        if key in _OWN:
            raise FarloopError(f"--set {key}: the arena sets it itself, in turn; choose with {_OWN[key]}")
    loaded = [(name, scenario.with_classes(classes)) for name, scenario in map(_load, scenarios or arena_names())]
    names = [name for name, _ in loaded]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise FarloopError(f"two scenarios are called {', '.join(repeated)}; each needs a file name of its own")
    points = [
        (name, scenario, [*settings, *point.items()], point)
        for name, scenario in loaded
        for point in (_values(over) if over else _grid(name, scenario) if full else [{}])
    ]
    scenario_plans = [_contest(*point, chosen, replicated, full) for point in points]
    start = read_same_start(same_start)
    if start not in (None, OWN):
        again = (
            _plan_same_start(name, scenario, own, point, chosen, replicated, full, str(start))
            for name, scenario, own, point in points
        )
        scenario_plans += [scenario_plan for scenario_plan in again if scenario_plan.variants]
    return Plan(scenario_plans, chosen, replicated, "full" if full else "quick", read_jitter(jitter), required, why)


def _values(over: str) -> list[dict[str, str]]:
    """The points of one key."""
    key, _, texts = over.partition("=")
    values = [value.strip() for value in texts.split(",") if value.strip()]
    if not key.strip() or len(values) < 2:
        raise FarloopError(
            f"--over {clip_text(over)}: expected a key and two values or more, such as workload.load=0.3,0.5,0.8"
        )
    if key.strip() in _OWN:
        raise FarloopError(f"--over {key.strip()}: the arena sets it itself, in turn; choose with {_OWN[key.strip()]}")
    if len(set(values)) < len(values):
        raise FarloopError(f"--over {clip_text(over)}: a value stands there twice")
    return [{key.strip(): value} for value in values]


def _grid(name: str, scenario: Scenario) -> list[dict[str, str]]:
    """The points of the full scale: the scenario itself, and those of the arena's own that have a grid each of its cases."""
    if name not in arena_names():
        return [{}]
    cases = [case for case in _resolve_scenario(scenario).get("case", []) if str(case["name"]) != FULL]
    return [{}, *({key: str(value) for key, value in parse_settings(case["set"])} for case in cases)]


def _algorithms(wanted: str | Sequence[str] | None, classes: Sequence[str]) -> list[str]:
    known = [*(str(entry["name"]) for entry in catalogue.entries("algorithms")), *classes]
    if wanted is None:
        return known
    names = [name.strip() for name in wanted.split(",")] if isinstance(wanted, str) else list(wanted)
    names = [name for name in names if name]
    if not names:
        raise FarloopError("no algorithm for the arena; `farloop list algorithms` shows them")
    for name in names:
        catalogue.check_algorithm(name, classes)
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise FarloopError(f"compared with itself: {', '.join(map(clip_text, repeated))}")
    return names


def _load(wanted: str) -> tuple[str, Scenario]:
    """A scenario and its name."""
    own = arena_names()
    if wanted in own:
        return wanted, Scenario.load(ARENA / f"{wanted}.toml")
    is_file = os.path.exists(wanted)  # noqa: PTH110, it never raises
    if not is_file and wanted not in figure_names():
        hint = nearest(wanted.removesuffix(".toml"), own)
        raise FarloopError(
            f"{clip_text(wanted)}: no such scenario; {hint}; or name a scenario file or a paper's figure"
        )
    return slug(Path(wanted).stem if is_file else wanted), Scenario.load(wanted)


def _contest(
    name: str,
    scenario: Scenario,
    settings: Sequence[tuple[str, str]],
    point: dict[str, str],
    algorithms: Sequence[str],
    seeds: Sequence[int],
    full: bool,
) -> ScenarioPlan:
    plain = _resolve_scenario(scenario)
    cases = {str(case["name"]): case["set"] for case in plain.get("case", [])}
    base = scenario.override(cases.get(FULL) if full else None).override([f"{k}={v}" for k, v in settings])
    # Not of the parsed scenario: what algorithms need and settings take away is told of each of them.
    given = dict(settings).get(gears.KEY, gears.gear_of(plain))
    require_packets({"run": {"gear": given}}, f"{base.display_name}: the arena")
    variants, refusals = [], []
    for algorithm in algorithms:
        for seed in seeds:
            own = base.override(algorithm=algorithm, seed=seed)
            try:
                _check(own)
            except _native.ScenarioError as error:
                refusals.append(Incompatible(algorithm, seed, _error_text(error)))
            else:
                variants.append(Variant(algorithm + seed_suffix(seed), "", algorithm, own))
    if not variants:
        # A wrong scenario or setting would give the same message for any algorithm.
        _resolve_scenario(base)
    facts = _scenario_facts(variants[0].scenario.resolved if variants else plain)
    return ScenarioPlan(_point_name(name, point), base, variants, refusals, facts, name, dict(point))


def _point_name(name: str, point: dict[str, str]) -> str:
    """Returns the name of a point of a scenario: the scenario's name and the point's values."""
    return slug(
        "-".join([name, *(f"{key.rpartition('.')[2]}-{value}" for key, value in point.items())])[:_MAX_NAME_LENGTH]
    )


def _plan_same_start(
    name: str,
    scenario: Scenario,
    settings: Sequence[tuple[str, str]],
    point: dict[str, str],
    algorithms: Sequence[str],
    seeds: Sequence[int],
    full: bool,
    start: str,
) -> ScenarioPlan:
    """The same scenario with one start for all algorithms; without variants where its flows have starts of their own."""
    try:
        return _contest(f"{name}{ALIKE}", scenario, [*settings, (KEY, start)], point, algorithms, seeds, full)
    except _native.ScenarioError:
        return ScenarioPlan(f"{name}{ALIKE}", scenario, [], [])


def _check(scenario: Scenario) -> None:
    # Its keys first: the check takes the network.
    _ = scenario.resolved
    with worded_for_python(scenario.text, scenario.display_name, scenario.case):
        scenario.prepare_handle(take=True).check()


def _resolve_scenario(scenario: Scenario) -> dict[str, Any]:
    """The scenario with all defaults, under its own algorithm, or under another one if that cannot run there.

    Raises:
        ScenarioError: the scenario is not valid under any; the error is that of its own algorithm.
    """
    try:
        _check(scenario)
    except _native.ScenarioError:
        for entry in catalogue.entries("algorithms"):
            own = scenario.override(algorithm=str(entry["name"]))
            with contextlib.suppress(_native.ScenarioError):
                _check(own)
                return own.resolved
        raise
    return scenario.resolved


def _error_text(error: _native.ScenarioError) -> str:
    """Returns the simulator's message, without the case that it was checking."""
    return re.sub(r' \(in case "[^"]*"\)$', "", str(getattr(error, "problem", error)))


def _scenario_facts(resolved: dict[str, Any]) -> dict[str, str]:
    transport, switch = resolved["transport"], resolved["switch"]
    if transport["kind"] == "tcp":
        preset = transport.get("preset", "none")
        kind = "TCP" if preset in ("none", None) else f"TCP as in {preset}"
    elif transport["kind"] == "multipath":
        kind = f"multipath (any order, repaired one by one; paths: {transport['paths']})"
    else:
        kind = "RDMA (in order only, go-back-N)"
    words = {"pfc": "PFC", "ecn": "ECN", "int": "telemetry", "agents": "agents of algorithms"}
    offered = [word for key, word in words.items() if switch[key]]
    return {
        "title": str(resolved.get("title", "")),
        "source": str(resolved.get("source", "")),
        "transport": kind,
        "switches": ", ".join(offered) or "nothing special",
        "duration": str(resolved["run"]["duration"]),
        "start": str(resolved["transport"]["start"]),
    }
