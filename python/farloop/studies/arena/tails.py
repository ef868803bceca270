"""Why the tail is slow: the flow at the 99th percentile of the FCT slowdown, and what took most of its time (`farloop arena --why`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from farloop.errors import FarloopError
from farloop.experiments import explaining
from farloop.experiments.explaining import WhyQuestion
from farloop.results import flow_completion, why_chosen
from farloop.results.why import Explanation
from farloop.results.why_chosen import Chosen, WhyAnswer
from farloop.running.why import check_same_run

if TYPE_CHECKING:
    from farloop.experiments.execution import Execution
    from farloop.output.store import Store
    from farloop.results.run import Run

NO_FLOW = "no flow with a size that could finish"


@dataclass(frozen=True)
class Tail:
    """The flow at the 99th percentile of the FCT slowdown, of an algorithm's run under the first seed.

    Attributes:
        algorithm: The algorithm.
        seed: The seed.
        flow: The flow's name; empty where no flow could finish.
        slowdown: Its slowdown, by its age where it did not finish; `None` where there is no flow.
        time_ps: Its time in picoseconds; `None` where it is not explained.
        cause: The largest part of that, such as "queue behind rivals"; empty where it is not explained.
        share: That part of its time, from 0 to 1; `None` where it is not explained.
        answer: In one line where its time went; empty where it is not explained.
        because: Why it is not explained; empty where it is.
    """

    algorithm: str
    seed: int
    flow: str = ""
    slowdown: float | None = None
    time_ps: int | None = None
    cause: str = ""
    share: float | None = None
    answer: str = ""
    because: str = ""

    @property
    def text(self) -> str:
        """For a cell of a table: the cause with its share, or why there is none."""
        return f"{self.cause}, {100 * self.share:.0f} %" if self.share is not None else self.because


def of_runs(
    runs: Sequence[Run],
    group: str,
    execution: Execution,
) -> dict[str, Tail]:
    """The tail of each run, by algorithm. Explanations are taken from the store, and put there.

    Args:
        runs: One for each algorithm.
        group: Prefix of a simulation's name in progress reports.
        execution: Its threads, its store and its progress count: explanations are made in this process.

    Raises:
        FarloopError: `threads` is no number of threads, or the store cannot be written.
    """
    kept = None if execution.run_store is None else _KeptTails(execution.run_store)
    tails: dict[str, Tail] = {}
    questions: list[WhyQuestion] = []
    for run in runs:
        chosen = why_chosen.flow_at(run, flow_completion.age_slowdowns(run), why_chosen.TAIL)
        if chosen is None:
            tails[run.algorithm] = Tail(run.algorithm, run.seed, because=NO_FLOW)
            continue
        question = WhyQuestion(run, chosen, f"{group} {run.label}")
        known = None if kept is None else kept.find(question)
        if known is None:
            questions.append(question)
        else:
            tails[run.algorithm] = _tail(run, known)
    for question, answer in zip(questions, explaining.explain(questions, execution, kept=kept), strict=True):
        tails[question.run.algorithm] = _tail(question.run, answer)
    return {run.algorithm: tails[run.algorithm] for run in runs}


@dataclass(frozen=True)
class _KeptTails:
    """Explanations in a store, beside the runs that they explain."""

    store: Store

    @contextmanager
    def claim_question(self, question: WhyQuestion) -> Iterator[bool]:
        """Claims the run: nobody makes it now, since it is there."""
        with _writing(self.store), self.store.claim_run(question.run.address) as mine:
            yield mine

    def find(self, question: WhyQuestion) -> WhyAnswer | None:
        """The explanation of the flow that is asked for."""
        run, chosen = question.run, question.chosen
        explanation = _check_stored(self.store.explanation(run.address), run, chosen)
        return None if explanation is None else WhyAnswer(run.label, chosen, explanation)

    def put(self, question: WhyQuestion, answer: WhyAnswer) -> None:
        """Keeps an explanation."""
        if isinstance(answer.explanation, Explanation):
            with _writing(self.store):
                self.store.put_explanation(question.run.address, answer.explanation.as_json)


@contextmanager
def _writing(store: Store) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FarloopError(f"{store.directory}: cannot be written: {error.strerror or error}") from None


def read(rows: Iterable[Mapping[str, Any]]) -> dict[str, Tail]:
    """Those that a manifest has, by algorithm.

    Raises:
        TypeError: a row has other names.
    """
    return {tail.algorithm: tail for tail in (Tail(**row) for row in rows)}


def most_frequent(tails: Iterable[Tail]) -> str:
    """The cause that most of the tails have, and of how many; empty where none is explained."""
    causes = Counter(tail.cause for tail in tails if tail.share is not None)
    if not causes:
        return ""
    ((cause, count),) = causes.most_common(1)
    return f"{cause}, {count} of {causes.total()}"


def _check_stored(explanation: Explanation | None, run: Run, chosen: Chosen) -> Explanation | None:
    """An explanation of this flow that a store has; `None` where it is of another flow, or of another run."""
    if explanation is None or explanation.flow != chosen.name:
        return None
    try:
        check_same_run(run, explanation)
    except FarloopError:
        return None
    return explanation


def _tail(run: Run, explained: WhyAnswer) -> Tail:
    chosen, explanation = explained.chosen, explained.explanation
    assert chosen is not None
    tail = Tail(run.algorithm, run.seed, chosen.name, chosen.slowdown, because=explained.because)
    if not isinstance(explanation, Explanation):
        return tail
    cause, share = explanation.largest
    return Tail(
        run.algorithm, run.seed, chosen.name, chosen.slowdown, explanation.time_ps, cause, share, explanation.answer
    )
