"""The papers' figures on this host's kernel, beside the simulator's: the same cases, the same judge, two verdicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farloop.errors import FarloopError, clip_text, nearest
from farloop.experiments.execution import Execution
from farloop.experiments.variants import Variant, repeat_with_seeds
from farloop.judging.verdicts import judge_comparison
from farloop.output import saving
from farloop.results.run import Comparison, FigureVerdicts, Run
from farloop.results.seeds import seed_suffix
from farloop.scenario import KERNEL, kernel_figure_names
from farloop.studies import reproduce
from farloop.testbed import PARTS, side_by_side
from farloop.testbed.blueprint import PS, plan
from farloop.testbed.measured import MAX_GAP, MEASURED
from farloop.testbed.repetitions import MAX_REPETITIONS, Progress, measured_run, missing_requirements
from farloop.units import count_text

if TYPE_CHECKING:
    from farloop.output.store import Store
    from farloop.running.progress import Reporter

MAX_ATTEMPTS = 10

PART_OF_RTT = 0.1
"""A run is measured again where the host stood still for longer than this part of the base round-trip time across."""


@dataclass(frozen=True)
class Planned:
    """The measurements that a figure takes on a testbed.

    Attributes:
        figure: Its name, such as "gemini/kernel-fig10".
        runs: Its runs without seeds, as for the simulator.
        full: All cases, or those that the scenario marks as quick.
        repetitions: Number of repetitions of each; repetition k has the seed k.
        limits: By the run's label the longest gap, in seconds, with which a measurement is not made again.
        seconds: Duration of one repetition.
    """

    figure: str
    runs: reproduce.PlannedFigure
    full: bool
    repetitions: int
    limits: dict[str, float]
    seconds: float

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds; none where there is one repetition, which has the scenario's."""
        return tuple(range(1, self.repetitions + 1)) if self.repetitions > 1 else ()

    @property
    def measurements(self) -> list[list[Variant]]:
        """The runs of each repetition: an interrupted figure has whole ones."""
        if not self.seeds:
            return [list(self.runs.variants)]
        return [repeat_with_seeds(self.runs.variants, [seed]) for seed in self.seeds]


@dataclass
class Measurements:
    """Finished measurements of a figure.

    Attributes:
        runs: The runs, repetition by repetition.
        attempts: For each label the longest gap of every attempt, in seconds, and which one was kept.
        failure: The error that ended it early, if any.
    """

    runs: list[Run] = field(default_factory=list)
    attempts: list[dict[str, Any]] = field(default_factory=list)
    failure: BaseException | None = None


def resolve_figure(wanted: str) -> str:
    """The figure that a name means: "gemini/kernel-fig10", or "gemini/fig10", whose scale for testbeds that is.

    Raises:
        FarloopError: there is none.
    """
    known = kernel_figure_names()
    plain = wanted.removesuffix(".toml").strip("/")
    paper, _, figure = plain.partition("/")
    for name in (plain, f"{paper}{KERNEL}{figure}"):
        if name in known:
            return name
    raise FarloopError(f"{clip_text(wanted)}: no such figure for testbeds; {nearest(plain, known)}")


def plan_figure(
    wanted: str, *, full: bool = False, repetitions: int = 1, case: str = "", algorithms: str | None = None
) -> Planned:
    """Plans the measurements of a figure; all are checked to be valid, and to be something that a testbed can build.

    Args:
        wanted: The figure.
        full: All cases.
        repetitions: Number of repetitions.
        case: Only cases whose name begins so.
        algorithms: Only these, separated by commas.

    Raises:
        ScenarioError: a case has what a testbed cannot build.
        FarloopError: there is no such figure, case or algorithm, or no such number of repetitions.
    """
    _check_count("repetitions", repetitions, MAX_REPETITIONS)
    figure = resolve_figure(wanted)
    runs = reproduce.plan(figure, full=full)
    scale = "full" if full else "quick"
    chosen = [variant for variant in runs.variants if variant.case.startswith(case)]
    if not chosen:
        there = nearest(case, dict.fromkeys(variant.case for variant in runs.variants))
        raise FarloopError(f"--case {clip_text(case)}: no case of {figure} at {scale} scale begins so; {there}")
    if algorithms is not None:
        names = [name.strip() for name in algorithms.split(",") if name.strip()]
        known = list(dict.fromkeys(case_variant.algorithm for case_variant in chosen))
        for name in names or [""]:
            if name not in known:
                raise FarloopError(
                    f"--algorithms {clip_text(name) or 'an empty text'}: {figure} has no such run; {nearest(name, known)}"
                )
        chosen = [case_variant for case_variant in chosen if case_variant.algorithm in names]
    limits, seconds = {}, 0.0
    for case_variant in chosen:
        built = plan(case_variant.scenario)
        across = [flow.base_rtt_ps / PS for flow in built.flows if flow.cross_datacenter]
        limits[case_variant.label] = max(MAX_GAP, PART_OF_RTT * max(across, default=0.0))
        seconds += built.duration
    return Planned(figure, replace(runs, variants=chosen), full, repetitions, limits, seconds)


