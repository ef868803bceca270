"""Interference between training jobs: each alone, each pair, and all together, from one scenario (docs/jobs.md)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from farloop.errors import FarloopError, clip_text
from farloop.results import collectives
from farloop.results.job_matrix import ALL, Interference
from farloop.scenario import Scenario, Settings, Source

if TYPE_CHECKING:
    from farloop.experiments.execution import Execution
    from farloop.results.run import Run
    from farloop.running.progress import ProgressCallback, Reporter


def interference(
    scenario: Source,
    *,
    algorithm: str | None = None,
    set: Settings | None = None,
    seed: int | None = None,
    threads: int | None = None,
    progress: ProgressCallback | Reporter | None = None,
    force_memory: bool = False,
    execution: Execution | None = None,
) -> Interference:
    """Simulates the jobs of a scenario alone, in pairs and together, and says how they slow one another down.

    All else of the scenario stays in each of these runs, flows and workloads too. Times are means over a job's iterations. If a job
    ends before another one, that one goes on alone.

    Args:
        scenario: A scenario file, the tables of a scenario as a dictionary, or a loaded scenario.
        algorithm: The algorithm of all that names none of its own; by default the scenario's.
        set: Settings that replace some of the scenario's: `{"job.train.scale": 64}` or `["job.train.scale=64"]`.
        seed: The seed of all random streams; by default the scenario's.
        threads: Number of threads, for simulations side by side first, then for the parts of each.
        progress: Called now and then with simulated seconds, simulated seconds at the end, and packet-hops so far.
        force_memory: Start runs also where one may take more memory than there is.
        execution: Options for how and where to simulate, in place of `threads`, `progress` and `force_memory`.

    Raises:
        ScenarioError: the scenario or a setting is not valid; the text says what is, and what would be.
        FarloopError: there are fewer than two jobs.
        InvariantError: a simulation broke one of its own consistency checks.
    """
    from farloop.experiments.execution import Execution
    from farloop.experiments.variants import Variant, run_variants

    execution = Execution.select(execution, threads=threads, progress=progress, force_memory=force_memory)
    wanted = Scenario.load(scenario).override(set, algorithm=algorithm, seed=seed)
    jobs = [str(job["name"]) for job in wanted.parsed.get("job", [])]
    if len(jobs) < 2:
        has = f"has one [[job]], {clip_text(jobs[0])}" if jobs else "has no [[job]]"
        raise FarloopError(f"{wanted.display_name}: {has}; expected two or more, which may slow one another down")
    every = [*((job,) for job in jobs), *itertools.combinations(jobs, 2), tuple(jobs)]
    groups = list(dict.fromkeys(every))
    # All of it is checked here: a message about a part of it would have other lines.
    tables = wanted.resolved
    name = wanted.algorithm_name
    variants = [Variant(_label(group, jobs), "", name, _select_jobs(wanted, tables, group)) for group in groups]
    runs = run_variants(variants, execution)
    times = {group: _times(run) for group, run in zip(groups, runs, strict=True)}
    return Interference(
        title=str(wanted.parsed.get("title") or wanted.display_name),
        jobs=tuple(jobs),
        alone={job: times[job,][job] for job in jobs},
        beside={job: {other: times[_pair(jobs, job, other)][job] for other in jobs if other != job} for job in jobs},
        together={job: times[tuple(jobs)][job] for job in jobs},
    )


def _pair(jobs: Sequence[str], job: str, other: str) -> tuple[str, ...]:
    return tuple(name for name in jobs if name in (job, other))


def _label(group: Sequence[str], jobs: Sequence[str]) -> str:
    return ALL if len(group) == len(jobs) > 2 else " beside ".join(group)


def _select_jobs(scenario: Scenario, tables: dict[str, Any], names: Sequence[str]) -> Scenario:
    """The scenario of these tables with these jobs only; files that it names are looked for beside its own."""
    from farloop.formats.scenario_text import from_tables

    jobs = [job for job in tables["job"] if job["name"] in names]
    return Scenario.from_text(from_tables(tables | {"job": jobs}), scenario.file).with_classes(scenario.classes)


def _times(run: Run) -> dict[str, float | None]:
    """Returns the mean iteration time of each job; `None` where not all of them ended."""
    return {
        job: sum(row["rounds_s"]) / row["rounds"] if len(row["rounds_s"]) == row["rounds"] else None
        for job, row in collectives.summarise_jobs(run.iterations).items()
    }
