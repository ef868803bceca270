"""Digests of what a recorded number rests on: the scenarios that were run, the judge of their results, and the numbers themselves.

A digest of scenarios is of every key that they resolve to, not of their text, and not of keys that came later and stand at their defaults:
a new key makes no record stale, a default that changes makes those stale that rest on it. One of a judge is of its code in the form that
`judge_source.py` describes, and of the published numbers that it compares with. Neither depends on what draws, nor on the compiled module.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import judge_source

from farloop.judging import verdicts
from farloop.judging.claims import read_claims
from farloop.judging.schedule import cases, drop_unused_algorithms, key_defaults, own_scenario
from farloop.scenario import PAPERS
from farloop.studies.reproduce import plan

APART = ("title", "source", "figure", "case", "claim")
"""Tables and keys of a figure's file that are no part of what is run."""

RECORDED = ("flows", "ports", "queues")
"""Keys of `[record]` that say for what series are kept: they change no number."""

Scenarios = dict[tuple[str, str], dict[str, Any]]
"""Resolved scenarios by case and algorithm, each with the seeds that it runs with."""


def digest(content: object) -> str:
    """A short digest of what JSON can hold."""
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class KnownKeys:
    """The keys of scenarios that were there when a digest was made, in generations: those of the first digests, then what came later.

    Attributes:
        generations: Texts such as "switch: buffer alpha", as the record holds them.
    """

    def __init__(self, generations: Iterable[Iterable[str]]) -> None:
        self.generations = [list(texts) for texts in generations]

    @property
    def newest(self) -> int:
        """The number of the last generation; -1 where there is none."""
        return len(self.generations) - 1

    def up_to(self, generation: int) -> frozenset[str]:
        """The dotted keys of a generation and all before it."""
        texts = [text for texts in self.generations[: generation + 1] for text in texts]
        return frozenset(
            f"{section}.{name}" for text in texts for section, names in [text.split(": ")] for name in names.split()
        )

    def add(self, keys: Iterable[str]) -> None:
        """Adds keys that are not known as a generation of their own, if there are any."""
        sections: dict[str, list[str]] = {}
        for key in sorted({*keys} - self.up_to(self.newest)):
            section, _, name = key.rpartition(".")
            sections.setdefault(section, []).append(name)
        if sections:
            self.generations.append([f"{section}: {' '.join(names)}" for section, names in sections.items()])


def figure_scenarios(figure: str, scale: str) -> Scenarios:
    """The resolved scenarios that a reproduction of a figure runs at a scale."""
    chosen = {case.name for case in cases(figure) if case.quick or scale == "full"}
    return {run: scenario for run, scenario in _all_scenarios(figure).items() if run[0] in chosen}


@functools.cache
def _all_scenarios(figure: str) -> Scenarios:
    planned = plan(figure, full=True)
    find = functools.partial(_digest_of_file, PAPERS / figure.partition("/")[0])
    scenarios: Scenarios = {}
    for variant in planned.variants:
        resolved = variant.scenario.parsed
        seeds = planned.replicas or (int(resolved["run"]["seed"]),)
        scenarios[variant.case, variant.algorithm] = scenario = settings(resolved, find)
        scenario["run"]["seeds"] = list(seeds)
    return scenarios


def output_scenarios(output: Path) -> Scenarios:
    """The resolved scenarios of a figure's output on disk, as its runs' manifests have them.

    Raises:
        OSError, ValueError, KeyError: it is no output of a figure.
    """
    seeds: dict[tuple[str, str], list[int]] = {}
    scenarios: Scenarios = {}
    for path in sorted((output / "runs").glob("*/manifest.json")):
        kept = json.loads(path.read_text("utf-8"))
        inputs = {Path(name).name: str(digest) for name, digest in (kept.get("inputs") or {}).items()}
        scenario = settings(kept["scenario"], functools.partial(_recorded_digest, inputs))
        run = (kept["case"], kept["algorithm"])
        if scenarios.setdefault(run, scenario) != scenario:
            raise ValueError(f"{', '.join(run)}: ran with several scenarios")
        seeds.setdefault(run, []).append(int(kept["scenario"]["run"]["seed"]))
    for run, scenario in scenarios.items():
        scenario["run"]["seeds"] = sorted(seeds[run])
    return scenarios


