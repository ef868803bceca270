"""Sensitivity to ties: runs that differ only in the order of simultaneous events and in starts by less than a packet's time.

A simulation without chance can lock its flows into a phase that no real network keeps. `--jitter N` runs every simulation N more times with
`run.jitter` = 1 ... N (docs/determinism.md, "Ties"). A number that moves over these runs by more than it is stated with is *fragile*.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from farloop.errors import FarloopError, clip_text
from farloop.results.measures import VERSION, has_version
from farloop.results.protocols import ComparedRuns, RunNumbers
from farloop.units import rate_text

TOLERANCE = 0.05
"""A number may move by this part of its largest value; where seeds give it an interval, by half the width of that, if it is more."""

MAX_JITTER = 1000
"""More runs than this are a slip."""

NAMED = 3
"""Fragile numbers that a caution names; of more it says how many."""

STARVED = 0.01
"""A flow that never gets this part of what the largest one gets is left out: a difference between starving at 2 or 3 kbps is no finding."""

_FLOW = "throughput of "
"""Prefix of a flow's measure."""


@dataclass(frozen=True)
class TieSensitivity:
    """Numbers of a comparison's runs and of their variations.

    Attributes:
        count: Number of variations of each run.
        numbers: By label of a run (without seed) and measure: the number of the run itself, then of each variation; `None` where it does
            not exist.
        verdicts: By claim: verdict and measured numbers, of the runs themselves, then of each variation.
    """

    count: int
    numbers: dict[str, dict[str, list[float | None]]]
    verdicts: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def row(self) -> dict[str, Any]:
        """As the manifest has it."""
        return {"definitions": VERSION, "count": self.count, "numbers": self.numbers, "verdicts": self.verdicts}

    @classmethod
    def read(cls, row: Mapping[str, Any] | None) -> TieSensitivity | None:
        """From a manifest; nothing where the numbers have definitions of another version, since only new simulations give them."""
        if row is None or not has_version(row):
            return None
        return cls(int(row["count"]), dict(row["numbers"]), dict(row["verdicts"]))


@dataclass(frozen=True)
class Fragile:
    """A number that the variations move.

    Attributes:
        label: The run's label.
        measure: The measured quantity.
        low: The smallest value over the run and its variations.
        high: The largest one.
    """

    label: str
    measure: str
    low: float
    high: float

    @property
    def text(self) -> str:
        """In words."""
        text = rate_text if "throughput" in self.measure else "{:.3g}".format
        return f"{self.measure} {text(self.low)} to {text(self.high)}"


class Varied(ComparedRuns, Protocol):
    """Runs side by side, perhaps with variations, as `farloop.Comparison`."""

    @property
    def jitter(self) -> TieSensitivity | None:
        """Numbers of the variations; `None` where there are none."""


def read_jitter(count: object) -> int:
    """Reads the number of variations to run.

    Raises:
        FarloopError: it is no such number.
    """
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= MAX_JITTER:
        raise FarloopError(f"jitter: {clip_text(repr(count))}: expected a whole number from 0 to {MAX_JITTER}")
    return count


def measures(run: RunNumbers) -> dict[str, float | None]:
    """The numbers of a run that tables and verdicts are about: throughputs in bit/s, Jain's index, slowdowns."""
    return dict(_measures(run.summary))


