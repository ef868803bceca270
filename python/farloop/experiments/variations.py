"""The runs of `--jitter`: variations of simulations in ties and starts. `jitter.py` evaluates them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from farloop.experiments.variants import run_variants
from farloop.results.jitter import TieSensitivity, measures, of_claims, read_jitter

if TYPE_CHECKING:
    from farloop.experiments.execution import Execution
    from farloop.experiments.variants import Variant
    from farloop.results.run import Comparison, Run

Judge = Callable[["Comparison"], "Comparison"]
"""Gives a comparison its verdicts."""


def vary_variants(variants: Sequence[Variant], number: int, replicated: Sequence[int] = ()) -> list[Variant]:
    """The k-th variation of every variant, under the first of several seeds."""
    settings = {"run.jitter": number}
    first = replicated[0] if replicated else None
    return [
        replace(
            variant, label=f"{variant.label}, jitter {number}", scenario=variant.scenario.override(settings, seed=first)
        )
        for variant in variants
    ]


def run_comparison(
    title: str,
    variants: Sequence[Variant],
    execution: Execution,
    *,
    seeded: Sequence[Variant],
    seeds: Sequence[int],
    jitter: int,
    judge: Judge,
    group: str = "",
) -> Comparison:
    """Runs variants under their seeds and with variations, and judges them: what `compare` and the reproduction of a figure are.

    Args:
        title: The comparison's.
        variants: The simulations without seeds.
        execution: How and where they run, see `Execution`.
        seeded: The same simulations with seeds.
        seeds: The seeds.
        jitter: Number of variations of the first seed's runs.
        judge: Gives a comparison its verdicts.
        group: Stands before labels while they run.

    Raises:
        ScenarioError: a scenario is not valid; all are checked before the first one runs.
        InvariantError: a simulation broke one of its own consistency checks.
    """
    from farloop.results.run import Comparison

    with execution:
        comparison = Comparison(title, run_variants(seeded, execution, group=group), seeds=tuple(seeds))
        comparison = measure_jitter(comparison, variants, jitter, execution, judge=judge, group=group)
    result = judge(comparison)
    return replace(result, claims=of_claims(result.claims, result.jitter))


def measure_jitter(
    comparison: Comparison,
    variants: Sequence[Variant],
    count: int,
    execution: Execution,
    *,
    judge: Judge | None = None,
    group: str = "",
) -> Comparison:
    """The comparison with what `count` variations of its runs give; of several seeds the first is varied.

    Args:
        comparison: The runs themselves.
        variants: The variants that the runs were made from, without seeds.
        count: Number of variations; 0 for none.
        execution: How and where they run, see `Execution`.
        judge: Gives a comparison its verdicts.
        group: Stands before labels while they run.
    """
    if not read_jitter(count):
        return comparison
    own = comparison.of_seed(comparison.seeds[0]) if comparison.seeds else comparison
    numbers = {run.label: {name: [value] for name, value in measures(run).items()} for run in own.runs}
    verdicts: dict[str, list[dict[str, Any]]] = {}
    _note(verdicts, judge(own) if judge else own)
    for number in range(1, count + 1):
        varied_runs = run_variants(vary_variants(variants, number, comparison.seeds), execution, group=group)
        runs = [_relabel_run(run, like) for run, like in zip(varied_runs, own.runs, strict=True)]
        for run in runs:
            of, now = numbers[run.label], measures(run)
            for name in dict.fromkeys([*of, *now]):
                of.setdefault(name, [None] * number).append(now.get(name))
        if judge:
            _note(verdicts, judge(replace(own, runs=runs)))
        del varied_runs, runs
    return replace(comparison, jitter=TieSensitivity(count, numbers, verdicts))


def _relabel_run(run: Run, like: Run) -> Run:
    """A variation under the name and the settings of the run that it varies."""
    return replace(run, label=like.label, scenario=like.scenario, overrides=like.overrides)


def _note(verdicts: dict[str, list[dict[str, Any]]], judged: Comparison) -> None:
    for claim in judged.claims:
        numbers = {k: v for k, v in claim["measured"].items() if isinstance(v, int | float)}
        verdicts.setdefault(claim["id"], []).append({"verdict": claim["verdict"], "measured": numbers})
