"""Runs an arena and writes what it found: the table as CSV and Parquet, the page, and under each scenario's name the runs themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farloop import _native
from farloop.deprecation import rename_keys
from farloop.output import manifest
from farloop.results import fields
from farloop.results.measures import VERSION, has_version
from farloop.results.seeds import seed_suffix
from farloop.results.starts import OWN
from farloop.safe_files import names
from farloop.studies.arena import constraints, table, tails
from farloop.studies.arena.measuring import measure_run
from farloop.studies.arena.plan import Incompatible, Plan, ScenarioPlan
from farloop.studies.arena.table import Result
from farloop.studies.arena.tails import Tail

if TYPE_CHECKING:
    from farloop.experiments.execution import Execution
    from farloop.results.run import Run

    Page = Callable[[list[Result], list[str], tuple[int, ...], str], str]
    """Makes the page of results, algorithms, seeds and scale."""


def run(
    plan: Plan,
    into: Path,
    execution: Execution,
    *,
    page: Page | None = None,
) -> list[Result]:
    """Simulates what a plan says and writes it into an existing directory, scenario by scenario; gives back what was found.

    Finished runs are taken from the store, and put there. Without `page` none is made.

    Raises:
        InvariantError: a simulation broke one of its own consistency checks.
        FarloopError: `threads` is no number of threads.
    """
    with execution:
        results = [_run_scenario(scenario_plan, plan, into, execution) for scenario_plan in plan.scenario_plans]
    write_views(results, plan.algorithms, plan.seeds, plan.scale, into, page=page)
    content: dict[str, Any] = {
        "farloop": _native.version(),
        "definitions": VERSION,
        "kind": "arena",
        "scale": plan.scale,
        "seeds": list(plan.seeds),
        "jitter": plan.jitter,
        "must": [constraint.written for constraint in plan.constraints],
        "algorithms": plan.algorithms,
        "measures": {field.name: field.measure for field in fields.CELLS if field.measure},
        "scenarios": [
            {
                "name": scenario_plan.name,
                "part_of": scenario_plan.part_of,
                "point": scenario_plan.point,
                **scenario_plan.facts,
                "cannot_run": [vars(refusal) for refusal in scenario_plan.refusals],
                "perturbed": result.perturbed,
                **({"why": [vars(tail) for tail in result.tails.values()]} if plan.why else {}),
            }
            for scenario_plan, result in zip(plan.scenario_plans, results, strict=True)
        ],
    }
    content |= manifest.circumstances_of_study()
    manifest.write_json(into / manifest.MANIFEST, content | {"files": manifest.files(into)})
    return results


def _run_scenario(scenario_plan: ScenarioPlan, plan: Plan, into: Path, execution: Execution) -> Result:
    """Runs one scenario, writes its runs, and measures them; their tables are gone afterwards."""
    from farloop.experiments.variants import run_variants
    from farloop.output import saving
    from farloop.results.run import Comparison

    if not scenario_plan.variants:
        return Result(
            scenario_plan.name,
            scenario_plan.facts,
            [],
            scenario_plan.refusals,
            constraints=plan.constraints,
            part_of=scenario_plan.part_of,
            point=scenario_plan.point,
        )
    runs = run_variants(scenario_plan.variants, execution, group=scenario_plan.name)
    # Before the runs are written, so that the explanations are written with them.
    tails_by_algorithm = _tails(scenario_plan, plan, runs, execution)
    comparison = Comparison(scenario_plan.facts["title"], runs, seeds=plan.seeds, base=scenario_plan.base)
    where = into / scenario_plan.name
    where.mkdir()
    saving.fill_comparison(comparison, where, execution.run_store, report=False)
    measurements = [measure_run(measured_run, scenario_plan.name) for measured_run in runs]
    del comparison, runs
    moved = _score_variations(scenario_plan, plan, execution)
    return Result(
        scenario_plan.name,
        scenario_plan.facts,
        measurements,
        scenario_plan.refusals,
        moved,
        plan.constraints,
        scenario_plan.part_of,
        scenario_plan.point,
        tails_by_algorithm,
    )


def _tails(scenario_plan: ScenarioPlan, plan: Plan, runs: list[Run], execution: Execution) -> dict[str, Tail]:
    """Why the tail of each algorithm is slow under the first seed; nothing where the plan does not ask."""
    if not plan.why:
        return {}
    first = [run for run in runs if run.seed == plan.seeds[0]]
    return tails.of_runs(first, scenario_plan.name, execution)


def _score_variations(scenario_plan: ScenarioPlan, plan: Plan, execution: Execution) -> dict[str, list[float | None]]:
    """The scores of the variations in ties and starts of the first seed's runs, by algorithm; with own starts only, to save time."""
    from farloop.experiments.variants import run_variants
    from farloop.experiments.variations import vary_variants

    if scenario_plan.facts["start"] != OWN:
        return {}
    ending = seed_suffix(plan.seeds[0])
    first = [variant for variant in scenario_plan.variants if variant.label.endswith(ending)]
    scores: dict[str, list[float | None]] = {}
    for number in range(1, plan.jitter + 1):
        wanted = vary_variants(first, number)
        for run in run_variants(wanted, execution, group=scenario_plan.name):
            scores.setdefault(run.algorithm, []).append(measure_run(run, scenario_plan.name).score)
    return scores


def write_views(
    results: list[Result],
    algorithms: list[str],
    seeds: tuple[int, ...],
    scale: str,
    into: Path,
    *,
    page: Page | None = None,
) -> None:
    """Writes the tables and the page. Nothing in them says how long anything took: the same runs give the same bytes."""
    table.write(table.cells(results, algorithms, seeds), into, "cells")
    table.write(table.ranking(results), into, "ranking")
    if any(result.tails for result in results):
        table.write(table.tabulate_causes(results), into, "why")
    if page is not None:
        (into / manifest.REPORT).write_text(page(results, algorithms, seeds, scale), encoding="utf-8")


def rewrite(source: Path, kept: dict[str, Any], aside: Path, page: Page) -> None:
    """Measures an arena on disk anew, from the tables of its runs, and writes its tables and its page into a directory of `rewriting`.

    Args:
        source: The arena.
        kept: Its manifest.
        aside: The directory.
        page: Makes the page.

    Raises:
        FarloopError: a scenario's directory is no complete output.
    """
    from farloop.output.reading import load

    # An arena of a version that had no constraints is judged by the usual ones.
    required = tuple(map(constraints.parse, kept.get("must", constraints.ARENA)))
    results = []
    for scenario_plan in kept["scenarios"]:
        scenario_plan = rename_keys(scenario_plan, {"shaken": "perturbed"}, manifest.MANIFEST)
        name = str(scenario_plan["name"])
        refusals = [Incompatible(**refusal) for refusal in scenario_plan["cannot_run"]]
        facts = {
            key: value
            for key, value in scenario_plan.items()
            if key not in ("name", "cannot_run", "perturbed", "part_of", "point", "why")
        }
        runs = list(load(names.resolve_within(source, name))) if (source / name).is_dir() else []
        moved = dict(scenario_plan.get("perturbed", {})) if has_version(kept) else {}
        point = dict(scenario_plan.get("point", {}))
        measurements = [measure_run(kept_run, name) for kept_run in runs]
        results.append(
            Result(
                name,
                facts,
                measurements,
                refusals,
                moved,
                required,
                str(scenario_plan.get("part_of", name)),
                point,
                tails.read(scenario_plan.get("why", [])),
            )
        )
        del runs
    write_views(results, list(kept["algorithms"]), tuple(kept["seeds"]), str(kept["scale"]), aside, page=page)
