"""Answers a question to `farloop plan`, and writes the answer."""

from __future__ import annotations

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
from farloop.studies.advice.runs import Runs
from farloop.studies.arena.quantities import quantity
from farloop.studies.capacity.capacity_answer import ANSWER, make_content
from farloop.studies.capacity.capacity_question import CapacityQuestion
from farloop.studies.capacity.searching import search
from farloop.studies.sweep import study

KIND = "plan"
"""Kind of an answer in manifests."""


@dataclass(frozen=True)
class CapacityPlan(Drawable):
    """An answer that has been written.

    Attributes:
        directory: Where it was written.
        sentence: The answer in a sentence.
        content: All of it, as answer.json has it.
        made: Simulations that were made.
    """

    directory: Path
    sentence: str
    content: Mapping[str, Any] = field(repr=False)
    made: int = 0


def write(
    question: CapacityQuestion,
    target: Path,
    execution: Execution,
    *,
    force: bool = False,
    page: Callable[[Mapping[str, Any]], str] | None = None,
    counting: Counting | None = None,
) -> CapacityPlan:
    """Answers a question and writes all of it into `target`, with the page that `page` makes. Runs that are there are not made again.

    Raises:
        FarloopError: the budget is too small, or runs or the answer cannot be made or written.
        ScenarioError: the scenario is not valid.
    """
    shown, store = counting or Uncounted(), study.store_of(target, execution)
    with directory(target, force=force) as out, execution:
        runs = Runs(Store(store), lambda: execution.engine(store), shown)
        try:
            answers = search(question, runs, shown.note)
        except OSError as error:
            where = error.filename or runs.store.directory
            raise FarloopError(f"{where}: cannot be written: {error.strerror or error}") from None
        except BaseException as error:
            if runs.made:
                error.add_note(
                    f"{runs.made} finished runs are in {runs.store.directory}; the same command goes on from there"
                )
            raise
        content = make_content(question, answers, runs)
        _write(content, digests_of_files(question.scenario), out.path, page)
    return CapacityPlan(target, str(content["answer"]), content, runs.made)


def _write(
    content: Mapping[str, Any],
    inputs: Mapping[str, str],
    into: Path,
    page: Callable[[Mapping[str, Any]], str] | None,
) -> None:
    manifest.write_json(into / ANSWER, content)
    if page is not None:
        (into / manifest.REPORT).write_text(page(content), encoding="utf-8")
    described: dict[str, Any] = {
        "farloop": content["farloop"],
        "kind": KIND,
        "definitions": VERSION,
        "answer": content["answer"],
    }
    described |= manifest.circumstances_of_study() | {
        "inputs": dict(inputs),
        "scenario": content["question"]["scenario"],
    }
    described["measures"] = {name: quantity(name).measure for name in sorted(content["question"]["bounds"])}
    manifest.write_json(into / manifest.MANIFEST, described | {"files": manifest.files(into)})
