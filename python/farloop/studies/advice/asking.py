"""Answers a question, and writes the answer."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from farloop.errors import FarloopError
from farloop.experiments.execution import Execution
from farloop.output import manifest
from farloop.output.directories import directory
from farloop.output.store import Store, digests_of_files
from farloop.results.measures import VERSION
from farloop.results.showing import Drawable
from farloop.running.progress import Counting, Uncounted
from farloop.studies.advice import answer as answers
from farloop.studies.advice.content import content as as_content
from farloop.studies.advice.question import Question
from farloop.studies.advice.runs import Runs
from farloop.studies.arena.quantities import quantity
from farloop.studies.sweep import study

ANSWER = "answer.json"
RUNS = "runs.csv"
DEPLOY = "deploy"


@dataclass(frozen=True)
class Advice(Drawable):
    """An answer that has been written.

    Attributes:
        directory: Where it was written.
        sentence: The answer in a sentence.
        advised: The algorithms that are advised, the best first; empty where nothing holds the constraints.
        leaders: All candidates that do not differ significantly from the best one.
        content: All of it, as answer.json has it.
        made: Simulations that were made.
    """

    directory: Path
    sentence: str
    advised: tuple[str, ...]
    leaders: tuple[str, ...]
    content: Mapping[str, Any] = field(repr=False)
    made: int = 0


def write(
    question: Question,
    target: Path,
    execution: Execution,
    *,
    force: bool = False,
    page: Callable[[Mapping[str, Any]], str] | None = None,
    counting: Counting | None = None,
) -> Advice:
    """Answers a question and writes all of it into `target`, with the page that `page` makes. Runs that are there are not made again.

    Raises:
        FarloopError: the budget is too small, or runs or the answer cannot be made or written.
        ScenarioError: the scenario is not valid.
    """
    shown, store = counting or Uncounted(), study.store_of(target, execution)
    with directory(target, force=force) as out, execution:
        runs = Runs(Store(store), lambda: execution.engine(store), shown)
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
        _write(content, digests_of_files(question.scenario), out.path, page)
    return Advice(target, answer.sentence(), tuple(content["advised"]), tuple(content["leaders"]), content, runs.made)


def _write(
    content: Mapping[str, Any],
    inputs: Mapping[str, str],
    into: Path,
    page: Callable[[Mapping[str, Any]], str] | None,
) -> None:
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
        if files["script"]:
            (into / DEPLOY / f"{manifest.slug(name)}.sh").write_text(files["script"], encoding="utf-8")
    if page is not None:
        (into / manifest.REPORT).write_text(page(content), encoding="utf-8")
    described: dict[str, Any] = {
        "farloop": content["farloop"],
        "kind": "advice",
        "definitions": VERSION,
        "answer": content["answer"],
    }
    named = {name for row in content["candidates"] for name in row["quantities"]}
    described |= manifest.circumstances_of_study() | {
        "inputs": dict(inputs),
        "scenario": content["question"]["scenario"],
    }
    described["measures"] = {name: quantity(name).measure for name in sorted(named)}
    manifest.write_json(into / manifest.MANIFEST, described | {"files": manifest.files(into)})
