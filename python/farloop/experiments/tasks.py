"""One run of a study: the message to a worker, its work, and its answer; the same on this machine and on a cluster."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from farloop import _native, algorithm
from farloop import memory as memory_of_runs
from farloop.errors import FarloopError, InvariantError
from farloop.experiments.journal import BUSY, MADE, make_once
from farloop.experiments.threads import Job, simulate_job
from farloop.output.store import Simulated, Store, simulator
from farloop.running.progress import ELSEWHERE
from farloop.scenario import Scenario

FAILED, BROKEN, LOST, DECLINED = "failed", "broken", "lost", "declined"
"""Outcomes of a task besides MADE, KEPT and BUSY: the simulation failed, and would again; it could not be done here, and may be elsewhere;
its worker was killed; it does not fit into the memory that there is."""

READY = "ready\n"
"""First line of a worker."""

PROGRESS = "at "
"""Start of a worker's lines about a running simulation; simulated seconds, those at the end, and packet-hops follow."""

_FAILURES: dict[str, type[Exception]] = {
    "MemoryError": MemoryError,
    "ScenarioError": _native.ScenarioError,
    "InvariantError": InvariantError,
    "AlgorithmError": algorithm.AlgorithmError,
    "FarloopError": FarloopError,
}
"""The exceptions that a simulation may end with, the more special first."""

Progress = Callable[[float, float, int], bool]


@dataclass(frozen=True)
class Task:
    """A run that is to be made.

    Attributes:
        key: Its address.
        label: Name for people.
        text: Its scenario.
        file: The scenario's file, beside which are those that it names.
        overrides: The settings of it.
        store: Where it goes.
        memory: Bytes that it takes, estimated, with the process around it.
        threads: Maximum number of threads; the run uses as many of them as pay.
        simulator: The hash of the simulator that is to make it.
        algorithm_files: Files of Python with algorithms that the scenario may name.
        classes: Expected classes: names and hashes.
        force_memory: True to run it also where it may take more memory than there is.
        here: Its scenario in the process that asks for it, with classes that no other process needs to know.
    """

    key: str
    label: str
    text: str = field(repr=False)
    file: str
    overrides: tuple[tuple[str, str], ...]
    store: str
    memory: int
    threads: int
    simulator: str
    algorithm_files: tuple[str, ...] = ()
    classes: tuple[tuple[str, str], ...] = ()
    force_memory: bool = False
    here: Scenario | None = field(default=None, repr=False, compare=False)

    @classmethod
    def from_scenario(
        cls,
        key: str,
        label: str,
        scenario: Scenario,
        store: Path,
        threads: int,
        algorithm_files: Sequence[Path] = (),
        memory: int | None = None,
    ) -> Task:
        """The task of a scenario that takes so much memory; its network is built to estimate that where nobody says."""
        overrides = tuple(scenario.overrides)
        return cls(
            key,
            label,
            scenario.text,
            str(Path(scenario.file).absolute()),
            overrides,
            str(store),
            scenario.memory.total if memory is None else memory,
            threads,
            simulator(),
            tuple(str(file.absolute()) for file in algorithm_files),
            tuple((algorithm.name_of(class_), algorithm.digest(class_)) for class_ in scenario.classes),
            memory_of_runs.is_forced(),
            scenario,
        )

    def as_json(self) -> str:
        """The task as one line."""
        content = asdict(replace(self, here=None))
        del content["here"]
        return json.dumps(content)

    @classmethod
    def from_json(cls, line: str) -> Task:
        """The task of a line."""
        content = json.loads(line)
        pairs = {name: tuple((key, value) for key, value in content[name]) for name in ("overrides", "classes")}
        return cls(**content | pairs | {"algorithm_files": tuple(content["algorithm_files"])})

    def scenario(self) -> Scenario:
        """Its scenario, with the algorithms of its files.

        Raises:
            FarloopError: a file cannot be loaded, or has changed since the task was made: its address is that of the older one.
        """
        names = dict(self.classes)
        loaded = [class_ for file in self.algorithm_files for class_ in algorithm.load(file)]
        classes = [class_ for class_ in loaded if algorithm.name_of(class_) in names]
        scenario = Scenario(self.text, self.file, self.overrides).with_classes(classes)
        digests = {algorithm.name_of(class_): algorithm.digest(class_) for class_ in scenario.classes}
        changed = [name for name, content in self.classes if digests.get(name) != content]
        if changed:
            raise FarloopError(
                f"{', '.join(self.algorithm_files)}: {changed[0]} has changed since the command began; run it again"
            )
        return scenario


