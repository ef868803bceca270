"""Constraints that must hold before anything is compared: "paused <= 1 %", "no pfc across", "goodput >= 90 %".

A bound is a number with its unit. A percentage of a rate is of the largest rate that any candidate reaches under the same seed; a
percentage of a time is of the longest base round-trip time of the run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from farloop import units
from farloop.errors import FarloopError, clip_text
from farloop.results.measures import MORE
from farloop.studies.arena.quantities import COUNT, RATE, RATIO, SHARE, TIME, Quantity, quantity

ARENA = (
    "paused <= 10 %",
    "victims <= 10 %",
    "lossless drops <= 0",
    "unfinished <= 1 %",
    "least share >= 10 %",
    "queue delay <= 50 %",
)
"""The arena's default constraints.

Each is what an operator would call broken: a port that stands still for a tenth of the time, one flow in ten that waits for
somebody else's congestion, a packet lost where PFC promises none, flows that never end, a flow that gets less than a tenth of its share,
and a standing queue of half the longest round trip.
"""

NOTHING = "none"
"""In place of a constraint: none of the usual ones."""

_WRITTEN = re.compile(r"\s*(?P<name>[^<>=]+?)\s*(?P<sign><=|>=|<|>)\s*(?P<value>[^<>=]+?)\s*")

_EXPECTED = 'expected "QUANTITY <= VALUE", "QUANTITY >= VALUE" or "no QUANTITY"'

_SLACK = 1e-9
"""Of a bound: what rounding may make of it."""


@dataclass(frozen=True)
class Requirement:
    """A bound on a quantity.

    Attributes:
        quantity: The bounded quantity.
        is_least: True if the bound is a minimum, false if it is a maximum.
        bound: The bound, in the quantity's unit; a share where `is_relative`.
        is_relative: True if it is a share of the best rate, or of the longest base round-trip time.
    """

    quantity: Quantity
    is_least: bool
    bound: float
    is_relative: bool = False

    @property
    def written(self) -> str:
        """As `parse` reads it, to the last digit."""
        percent = self.is_relative or self.quantity.kind == SHARE
        # Without an exponent, which units do not take.
        value = f"{Decimal(repr(self.bound)) * (100 if percent else 1):f}{' %' if percent else ''}"
        unit = {TIME: "s", RATE: "bps"}.get(self.quantity.kind, "") if not self.is_relative else ""
        return f"{self.quantity.name} {'>=' if self.is_least else '<='} {value}{unit}"

    def __str__(self) -> str:
        if not self.is_least and self.bound == 0:
            return f"no {self.quantity.name}"
        return f"{self.quantity.name} {self.bound_text}"

    @property
    def bound_text(self) -> str:
        """The bound alone, such as ">= 90 % of the best"; "0" where there is to be none."""
        if not self.is_least and self.bound == 0:
            return "0"
        value = f"{100 * self.bound:.3g} %" if self.is_relative else self.quantity.text(self.bound)
        of = {RATE: " of the best", TIME: " of the longest RTT"}.get(self.quantity.kind, "") if self.is_relative else ""
        return f"{'>=' if self.is_least else '<='} {value}{of}"

    def limit(self, values: Mapping[str, Any], best: Mapping[str, float]) -> float:
        """The bound for a run, in the quantity's unit.

        Args:
            values: The measured values of the run.
            best: The largest value of each rate among the runs with the same seed, by key.
        """
        if not self.is_relative:
            return self.bound
        whole = best.get(self.quantity.key, 0.0) if self.quantity.kind == RATE else float(values["longest_rtt_s"])
        return self.bound * whole

    def excess(self, values: Mapping[str, Any], best: Mapping[str, float]) -> float:
        """Returns how far a run is beyond the bound: 0 where it holds or has no such quantity; else the logarithm of the ratio."""
        value = self.quantity.take_value(values)
        return 0.0 if value is None else self.measure_excess(value, self.limit(values, best))

    def measure_excess(self, value: float, limit: float) -> float:
        """Returns how far a value is beyond a limit, both in the quantity's unit; as `excess`."""
        over, under = (limit, value) if self.is_least else (value, limit)
        if over <= under * (1 + _SLACK):
            return 0.0
        return math.log(over / under) if under > 0 else _BEYOND