def check_host(figure: Planned) -> None:
    """Raises where something is missing on this host.

    Raises:
        FarloopError: what, and how to get it.
    """
    controls = {
        algorithm.kernel: None for variant in figure.runs.variants for algorithm in plan(variant.scenario).algorithms
    }
    if lacking := missing_requirements(list(controls)):
        raise FarloopError(f"the testbed cannot be built: {lacking[0]}")


def run(
    figure: Planned,
    into: Path,
    *,
    attempts: int = 1,
    progress: Progress | None = None,
    reporter: Reporter | None = None,
    store: Store | None = None,
    page: side_by_side.Page | None = None,
    say: Callable[[str], None] | None = None,
) -> tuple[list[dict[str, Any]], list[str], BaseException | None]:
    """Simulates a figure, measures it, judges both, and writes everything into an existing directory.

    Finished measurements are written also when a later one fails or is interrupted, with a note of what is missing; the error
    is returned instead of raised.

    Args:
        figure: The figure.
        into: The directory.
        attempts: Maximum number of attempts at a run, where the host stalls for too long. The attempt with the smallest gap is kept.
        progress: Called with the progress of a measurement.
        reporter: Shows the progress of the simulations.
        store: Where finished simulations are found and kept.
        page: Makes the page of both; without it no report and no picture is drawn.
        say: Called with a text of what will happen.

    Returns:
        The claims with both verdicts, notes, and what ended it early.

    Raises:
        FarloopError: something is missing on this host, or `attempts` is no such number.
        InvariantError: a simulation broke one of its own consistency checks.
        BaseException: what ended it before anything was measured.
    """
    _check_count("attempts", attempts, MAX_ATTEMPTS)
    check_host(figure)
    runs = figure.runs
    execution = Execution(store=store, progress=reporter)
    simulated = reproduce.run_figure(runs, execution, scale="full" if figure.full else "quick", seeds=figure.seeds)
    if say is not None:
        count = len(runs.variants) * figure.repetitions
        say(f"{figure.figure}: {count} measurements, {figure.repetitions * figure.seconds:g} s in all")
    measurements = measure(figure, attempts=attempts, progress=progress)
    if not measurements.runs and measurements.failure is not None:
        raise measurements.failure
    real, notes = _judge_measurements(figure, measurements)
    title, real_title = simulated.title, f"{simulated.title}, measured"
    simulated, real = replace(simulated, title=f"{title}, simulated"), replace(real, title=real_title)
    parts = []
    for name, comparison in zip(PARTS, (simulated, real), strict=True):
        (into / name).mkdir()
        saved = saving.fill_comparison(
            comparison, into / name, store if name == "simulated" else None, report=page is not None
        )
        parts.append(FigureVerdicts.from_comparison(name, comparison, [note for note in saved if note not in notes]))
    facts = {
        "figure": figure.figure,
        "title": title,
        "scale": _scale(figure),
        "repetitions": figure.repetitions,
        "attempts": measurements.attempts,
        "missing": _missing_labels(figure, measurements),
        "notes": notes,
    }
    side_by_side.write(parts, facts, into, page)
    all_notes = [*notes, *(f"{part.figure}: {note}" for part in parts for note in part.notes)]
    return side_by_side.claims(parts), all_notes, measurements.failure