@dataclass(frozen=True)
class Outcome:
    """The outcome of a task.

    Attributes:
        status: One of the words above.
        because: The failure, in words.
        peak: Most bytes of memory that its process has had; 0 where that is not known.
        kind: The name of the exception's class where the simulation failed.
        problem: The problem without its place, as in `ScenarioError.problem`.
    """

    status: str
    because: str = ""
    peak: int = 0
    kind: str = ""
    problem: str = ""

    @property
    def delay(self) -> str:
        """Why its task goes on, for people; empty if it has ended."""
        if self.status == LOST:
            return f"its worker ended ({self.because}); it is made again"
        return ELSEWHERE if self.status == BUSY else ""

    @classmethod
    def from_failure(cls, error: Exception) -> Outcome:
        """The outcome of a simulation that failed."""
        name = next(name for name, class_ in _FAILURES.items() if isinstance(error, class_))
        because = "out of memory" if name == "MemoryError" else str(error)
        return cls(FAILED, because, kind=name, problem=str(getattr(error, "problem", "")))

    def as_json(self) -> str:
        """The outcome as one line."""
        return json.dumps(asdict(self))

    def make_error(self, because: str) -> Exception:
        """The exception that the simulation ended with, as far as a worker can say: of the same class, without the cause.

        Args:
            because: The text of the error.
        """
        error = _FAILURES.get(self.kind, FarloopError)(because)
        if isinstance(error, _native.ScenarioError) and self.problem:
            error.problem = self.problem
        return error

    @classmethod
    def from_json(cls, line: str) -> Outcome:
        """The outcome of a line."""
        return cls(**json.loads(line))


def make(task: Task, progress: Progress | None = None) -> Outcome:
    """Makes a run in a process that makes nothing else, and says how much memory that has taken.

    Makes none that is there, or that somebody else is at. Never raises but where `progress` stops it.
    """
    _forget_peak()
    outcome = make_here(replace(task, here=None), progress)
    return replace(outcome, peak=_peak()) if outcome.status in (MADE, FAILED) else outcome


def make_here(task: Task, progress: Progress | None = None) -> Outcome:
    """Makes a run in a process that may make others at the same time; else as `make`."""
    store = Store(Path(task.store))
    if not store.directory.is_dir():
        return Outcome(
            BROKEN,
            f"{task.store}: there is no such directory on {socket.gethostname()}; it must be on a file system that all machines share",
        )
    if simulator() != task.simulator:
        return Outcome(
            BROKEN, f"{socket.gethostname()} has another build of farloop than the machine that asked for the run"
        )

    def simulate() -> Simulated:
        try:
            scenario = task.here or task.scenario()
        except FarloopError as error:
            raise _UnmadeError(Outcome(BROKEN, str(error))) from None
        if because := _explain_refusal(task, scenario):
            raise _UnmadeError(Outcome(DECLINED, because))
        if progress is not None and not progress(0.0, 0.0, 0):
            raise _native.Cancelled
        result = simulate_job(Job(task.label, scenario), progress, task.threads, auto=True)
        if not store.directory.is_dir():
            raise _UnmadeError(Outcome(BROKEN, f"{task.store}: was removed while a run for it was made"))
        return result

    try:
        with memory_of_runs.allow_excess(task.force_memory):
            status = make_once(store, task.key, simulate)
    except _UnmadeError as unmade:
        return unmade.outcome
    except (MemoryError, _native.ScenarioError, InvariantError, FarloopError) as error:
        return Outcome.from_failure(error)
    except OSError as error:
        return Outcome(BROKEN, f"{task.store}: cannot be written: {error.strerror or error}")
    return Outcome(status)


class _UnmadeError(Exception):
    """A task that is not simulated at all."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.because)
        self.outcome = outcome


def _explain_refusal(task: Task, scenario: Scenario) -> str:
    """Why a run is not made on this machine; nothing where it may be."""
    there = _native.total_memory()
    if task.force_memory or there is None or task.memory <= there:
        return ""
    return memory_of_runs.refusal(scenario.memory)


def _forget_peak() -> None:
    """Lets the peak of resident memory begin anew, where the system can."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    """The peak of resident memory in bytes; 0 where the system does not tell."""
    try:
        lines = Path("/proc/self/status").read_text("utf-8").splitlines()
        return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:")), 0)
    except (OSError, ValueError, IndexError):
        return 0
