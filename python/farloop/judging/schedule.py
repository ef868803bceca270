"""The runs that a paper's figure schedules by its own scenario, and the differences of the runs at hand from these."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from farloop import _native
from farloop.algorithm import by_scope
from farloop.scenario import PAPERS, Scenario, is_figure

if TYPE_CHECKING:
    from farloop.results.run import Comparison, Run

NO_OUTCOME = ("title", "source", "figure", "case", "claim", "run.seed", "record.flows", "record.ports", "record.queues")
"""Keys that change neither what happens in a run nor how it is measured. Another sampling interval does: variations depend on it."""

CASES = re.compile(r"^\[\[case\]\].*?(?=^\[\[claim\]\]|\Z)", re.MULTILINE | re.DOTALL)
"""The cases in the text of a figure's scenario, which stand before its claims."""

READING = "reading"
"""The scale of a figure that was run with other settings, or in part, to see what its statements then say."""

REPLICA = "run.jitter"
"""The key that distinguishes replicas of a figure, beside their seeds."""

NAMED = 5
"""Maximum number of changed keys listed by name; more are counted."""


@dataclass(frozen=True, order=True)
class Need:
    """A run that a statement needs: a case of the figure under an algorithm."""

    case: str
    algorithm: str

    def __str__(self) -> str:
        return f"{self.algorithm} at {self.case}"


@dataclass(frozen=True)
class Case:
    """A case of a figure."""

    name: str
    algorithms: tuple[str, ...]
    quick: bool
    set: dict[str, Any]


@functools.cache
def own_scenario(figure: str) -> Scenario | None:
    """The scenario of a paper's figure as farloop carries it; `None` if it is none."""
    return Scenario.load(PAPERS / f"{figure}.toml") if is_figure(figure) else None


@functools.cache
def cases(figure: str) -> tuple[Case, ...]:
    """The cases of a paper's figure; none for anything else."""
    own = own_scenario(figure)
    tables = own.parsed["case"] if own else []
    return tuple(Case(str(c["name"]), tuple(c["algorithms"]), bool(c["quick"]), c["set"]) for c in tables)


def scheduled_runs(comparison: Comparison, *, algorithm: str | None = None, prefix: str = "") -> list[Need]:
    """Returns the runs of the figure at the comparison's scale, of an algorithm and of cases with this prefix.

    Of a reading it is what of that has run, if anything has; anything else but the quick scale is measured by the full one.
    """
    needs = [
        Need(case.name, name)
        for case in cases(comparison.figure)
        if (case.quick or comparison.scale != "quick") and case.name.startswith(prefix)
        for name in case.algorithms
        if algorithm in (None, name)
    ]
    if comparison.scale == READING:
        ran = {Need(run.case, run.algorithm) for run in comparison.runs}
        return [need for need in needs if need in ran] or needs
    return needs


def assign_cases(comparison: Comparison) -> tuple[Comparison, dict[Need, list[str]]]:
    """The comparison with every run at the case of its figure that it is, or comes nearest to; and what was changed from there.

    Returns:
        The comparison, and the changed keys of each run that departs from the figure's.
    """
    runs, changed = [], {}
    for run in comparison.runs:
        case, keys = _nearest_case(comparison.figure, run)
        runs.append(run if run.case == case else dataclasses.replace(run, case=case))
        if keys:
            changed[Need(case, run.algorithm)] = keys
    return dataclasses.replace(comparison, runs=runs), changed


def changed_keys_text(keys: Sequence[str]) -> str:
    """Changed keys in words."""
    rest = f" and {len(keys) - NAMED} more" if len(keys) > NAMED else ""
    return "changed keys " + ", ".join(keys[:NAMED]) + rest


def _nearest_case(figure: str, run: Run) -> tuple[str, list[str]]:
    """The case that a run belongs to, or the one with the fewest keys that differ; and these keys."""
    known = [c for c in cases(figure) if c.name == run.case] or list(cases(figure))
    settings = flatten_scenario(run.scenario)
    distances = [(c.name, _different_keys(_settings(figure, c.name, run.algorithm), settings)) for c in known]
    return min(distances, key=lambda entry: len(entry[1]), default=(run.case, []))


