"""Asks a question and writes its answer: from Python, and for the command line."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from farloop.advice import answer as answers
from farloop.advice import question as questions
from farloop.advice.answer_page import page
from farloop.advice.content import content as as_content
from farloop.advice.question import Question
from farloop.advice.runs import Runs
from farloop.arena.quantities import quantity
from farloop.errors import FarloopError
from farloop.experiments.execution import Execution
from farloop.output import manifest
from farloop.output.directories import directory
from farloop.output.store import Store
from farloop.results.measures import VERSION
from farloop.running.progress import Counting, Uncounted
from farloop.scenario import Settings, Source
from farloop.sweep import study

ANSWER = "answer.json"
RUNS = "runs.csv"
DEPLOY = "deploy"


@dataclass(frozen=True)
class Advice:
    """An answer that has been written.

    Attributes:
        directory: Where it was written.
        sentence: The answer in a sentence.
        advised: The algorithms that are advised, the best first; empty where nothing holds the constraints.
        leaders: All that are not told apart from the best one.
        content: All of it, as answer.json has it.
        made: Simulations that were made.
    """

    directory: Path
    sentence: str
    advised: tuple[str, ...]
    leaders: tuple[str, ...]
    content: Mapping[str, Any] = field(repr=False)
    made: int = 0


def advise(
    scenario: Source,
    *,
    goal: str | None = None,
    must: Sequence[str] | None = None,
    can: Sequence[str] | None = None,
    candidates: str | Sequence[str] | None = None,
    budget: str | None = None,
    seed: int | None = None,
    tune: bool | None = None,
    set: Settings | None = None,
    out: str | PathLike[str] | None = None,
    store: str | PathLike[str] | None = None,
    workers: int | None = None,
    ray: str | None = None,
    slurm: str | None = None,
    force: bool = False,
    force_memory: bool = False,
    progress: Counting | None = None,
    execution: Execution | None = None,
) -> Advice:
    """What should run in a scenario: races the algorithms that can, tunes the best, tries them under other conditions, writes an answer.

    Args:
        scenario: A scenario, its file, a paper's figure, or a question's file (TOML with `scenario`, `goal`, `must`, `can`, `budget`).
        goal: Such as "p99 slowdown of small flows"; by default what the arena judges by.
        must: Constraints such as "no pfc across" or "goodput >= 90 %", in place of the usual ones of the same quantities.
        can: What hosts and switches can be made to do: "ecn", "int", "switch agents", "dci", "symmetric", "credit",
            "kernel".
        candidates: Names of algorithms; by default all that are no references.
        budget: Time of one processor that simulations may take, such as "10min".
        seed: The first of the seeds.
        tune: Whether parameters of the best are tuned; by default where Optuna is there.
        set: Settings of the scenario.
        out: Where to write (by default below out/, under the name of the scenario).
        store: Where runs are kept (by default run-store beside the output).
        workers: Processes side by side.
        ray: A Ray cluster instead.
        slurm: Slurm jobs instead.
        force: Whether to write into a directory that holds other files.
        force_memory: Whether to start runs that may need more memory than there is.
        progress: What shows how many runs are done.
        execution: How and where to simulate, in place of `store`, `workers`, `ray`, `slurm` and `force_memory`.

    Raises:
        FarloopError: the question is wrong, the budget too small, or the answer cannot be written.
        ScenarioError: the scenario is not valid.
    """
    source = str(scenario) if isinstance(scenario, PathLike) else scenario
    asked = questions.read(
        source, goal=goal, must=must, can=can, candidates=candidates, budget=budget, seed=seed, tune=tune, set=set
    )
    target = Path(out) if out is not None else study.default_target(f"advice-{Path(asked.scenario.file).stem}")
    execution = Execution.select(
        execution, store=store, workers=workers, ray=ray, slurm=slurm, force_memory=force_memory
    )
    return write(asked, target, execution, force=force, counting=progress)


def write(
    question: Question,
    target: Path,
    execution: Execution,
    *,
    force: bool = False,
    report: bool = True,
    counting: Counting | None = None,
) -> Advice:
    """Answers a question and writes all of it into `target`. Runs that are there are not made again.

    Raises:
        FarloopError: the budget is too small, or runs or the answer cannot be made or written.
        ScenarioError: the scenario is not valid.
    """
    shown, store = counting or Uncounted(), study.store_of(target, execution)
    with directory(target, force=force) as out, execution.default_to_workers() as by_workers:
        runs = Runs(Store(store), lambda: by_workers.engine(store), shown)
        try:
            answer = answers.answer(question, runs, shown.note)
        except OSError as error:
            where = error.filename or runs.store.directory
            raise FarloopError(f"{where}: cannot be written: {error.strerror or error}") from None
        except BaseException as error:
            if runs.made:
                error.add_note(
                    f"{runs.made} finished runs are in {runs.store.directory}; the same command goes on from there"
                )
            raise
        content = as_content(answer)
        _write(content, out.path, report=report)
    return Advice(target, answer.sentence(), tuple(content["advised"]), tuple(content["leaders"]), content, runs.made)


def _write(content: Mapping[str, Any], into: Path, *, report: bool) -> None:
    manifest.write_json(into / ANSWER, content)
    rows = content["runs"]
    text = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(text, names, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows)
    (into / RUNS).write_text(text.getvalue(), encoding="utf-8")
    (into / DEPLOY).mkdir()
    for name, files in content["deploy"].items():
        commands = "".join(f"# {line}\n" for line in files["commands"])
        (into / DEPLOY / f"{manifest.slug(name)}.toml").write_text(commands + files["scenario"], encoding="utf-8")
    if report:
        (into / manifest.REPORT).write_text(page(content), encoding="utf-8")
    described = {"farloop": content["farloop"], "kind": "advice", "definitions": VERSION, "answer": content["answer"]}
    named = {name for row in content["candidates"] for name in row["quantities"]}
    described["measures"] = {name: quantity(name).measure for name in sorted(named)}
    manifest.write_json(into / manifest.MANIFEST, described | {"files": manifest.files(into)})


def rewrite(source: Path, aside: Path) -> None:
    """Draws the page of an answer on disk anew, into a directory of `rewriting`.

    Raises:
        OSError: the answer cannot be read.
        ValueError: it is none.
    """
    import json

    content = json.loads((source / ANSWER).read_text("utf-8"))
    (aside / manifest.REPORT).write_text(page(content), encoding="utf-8")
