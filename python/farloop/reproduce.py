"""Reproduces the papers' figures: every case under every algorithm, verdicts on the claims, pictures, one report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from farloop import _native
from farloop.errors import FarloopError, nearest, shown
from farloop.scenario import Scenario, figure_names, kernel_figure_names
from farloop.starts import setting

if TYPE_CHECKING:
    from farloop.batch import Variant
    from farloop.output.store import Store
    from farloop.progress import Reporter
    from farloop.results import Comparison, FigureVerdicts
    from farloop.seeds import Seeds


@dataclass(frozen=True)
class PlannedFigure:
    """What one figure takes: its scenario, and its simulations."""

    figure: str
    base: Scenario
    variants: list[Variant]


def select(wanted: Sequence[str]) -> list[str]:
    """The figures that names such as "gear" or "gear/fig09" mean; all for none.

    Raises:
        FarloopError: a name means no figure.
    """
    known = figure_names()
    if not wanted:
        return known
    chosen: list[str] = []
    for name in wanted:
        plain = name.removesuffix(".toml").strip("/")
        matching = [f for f in known if f == plain or f.startswith(f"{plain}/")]
        if plain in kernel_figure_names():
            raise FarloopError(
                f"{plain}: is a figure for testbeds; `farloop testbed figure {plain}` simulates and measures it"
            )
        if not matching:
            vocabulary = [*known, *sorted({f.split("/")[0] for f in known})]
            raise FarloopError(f"{shown(name)}: no such paper or figure; {nearest(plain, vocabulary)}")
        chosen += [f for f in matching if f not in chosen]
    return chosen


def plan(figure: str, *, full: bool, same_start: str | None = None) -> PlannedFigure:
    """The simulations of a figure: at quick scale only the cases that its scenario marks as quick; with `same_start` all flows begin alike.

    Raises:
        FarloopError: that is no start.
    """
    from farloop.batch import Variant

    base = Scenario.load(figure)
    cases = [case for case in base.resolved["case"] if full or case["quick"]]
    variants = []
    for case in cases:
        settings = base.override(case["set"]).override(setting(same_start))
        for name in map(str, case["algorithms"]):
            label = f"{name}, {case['name']}" if len(cases) > 1 else name
            variants.append(Variant(label, str(case["name"]), name, settings.override(algorithm=name)))
    return PlannedFigure(figure, base, variants)


def reproduce(
    figures: Iterable[str],
    into: Path,
    *,
    full: bool,
    same_start: str | None = None,
    seeds: Seeds | None = None,
    threads: int | None = None,
    reporter: Reporter | None = None,
    store: Store | None = None,
    report: bool = True,
    jitter: int = 0,
) -> list[FigureVerdicts]:
    """Runs the figures and writes everything under an existing directory, figure by figure; gives back what they say.

    Without `report` no page and no picture is drawn. With `same_start` all flows begin alike, and the scale is "custom": the paper's begin
    otherwise, so that no claim is judged. `jitter` is the number of variations in ties and starts (`farloop.jitter`).

    Raises:
        ScenarioError: a figure's scenario is not valid; the first of each is checked before anything runs, the
            others before any of their figure.
        InvariantError: a simulation broke one of its own consistency checks.
        FarloopError: the seeds are none.
    """
    from farloop import saving
    from farloop.batch import with_seeds
    from farloop.results import FigureVerdicts
    from farloop.seeds import read_seeds

    replicated = read_seeds(seeds)
    plans = [plan(f, full=full, same_start=same_start) for f in figures]
    scale = "custom" if setting(same_start) else "full" if full else "quick"
    # A figure's others are checked when its turn comes: that takes a second for ten large networks, and there are hundreds.
    for one in (one for p in plans for one in with_seeds(p.variants[:1], replicated[:1])):
        _ = one.scenario.resolved
    done = []
    for p in plans:
        where = into / p.figure
        where.mkdir(parents=True)
        comparison = run_figure(
            p, scale=scale, seeds=replicated, threads=threads, reporter=reporter, store=store, jitter=jitter
        )
        notes = saving.fill_comparison(comparison, where, store, report=report)
        done.append(FigureVerdicts.of(p.figure, comparison, notes))
        del comparison
    write_index(done, into, scale=scale, seeds=replicated, report=report)
    return done


def run_figure(
    figure: PlannedFigure,
    *,
    scale: str,
    seeds: Sequence[int] = (),
    threads: int | None = None,
    reporter: Reporter | None = None,
    store: Store | None = None,
    jitter: int = 0,
) -> Comparison:
    """Runs one figure and judges its claims."""
    from farloop.batch import run_all, with_seeds
    from farloop.jitter import of_claims
    from farloop.judging.verdicts import judged
    from farloop.results import Comparison
    from farloop.variations import shaken

    variants = with_seeds(figure.variants, seeds)
    runs = run_all(variants, group=figure.figure, threads=threads, reporter=reporter, store=store)
    title = str(figure.base.resolved.get("figure", {}).get("title") or figure.base.resolved.get("title", figure.figure))
    comparison = Comparison(f"{figure.figure}: {title}", runs, seeds=tuple(seeds))
    comparison = shaken(
        comparison,
        figure.variants,
        jitter,
        judge=lambda runs: judged(runs, figure.base, scale),
        group=figure.figure,
        threads=threads,
        reporter=reporter,
        store=store,
    )
    found = judged(comparison, figure.base, scale)
    return replace(found, claims=of_claims(found.claims, found.jitter))


def write_index(
    done: list[FigureVerdicts], into: Path, *, scale: str, seeds: Sequence[int] = (), report: bool = True
) -> None:
    """Writes the claims, and the page that leads to every figure."""
    from farloop.output import manifest
    from farloop.report.index import index_page

    claims = [claim for found in done for claim in found.claims]
    manifest.write_json(into / manifest.CLAIMS, claims)
    if report:
        (into / manifest.REPORT).write_text(index_page(done, scale), encoding="utf-8")
    content = {
        "farloop": _native.version(),
        "kind": "reproduction",
        "scale": scale,
        "seeds": list(seeds),
        "figures": [found.figure for found in done],
        "notes": [f"{found.figure}: {note}" for found in done for note in found.notes],
    }
    manifest.write_json(into / manifest.MANIFEST, content | {"files": manifest.files(into)})


def rewrite(source: Path) -> None:
    """Judges the figures of an output on disk anew, from its tables, and writes reports and pictures anew; all of them or none.

    Raises:
        FarloopError: it is no complete farloop output, something could not be judged or drawn, or it cannot be written.
    """
    from farloop.judging.verdicts import judged_anew
    from farloop.output import names
    from farloop.output.directories import rewriting
    from farloop.output.manifest import damaged, read_manifest
    from farloop.output.reading import load
    from farloop.results import FigureVerdicts
    from farloop.saving import rewrite_views

    kept = read_manifest(source)
    try:
        with rewriting(source) as aside:
            if kept["kind"] == "arena":
                from farloop.arena import running

                running.rewrite(source, kept, aside)
                return
            if kept["kind"] == "study":
                from farloop.sweep import study

                study.rewrite(source, kept, aside)
                return
            if kept["kind"] == "testbed-figure":
                from farloop.testbed import side_by_side

                side_by_side.rewrite(source, kept, aside)
                return
            if kept["kind"] != "reproduction":
                rewrite_views(judged_anew(load(source)), aside, str(kept["kind"]))
                return
            done = []
            for figure in kept["figures"]:
                comparison = judged_anew(load(names.within(source, figure)))
                rewrite_views(comparison, aside / figure, "comparison")
                done.append(FigureVerdicts.of(figure, comparison, []))
                del comparison
            write_index(done, aside, scale=str(kept["scale"]), seeds=kept["seeds"])
    except FarloopError:
        raise
    except Exception as error:
        raise damaged(source, error) from None
