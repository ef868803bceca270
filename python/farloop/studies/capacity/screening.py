"""Screening by rates: what the error bound of the fluid simulation separates from a requirement is not simulated packet by packet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from farloop.studies.advice.runs import Answered
from farloop.studies.arena.constraints import Requirement

HOLDS, FAILS, OPEN, REFUSED = "holds", "fails", "open", "refused"
"""Outcomes of a screening. Only `FAILS` keeps an option from packets; `REFUSED`: rates cannot simulate the scenario."""


@dataclass(frozen=True)
class Screened:
    """An option by rates.

    Attributes:
        state: "holds" or "fails" where the bound separates every, or one, requirement; "open" or "refused".
        values: Of each required quantity the value with the ends within which packets are, by the quantity's name; an end is `None` where
            the quantity has no bound.
        because: Why rates refused it.
    """

    state: str
    values: Mapping[str, tuple[float, float | None, float | None]]
    because: str = ""


def screen(answered: Answered, until: Sequence[Requirement]) -> Screened:
    """An option by what rates gave.

    Args:
        answered: The run by rates.
        until: The requirements.
    """
    if answered.measured is None:
        return Screened(REFUSED, {}, answered.because)
    values: dict[str, tuple[float, float | None, float | None]] = {}
    states = []
    for requirement in until:
        value = requirement.quantity.take_value(answered.measured.values)
        if value is None:
            states.append(OPEN)
            continue
        bound = error_bound(answered.error, requirement.quantity.key)
        low = None if bound is None else value / (1 + bound)
        high = None if bound is None or bound >= 1 else value / (1 - bound)
        values[requirement.quantity.name] = (value, low, high)
        states.append(_compare(requirement, requirement.limit(answered.measured.values, {}), low, high))
    state = FAILS if FAILS in states else OPEN if OPEN in states else HOLDS
    return Screened(state, values)


def error_bound(error: Mapping[str, Any] | None, key: str) -> float | None:
    """The bound on the relative error of a quantity by rates; `None` for one without a bound, which rates then do not decide.

    The simulator bounds the mean error of completion times by size class, and that of the 99th percentile of the slowdown over all flows
    (docs/fluid.md), and that of the time of any iteration of jobs, which holds for the mean over iterations and for their slowdown, too. A
    mean slowdown over all flows is a mean of slowdowns, each of which is off as its completion time is: the widest bound
    holds for it.

    Args:
        error: The error estimate of a run, as its summary has it.
        key: The quantity's name among the values of [Measured][farloop.studies.arena.measuring.Measured].
    """
    if not error:
        return None
    p99, iteration = error.get("p99_slowdown"), error.get("iteration_time")
    if key in ("iteration_s", "iteration_slowdown"):
        return float(iteration["bound"]) if iteration else None
    if key == "all_all_slowdown_p99":
        return float(p99["bound"]) if p99 else None
    if key == "all_all_slowdown_mean" and p99 and error["fct"]:
        return max(float(row["bound"]) for row in (p99, *error["fct"].values()))
    return None


def _compare(requirement: Requirement, limit: float, low: float | None, high: float | None) -> str:
    """Returns how an interval lies beside a limit."""
    least, most = (high, low) if requirement.is_least else (low, high)
    # The better end of the interval breaks the requirement, or the worse end holds it.
    if least is not None and requirement.measure_excess(least, limit) > 0:
        return FAILS
    if most is not None and requirement.measure_excess(most, limit) == 0:
        return HOLDS
    return OPEN
