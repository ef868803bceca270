"""Matrix of how training jobs slow one another down: the result of `farloop interference`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ALL = "all"
"""Name of the runs with all jobs."""


@dataclass(frozen=True)
class Interference:
    """Times of the iterations of several jobs, alone and together, each in seconds on average.

    Attributes:
        title: Of the scenario.
        jobs: Names of the jobs, in the scenario's order.
        alone: Time of an iteration of each job without the others; `None` where not all of its iterations ended.
        beside: The same beside one other job, by both names: `beside["a"]["b"]` is of `a`, which runs beside `b`.
        together: The same beside all others.
    """

    title: str
    jobs: tuple[str, ...]
    alone: Mapping[str, float | None]
    beside: Mapping[str, Mapping[str, float | None]]
    together: Mapping[str, float | None]

    def slowdown(self, job: str, other: str = ALL) -> float | None:
        """The time of a job beside another one, or beside all of them, over its time alone; `None` where one is not known."""
        alone, time = self.alone[job], self.together[job] if other == ALL else self.beside[job][other]
        return None if time is None or not alone else time / alone

    @property
    def as_json(self) -> dict[str, Any]:
        """All of it: seconds, and the matrix of slowdowns by rows."""
        rows = {job: {other: self.slowdown(job, other) for other in self.beside[job]} for job in self.jobs}
        return {
            "title": self.title,
            "jobs": list(self.jobs),
            "alone_s": dict(self.alone),
            "beside_s": {job: dict(times) for job, times in self.beside.items()},
            "together_s": dict(self.together),
            "slowdown": {job: row | {ALL: self.slowdown(job)} for job, row in rows.items()},
        }

    def rows(self) -> tuple[list[str], list[list[str | None]]]:
        """A table: header and rows, of a job and what each other one does to it."""
        header = ["job", "alone", *(f"beside {job}" for job in self.jobs), "beside all"]
        rows: list[list[str | None]] = []
        for job in self.jobs:
            alone = self.alone[job]
            cells = [self.slowdown(job, other) if other != job else None for other in self.jobs]
            rows.append(
                [
                    job,
                    "unfinished" if alone is None else f"{alone:.6g} s",
                    *("" if other == job else _text(cell) for other, cell in zip(self.jobs, cells, strict=True)),
                    _text(self.slowdown(job)),
                ]
            )
        return header, rows


def _text(slowdown: float | None) -> str:
    return "unfinished" if slowdown is None else f"{slowdown:.4g}"
