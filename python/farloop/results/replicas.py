"""The runs of one case that differ in their seed: what tables and pictures show together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from farloop.results.seeds import group_by_label

if TYPE_CHECKING:
    from farloop.results.run import Run


@dataclass(frozen=True)
class Replicas:
    """The runs of one case, one per seed.

    Attributes:
        label: Their common name.
        runs: The runs, by seed in the requested order.
    """

    label: str
    runs: list[Run]

    @property
    def n(self) -> int:
        """Number of runs."""
        return len(self.runs)

    @property
    def caption(self) -> str:
        """The label, and how many seeds it stands for."""
        return self.label if self.n == 1 else f"{self.label} (n = {self.n} seeds)"


def replicas(runs: Iterable[Run]) -> list[Replicas]:
    """The runs of each case together; a run that is alone keeps its label."""
    return [Replicas(label if len(of) > 1 else of[0].label, of) for label, of in group_by_label(runs).items()]
