"""Facts of a scenario's circuits, as rows of a table: the same ones in reports and by `farloop explain`."""

from __future__ import annotations

from typing import Any

from farloop.units import TIMES, rate_text, unit_for

Facts = dict[str, Any]
"""The simulator's facts of a network with circuit switches: the entry "circuits" of a run's `info`; times in s, rates in bit/s."""

HEADER = [
    "run", "scheduling", "racks", "slots", "week", "n", "m", "K1", "K", "RTO_min", "hosts' min_rto",
    "acceleration asks", "uplinks carry", "headroom",
]  # fmt: skip

EXPLANATION = (
    "n: round-trip times through the circuit in a day. m = ⌈log2 n⌉: round-trip times of acceleration (AccelToR, Theorem 1). "
    "K1: days before that of its circuit from which on a packet is let in (Eq. 1). K: days with a queue. RTO_min: the lower bound "
    "of timeouts that hosts should have, by Eq. 6 with acceleration, by Eq. 7 where elephants wait for their circuit. What "
    "acceleration asks of a rack's uplinks, and the headroom that they leave: of the pair of racks that has least; 1.8 is enough."
)


def fact_row(label: str, facts: Facts) -> list[str | None]:
    """One row of the table; `None` where there is no such number."""
    demand = facts["demand"] or {}
    equation = {"acceltor": " (Eq. 6)", "blocking": " (Eq. 7)"}.get(facts["scheduling"], "")
    needed, has = _time(facts["min_rto_s"]), _time(facts["hosts_min_rto_s"])
    return [
        label,
        facts["scheduling"],
        str(facts["racks"]),
        str(facts["slots"]),
        _time(facts["week_s"]),
        *(None if facts[key] is None else str(facts[key]) for key in ("n", "m", "k1", "k")),
        needed and needed + equation,
        has and has + ("" if facts["hosts_min_rto_is_total"] else " + SRTT"),
        rate_text(demand["asked_bps"]) if demand else None,
        rate_text(demand["offered_bps"]) if demand else None,
        f"{demand['headroom']:.2f}" if demand else None,
    ]


def _time(seconds: float | None) -> str | None:
    """A duration to five digits: timeouts are compared to a round-trip time in a week of many."""
    if seconds is None:
        return None
    unit = unit_for([seconds], TIMES)
    return f"{seconds / unit.factor:.5g} {unit.name}"
