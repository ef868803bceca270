"""Runs that differ in nothing but their seed, taken together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from farloop.metrics import interval
from farloop.results import Run, seed_suffix


@dataclass(frozen=True)
class Replicas:
    """The runs of one case, one per seed.

    Attributes:
        label: What they are called together.
        runs: The runs, by seed as they were asked for.
    """

    label: str
    runs: list[Run]

    @property
    def n(self) -> int:
        """How many there are."""
        return len(self.runs)

    @property
    def told(self) -> str:
        """The label, and how many seeds it stands for."""
        return self.label if self.n == 1 else f"{self.label} (n = {self.n} seeds)"


def replicas(runs: Iterable[Run]) -> list[Replicas]:
    """Runs by what they are called without their seed; a run that is alone keeps its label."""
    together: dict[str, list[Run]] = {}
    for run in runs:
        together.setdefault(run.label.removesuffix(seed_suffix(run.seed)), []).append(run)
    return [Replicas(label if len(found) > 1 else found[0].label, found) for label, found in together.items()]


def mean_text(values: Sequence[float | None], text: Callable[[float], str]) -> str | None:
    """The mean of the values that exist, with its 95 % confidence interval where there are several; `None` where there is none.

    How many there are is said where some are missing.
    """
    known = [v for v in values if v is not None]
    if not known:
        return None
    mean, half = interval(known)
    count = "" if len(known) == len(values) else f" (n = {len(known)})"
    return (text(mean) if len(known) < 2 else f"{text(mean)} ± {text(half)}") + count
