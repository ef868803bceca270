"""Execution options: one value for how and where simulations run, which studies pass to whatever makes their runs."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from farloop import memory
from farloop.errors import FarloopError, clip_text
from farloop.running.progress import ProgressCallback, Reporter, Silent, make_reporter

if TYPE_CHECKING:
    from types import TracebackType

    from farloop.experiments.tasks import Outcome, Task
    from farloop.output.store import Store

MAX_WORKERS = 1024
"""More than this is a slip."""


class Engine(Protocol):
    """Makes tasks: threads or processes here, or a cluster."""

    @property
    def workers(self) -> int:
        """Maximum number of tasks side by side."""

    def outcomes(
        self, tasks: Iterable[Task], progress: Callable[[Task, float, float, int], None] | None = None
    ) -> Generator[tuple[Task, Outcome]]:
        """Makes all tasks; gives each with its outcome as it ends. LOST is reported each time, BUSY once; such tasks are retried.

        Args:
            tasks: The tasks.
            progress: Called when a task begins, and, where the engine knows it, now and then with the simulated seconds, the simulated
                seconds at the end, and the packet-hops so far.
        """

    def close(self) -> None:
        """Ends what it has begun."""


@dataclass(frozen=True)
class Execution:
    """Options for how and where simulations run. The results do not depend on it.

    By default threads of this process simulate; where a sweep or advice takes longer, processes take over. `workers`, `ray` and `slurm`
    choose another engine; algorithms in Python then have to be in files of their own, and there are no traces. As a context manager it
    keeps what it has started, such as workers, for all runs inside.

    Attributes:
        threads: Number of threads, for simulations side by side first, then for the parts of each; by default as many as pay, at most
            one per processor. Where they are given, no processes take over.
        workers: Simulate in so many processes on this machine.
        ray: Simulate on this Ray cluster: "auto", or an address.
        slurm: Simulate in Slurm jobs with these options, such as "partition=short,time=2:00:00".
        store: Where finished runs are kept and looked for: a directory; by default nowhere.
        progress: Shows progress: a function that is called now and then with simulated seconds, simulated seconds at the end, and
            packet-hops so far, or an object that reports.
        force_memory: Start runs also where one may take more memory than there is.

    Raises:
        FarloopError: `progress` cannot be called, there is no such number of workers, two engines are chosen, or an option of Slurm is
            wrong.
    """

    threads: int | None = None
    workers: int | None = None
    ray: str | None = None
    slurm: str | None = None
    store: Store | str | PathLike[str] | None = None
    progress: ProgressCallback | Reporter | None = None
    force_memory: bool = False
    _stacks: list[ExitStack] = field(default_factory=list, init=False, repr=False, compare=False)
    _engines: list[Engine] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _ = self.reporter
        if len(self.engine_options) > 1:
            raise FarloopError(f"{' and '.join(self.engine_options)}: expected one of them")
        if self.workers is not None:
            check_workers(self.workers)
        if self.slurm is not None:
            from farloop.experiments.clusters import read_options

            read_options(self.slurm)

    @classmethod
    def select(cls, execution: Execution | None, **options: Any) -> Execution:
        """The execution that a caller passes on, or that of single options.

        Raises:
            FarloopError: there are both.
        """
        if execution is None:
            return cls(**options)
        for name, value in options.items():
            if value is not None and value is not False:
                raise FarloopError(f"execution and {name}: expected one of them; Execution({name}=...) has it, too")
        return execution

    @property
    def engine_options(self) -> list[str]:
        """The options that choose another engine than threads of this process; empty where none does."""
        named = {"workers": self.workers, "ray": self.ray, "slurm": self.slurm}
        return [f"--{name}" for name, value in named.items() if value is not None]

    @cached_property
    def reporter(self) -> Reporter:
        """Shows progress."""
        return make_reporter(self.progress) or Silent()

    @cached_property
    def run_store(self) -> Store | None:
        """The store, whatever names it."""
        from farloop.output.store import Store

        if self.store is None or isinstance(self.store, Store):
            return self.store
        return Store(Path(self.store).absolute())

    def attach(self, store: Store | None, progress: Reporter) -> Execution:
        """The same with this store and this progress."""
        return replace(self, store=store, progress=progress)

    def engine(self, store: Path) -> Engine:
        """Engine that makes tasks for a store, inside `with`: started once, closed with the outermost block.

        Raises:
            FarloopError: there is no such cluster, or the package for it is missing.
        """
        if not self._engines:
            self._engines.append(self._start(store))
            self._stacks[0].callback(self._close)
        return self._engines[0]

    def _start(self, store: Path) -> Engine:
        from farloop.experiments import clusters, processes, task_threads
        from farloop.experiments.threads import default_threads, number_of_threads

        if self.slurm is not None:
            return clusters.SlurmCluster(self.slurm, store)
        if self.ray is not None:
            return clusters.RayCluster(self.ray)
        if self.workers is not None:
            return processes.LocalPool(self.workers)
        if self.threads is not None:
            return task_threads.TaskThreads(number_of_threads(self.threads))
        return task_threads.ThreadsFirst(default_threads())

    def _close(self) -> None:
        self._engines.pop().close()

    def __enter__(self) -> Execution:
        stack = ExitStack()
        stack.enter_context(memory.allow_excess(self.force_memory))
        self._stacks.append(stack)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stacks.pop().close()


def check_workers(wanted: object) -> None:
    """Refuses what is no number of workers.

    Raises:
        FarloopError: it is none.
    """
    if isinstance(wanted, bool) or not isinstance(wanted, int) or not 1 <= wanted <= MAX_WORKERS:
        raise FarloopError(f"workers: {clip_text(repr(wanted))}: expected a whole number from 1 to {MAX_WORKERS}")