@functools.cache
def case_scenario(figure: str, case: str, algorithm: str) -> Scenario:
    """The scenario of a case of a paper's figure under an algorithm; by a name that is no case, of the figure as it stands."""
    own = own_scenario(figure)
    assert own is not None
    overrides = next((c.set for c in cases(figure) if c.name == case), {})
    # Reading a file checks all of its cases, fabric by fabric; here they are known to be good.
    alone = Scenario(CASES.sub("", own.text), own.file)
    return alone.override(overrides).override(algorithm=algorithm)


@functools.cache
def _settings(figure: str, case: str, algorithm: str) -> dict[str, Any]:
    return flatten_scenario(case_scenario(figure, case, algorithm).parsed)


def _different_keys(own: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The keys that differ. One that only one side has, since another version ran it, is at its default there."""

    def is_default(key: str, value: Any) -> bool:
        return json.dumps(value) in key_defaults().get(key, ())

    def differs(key: str) -> bool:
        if key in own and key in other:
            return bool(own[key] != other[key])
        return not is_default(key, own[key] if key in own else other[key])

    return [key for key in dict.fromkeys([*own, *other]) if differs(key)]


@functools.cache
def key_defaults() -> dict[str, set[str]]:
    """The defaults of all keys of scenarios as JSON; a key of several kinds of network may have several."""
    defaults: dict[str, set[str]] = {}

    def read(prefix: str, schema: Mapping[str, Any]) -> None:
        if "default" in schema:
            defaults.setdefault(prefix, set()).add(json.dumps(schema["default"]))
        for choice in ("oneOf", "anyOf", "allOf"):
            for inner in schema.get(choice, ()):
                read(prefix, inner)
        if isinstance(schema.get("items"), dict):
            read(prefix, schema["items"])
        for key, inner in schema.get("properties", {}).items():
            read(f"{prefix}.{key}" if prefix else key, inner)

    read("", json.loads(_native.schema()))
    return defaults


def drop_unused_algorithms(document: Mapping[str, Any]) -> dict[str, Any]:
    """A resolved scenario without the parameters of algorithms that nothing in it uses."""
    algorithm = document.get("algorithm", {})
    # `[workload]` may be a single table.
    workloads = document.get("workload", [])
    lists = [*document.get("flow", []), *([workloads] if isinstance(workloads, dict) else workloads)]
    named = {algorithm.get("name"), *(entry.get("algorithm") for entry in lists)}
    used = {side for name in named if name is not None for side in by_scope(name)}
    kept = {k: v for k, v in algorithm.items() if not isinstance(v, dict) or k in used}
    return {**document, "algorithm": kept}


def flatten_scenario(document: Mapping[str, Any]) -> dict[str, Any]:
    """A resolved scenario as dotted keys, without what changes no outcome and without algorithms that nothing in it uses."""
    replicated = document.get("figure", {}).get("replicas", 1) > 1
    ignored = (*NO_OUTCOME, REPLICA) if replicated else NO_OUTCOME
    below = tuple(f"{name}." for name in ignored)
    dotted: dict[str, Any] = {}
    _put_dotted("", drop_unused_algorithms(document), dotted)
    return {key: value for key, value in dotted.items() if key not in ignored and not key.startswith(below)}


def _put_dotted(prefix: str, value: Any, into: dict[str, Any]) -> None:
    """Puts what is below a dotted key into a dictionary. Thousands of scenarios pass here: generators would take three times as long."""
    if isinstance(value, dict):
        for key, inner in value.items():
            _put_dotted(f"{prefix}.{key}" if prefix else key, inner, into)
    elif isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value):
        for i, entry in enumerate(value):
            name = next((entry[k] for k in ("name", "id", "match") if isinstance(entry.get(k), str)), i)
            _put_dotted(f"{prefix}.{name}", entry, into)
    else:
        into[prefix] = value
