"""Seeds: which there are, which runs differ in nothing else, and what such runs say together.

Reports and pictures show means with bands, summaries have means with intervals, verdicts are about all seeds: all of them group runs here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from farloop import statistics as intervals
from farloop.errors import FarloopError, clip_text
from farloop.results.protocols import RunNumbers
from farloop.results.size_classes import SplitAtMedian
from farloop.results.summary import bounds

R = TypeVar("R", bound=RunNumbers)
"""The kind of runs that are grouped."""

Seeds = str | Iterable[int]
"""Seeds: numbers, or a text such as "1-10" or "1,3,7-9"."""

MAX_SEEDS = 10_000
LARGEST_SEED = 2**63 - 1


def read_seeds(seeds: Seeds | None) -> tuple[int, ...]:
    """The seeds in the order given, each once; none for `None`.

    Raises:
        FarloopError: a seed is no whole number from 0 on, a range is none, or there are none or too many.
    """
    if seeds is None:
        return ()
    numbers: dict[int, None] = {}
    parts: list[object] = [seeds]
    if isinstance(seeds, str):
        parts = [part.strip() for part in seeds.split(",")]
    elif isinstance(seeds, Iterable):
        parts = list(seeds)
    for part in parts:
        first, last = _range(part)
        if last - first >= MAX_SEEDS or len(numbers) + last - first >= MAX_SEEDS:
            raise FarloopError(f"seeds: {clip_text(seeds)}: more than {MAX_SEEDS} seeds")
        numbers.update(dict.fromkeys(range(first, last + 1)))
    if not numbers:
        raise FarloopError("seeds: there is none; expected numbers and ranges such as 1-10 or 1,3,7")
    return tuple(numbers)


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
            f"seeds: {clip_text(part) or 'an empty text'}: expected whole numbers from 0 on and ranges of them, such as 1-10 or 1,3,7"
        )
    return first, last


def seed_suffix(seed: int) -> str:
    """Returns the end of a run's label where several seeds are run: "gear, seed 3"."""
    return f", seed {seed}"


def strip_seed(run: RunNumbers) -> str:
    """The label that a run has without seeds."""
    return run.label.removesuffix(seed_suffix(run.seed))


def group_by_label(runs: Iterable[R]) -> dict[str, list[R]]:
    """Runs that differ in nothing but their seed, by the label that they have without it."""
    by_labels: dict[str, list[R]] = {}
    for run in runs:
        by_labels.setdefault(strip_seed(run), []).append(run)
    return by_labels


def mean_text(
    values: Sequence[float | None],
    text: Callable[[float], str],
    *,
    floor: float | None = 0.0,
    ceiling: float | None = None,
) -> str | None:
    """The mean of the values that exist with its 95 % confidence interval, such as "7.42 [6.9, 9.1]"; `None` where there is none.

    Their number follows where some are missing. The interval stays within the range of the values.
    """
    known = [v for v in values if v is not None]
    if not known:
        return None
    count = "" if len(known) == len(values) else f" (n = {len(known)})"
    return intervals.mean(known, floor=floor, ceiling=ceiling).format(text) + count


def statistics(summaries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Summaries of the same shape as one: each number is an `Interval.row` over those that have it, `None` where none has.

    Texts stay where they are the same in all. Lists, such as that of flows, are taken element by element where all have the same names, and
    left out otherwise.
    """
    combined = _combine(list(summaries), ())
    return combined if isinstance(combined, dict) else {}


def _combine(values: list[Any], keys: tuple[str, ...]) -> Any:
    present = [v for v in values if v is not None]
    if not present:
        return None
    if all(isinstance(v, Mapping) for v in present):
        names = dict.fromkeys(key for v in present for key in v)
        values_by_name = {key: _combine([v.get(key) for v in present], (*keys, key)) for key in names}
        made = {key: value for key, value in values_by_name.items() if value is not _DIFFERENT}
        return SplitAtMedian(made) if isinstance(present[0], SplitAtMedian) else made
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in present):
        floor, ceiling = bounds(keys)
        return intervals.mean([float(v) for v in present], floor=floor, ceiling=ceiling).row()
    if all(isinstance(v, list) for v in present):
        listed = [[e.get("name") if isinstance(e, Mapping) else None for e in v] for v in present]
        if any(n != listed[0] for n in listed) or None in listed[0]:
            return _DIFFERENT
        return [_combine(list(elements), keys) for elements in zip(*present, strict=True)]
    return present[0] if all(v == present[0] for v in present) else _DIFFERENT


_DIFFERENT = object()
"""Marker of a value that differs between runs and is no number."""
