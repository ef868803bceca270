"""Several simulations that belong together: which there are, and their runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from farloop.experiments.execution import Execution
from farloop.experiments.threads import Job, simulate
from farloop.output.store import Simulated, address, digests_of_files
from farloop.results.algorithm_text import texts_of
from farloop.results.run import Run
from farloop.results.seeds import seed_suffix
from farloop.scenario import Scenario

MAX_VARIATIONS = 1_000_001
"""`run.jitter` is below this."""


@dataclass(frozen=True)
class Variant:
    """One simulation of several: what it is called, the case and the algorithm that it stands for, its scenario."""

    label: str
    case: str
    algorithm: str
    scenario: Scenario


def repeat_with_seeds(variants: Sequence[Variant], seeds: Sequence[int], *, vary: bool = False) -> list[Variant]:
    """Every variant once per seed; as they are without seeds. With `vary` a seed is a variation in ties and starts, too (`run.jitter`)."""
    if not seeds:
        return list(variants)

    def set_seed(scenario: Scenario, seed: int) -> Scenario:
        return scenario.override({"run.jitter": seed % MAX_VARIATIONS} if vary else None, seed=seed)

    return [
        replace(variant, label=variant.label + seed_suffix(seed), scenario=set_seed(variant.scenario, seed))
        for variant in variants
        for seed in seeds
    ]


def run_variants(
    variants: Sequence[Variant], execution: Execution, *, group: str = "", trace: tuple[str, ...] = ()
) -> list[Run]:
    """The runs of all variants, in their order; `group` stands before their labels while they run, `trace` says what to trace.

    Raises:
        ScenarioError: a scenario is not valid; all are checked before the first one runs.
        InvariantError: a simulation broke one of its own consistency checks.
    """
    jobs = [Job(f"{group} {variant.label}".strip(), variant.scenario, trace) for variant in variants]
    with execution:
        if execution.engine_options:
            from farloop.experiments.task_runs import make_runs

            results = make_runs(jobs, execution)
        else:
            results = simulate(jobs, threads=execution.threads, reporter=execution.reporter, store=execution.run_store)
    return [make_run(simulated, variant) for simulated, variant in zip(results, variants, strict=True)]


def make_run(simulated: Simulated, variant: Variant) -> Run:
    """Returns the simulator's output as the run of a variant."""
    scenario = variant.scenario
    return Run(
        label=variant.label,
        case=variant.case,
        algorithm=variant.algorithm,
        **simulated.tables,
        info=simulated.info,
        scenario=scenario.parsed,
        file=scenario.display_name,
        overrides=scenario.overrides,
        address=address(scenario),
        trace=simulated.trace,
        algorithm_texts=texts_of(scenario.classes),
        inputs=digests_of_files(scenario),
    )
