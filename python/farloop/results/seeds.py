"""Seeds: which there are, which runs differ in nothing else, and what such runs say together.

Reports and pictures show means with bands, summaries have means with intervals, verdicts are about all seeds: all of them group runs here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from farloop import statistics as intervals
from farloop.errors import FarloopError, shown
from farloop.results.summary import bounds

if TYPE_CHECKING:
    from farloop.judging.claims import Finding, Statement
    from farloop.results.run import Comparison, Run

Seeds = str | Iterable[int]
"""Seeds: numbers, or a text such as "1-10" or "1,3,7-9"."""

MOST_SEEDS = 10_000
LARGEST_SEED = 2**63 - 1


def read_seeds(seeds: Seeds | None) -> tuple[int, ...]:
    """The seeds in the order given, each once; none for `None`.

    Raises:
        FarloopError: a seed is no whole number from 0 on, a range is none, or there are none or too many.
    """
    if seeds is None:
        return ()
    found: dict[int, None] = {}
    parts: list[object] = [seeds]
    if isinstance(seeds, str):
        parts = [part.strip() for part in seeds.split(",")]
    elif isinstance(seeds, Iterable):
        parts = list(seeds)
    for part in parts:
        first, last = _range(part)
        if last - first >= MOST_SEEDS or len(found) + last - first >= MOST_SEEDS:
            raise FarloopError(f"seeds: {shown(seeds)}: more than {MOST_SEEDS} seeds")
        found.update(dict.fromkeys(range(first, last + 1)))
    if not found:
        raise FarloopError("seeds: there is none; expected numbers and ranges such as 1-10 or 1,3,7")
    return tuple(found)


def _range(part: object) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,19})(?:-(\d{1,19}))?", part, re.ASCII) if isinstance(part, str) else None
    if match:
        first, last = int(match[1]), int(match[2] or match[1])
    elif isinstance(part, int) and not isinstance(part, bool):
        first = last = part
    else:
        first, last = 0, -1
    if not 0 <= first <= last <= LARGEST_SEED:
        raise FarloopError(
            f"seeds: {shown(part) or 'an empty text'}: expected whole numbers from 0 on and ranges of them, such as 1-10 or 1,3,7"
        )
    return first, last


def seed_suffix(seed: int) -> str:
    """What the label of a run ends with where several seeds are run: "gear, seed 3"."""
    return f", seed {seed}"


def without_seed(run: Run) -> str:
    """The label that a run has without seeds."""
    return run.label.removesuffix(seed_suffix(run.seed))


def by_label(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Runs that differ in nothing but their seed, by the label that they have without it."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(without_seed(run), []).append(run)
    return found


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
    """The runs of each case together; a run that is alone keeps its label."""
    return [Replicas(label if len(of) > 1 else of[0].label, of) for label, of in by_label(runs).items()]


def mean_text(
    values: Sequence[float | None],
    text: Callable[[float], str],
    *,
    floor: float | None = 0.0,
    ceiling: float | None = None,
) -> str | None:
    """The mean of the values that exist with its 95 % confidence interval, such as "7.42 [6.9, 9.1]"; `None` where there is none.

    How many there are is said where some are missing. The interval does not leave what the values can be.
    """
    known = [v for v in values if v is not None]
    if not known:
        return None
    count = "" if len(known) == len(values) else f" (n = {len(known)})"
    return intervals.mean(known, floor=floor, ceiling=ceiling).told(text) + count


def statistics(summaries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Summaries of the same shape as one: each number is an `Interval.row` over those that have it, `None` where none has.

    Texts stay where they are the same in all. Lists, such as that of flows, are taken element by element where all have the same names, and
    left out otherwise.
    """
    combined = _combined(list(summaries), ())
    return combined if isinstance(combined, dict) else {}


def _combined(values: list[Any], keys: tuple[str, ...]) -> Any:
    present = [v for v in values if v is not None]
    if not present:
        return None
    if all(isinstance(v, Mapping) for v in present):
        names = dict.fromkeys(key for v in present for key in v)
        found = {key: _combined([v.get(key) for v in present], (*keys, key)) for key in names}
        return {key: value for key, value in found.items() if value is not _DIFFERENT}
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in present):
        floor, ceiling = bounds(keys)
        return intervals.mean([float(v) for v in present], floor=floor, ceiling=ceiling).row()
    if all(isinstance(v, list) for v in present):
        listed = [[e.get("name") if isinstance(e, Mapping) else None for e in v] for v in present]
        if any(n != listed[0] for n in listed) or None in listed[0]:
            return _DIFFERENT
        return [_combined(list(elements), keys) for elements in zip(*present, strict=True)]
    return present[0] if all(v == present[0] for v in present) else _DIFFERENT


_DIFFERENT = object()
"""What differs between runs and is no number."""


def judged_by_seed(comparison: Comparison, judge: Callable[[Comparison], list[Finding]]) -> list[Finding]:
    """What the runs say: as they are, or, of several seeds, each judged on its own and then taken together."""
    if len(comparison.seeds) < 2:
        return judge(comparison)
    each = [judge(comparison.of_seed(seed)) for seed in comparison.seeds]
    return [_together(list(found)) for found in zip(*each, strict=True)]


def mean_told(values: Sequence[float]) -> str:
    """A mean with its interval, in words."""
    return f"{intervals.mean(values).told('{:.3g}'.format)} (95 %, {len(values)} seeds)"


def _together(findings: list[Finding]) -> Finding:
    """One finding of one per seed."""
    statements = [_statement(list(s)) for s in zip(*(f.statements for f in findings), strict=True)]
    notes = list(dict.fromkeys(f.note for f in findings if f.note))
    note = "; ".join(
        [f"{len(findings)} seeds", *notes[:1], *(["notes differ between seeds"] if len(notes) > 1 else [])]
    )
    measured = _measured([f.measured for f in findings])
    return replace(findings[0], statements=statements, measured=measured, note=note, unjudged="")


def _statement(each: list[Statement]) -> Statement:
    """A number holds if its mean over the seeds does; an order if it does in more than half of the seeds."""
    first = each[0]
    decided = [s for s in each if s.holds is not None]
    if len(decided) < len(each):
        missing = next(s for s in each if s.holds is None)
        return replace(missing, evidence=f"undecided in {len(each) - len(decided)} seeds: {missing.evidence}")
    if first.accepted is not None:
        values = [s.value if s.value is not None else math.nan for s in each]
        mean = intervals.mean(values).estimate
        low, high = first.accepted
        said = f"{mean_told(values)}, accepted {low:.3g} to {high:.3g}"
        return replace(first, holds=mean is not None and low <= mean <= high, evidence=said, value=mean)
    holding = [s for s in each if s.holds]
    holds = 2 * len(holding) > len(each)
    example = next(s.evidence for s in each if s.holds == holds)
    valued = [s.value for s in each if s.value is not None]
    number = f"{mean_told(valued)}; " if len(valued) == len(each) else ""
    return replace(first, holds=holds, evidence=f"in {len(holding)} of {len(each)} seeds; {number}such as {example}")


def _measured(each: list[dict[str, Any]]) -> dict[str, Any]:
    """Means of the numbers, each with the ends of its interval; other entries as the first seed has them."""
    together: dict[str, Any] = {}
    for name in dict.fromkeys(k for measured in each for k in measured):
        values = [m[name] for m in each if name in m]
        if all(isinstance(v, (int, float)) for v in values) and len(values) > 1:
            found = intervals.mean([float(v) for v in values])
            together |= {name: found.estimate, f"{name}, 95 %": [found.low, found.high]}
        else:
            together[name] = values[0]
    return together