_BEYOND = math.log(1e6)
"""Excess of a run beyond a bound of 0."""


def read(texts: Iterable[str], usual: Sequence[str] = ()) -> tuple[Requirement, ...]:
    """The constraints that are written, and those of the usual ones that bound other quantities.

    Args:
        texts: Such as "paused <= 1 %" or "no pfc across"; "none" leaves out the usual ones.
        usual: Default constraints of quantities that the texts do not name.

    Raises:
        FarloopError: a text is no constraint, or two contradict each other.
    """
    written = [text.strip() for text in texts]
    own = [parse(text) for text in written if text.lower() != NOTHING]
    named = {constraint.quantity.name for constraint in own}
    kept = [] if len(own) < len(written) else [c for c in map(parse, usual) if c.quantity.name not in named]
    for least in (c for c in own if c.is_least):
        for most in (c for c in own if not c.is_least and c.quantity == least.quantity):
            if most.is_relative == least.is_relative and most.bound < least.bound:
                raise FarloopError(f"{clip_text(str(least))} and {clip_text(str(most))}: nothing can hold both")
    return (*own, *kept)


def parse(text: str) -> Requirement:
    """One constraint.

    Raises:
        FarloopError: it is none.
    """
    if text.strip().lower().startswith("no "):
        what = quantity(text.strip()[3:])
        if what.better == MORE:
            raise FarloopError(f"{clip_text(text)}: {what.name} is what there should be; {_EXPECTED}")
        return _check_bound(Requirement(what, is_least=False, bound=0.0), text)
    match = _WRITTEN.fullmatch(text)
    if match is None:
        raise FarloopError(f"{clip_text(text)}: no constraint; {_EXPECTED}")
    what = quantity(match["name"])
    bound, is_relative = _bound(what, match["value"], text)
    requirement = Requirement(what, match["sign"][0] == ">", bound, is_relative)
    if requirement.is_least and is_relative and what.kind == RATE and bound > 1:
        raise FarloopError(f"{clip_text(text)}: nothing can hold it; expected no more than 100 % of the best")
    return _check_bound(requirement, text)


def _check_bound(requirement: Requirement, text: str) -> Requirement:
    """The constraint, unless it asks for flows that are faster than in an empty network."""
    if requirement.quantity.kind == RATIO and not requirement.is_least and requirement.bound < 1:
        raise FarloopError(
            f"{clip_text(text)}: nothing can hold it; expected 1 or more, the slowdown in an empty network"
        )
    return requirement


def _bound(what: Quantity, value: str, text: str) -> tuple[float, bool]:
    value = value.strip()
    try:
        if value.endswith("%"):
            share = float(value[:-1]) / 100
            if what.kind in (COUNT, RATIO):
                raise ValueError
            number, is_relative = share, what.kind in (RATE, TIME)
        else:
            convert = {TIME: units.seconds, RATE: units.rate}.get(what.kind, float)
            number, is_relative = float(convert(value.replace(" ", ""))), False
    except ValueError:
        expected = {
            SHARE: 'a share, such as "1 %"',
            TIME: 'a time, such as "200us", or a part of the longest RTT, such as "50 %"',
            RATE: 'a rate, such as "5Gbps", or a part of the best, such as "90 %"',
        }.get(what.kind, "a number")
        raise FarloopError(f"{clip_text(text)}: {clip_text(value)}: expected {expected}") from None
    if not math.isfinite(number) or number < 0:
        raise FarloopError(f"{clip_text(text)}: {clip_text(value)}: expected no less than 0")
    if what.kind == SHARE and number > 1:
        raise FarloopError(f"{clip_text(text)}: {clip_text(value)}: expected a share up to 100 %")
    return number, is_relative


def bests(runs: Iterable[Mapping[str, Any]], constraints: Sequence[Requirement]) -> dict[str, float]:
    """The largest value among runs of each rate that a constraint bounds by a part of it, by key."""
    keys = {c.quantity.key for c in constraints if c.is_relative and c.quantity.kind == RATE}
    measured = [(key, values.get(key)) for values in runs for key in keys]
    best: dict[str, float] = {}
    for key, value in measured:
        if value is not None:
            best[key] = max(best.get(key, 0.0), float(value))
    return best
