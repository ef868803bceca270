"""Check before a run starts that it fits into memory.

The simulator estimates what a run takes: packets as many as links, buffers and flows allow at most, all else as it most likely is. Above
the free memory there is a note; above all that this process may have (the machine, its control group, `ulimit -v`) the run is refused,
unless it is forced (`--force-memory`).
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass

from farloop import _native
from farloop.errors import FarloopError
from farloop.units import bytes_text

PROCESS = 105 << 20
"""Bytes that a process takes without a simulation: the interpreter, numpy, Arrow."""

SHARE = 0.9
"""Of the memory that is free: what simulations side by side may take together."""

OPTION = "--force-memory"

_SHOWN = 0.1
"""Shares of an estimate below this part of it are not named."""

_FORCED: ContextVar[bool] = ContextVar("farloop_force_memory", default=False)


@dataclass(frozen=True)
class Estimate:
    """Estimated memory of a run.

    Attributes:
        shares: Bytes by purpose, with the keys that decide about them; the largest share first.
    """

    shares: tuple[tuple[str, int, str], ...]

    @property
    def total(self) -> int:
        """Bytes, with the process around the simulation."""
        return PROCESS + sum(size for _, size, _ in self.shares)

    @property
    def text(self) -> str:
        """The largest shares, with their keys."""
        named = [share for share in self.shares if share[1] >= _SHOWN * self.total] or list(self.shares[:1])
        return ", ".join(f"{what} {bytes_text(size)} ({keys})" for what, size, keys in named)


@contextlib.contextmanager
def allow_excess(yes: bool) -> Iterator[None]:
    """Inside, runs start that do not fit into memory, if `yes`."""
    token = _FORCED.set(_FORCED.get() or yes)
    try:
        yield
    finally:
        _FORCED.reset(token)


def is_forced() -> bool:
    """Returns true if runs start that do not fit into memory."""
    return _FORCED.get()


def limit() -> int | None:
    """Bytes that a job may take before it is expanded; `None` where there is no limit, or where runs start that do not fit."""
    return None if is_forced() else _native.total_memory()


def refusal(estimate: Estimate) -> str:
    """Why a run does not start; nothing where it may."""
    there = _native.total_memory()
    if there is None or estimate.total <= there or is_forced():
        return ""
    return (
        f"the run may take {bytes_text(estimate.total)} of memory, and there are {bytes_text(there)} for it in all: {estimate.text}; "
        f"expected less of these, or {OPTION} (force_memory=True), which starts it nevertheless"
    )


def note(estimate: Estimate) -> str:
    """Returns a note on a run that may start; empty if it fits."""
    free = _native.available_memory()
    if free is None or estimate.total <= free:
        return ""
    return (
        f"the run may take {bytes_text(estimate.total)} of memory, and {bytes_text(free)} are free: {estimate.text}; "
        "it ends with an error where its packets no longer fit"
    )


def check(file: str, estimate: Estimate) -> str:
    """Returns a note on a run before it starts; empty if it fits.

    Raises:
        FarloopError: there is not as much memory as it may take, and the run is not forced.
    """
    if because := refusal(estimate):
        raise FarloopError(f"{file}: {because}")
    warning = note(estimate)
    return f"{file}: {warning}" if warning else ""


def side_by_side(estimates: Iterable[Estimate], most: int) -> int:
    """Returns the number of these runs, whichever they are, that fit into free memory at once: at least one, at most `most`."""
    free = _native.available_memory()
    if free is None:
        return most
    largest = sorted((estimate.total - PROCESS for estimate in estimates), reverse=True)[:most]
    sums = itertools.accumulate(largest, initial=PROCESS)
    next(sums)
    fitting = sum(together <= SHARE * free for together in sums)
    return most if fitting == len(largest) else max(1, fitting)
