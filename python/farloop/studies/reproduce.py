"""Reproduces the papers' figures: every case under every algorithm, verdicts on the claims, pictures, one report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from farloop import _native
from farloop.errors import FarloopError, clip_text, nearest
from farloop.results.gears import require_packets
from farloop.results.starts import setting
from farloop.scenario import Scenario, Settings, figure_names, kernel_figure_names

if TYPE_CHECKING:
    from farloop.experiments.execution import Execution
    from farloop.experiments.variants import Variant
    from farloop.results.run import Comparison, FigureVerdicts
    from farloop.results.seeds import Seeds

    IndexPage = Callable[[list[FigureVerdicts], str], str]
    """Makes the page that leads to every figure, of a scale."""


@dataclass(frozen=True)
class Reading:
    """A figure with some keys set otherwise, or a part of its simulations: every statement is judged, and nothing is a verdict.

    Attributes:
        set: Settings that every simulation gets, over those of its case.
        cases: The names of the cases to run; empty for those of the scale.
        algorithms: The algorithms of a case to run; empty for all.
    """

    set: Settings = ()
    cases: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.set or self.cases or self.algorithms)


@dataclass(frozen=True)
class PlannedFigure:
    """One figure: its scenario, and its simulations.

    Attributes:
        figure: The figure's name, such as "gear/fig09".
        base: Its scenario.
        variants: One simulation for each case and algorithm.
        replicas: The seeds that each runs with by the figure's own word; empty where each has its own.
    """

    figure: str
    base: Scenario
    variants: list[Variant]
    replicas: tuple[int, ...] = ()

    def repeat_seeds(self, seeds: Sequence[int]) -> list[Variant]:
        """Every simulation once per seed; of a figure that has replicas a seed is a variation in ties and starts, too."""
        from farloop.experiments.variants import repeat_with_seeds

        return repeat_with_seeds(self.variants, seeds, vary=bool(self.replicas))


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
            raise FarloopError(f"{clip_text(name)}: no such paper or figure; {nearest(plain, vocabulary)}")
        chosen += [f for f in matching if f not in chosen]
    return chosen


def plan(figure: str, *, full: bool, same_start: str | None = None, reading: Reading | None = None) -> PlannedFigure:
    """The simulations of a figure: at quick scale only the cases that its scenario marks as quick; with `same_start` all flows begin alike.

    Raises:
        FarloopError: that is no start, or the figure has no such case or algorithm.
    """
    from farloop.experiments.variants import Variant
    from farloop.judging.schedule import CASES

    base = Scenario.load(figure)
    # One case's settings need not suit the others, all of which were checked when the file was read.
    alone = Scenario(CASES.sub("", base.text), base.file)
    reading = reading or Reading()
    known = base.parsed["case"]
    for name in reading.cases:
        if name not in {str(case["name"]) for case in known}:
            raise FarloopError(
                f"{figure}: case {clip_text(name)}: {nearest(name, [str(case['name']) for case in known])}"
            )
    chosen = [
        case for case in known if (str(case["name"]) in reading.cases if reading.cases else full or case["quick"])
    ]
    offered = list(dict.fromkeys(str(name) for case in chosen for name in case["algorithms"]))
    for name in reading.algorithms:
        if name not in offered:
            raise FarloopError(f"{figure}: algorithm {clip_text(name)}: {nearest(name, offered)}")
    variants = []
    for case in chosen:
        settings = alone.of_case(case, base.text).override(setting(same_start)).override(reading.set)
        require_packets(settings.parsed, f"{figure}: reproduce")
        names = [str(name) for name in case["algorithms"] if not reading.algorithms or name in reading.algorithms]
        for name in names:
            label = f"{name}, {case['name']}" if len(chosen) > 1 else name
            variants.append(Variant(label, str(case["name"]), name, settings.override(algorithm=name)))
    count = int(base.parsed["figure"]["replicas"])
    return PlannedFigure(figure, base, variants, tuple(range(1, count + 1)) if count > 1 else ())


def reproduce(
    figures: Iterable[str],
    into: Path,
    execution: Execution,
    *,
    full: bool,
    same_start: str | None = None,
    reading: Reading | None = None,
    seeds: Seeds | None = None,
    index_page: IndexPage | None = None,
    jitter: int = 0,
) -> list[FigureVerdicts]:
    """Runs the figures and writes everything under an existing directory, figure by figure; gives back what they say.

    Without `index_page` no page and no picture is drawn. With `same_start` all flows begin alike, and the scale is "custom": the paper's
    begin otherwise, so that no claim is judged. With a reading the scale is "reading", and statements are judged without a verdict.
    `jitter` is the number of variations in ties and starts (`farloop.results.jitter`).

    Raises:
        ScenarioError: a figure's scenario is not valid; the first of each is checked before anything runs, the
            others before any of their figure.
        InvariantError: a simulation broke one of its own consistency checks.
        FarloopError: the seeds are none, or a figure has no such case or algorithm.
    """
    from farloop.output import saving
    from farloop.results.run import FigureVerdicts
    from farloop.results.seeds import read_seeds

    replicated = read_seeds(seeds)
    plans = [plan(f, full=full, same_start=same_start, reading=reading) for f in figures]
    scale = "custom" if setting(same_start) else "reading" if reading else "full" if full else "quick"
    # A figure's others are checked when its turn comes: that takes a second for ten large networks, and there are hundreds.
    for variant in (
        variant for p in plans for variant in replace(p, variants=p.variants[:1]).repeat_seeds(replicated[:1])
    ):
        _ = variant.scenario.resolved
    done = []
    with execution:
        for p in plans:
            where = into / p.figure
            where.mkdir(parents=True)
            comparison = run_figure(p, execution, scale=scale, seeds=replicated or p.replicas, jitter=jitter)
            notes = saving.fill_comparison(comparison, where, execution.run_store, report=index_page is not None)
            done.append(FigureVerdicts.from_comparison(p.figure, comparison, notes))
            del comparison
    write_index(done, into, scale=scale, seeds=replicated, index_page=index_page)
    return done


def run_figure(
    figure: PlannedFigure, execution: Execution, *, scale: str, seeds: Sequence[int] = (), jitter: int = 0
) -> Comparison:
    """Runs one figure and judges its claims."""
    from farloop.experiments.variations import run_comparison
    from farloop.judging.verdicts import judge_comparison

    title = str(figure.base.parsed.get("figure", {}).get("title") or figure.base.parsed.get("title", figure.figure))
    return run_comparison(
        f"{figure.figure}: {title}",
        figure.variants,
        execution,
        seeded=figure.repeat_seeds(seeds),
        seeds=seeds,
        jitter=jitter,
        judge=lambda runs: judge_comparison(runs, figure.base, scale),
        group=figure.figure,
    )


def write_index(
    done: list[FigureVerdicts],
    into: Path,
    *,
    scale: str,
    seeds: Sequence[int] = (),
    index_page: IndexPage | None = None,
    made: Mapping[str, object] | None = None,
) -> None:
    """Writes the claims, and the page that leads to every figure; `made` says what made an output that is only drawn anew."""
    from farloop.output import manifest

    claims = [claim for figure in done for claim in figure.claims]
    manifest.write_json(into / manifest.CLAIMS, claims)
    if index_page is not None:
        (into / manifest.REPORT).write_text(index_page(done, scale), encoding="utf-8")
    content = {
        "farloop": _native.version(),
        "kind": "reproduction",
        "scale": scale,
        "seeds": list(seeds),
        "figures": [figure.figure for figure in done],
        "notes": [f"{figure.figure}: {note}" for figure in done for note in figure.notes],
        **(manifest.circumstances_of_study() if made is None else made),
    }
    manifest.write_json(into / manifest.MANIFEST, content | {"files": manifest.files(into)})
