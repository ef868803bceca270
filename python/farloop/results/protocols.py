"""Protocols that numbers are taken from: a run and a comparison as everything below `Run` sees them.

`Run` and `Comparison` need the modules that work on them. Those name these protocols instead, so that imports lead in one direction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

    from farloop.results.size_classes import SizeClasses


class RunNumbers(Protocol):
    """A run with its tables and numbers; `farloop.Run` says what each is."""

    @property
    def label(self) -> str:
        """Its name."""

    @property
    def case(self) -> str:
        """The case of the figure that it belongs to."""

    @property
    def algorithm(self) -> str:
        """The algorithm of its flows."""

    @property
    def seed(self) -> int:
        """The seed of all random streams."""

    @property
    def duration(self) -> float:
        """Simulated seconds."""

    @property
    def flows(self) -> pa.Table:
        """One row per flow."""

    @property
    def ports(self) -> pa.Table:
        """One row per egress port."""

    @property
    def sizes(self) -> SizeClasses:
        """The classes of flow sizes that its numbers are divided by."""

    @property
    def scenario(self) -> dict[str, Any]:
        """The scenario with all defaults resolved."""

    @property
    def info(self) -> dict[str, Any]:
        """Totals, invariants, deadlocks, starts."""

    @property
    def summary(self) -> dict[str, Any]:
        """Its numbers, with cautions."""

    @property
    def numbers(self) -> dict[str, Any]:
        """Its numbers alone."""


class ComparedRuns(Protocol):
    """Runs side by side; `farloop.Comparison` says what each is."""

    @property
    def runs(self) -> Sequence[RunNumbers]:
        """The runs, in the requested order."""

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds that everything was run with."""

    @property
    def groups(self) -> Mapping[str, Sequence[RunNumbers]]:
        """The runs of each case and algorithm, one per seed."""