def _measures(summary: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    yield "throughput", summary["throughput"]
    yield "Jain's index", summary["jain"]
    for kind, words in (("intra", "inside"), ("cross", "across")):
        yield f"mean throughput {words}", summary["mean_throughput"][kind]
        slowdown = summary["slowdown"][kind] or {}
        for name, word in (("mean", "mean"), ("p50", "median"), ("p99", "99th percentile")):
            yield f"slowdown {words}, {word}", slowdown.get(name)
    for flow in summary.get("flows", []):
        yield f"{_FLOW}{flow['name']}", flow["throughput"]


def is_fragile(values: Sequence[float | None], half: float | None = None) -> bool:
    """Returns true if a number moves by more than `TOLERANCE`, or half the width of its interval where that is more."""
    known = [value for value in values if value is not None]
    if not known:
        return False
    if len(known) < len(values):
        return True
    allowed = max(TOLERANCE * max(abs(value) for value in known), half or 0.0)
    return max(known) - min(known) > allowed


def find_fragile(comparison: Varied) -> list[Fragile]:
    """The numbers of a comparison that its variations move, those that move the most first, run by run."""
    if comparison.jitter is None:
        return []
    halves = _halves(comparison)
    moves = []
    for label, numbers in comparison.jitter.numbers.items():
        moved = []
        most = {name: max((value for value in of if value is not None), default=0.0) for name, of in numbers.items()}
        floor = STARVED * max((value for name, value in most.items() if name.startswith(_FLOW)), default=0.0)
        for measure, values in numbers.items():
            known = [value for value in values if value is not None]
            starves = measure.startswith(_FLOW) and most[measure] < floor
            if not starves and is_fragile(values, halves.get(label, {}).get(measure)):
                moved.append(Fragile(label, measure, min(known), max(known)))
        moves += sorted(moved, key=lambda move: move.low / move.high if move.high > 0 else 1.0)
    return moves


def _halves(comparison: Varied) -> dict[str, dict[str, float | None]]:
    """Half the widths of the intervals over seeds, by label and measure; none without several seeds."""
    # Here: the command line needs this module for its help, and numpy takes its time.
    from farloop import statistics

    if len(comparison.seeds) < 2:
        return {}
    halves: dict[str, dict[str, float | None]] = {}
    for label, runs in comparison.groups.items():
        each = [measures(run) for run in runs]
        halves[label] = {
            name: statistics.mean(known).half_width
            for name in each[0]
            if (known := [value for rerun in each if (value := rerun.get(name)) is not None])
        }
    return halves


def warnings(comparison: Varied) -> list[tuple[str, str]]:
    """Each run that has fragile numbers, and what a reader should know of them."""
    if comparison.jitter is None:
        return []
    by_label: dict[str, list[Fragile]] = {}
    for move in find_fragile(comparison):
        by_label.setdefault(move.label, []).append(move)
    count = comparison.jitter.count
    variations = "1 variation" if count == 1 else f"{count} variations"
    texts = []
    for label, moved in by_label.items():
        more = f"; and {len(moved) - NAMED} more" if len(moved) > NAMED else ""
        named = "; ".join(move.text for move in moved[:NAMED])
        texts.append(
            (label, f"{label}: fragile: {named}{more}: {variations} in ties and starts move these numbers (--jitter)")
        )
    return texts


def of_claims(rows: Sequence[Mapping[str, Any]], jitter: TieSensitivity | None) -> list[dict[str, Any]]:
    """Entries of claims.json that say where the variations give another verdict, or move a measured number."""
    if jitter is None:
        return [dict(row) for row in rows]
    judged = []
    for row in rows:
        changes = _claim_changes(jitter.verdicts.get(row["id"], []))
        note = "; ".join(part for part in (row["note"], changes) if part)
        judged.append(dict(row) | {"note": note, "fragile": bool(changes)})
    return judged


def _claim_changes(each: Sequence[Mapping[str, Any]]) -> str:
    if len(each) < 2:
        return ""
    verdicts = [claim["verdict"] for claim in each]
    parts = []
    if any(verdict != verdicts[0] for verdict in verdicts):
        others = ", ".join(verdicts[1:])
        parts.append(f"the verdict is {verdicts[0]}, and under other ties and starts {others}")
    moved = []
    for name in dict.fromkeys(name for claim in each for name in claim["measured"]):
        values = [claim["measured"].get(name) for claim in each]
        known = [float(value) for value in values if value is not None]
        if is_fragile(values):
            moved.append(f"{name} {min(known):.3g} to {max(known):.3g}")
    if moved:
        more = f" and {len(moved) - NAMED} more" if len(moved) > NAMED else ""
        parts.append("; ".join(moved[:NAMED]) + more)
    return f"fragile: {'; '.join(parts)}" if parts else ""
