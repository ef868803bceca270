"""Where the time of a job's iteration went, as `farloop why` shows it (docs/why.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from farloop.results.showing import Drawable
from farloop.results.why import cause_name, largest_first, place_name
from farloop.units import time_text

Group = tuple[str, str, str, str, str, str]


@dataclass
class JobExplanation(Drawable):
    """Where the time of an iteration of a training job went: its critical path over ranks.

    Attributes:
        job: Its name.
        number: Its number among the jobs.
        iteration: Number of the iteration, from 1.
        iterations: Number of the job's iterations.
        start_ps: When the iteration before was over at the last rank, or the job began.
        end_ps: When it was over at the last rank; in picoseconds as all times.
        last_rank: That rank.
        messages: Number of messages of the path that took queue pairs.
        parts: The parts of the time, which together are exactly `end_ps - start_ps`: `cause`, `limit`, `phase`, `rank`, `to` (of a
            message the rank that gets it), `port`, `rival`, `own`, `root` (as those of a flow), `time_ps`.
        slices: The same by hundredths of the time: pairs of a part's place in `parts` and picoseconds.
        steps: The path in the order of time: `cause` ("message" for all of a message's time in its queue pair), `phase`, `rank`, `to`,
            `start_ps`, `end_ps`.
        scale: Divisor of the job's bytes (`[[job]] scale`), and so of its communication.
    """

    job: str
    number: int
    iteration: int
    iterations: int
    start_ps: int
    end_ps: int
    last_rank: int
    messages: int
    parts: list[dict[str, Any]]
    slices: list[list[list[int]]] = field(repr=False)
    steps: list[dict[str, Any]] = field(repr=False)
    scale: int = 1

    @property
    def time_ps(self) -> int:
        """The time of the iteration."""
        return self.end_ps - self.start_ps

    @property
    def title(self) -> str:
        """Number of the iteration, and its job."""
        return f"iteration {self.iteration} of {self.job}"

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The parts, largest first: cause, limit, phase, ranks, where, by whom, time, share.

        Small ones are one row; where they would be a quarter of the time, ranks are taken together.
        """
        by_rank = self._rows(_ranks)
        if by_rank and by_rank[-1][0].endswith(" smaller parts") and float(by_rank[-1][-1].split()[0]) > 25:
            return self._rows(lambda _: "")
        return by_rank

    def _rows(self, ranks: Callable[[dict[str, Any]], str]) -> list[tuple[str, ...]]:
        def group(part: dict[str, Any]) -> Group:
            return (part["cause"], part["limit"], part["phase"], ranks(part), place_name(part), cause_name(part))

        return largest_first(self.parts, self.time_ps, group)

    def total_ps(self, key: str) -> dict[str, int]:
        """The time by `cause`, `limit`, `phase` or `rank`, largest first."""
        totals: dict[str, int] = {}
        for part in self.parts:
            name = str(part[key])
            totals[name] = totals.get(name, 0) + int(part["time_ps"])
        return dict(sorted(totals.items(), key=lambda item: -item[1]))

    @property
    def answer(self) -> str:
        """In one line what took most of the time."""
        if not self.parts:
            return f"{self.title} took no time"
        shares = ", ".join(
            f"{100 * time / self.time_ps:.0f} % {cause}" for cause, time in list(self.total_ps("cause").items())[:3]
        )
        return (
            f"{self.title}: of its {time_text(self.time_ps / 1e12)} {shares}; "
            f"{self.messages:,} messages on the path, rank {self.last_rank} is last{scale_text(self.scale)}"
        )

    @property
    def as_json(self) -> dict[str, Any]:
        """All of it, for `--json`."""
        return {
            "job": self.job,
            "number": self.number,
            "iteration": self.iteration,
            "iterations": self.iterations,
            "start_ps": self.start_ps,
            "end_ps": self.end_ps,
            "time_ps": self.time_ps,
            "last_rank": self.last_rank,
            "scale": self.scale,
            "messages": self.messages,
            "answer": self.answer,
            "causes_ps": self.total_ps("cause"),
            "limits_ps": {name or "none": time for name, time in self.total_ps("limit").items()},
            "phases_ps": self.total_ps("phase"),
            "parts": self.parts,
            "steps": self.steps,
        }

    def __str__(self) -> str:
        return self.answer


def scale_text(scale: int) -> str:
    """Returns the effect of a job's divided bytes on its communication, for the end of a sentence; empty where they are whole."""
    return f"; communication is 1/{scale}, since its bytes are (`farloop scale` keeps it)" if scale > 1 else ""


def _ranks(part: dict[str, Any]) -> str:
    return str(part["rank"]) if part["to"] is None else f"{part['rank']} to {part['to']}"
