"""Where the time of a flow or job went: `farloop why` (docs/why.md). The stored run is simulated again, until that is over."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from farloop import _native, memory
from farloop.algorithm import explain_failure
from farloop.errors import FarloopError, clip_text, require_utf8
from farloop.results.algorithm_text import load_again
from farloop.results.why import Explanation
from farloop.results.why_job import JobExplanation
from farloop.scenario import Scenario

if TYPE_CHECKING:
    from farloop.results.run import Run

MAX_FOLLOWED = 1000
"""Flows of a chain of `after`."""


def why(
    run: Run | Scenario | str | PathLike[str],
    name: str | int,
    *,
    iteration: int | None = None,
    follow: bool = False,
    algorithm_file: Sequence[str | PathLike[str]] | str | PathLike[str] = (),
    progress: Callable[[float, float, float], bool | None] | None = None,
) -> Explanation | JobExplanation:
    """Says where the time of a flow, or of an iteration of a training job, went, exact to the picosecond.

    Args:
        run: A run, the directory of a run that farloop wrote, or a scenario (a file, the name of a paper's figure, or a `Scenario`).
        name: The flow's name, its number in the table of flows, from 0, or the job's name.
        iteration: Of a job which iteration, from 1; the slowest one that is over, where none is named.
        follow: Of a flow: also explain the flow whose end it waited for (`after`), the one that this waited for, and so on.
        algorithm_file: Files with the algorithms in Python that the run or scenario names. Those that a run's output remembers are
            found by themselves, if they have not changed.
        progress: Called now and then with simulated seconds, simulated seconds at the end, and packet-hops so far; returns False to stop.

    Raises:
        ScenarioError: there is no such flow or job, it does not begin, the iteration is not there or not over, or flows share connections.
        FarloopError: there is no such run, several of them, or this farloop simulates it differently.
    """
    source = find_source(run)
    files = [algorithm_file] if isinstance(algorithm_file, str | PathLike) else algorithm_file
    paths = [Path(file) for file in files]
    if isinstance(source, Scenario):
        stored, scenario = None, source.with_classes(load_again((), paths))
    else:
        stored, scenario = source, rebuild_scenario(source, paths)
    explanation = _run_query(scenario, str(name), iteration, progress)
    if stored is not None:
        check_same_run(stored, explanation)
    if isinstance(explanation, JobExplanation):
        return explanation
    latest = explanation
    for _ in range(MAX_FOLLOWED if follow else 0):
        if latest.after is None:
            break
        before = _run_query(scenario, str(latest.after["flow"]), None, progress)
        if isinstance(before, JobExplanation):
            break
        latest.before = before
        latest = before
    return explanation


def _run_query(
    scenario: Scenario,
    name: str,
    iteration: int | None,
    progress: Callable[[float, float, float], bool | None] | None,
) -> Explanation | JobExplanation:
    def tell(now: float, end: float, hops: float) -> bool:
        return progress is None or progress(now, end, hops) is not False

    require_utf8("why", name)
    classes = scenario.described_classes
    native = _native.Scenario(scenario.text, scenario.file, list(scenario.overrides), classes, memory.limit())
    try:
        content: dict[str, Any] = json.loads(native.why(name, iteration, tell))
    except _native.HandlerError as error:
        raise explain_failure(error, scenario.classes) from error.__cause__
    if "job" not in content:
        return Explanation(**content)
    jobs = scenario.parsed.get("job") or [{}]
    scale = jobs[int(content["number"])].get("scale", 1) if int(content["number"]) < len(jobs) else 1
    return JobExplanation(**content, scale=int(scale or 1))


def find_source(run: Run | Scenario | str | PathLike[str]) -> Run | Scenario:
    """The stored run of a directory, or the scenario.

    Raises:
        ScenarioError: there is no such scenario.
        FarloopError: there is no such run, or there are several of them.
    """
    from farloop.results.run import Run

    if isinstance(run, Scenario | Run):
        return run
    path = Path(fspath(run))
    if not path.is_dir():
        try:
            return Scenario.load(run)
        except _native.ScenarioError as error:
            if path.exists():
                raise
            expected = "expected the output of a run, such as out/first, a scenario file"
            raise _native.ScenarioError(str(error).replace("expected a scenario file", expected)) from None
    from farloop.output.reading import load

    runs = load(path).runs
    if len(runs) != 1:
        raise FarloopError(
            f"{clip_text(path, 4096)}: has {len(runs)} runs; expected one of them, such as {clip_text(path / 'runs', 4096)}/NAME"
        )
    return runs[0]


def list_inputs(run: str | PathLike[str], source: Run | Scenario) -> list[Path]:
    """The files that `why` reads: all of an output, the scenario, and the files that it names.

    Args:
        run: The directory of the run, or the scenario.
        source: The result of `located` for it.

    Raises:
        ScenarioError: the scenario is not valid.
    """
    from farloop.output.manifest import list_files
    from farloop.output.store import find_named_files

    path, beside = Path(run), Path(source.file).parent
    own = [path / name for name in list_files(path, "")] if path.is_dir() else []
    sections = source.parsed if isinstance(source, Scenario) else source.scenario
    return [*own, Path(source.file), *(file for _, file in find_named_files(sections, beside))]


def rebuild_scenario(run: Run, algorithm_files: Sequence[Path] = ()) -> Scenario:
    """The scenario of a run with all of its defaults: files that it names are looked for beside the scenario's own.

    Args:
        run: The run.
        algorithm_files: The files of its algorithms in Python; by default those that it remembers, if they have not changed.

    Raises:
        FarloopError: the run has none, or a file of an algorithm is not there or has changed.
    """
    from farloop.formats.scenario_text import from_tables

    if not run.scenario:
        raise FarloopError("why: the run has no scenario; expected one that farloop simulated")
    classes = load_again(run.algorithm_texts, algorithm_files)
    return Scenario.from_text(from_tables(run.scenario), run.file).with_classes(classes)


def check_same_run(run: Run, explanation: Explanation | JobExplanation) -> None:
    """Refuses a run that this farloop simulates differently.

    Raises:
        FarloopError: start or finish are others.
    """
    if isinstance(explanation, JobExplanation):
        wanted = (explanation.job, explanation.iteration, explanation.start_ps, explanation.end_ps)
        table = run.iterations.select(["job", "iteration", "begin_ps", "end_ps"])
        own = table.filter(pc.equal(table["iteration"], explanation.iteration))
        if wanted not in {tuple(row.values()) for row in own.to_pylist()}:
            raise FarloopError(_divergence_text(explanation.title))
        return
    number = explanation.number
    rows = run.flows.slice(number, 1).select(["start_ps", "finish_ps"]).to_pylist()
    finish = explanation.end_ps if explanation.finished else None
    if not rows or rows[0] != {"start_ps": explanation.start_ps, "finish_ps": finish}:
        raise FarloopError(_divergence_text(f"flow {clip_text(explanation.flow)}"))


def _divergence_text(what: str) -> str:
    return (
        f"why: {what} goes another way when it is simulated again: another version of farloop, or other "
        "files, made the run; expected one of this version, so run it again"
    )
