"""Several simulations that belong together: which there are, with which seeds, and their runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from farloop.errors import FarloopError, shown
from farloop.progress import Reporter
from farloop.results import Run, seed_suffix
from farloop.scenario import Scenario
from farloop.simulate import Job, simulate
from farloop.store import Store

Seeds = str | Iterable[int]
"""Seeds: numbers, or a text such as "1-10" or "1,3,7-9"."""

MOST_SEEDS = 10_000
LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True)
class Part:
    """One simulation: what it is called, the case and the algorithm that it stands for, its scenario."""

    label: str
    case: str
    algorithm: str
    scenario: Scenario


def read_seeds(seeds: Seeds | None) -> tuple[int, ...]:
    """The seeds in the order given, each once; none for `None`.

    Raises:
        FarloopError: a seed is no whole number from 0 on, a range is none, or there are none or too many.
    """
    if seeds is None:
        return ()
    found: dict[int, None] = {}
    parts: list[object] = [seeds]
    if isinstance(seeds, str):
        parts = [part.strip() for part in seeds.split(",")]
    elif isinstance(seeds, Iterable):
        parts = list(seeds)
    for part in parts:
        first, last = _range(part)
        if last - first >= MOST_SEEDS or len(found) + last - first >= MOST_SEEDS:
            raise FarloopError(f"seeds: {shown(seeds)}: more than {MOST_SEEDS} seeds")
        found.update(dict.fromkeys(range(first, last + 1)))
    if not found:
        raise FarloopError("seeds: there is none; expected numbers and ranges such as 1-10 or 1,3,7")
    return tuple(found)


def _range(part: object) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,19})(?:-(\d{1,19}))?", part, re.ASCII) if isinstance(part, str) else None
    if match:
        first, last = int(match[1]), int(match[2] or match[1])
    elif isinstance(part, int) and not isinstance(part, bool):
        first = last = part
    else:
        first, last = 0, -1
    if not 0 <= first <= last <= LARGEST_SEED:
        raise FarloopError(
            f"seeds: {shown(part) or 'an empty text'}: expected whole numbers from 0 on and ranges of them, such as 1-10 or 1,3,7"
        )
    return first, last


def with_seeds(parts: Sequence[Part], seeds: Sequence[int]) -> list[Part]:
    """Every part once per seed; as they are without seeds."""
    if not seeds:
        return list(parts)
    return [
        replace(part, label=part.label + seed_suffix(seed), scenario=part.scenario.override(seed=seed))
        for part in parts
        for seed in seeds
    ]


def run_all(
    parts: Sequence[Part],
    *,
    group: str = "",
    threads: int | None = None,
    reporter: Reporter | None = None,
    store: Store | None = None,
) -> list[Run]:
    """The runs of all parts, in their order; `group` stands before their labels while they run.

    Raises:
        ScenarioError: a scenario is not valid; all are checked before the first one runs.
        InvariantError: a simulation broke one of its own consistency checks.
    """
    jobs = [Job(f"{group} {part.label}".strip(), part.scenario) for part in parts]
    outcomes = simulate(jobs, threads=threads, reporter=reporter, store=store)
    return [
        Run.from_outcome(outcome, part.scenario, algorithm=part.algorithm, case=part.case, label=part.label)
        for outcome, part in zip(outcomes, parts, strict=True)
    ]
