"""The runs of `--jitter`: variations of simulations in ties and starts. What their numbers say is in `jitter.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from farloop.experiments.variants import run_all
from farloop.results.jitter import Jitter, measures, read_jitter

if TYPE_CHECKING:
    from farloop.experiments.variants import Variant
    from farloop.output.store import Store
    from farloop.results.run import Comparison, Run
    from farloop.running.progress import Reporter

Judge = Callable[["Comparison"], "Comparison"]
"""What gives a comparison its verdicts."""


def varied(variants: Sequence[Variant], number: int, replicated: Sequence[int] = ()) -> list[Variant]:
    """The k-th variation of every variant, under the first of several seeds."""
    settings = {"run.jitter": number}
    first = replicated[0] if replicated else None
    return [
        replace(
            variant, label=f"{variant.label}, jitter {number}", scenario=variant.scenario.override(settings, seed=first)
        )
        for variant in variants
    ]


def shaken(
    comparison: Comparison,
    variants: Sequence[Variant],
    count: int,
    *,
    judge: Judge | None = None,
    group: str = "",
    threads: int | None = None,
    reporter: Reporter | None = None,
    store: Store | None = None,
) -> Comparison:
    """The comparison with what `count` variations of its runs give; of several seeds the first is varied.

    Args:
        comparison: The runs themselves.
        variants: What they were made from, without seeds.
        count: How many variations; 0 for none.
        judge: What gives a comparison its verdicts.
        group: Stands before labels while they run.
        threads: As in `run_all`.
        reporter: As in `run_all`.
        store: As in `run_all`.
    """
    if not read_jitter(count):
        return comparison
    own = comparison.of_seed(comparison.seeds[0]) if comparison.seeds else comparison
    numbers = {run.label: {name: [value] for name, value in measures(run).items()} for run in own.runs}
    verdicts: dict[str, list[dict[str, Any]]] = {}
    _note(verdicts, judge(own) if judge else own)
    for number in range(1, count + 1):
        varied_runs = run_all(
            varied(variants, number, comparison.seeds), group=group, threads=threads, reporter=reporter, store=store
        )
        runs = [_as_itself(run, like) for run, like in zip(varied_runs, own.runs, strict=True)]
        for run in runs:
            of, now = numbers[run.label], measures(run)
            for name in dict.fromkeys([*of, *now]):
                of.setdefault(name, [None] * number).append(now.get(name))
        if judge:
            _note(verdicts, judge(replace(own, runs=runs)))
        del varied_runs, runs
    return replace(comparison, jitter=Jitter(count, numbers, verdicts))


def _as_itself(run: Run, like: Run) -> Run:
    """A variation under the name and the settings of the run that it varies."""
    return replace(run, label=like.label, scenario=like.scenario, overrides=like.overrides)


def _note(verdicts: dict[str, list[dict[str, Any]]], judged: Comparison) -> None:
    for claim in judged.claims:
        numbers = {k: v for k, v in claim["measured"].items() if isinstance(v, int | float)}
        verdicts.setdefault(claim["id"], []).append({"verdict": claim["verdict"], "measured": numbers})
