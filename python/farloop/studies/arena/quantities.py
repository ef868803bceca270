"""Quantities that people ask of a network, by the names that constraints and goals use.

A quantity is a number of one run. `farloop arena --must` and `farloop advise` read the same names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from farloop.errors import FarloopError, clip_text, nearest
from farloop.results.measures import LESS, MORE, of_cell, of_choice
from farloop.units import rate_text, time_text

SHARE, TIME, RATE, COUNT, RATIO = "share", "time", "rate", "count", "ratio"
"""Kinds of quantities: a share of 1, seconds, bit/s, a number of things, a multiple of what an empty network takes."""

WHOLE = 999.5
"""Multiples from here on are whole numbers."""


@dataclass(frozen=True)
class Quantity:
    """A number of a run that people care for.

    Attributes:
        name: Name in constraints, goals and tables.
        kind: "share", "time" (seconds), "rate" (bit/s), "count" or "ratio".
        better: "less" or "more".
        meaning: Its definition.
        key: Its name among the values of [Measured][farloop.studies.arena.measuring.Measured].
        otherwise: That of what it is where a run has none of `key`; empty without one.
    """

    name: str
    kind: str
    better: str
    meaning: str
    key: str
    otherwise: str = ""

    @property
    def measure(self) -> str:
        """Its identifier among all measures (`farloop.results.measures`)."""
        return of_choice(self.key, self.otherwise) if self.otherwise else of_cell(self.key)

    @property
    def flows_key(self) -> str:
        """The name of the number of flows among these values that a 99th percentile is over; empty for any other quantity."""
        flows, ending, _ = self.key.partition("_slowdown_p99")
        return f"{flows}_flows" if ending else ""

    def take_value(self, values: Mapping[str, Any]) -> float | None:
        """The quantity of a run; `None` where the run has none, such as a slowdown where no flow has a size."""
        value = values.get(self.key)
        if value is None and self.otherwise:
            value = values.get(self.otherwise)
        return None if value is None else float(value)

    def text(self, value: float) -> str:
        """A value of it for people."""
        if value == math.inf:
            return "without end"
        if self.kind == SHARE:
            return f"{100 * value:.3g} %"
        if self.kind == TIME:
            return time_text(value)
        if self.kind == RATE:
            return rate_text(value)
        return f"{value:,.0f}" if self.kind == COUNT or value >= WHOLE else f"{value:.3g}"


_PLAIN = {
    quantity.name: quantity
    for quantity in (
        Quantity("goodput", RATE, MORE, "delivered payload over the time of the run, all flows together", "goodput_bps"),
        Quantity("fairness", SHARE, MORE, "Jain's index of the throughputs of the endless flows; where none is endless, of the throughputs "
                 "of flows that could finish relative to what each gets alone", "jain_endless", "jain_relative"),
        Quantity("least share", SHARE, MORE, "least throughput of an endless flow over their mean", "least_share"),
        Quantity("paused", SHARE, LESS, "part of the time that the port with the longest PFC pauses was paused", "paused_share"),
        Quantity("paused across", SHARE, LESS, "the same of the ports of switches with a long-haul link", "border_paused_share"),
        Quantity("victims", SHARE, LESS, "part of the flows that waited for a pause whose root is not on their way", "victim_share"),
        Quantity("drops", SHARE, LESS, "part of the packets that were dropped at switches", "dropped_share"),
        Quantity("lossless drops", COUNT, LESS, "packets dropped where PFC was to prevent it", "lossless_dropped"),
        Quantity("unfinished", SHARE, LESS, "part of the flows that could have finished, and did not", "unfinished_share"),
        Quantity("iteration time", TIME, LESS, "mean time of an iteration of the training job where it is longest", "iteration_s"),
        Quantity("iteration slowdown", RATIO, LESS, "the same over that on an ideal network, of the job where that is largest",
                 "iteration_slowdown"),
        Quantity("queue delay", TIME, LESS, "mean queue of the port where it takes longest to drain, over its rate", "queue_delay_s"),
    )
}  # fmt: skip

_ALIASES = {
    "pfc": "paused",
    "pfc across": "paused across",
    "pauses": "paused",
    "throughput": "goodput",
}

_RENAMED = {
    "jain": "fairness, of the endless flows, or relative to what each flow gets alone (jain is the index of all flows' throughputs, "
    "as in farloop sweep)",
}
"""Names that meant something else, each with what to write now. They go with the next version."""

_SLOWDOWN = re.compile(
    r"(?:(mean|p50|p99) )?slowdown(?:(?: of)?(?: (small|medium|large))?(?: flows)?)?(?: (inside|across))?"
)

_KINDS = {None: "all", "inside": "intra", "across": "cross"}


def quantity(text: str) -> Quantity:
    """The quantity of a name, such as "goodput" or "p99 slowdown of small flows across".

    Raises:
        FarloopError: there is none.
    """
    name = " ".join(text.lower().split())
    name = _ALIASES.get(name, name)
    if name in _PLAIN:
        return _PLAIN[name]
    if name in _RENAMED:
        raise FarloopError(f"{clip_text(text)}: no such quantity any more; expected {_RENAMED[name]}")
    match = _SLOWDOWN.fullmatch(name)
    if match is None:
        hint = nearest(name, [*_PLAIN, "p99 slowdown"])
        raise FarloopError(
            f"{clip_text(text)}: no such quantity; {hint}; "
            "slowdowns are {mean|p50|p99} slowdown [of {small|medium|large} flows] [inside|across]"
        )
    statistic, size, where = match[1] or "mean", match[2], match[3]
    flows = " ".join(part for part in ("of", size, "flows", where) if part)
    return Quantity(
        f"{statistic} slowdown {flows}" if size or where else f"{statistic} slowdown",
        RATIO,
        LESS,
        f"FCT slowdown, {statistic}, unfinished flows by their age",
        f"{_KINDS[where]}_{size or 'all'}_slowdown_{statistic}",
    )


def names() -> list[str]:
    """The names of the quantities that have no parts."""
    return list(_PLAIN)
