"""Explains several flows and iterations, side by side: what the report and the arena ask of `farloop why` (docs/why.md)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from farloop import _native, memory
from farloop.errors import FarloopError
from farloop.experiments.crew import AlgorithmThreads, BusyError
from farloop.experiments.execution import Execution
from farloop.experiments.threads import number_of_threads
from farloop.results import why_chosen
from farloop.results.why_chosen import Chosen, WhyAnswer
from farloop.running.progress import Reporter, tell_busy
from farloop.running.why import rebuild_scenario, why

if TYPE_CHECKING:
    from farloop.results.run import Comparison, Run

BYTES_PER_PACKET = 1024
"""Bytes that a followed flow takes for each data packet that it sent, on a path of four hops."""


@dataclass(frozen=True)
class WhyQuestion:
    """A question to `why`: where the time of a flow, job or iteration went.

    Attributes:
        run: The run.
        chosen: The flow or job of the run.
        label: Name of the run.
        algorithm_files: The files of the run's algorithms in Python; by default those that it remembers.
    """

    run: Run
    chosen: Chosen
    label: str
    algorithm_files: tuple[Path, ...] = ()

    @property
    def job(self) -> str:
        """Name of the simulation in progress reports."""
        return f"why {self.label} {self.chosen.name}"


class KeptAnswers(Protocol):
    """Answers that are kept for others."""

    def claim_question(self, question: WhyQuestion) -> AbstractContextManager[bool]:
        """Gives true if nobody else answers the question until the block ends."""

    def find(self, question: WhyQuestion) -> WhyAnswer | None:
        """The answer that is there."""

    def put(self, question: WhyQuestion, answer: WhyAnswer) -> None:
        """Keeps an answer, if it explains anything."""


def answer_report_questions(
    comparison: Comparison, execution: Execution, algorithm_files: Sequence[Path] = ()
) -> list[WhyAnswer]:
    """The slowest iteration of each job and three flows (`why_chosen.FLOWS`) of every run; of several seeds the first one's.

    Args:
        comparison: The runs.
        execution: Its threads and its progress count.
        algorithm_files: The files of algorithms in Python; by default those that the runs remember.

    Raises:
        FarloopError: nothing can be explained; the text says why.
    """
    questions, missing = [], []
    for label, runs in comparison.groups.items():
        run = runs[0]
        iterations, without = why_chosen.iterations_of(run)
        flows = why_chosen.flows_of(run)
        questions += [WhyQuestion(run, chosen, label, tuple(algorithm_files)) for chosen in [*iterations, *flows]]
        missing += [WhyAnswer(label, None, None, f"no iteration of {job} is over") for job in without]
        if not flows and not iterations and not without:
            missing.append(WhyAnswer(label, None, None, "it has no flow with a size, and no job"))
    explained = [*explain(questions, execution), *missing]
    if not any(of.explanation for of in explained):
        raise FarloopError(f"--why: {explained[0].because if explained else 'there is no run'}")
    return explained


def explain(
    questions: Sequence[WhyQuestion],
    execution: Execution,
    *,
    kept: KeptAnswers | None = None,
) -> list[WhyAnswer]:
    """The answers, in the order of the questions; each takes a simulation, on one thread, that of a job two.

    An answer without an explanation has the reason instead: flows that share a connection, a run of another version, too little memory.

    Args:
        questions: The questions.
        execution: Its threads and its progress count: explanations are made in this process. For no number of threads one per processor
            explains, and fewer where memory is short.
        kept: Where answers are looked for, and put. Answers that somebody else is working on are awaited.

    Raises:
        FarloopError: `threads` is no number of threads.
        KeyboardInterrupt: the user interrupted; nothing runs any more.
    """
    reporter, stop = execution.reporter, threading.Event()
    most = max(1, min(number_of_threads(execution.threads), len(questions)))
    networks: dict[int, memory.Estimate | str] = {}
    needed = [_estimate_memory(question, networks) for question in questions]
    estimates = [estimate for estimate in needed if isinstance(estimate, memory.Estimate)]
    crew = AlgorithmThreads(memory.side_by_side(estimates, most))
    tasks: list[Callable[[], WhyAnswer]] = []

    def answer_once(question: WhyQuestion, because: str) -> WhyAnswer:
        if kept is None:
            return _answer_question(question, because, reporter, stop)
        with kept.claim_question(question) as mine:
            if not mine:
                tell_busy(reporter, question.job)
                raise BusyError
            if (known := kept.find(question)) is not None:
                return known
            answer = _answer_question(question, because, reporter, stop)
            if not stop.is_set():
                kept.put(question, answer)
            return answer

    for question, estimate in zip(questions, needed, strict=True):
        because = estimate if isinstance(estimate, str) else memory.refusal(estimate)
        if because and not isinstance(estimate, str):
            because = f"{question.chosen.name}: {because}"
        tasks.append(partial(answer_once, question, because))
    try:
        answers = crew.complete(dict(enumerate(tasks)))
    except BaseException:
        stop.set()
        crew.leave(lambda: None)
        raise
    return [answers[number] for number in range(len(tasks))]


def _estimate_memory(question: WhyQuestion, networks: dict[int, memory.Estimate | str]) -> memory.Estimate | str:
    """Memory that an answer takes, or why there is no answer; `networks` has what the runs take, by `id`, as far as it is known."""
    run = question.run
    if id(run) not in networks:
        try:
            networks[id(run)] = rebuild_scenario(run, question.algorithm_files).memory
        except (FarloopError, _native.ScenarioError) as error:
            networks[id(run)] = _problem_line(error)
    known = networks[id(run)]
    size = question.chosen.packets * BYTES_PER_PACKET
    if isinstance(known, str) or not size:
        return known
    return memory.Estimate((*known.shares, ("packets of the followed flow", size, "size")))


def _answer_question(question: WhyQuestion, because: str, reporter: Reporter, stop: threading.Event) -> WhyAnswer:
    def progress(now: float, end: float, hops: float) -> bool:
        if not stop.is_set():
            reporter.update(question.job, now, end, int(hops))
        return not stop.is_set()

    chosen = question.chosen
    if because or stop.is_set():
        return WhyAnswer(question.label, chosen, None, because)
    reporter.start(question.job)
    try:
        explanation = why(
            question.run,
            chosen.name,
            iteration=chosen.iteration,
            algorithm_file=question.algorithm_files,
            progress=progress,
        )
    except (FarloopError, _native.ScenarioError) as error:
        return WhyAnswer(question.label, chosen, None, _problem_line(error))
    finally:
        reporter.finish(question.job)
    return WhyAnswer(question.label, chosen, explanation)


def _problem_line(error: Exception) -> str:
    """The problem in one line, without the scenario's file, which the reader of a run knows."""
    text = str(getattr(error, "problem", "") or error)
    return " ".join(text.split()).removeprefix("why: ")
