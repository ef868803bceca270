"""Reproduces the papers' figures: every case under every algorithm, verdicts on the claims, pictures, one report."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from farloop import _native, output, papers
from farloop.errors import FarloopError
from farloop.progress import Reporter
from farloop.report.index import index_page
from farloop.results import Comparison, Run, Verdicts
from farloop.scenario import Scenario, figure_names
from farloop.simulate import Job, simulate


@dataclass(frozen=True)
class Plan:
    """What one figure takes: its scenario, and a case, an algorithm and a scenario for each simulation."""

    figure: str
    base: Scenario
    parts: list[tuple[str, str, Scenario]]


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
            close = difflib.get_close_matches(plain, vocabulary, n=1)
            hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"
            raise FarloopError(f"{name}: no such paper or figure; {hint}")
        chosen += [f for f in matching if f not in chosen]
    return chosen


def plan(figure: str, *, full: bool) -> Plan:
    """The simulations of a figure: at quick scale only the cases that its scenario marks as quick."""
    base = Scenario.load(figure)
    parts = []
    for case in base.resolved["case"]:
        if full or case["quick"]:
            settings = base.override(case["set"])
            parts += [(str(case["name"]), str(name), settings.override(algorithm=name)) for name in case["algorithms"]]
    return Plan(figure, base, parts)


def reproduce(
    figures: Iterable[str], into: Path, *, full: bool, threads: int | None = None, reporter: Reporter | None = None
) -> list[Verdicts]:
    """Runs the figures and writes everything under an existing directory, figure by figure; gives back what they say.

    Raises:
        ScenarioError: a figure's scenario is not valid; all are checked before the first one runs.
        InvariantError: a simulation broke one of its own consistency checks.
    """
    plans = [plan(f, full=full) for f in figures]
    for part in (part for p in plans for part in p.parts):
        _ = part[2].resolved
    done = []
    for p in plans:
        where = into / p.figure
        where.mkdir(parents=True)
        comparison = run_figure(p, full=full, threads=threads, reporter=reporter)
        output.fill_comparison(comparison, where)
        done.append(Verdicts.of(p.figure, comparison))
        del comparison
    write_index(done, into, full=full)
    return done


def run_figure(figure: Plan, *, full: bool, threads: int | None = None, reporter: Reporter | None = None) -> Comparison:
    """Runs one figure and judges its claims."""
    several = len({case for case, _, _ in figure.parts}) > 1
    labels = [f"{algorithm}, {case}" if several else algorithm for case, algorithm, _ in figure.parts]
    jobs = [Job(f"{figure.figure} {lbl}", s) for lbl, (_, _, s) in zip(labels, figure.parts, strict=True)]
    outcomes = simulate(jobs, threads=threads, reporter=reporter)
    runs = [
        Run.from_outcome(o, scenario, algorithm=algorithm, case=case, label=lbl)
        for o, lbl, (case, algorithm, scenario) in zip(outcomes, labels, figure.parts, strict=True)
    ]
    title = str(figure.base.resolved.get("figure", {}).get("title") or figure.base.resolved.get("title", figure.figure))
    return papers.judged(Comparison(f"{figure.figure}: {title}", runs), figure.base, "full" if full else "quick")


def write_index(done: list[Verdicts], into: Path, *, full: bool) -> None:
    """Writes the claims and the page that leads to every figure."""
    claims = [claim for found in done for claim in found.claims]
    scale = "full" if full else "quick"
    output.write_json(into / "claims.json", claims)
    (into / "report.html").write_text(index_page(done, scale), encoding="utf-8")
    output.write_json(
        into / output.MANIFEST,
        {
            "farloop": _native.version(),
            "kind": "reproduction",
            "scale": scale,
            "figures": [found.figure for found in done],
        },
    )


def rewrite(source: Path) -> None:
    """Writes the reports and pictures of a reproduction on disk anew.

    Raises:
        FarloopError: a figure's directory is no complete farloop output, or cannot be written.
    """
    kept = output.read_manifest(source)
    done = []
    for figure in kept["figures"]:
        comparison = output.load(source / figure)
        output.rewrite_views(comparison, source / figure)
        done.append(Verdicts.of(figure, comparison))
    write_index(done, source, full=kept["scale"] == "full")
