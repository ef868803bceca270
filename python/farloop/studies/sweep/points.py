"""The points of a study: which values its keys take together. A grid, a list and random samples are combined, each with each."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from farloop import units
from farloop.errors import FarloopError, clip_text
from farloop.scenario import as_text

ALGORITHM, SEED = "algorithm", "seed"
"""Keys of a study, and of its table, that scenarios call by longer names."""

NAMES = {ALGORITHM: "algorithm.name", SEED: "run.seed"}

MAX_POINTS = 100_000
"""More than this is a slip."""

_KINDS = {"s": (units.seconds, "ps", 1e12), "bit/s": (units.rate, "bps", 1.0), "B": (units.size, "B", 1.0)}
"""Kinds of quantities: what reads them, and how one that is drawn at random is written."""

_MIN_INTEGER, _MAX_INTEGER = -(2**63), 2**63 - 1
"""Whole numbers as scenarios have them."""

BEYOND = "a number beyond 64 bits; expected one from -2^63 to 2^63-1"
"""Error message for a number beyond that, which may be too long to be shown."""

Value = bool | int | float | str | list[Any]
Point = dict[str, Value]
"""Values by key; `algorithm` and `seed` by these names."""


def key_name(key: str) -> str:
    """A key as the study's table calls it."""
    return next((short for short, long in NAMES.items() if key in (short, long)), key)


def is_of_64_bits(number: int) -> bool:
    """Returns true if a scenario can have this whole number."""
    return _MIN_INTEGER <= number <= _MAX_INTEGER


def setting(key: str, value: Value) -> tuple[str, str]:
    """A key and its value as `--set` takes them."""
    return NAMES.get(key, key), value_text(value)


def value_text(value: Value) -> str:
    """A value as a scenario file would write it, texts without quotes; a list as TOML."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else as_text(value)


def check_value(value: object) -> Value:
    """A value that a key of a scenario can have.

    Raises:
        FarloopError: it is none.
    """
    if isinstance(value, list) and not any(isinstance(element, dict | list) for element in value):
        return [check_value(element) for element in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise FarloopError(f"{value}: expected a finite number")
    if isinstance(value, int) and not is_of_64_bits(value):
        raise FarloopError(BEYOND)
    if isinstance(value, bool | int | float | str):
        return value
    raise FarloopError(f"{clip_text(repr(value))}: expected a text, a number, true or false, or a list of these")


def combine_points(*several: Sequence[Point]) -> list[Point]:
    """Every point of the first with every one of the second, and so on; where two have the same key the later one counts.

    Raises:
        FarloopError: there are too many.
    """
    count = math.prod(len(points) for points in several)
    if count > MAX_POINTS:
        raise FarloopError(f"{count} points; expected at most {MAX_POINTS}")
    return [dict(pair for part in parts for pair in part.items()) for parts in itertools.product(*several)]


def grid(values: Mapping[str, Sequence[Value]]) -> list[Point]:
    """Every combination of the values; the last key changes fastest.

    Raises:
        FarloopError: there are too many.
    """
    return combine_points(*([{key: value} for value in choices] for key, choices in values.items()))


@dataclass(frozen=True)
class Range:
    """Where a random value is drawn from.

    Attributes:
        low: The least.
        high: The largest.
        is_log: True if its logarithm is uniform instead of its value.
        unit: "s", "bit/s" or "B" of quantities; empty for numbers.
        is_whole: True for whole numbers from `low` to `high`, all equally likely.
    """

    low: float
    high: float
    is_log: bool = False
    unit: str = ""
    is_whole: bool = False

    @classmethod
    def read(cls, low: object, high: object, scale: object = "uniform") -> Range:
        """A range from its ends.

        Raises:
            FarloopError: they are none, or not of one kind.
        """
        if scale not in ("uniform", "log"):
            raise FarloopError(f'scale: {clip_text(repr(scale))}: expected "uniform" or "log"')
        ends = [_quantity(end) for end in (low, high)]
        (first, unit), (last, other) = ends
        if unit != other:
            raise FarloopError(
                f"{clip_text(repr(low))} and {clip_text(repr(high))} are not of one kind; "
                "expected two numbers, or two quantities of one unit"
            )
        if not first < last:
            raise FarloopError(f"from {clip_text(low)} to {clip_text(high)}: expected the smaller one first")
        if scale == "log" and first <= 0:
            raise FarloopError(f'from = {clip_text(repr(low))}: scale = "log" needs more than 0')
        factor = _KINDS[unit][2] if unit else 1.0
        widest = last / first if scale == "log" else last - first
        if not math.isfinite(widest) or (unit and last * factor > _MAX_INTEGER):
            raise FarloopError(f"to = {clip_text(repr(high))}: is too large; expected what a scenario can have")
        return cls(first, last, scale == "log", unit, isinstance(low, int) and isinstance(high, int))

    def interpolate(self, share: float) -> Value:
        """The value at a share of the range, from 0 to below 1."""
        low, high = self.low, self.high + (1 if self.is_whole else 0)
        value = low * (high / low) ** share if self.is_log else low + (high - low) * share
        if self.is_whole:
            # The largest ones have no numbers of their own in floating point.
            return max(_MIN_INTEGER, min(math.floor(value), int(self.high), _MAX_INTEGER))
        if not self.unit:
            return value
        _, written, factor = _KINDS[self.unit]
        return f"{round(value * factor)}{written}"


def _quantity(value: object) -> tuple[float, str]:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise FarloopError(f'{clip_text(repr(value))}: expected a number, or a quantity such as "5ms"')
    if not isinstance(value, str):
        if isinstance(value, int) and not is_of_64_bits(value):
            raise FarloopError(BEYOND)
        if not math.isfinite(value):
            raise FarloopError(f"{value}: expected a finite number")
        return float(value), ""
    for unit, (read, _, _) in _KINDS.items():
        try:
            return read(value), unit
        except ValueError:
            continue
    raise FarloopError(f'{clip_text(repr(value))}: expected a number, or a quantity such as "5ms", "10Gbps" or "64kB"')


def samples(count: int, seed: int, sources: Mapping[str, Range | Sequence[Value]]) -> list[Point]:
    """Random points, the same for the same seed on any machine: of each key a value of its range, or one of its choices."""
    # Python promises the same numbers of `random.Random(seed).random()` from version to version.
    draw = random.Random(seed).random

    def draw_value(source: Range | Sequence[Value]) -> Value:
        share = draw()
        return source.interpolate(share) if isinstance(source, Range) else source[int(share * len(source))]

    return [{key: draw_value(source) for key, source in sources.items()} for _ in range(count)]


def numbers(values: Iterable[Value | None]) -> tuple[list[float | None], str] | None:
    """The values of a key as numbers in one unit ("s", "bit/s", "B", or none); nothing where they are not all numbers of one kind."""
    converted: list[float | None] = []
    kinds: set[str] = set()
    for value in values:
        if value is None:
            converted.append(None)
            continue
        if isinstance(value, bool):
            return None
        try:
            number, unit = _quantity(value)
        except FarloopError:
            return None
        converted.append(number)
        kinds.add(unit)
    return (converted, kinds.pop()) if len(kinds) == 1 else None
