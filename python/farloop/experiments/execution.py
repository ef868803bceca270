"""How and where simulations run: one value, which studies pass on to what makes their runs."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farloop import memory
from farloop.errors import FarloopError
from farloop.running.progress import ProgressCallback, Reporter, Silent, reporter_of

if TYPE_CHECKING:
    from types import TracebackType

    from farloop.output.store import Store


@dataclass(frozen=True)
class Execution:
    """How and where simulations run. The results do not depend on it.

    As a context manager it keeps what it has started for all runs inside, such as workers.

    Attributes:
        threads: How many, for simulations side by side first, then for the parts of each; by default as many as pay, at most one per
            processor.
        store: Where finished runs are kept and looked for: a directory; by default nowhere.
        progress: What shows progress: a function that is called now and then with simulated seconds, simulated seconds at the end, and
            packet-hops so far, or an object that reports.
        force_memory: Start runs also where one may take more memory than there is.

    Raises:
        FarloopError: `progress` cannot be called.
    """

    threads: int | None = None
    store: Store | str | PathLike[str] | None = None
    progress: ProgressCallback | Reporter | None = None
    force_memory: bool = False
    _stacks: list[ExitStack] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _ = self.reporter

    @classmethod
    def of(cls, execution: Execution | None, **options: Any) -> Execution:
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

    @cached_property
    def reporter(self) -> Reporter:
        """What shows progress."""
        return reporter_of(self.progress) or Silent()

    @cached_property
    def runs(self) -> Store | None:
        """The store, whatever names it."""
        from farloop.output.store import Store

        if self.store is None or isinstance(self.store, Store):
            return self.store
        return Store(Path(self.store).absolute())

    def __enter__(self) -> Execution:
        stack = ExitStack()
        stack.enter_context(memory.forced(self.force_memory))
        self._stacks.append(stack)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stacks.pop().close()
