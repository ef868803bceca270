"""Reproduces the papers' figures: every case under every algorithm, verdicts on the claims, pictures, one report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from farloop import _native
from farloop.errors import FarloopError, nearest, shown
from farloop.scenario import Scenario, figure_names

if TYPE_CHECKING:
    from farloop.batch import Part, Seeds
    from farloop.progress import Reporter
    from farloop.results import Comparison, Verdicts
    from farloop.store import Store


@dataclass(frozen=True)
class Plan:
    """What one figure takes: its scenario, and its simulations."""

    figure: str
    base: Scenario
    parts: list[Part]


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
        if not matching:
            vocabulary = [*known, *sorted({f.split("/")[0] for f in known})]
            raise FarloopError(f"{shown(name)}: no such paper or figure; {nearest(plain, vocabulary)}")
        chosen += [f for f in matching if f not in chosen]
    return chosen


def plan(figure: str, *, full: bool) -> Plan:
    """The simulations of a figure: at quick scale only the cases that its scenario marks as quick."""
    from farloop.batch import Part

    base = Scenario.load(figure)
    cases = [case for case in base.resolved["case"] if full or case["quick"]]
    parts = []
    for case in cases:
        settings = base.override(case["set"])
        for name in map(str, case["algorithms"]):
            label = f"{name}, {case['name']}" if len(cases) > 1 else name
            parts.append(Part(label, str(case["name"]), name, settings.override(algorithm=name)))
    return Plan(figure, base, parts)


def reproduce(
    figures: Iterable[str],
    into: Path,
    *,
    full: bool,
    seeds: Seeds | None = None,
    threads: int | None = None,
    reporter: Reporter | None = None,
    store: Store | None = None,
) -> list[Verdicts]:
    """Runs the figures and writes everything under an existing directory, figure by figure; gives back what they say.

    Raises:
        ScenarioError: a figure's scenario is not valid; all are checked before the first one runs.
        InvariantError: a simulation broke one of its own consistency checks.
        FarloopError: the seeds are none.
    """
    from farloop import output
    from farloop.batch import read_seeds, with_seeds
    from farloop.results import Verdicts

    replicated = read_seeds(seeds)
    plans = [plan(f, full=full) for f in figures]
    for part in (part for p in plans for part in with_seeds(p.parts, replicated[:1])):
        _ = part.scenario.resolved
    done = []
    for p in plans:
        where = into / p.figure
        where.mkdir(parents=True)
        comparison = run_figure(p, full=full, seeds=replicated, threads=threads, reporter=reporter, store=store)
        notes = output.fill_comparison(comparison, where, store)
        done.append(Verdicts.of(p.figure, comparison, notes))
        del comparison
    write_index(done, into, full=full, seeds=replicated)
    return done


def run_figure(
    figure: Plan,
    *,
    full: bool,
    seeds: Sequence[int] = (),
    threads: int | None = None,
    reporter: Reporter | None = None,
    store: Store | None = None,
) -> Comparison:
    """Runs one figure and judges its claims."""
    from farloop.batch import run_all, with_seeds
    from farloop.judging import judged
    from farloop.results import Comparison

    parts = with_seeds(figure.parts, seeds)
    runs = run_all(parts, group=figure.figure, threads=threads, reporter=reporter, store=store)
    title = str(figure.base.resolved.get("figure", {}).get("title") or figure.base.resolved.get("title", figure.figure))
    comparison = Comparison(f"{figure.figure}: {title}", runs, seeds=tuple(seeds))
    return judged(comparison, figure.base, "full" if full else "quick")


def write_index(done: list[Verdicts], into: Path, *, full: bool, seeds: Sequence[int] = ()) -> None:
    """Writes the claims and the page that leads to every figure."""
    from farloop import output
    from farloop.report.index import index_page

    claims = [claim for found in done for claim in found.claims]
    scale = "full" if full else "quick"
    output.write_json(into / output.CLAIMS, claims)
    (into / output.REPORT).write_text(index_page(done, scale), encoding="utf-8")
    content = {
        "farloop": _native.version(),
        "kind": "reproduction",
        "scale": scale,
        "seeds": list(seeds),
        "figures": [found.figure for found in done],
        "notes": [f"{found.figure}: {note}" for found in done for note in found.notes],
    }
    output.write_json(into / output.MANIFEST, content | {"files": output.files(into)})


def rewrite(source: Path) -> None:
    """Judges the figures of an output on disk anew, from its tables, and writes reports and pictures anew; all of them or none.

    Raises:
        FarloopError: it is no complete farloop output, something could not be judged or drawn, or it cannot be written.
    """
    from farloop import output
    from farloop.judging import judged_anew
    from farloop.results import Verdicts

    kept = output.read_manifest(source)
    try:
        with output.rewriting(source) as aside:
            if kept["kind"] != "reproduction":
                output.rewrite_views(judged_anew(output.load(source)), aside, str(kept["kind"]))
                return
            done = []
            for figure in kept["figures"]:
                comparison = judged_anew(output.load(source / figure))
                output.rewrite_views(comparison, aside / figure, "comparison")
                done.append(Verdicts.of(figure, comparison, []))
                del comparison
            write_index(done, aside, full=kept["scale"] == "full", seeds=kept["seeds"])
    except FarloopError:
        raise
    except Exception as error:
        raise output.damaged(source, error) from None
