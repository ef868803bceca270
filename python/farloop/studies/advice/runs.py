"""Simulations for an answer: made once, kept in a store, by the engines of studies, and paid for from a budget.

A budget counts nominal seconds, from the packet-hops of a run, so that an answer does not depend on how fast a machine is: the same
question gives the same answer everywhere, and an interrupted command goes on as it began.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from farloop import _native, algorithm
from farloop.experiments.execution import Engine
from farloop.experiments.task_runs import count_tasks
from farloop.experiments.tasks import DECLINED, FAILED, Task
from farloop.experiments.variants import Variant, make_run
from farloop.output.store import Simulated, Store, address
from farloop.results import cautions, gears
from farloop.results.cautions import Caution
from farloop.results.run import Run
from farloop.running.progress import Counting, Uncounted
from farloop.scenario import Scenario
from farloop.studies.arena.measuring import Measured, measure_run

HOPS_PER_SECOND = 5e6
"""Packet-hops that a nominal second has: a processor of today makes 5 to 12 million."""

LOOKS_PER_SECOND = 2e5
"""Looks at flows that a nominal second has where a run goes by rates, with the two runs more that its error bound takes."""

PER_RUN = 0.1
"""Nominal seconds of a run besides: its network is built, its tables are written and measured."""


@dataclass(frozen=True)
class Ask:
    """A simulation that is wanted: what people call it, its algorithm, its scenario with seed."""

    label: str
    algorithm: str
    scenario: Scenario


@dataclass(frozen=True)
class Answered:
    """A simulation that was asked for.

    Attributes:
        ask: The request.
        measured: The measurements; `None` where the simulation could not be made.
        because: Why it could not.
        cost: Nominal seconds that it took.
        error: The bounds of its errors against packets, where it went by rates.
    """

    ask: Ask
    measured: Measured | None
    because: str = ""
    cost: float = 0.0
    error: Mapping[str, Any] | None = None


@dataclass
class Runs:
    """Makes simulations, or takes those that are there.

    Attributes:
        store: Where runs are kept.
        engine: Gives what makes tasks, when some are to be made.
        counting: Shows progress.
        spent: Nominal seconds of all that were asked for.
        made: Number of simulations made.
        kept: Number of simulations found in the store.
    """

    store: Store
    engine: Callable[[], Engine]
    counting: Counting = field(default_factory=Uncounted)
    spent: float = 0.0
    made: int = 0
    kept: int = 0
    _known: dict[str, Answered] = field(default_factory=dict)
    _declined: dict[str, str] = field(default_factory=dict)

    def ask(self, wanted: Sequence[Ask]) -> list[Answered]:
        """The answers, in the order of what is wanted. A scenario that is not valid, or whose simulation failed, is answered with why.

        Raises:
            FarloopError: runs cannot be made or kept here.
        """
        keys = [self._key(ask) for ask in wanted]
        missing = {key: ask for key, ask in zip(keys, wanted, strict=True) if key and not self._is_there(key)}
        there = len({key for key in keys if key}) - len(missing)
        if missing:
            self._make(missing, there)
        return [
            self._answer(key, ask) if key else Answered(ask, None, self._explain_refusal(ask))
            for key, ask in zip(keys, wanted, strict=True)
        ]

    def cautions(self, ask: Ask) -> list[Caution]:
        """Returns the cautions about a simulation; none if it has not been made."""
        key = self._key(ask)
        stored = self.store.get(key) if key else None
        return [] if stored is None else cautions.of_run(_as_run(stored, ask))

    def _key(self, ask: Ask) -> str:
        try:
            key = address(ask.scenario)
            if not self._is_there(key):
                _ = ask.scenario.resolved
            return key
        except _native.ScenarioError:
            return ""

    def _explain_refusal(self, ask: Ask) -> str:
        try:
            _ = ask.scenario.resolved
        except _native.ScenarioError as error:
            return str(getattr(error, "problem", error))
        return "it cannot be simulated"

    def _is_there(self, key: str) -> bool:
        return key in self._known or key in self.store or bool(self.store.failure(key))

    def _make(self, missing: dict[str, Ask], there: int) -> None:
        engine = self.engine()
        self.store.directory.mkdir(parents=True, exist_ok=True)
        self.counting.begin(len(missing), there, min(engine.workers, len(missing)))
        tasks = (
            Task.from_scenario(
                key, ask.label, ask.scenario, self.store.directory, 1, algorithm_files=_files(ask.scenario)
            )
            for key, ask in missing.items()
        )
        for task, outcome in count_tasks(engine, tasks, self.store, self.counting):
            if outcome.status == DECLINED:
                self._declined[task.key] = outcome.because
            elif outcome.status != FAILED:
                self.made += 1

    def _answer(self, key: str, ask: Ask) -> Answered:
        known = self._known.get(key)
        if known is None:
            known = self._measure_run(key, ask)
            self._known[key] = known
            self.spent += known.cost
        return replace(known, ask=ask)

    def _measure_run(self, key: str, ask: Ask) -> Answered:
        stored = self.store.get(key)
        if stored is None:
            return Answered(
                ask, None, self._declined.get(key) or self.store.failure(key) or "it could not be made", PER_RUN
            )
        run = _as_run(stored, ask)
        # Curves are for pictures, and many runs have many.
        whole = replace(measure_run(run, ""), rates={}, queue=np.empty(0))
        gear = gears.gear_of(run.scenario)
        if gear == gears.PACKETS:
            return Answered(ask, whole, "", cost(int(run.summary["packet_hops"])))
        looks = gears.steps(run.info["totals"], gear)
        return Answered(ask, whole, "", looks / LOOKS_PER_SECOND + PER_RUN, run.summary.get("error"))


def _files(scenario: Scenario) -> list[Path]:
    """The files that other processes load a scenario's algorithms in Python from."""
    return list(dict.fromkeys(map(algorithm.file_of, scenario.classes)))


def _as_run(stored: Simulated, ask: Ask) -> Run:
    return make_run(stored, Variant(ask.label, "", ask.algorithm, ask.scenario))


def cost(packet_hops: int) -> float:
    """Nominal seconds of a run."""
    return packet_hops / HOPS_PER_SECOND + PER_RUN