def measure(figure: Planned, *, attempts: int = 1, progress: Progress | None = None) -> Measurements:
    """Measures the runs of a figure, one repetition after the other, until all are there or something ends it."""
    measurements = Measurements()
    try:
        for repetition in figure.measurements:
            for variant, own in zip(repetition, figure.runs.variants, strict=True):
                _measure_one(variant, figure.limits[own.label], attempts, progress, measurements)
    except BaseException as failure:  # also an interrupt: what is there is kept, and the caller raises it
        measurements.failure = failure
    return measurements


def _measure_one(
    variant: Variant, limit: float, attempts: int, progress: Progress | None, measurements: Measurements
) -> None:
    gaps: list[float] = []
    best: Run | None = None
    try:
        while len(gaps) < attempts and (not gaps or min(gaps) > limit):
            run = measured_run(variant, progress)
            gap = float(run.info[MEASURED]["longest_gap_s"])
            if not gaps or gap < min(gaps):
                best = run
            gaps.append(gap)
    finally:
        # An interrupted second attempt does not cost the first.
        if best is not None:
            measurements.runs.append(best)
            kept = gaps.index(min(gaps)) + 1
            measurements.attempts.append({"run": variant.label, "longest_gaps_s": gaps, "limit_s": limit, "kept": kept})


def _judge_measurements(figure: Planned, measurements: Measurements) -> tuple[Comparison, list[str]]:
    """The measured runs, judged, in the order of the simulated ones; and what the reader must know."""
    order = {run.label: i for i, run in enumerate(repeat_with_seeds(figure.runs.variants, figure.seeds))}
    runs = sorted(measurements.runs, key=lambda run: order[run.label])
    begun = tuple(seed for seed in figure.seeds if any(run.label.endswith(seed_suffix(seed)) for run in runs))
    notes = []
    if absent := _missing_labels(figure, measurements):
        why = (
            " ".join(str(measurements.failure).split())
            if isinstance(measurements.failure, Exception)
            else "interrupted"
        )
        notes.append(
            f"{len(absent)} of {len(order)} measurements are missing ({why}): {'; '.join(absent[:5])}"
            + (f" and {len(absent) - 5} more" if len(absent) > 5 else "")
        )
    again = [attempt for attempt in measurements.attempts if len(attempt["longest_gaps_s"]) > 1]
    if again:
        more = count_text(sum(len(run["longest_gaps_s"]) - 1 for run in again), "time")
        notes.append(
            f"{len(again)} of {len(order)} runs were measured again, {more} in all, because this host paused them for too long; "
            "of each the attempt with the shortest pause is kept"
        )
    gaps = {run.label: float(run.info[MEASURED]["longest_gap_s"]) for run in runs}
    if still := {label: gap for label, gap in gaps.items() if gap > MAX_GAP}:
        worst = max(still, key=lambda label: still[label])
        notes.append(
            f"this host paused {len(still)} of {len(runs)} measurements for more than {MAX_GAP * 1e3:g} ms, for up to "
            f"{still[worst] * 1e3:.0f} ms ({worst}); the verdicts count them, and `--attempts 3` measures such runs again"
        )
    if any(not run.info[MEASURED]["real_time"] for run in runs):
        notes.append("measured without real-time priority: other processes may have delayed it; root has it")
    comparison = Comparison(figure.figure, runs, seeds=begun, notes=notes)
    return judge_comparison(comparison, figure.runs.base, _scale(figure)), notes


def _missing_labels(figure: Planned, measurements: Measurements) -> list[str]:
    there = {measurement.label for measurement in measurements.runs}
    return [
        measurement.label
        for repetition in figure.measurements
        for measurement in repetition
        if measurement.label not in there
    ]


def _scale(figure: Planned) -> str:
    return "full" if figure.full else "quick"


def _check_count(name: str, given: int, most: int) -> None:
    if isinstance(given, bool) or not 1 <= given <= most:
        raise FarloopError(f"--{name} {given}: expected a whole number from 1 to {most}")