def settings(resolved: Mapping[str, Any], find_file: Callable[[str], str | None]) -> dict[str, Any]:
    """The part of a resolved scenario that decides its outcome; files that it names are there by the digest of their content."""
    kept = {key: value for key, value in drop_unused_algorithms(resolved).items() if key not in APART}
    kept["record"] = {key: value for key, value in kept.get("record", {}).items() if key not in RECORDED}
    # Replicas differ in their seed and in how they break ties, which follows from the seed.
    replicated = resolved.get("figure", {}).get("replicas", 1) > 1
    kept["run"] = {key: v for key, v in kept["run"].items() if key != "seed" and not (replicated and key == "jitter")}

    def with_content(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: with_content(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [with_content(inner) for inner in value]
        return (find_file(value) or value) if isinstance(value, str) else value

    content: dict[str, Any] = with_content(kept)
    return content


def keys_of(scenarios: Scenarios) -> set[str]:
    """The dotted keys of scenarios; entries of a list share theirs."""
    return {key for scenario in scenarios.values() for key, _ in _leaves("", scenario)}


def claim_scenarios(figure: str, claim: str, scale: str, scenarios: Scenarios) -> Scenarios:
    """Those of a figure's scenarios that a claim needs; all of them if its judge names none."""
    needs = {(need.case, need.algorithm) for need in _needs(figure, scale).get(claim, [])}
    return {run: scenario for run, scenario in scenarios.items() if not needs or run in needs}


def scenario_digest(scenarios: Scenarios, keys: KnownKeys, generation: int) -> str:
    """The digest of scenarios as they were seen when a generation of keys was the newest one."""
    counts = _is_decided(keys.up_to(generation))
    seen = [[*run, _pruned("", scenario, counts)] for run, scenario in sorted(scenarios.items())]
    return f"{generation}:{digest(seen)}"


def are_same(ran: Mapping[str, Any], today: Mapping[str, Any]) -> bool:
    """Returns true if two resolved scenarios are one, but for keys that only one of them has and that stand at their defaults."""
    counts = _is_decided({key for key, _ in _leaves("", ran)} & {key for key, _ in _leaves("", today)})
    return bool(_pruned("", ran, counts) == _pruned("", today, counts))


def judge_digest(figure: str, claim: str) -> str:
    """The digest of what judges a claim: the code, and what is published."""
    own = own_scenario(figure)
    claims = {c.id: c for c in read_claims(own.parsed)} if own else {}
    known = claims[claim]
    # How a parameter was chosen changes no number. The first digests had a text for it.
    published = {"id": known.id, "paper": known.paper, "tolerance": known.tolerance, "calibrated": ""}
    return digest([_judge_text(figure), published])


def numbers_digest(entry: Mapping[str, Any]) -> str:
    """The digest of a claim's entry in the record: its verdict, and its numbers with the three digits that pages show."""
    known = {k: v for k, v in entry["measured"].items() if v is not None}
    numbers = {k: f"{v:.3g}" if isinstance(v, int | float) else str(v) for k, v in known.items()}
    return digest([entry["verdict"], entry["calibrated"], numbers])


_judge_text = functools.cache(judge_source.judge_text)
_needs = functools.cache(verdicts.needs)


def _recorded_digest(inputs: Mapping[str, str], name: str) -> str | None:
    return inputs.get(Path(name).name)


@functools.cache
def _digest_of_file(directory: Path, name: str) -> str | None:
    path = directory / name
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def _is_decided(known: Collection[str]) -> Callable[[str, Any], bool]:
    """A test for keys of scenarios: it passes those that are known, and values that are no defaults."""
    return lambda key, value: key in known or json.dumps(value) not in key_defaults().get(key, ())


def _leaves(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(f"{prefix}.{key}" if prefix else key, inner)
    elif isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value):
        for entry in value:
            yield from _leaves(prefix, entry)
    elif value != []:
        yield prefix, value


def _pruned(prefix: str, value: Any, counts: Callable[[str, Any], bool]) -> Any:
    """A value without the leaves that do not count; `None` where nothing is left."""
    if isinstance(value, dict):
        inner = {key: _pruned(f"{prefix}.{key}" if prefix else key, part, counts) for key, part in value.items()}
        return {key: part for key, part in inner.items() if part is not None} or None
    if isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value):
        return [_pruned(prefix, entry, counts) for entry in value]
    return value if value != [] and counts(prefix, value) else None
