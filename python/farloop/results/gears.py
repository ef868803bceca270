"""Gears: packet by packet, or by rates, which is faster and has an error (docs/fluid.md). Outputs say theirs.

The simulator declares which columns, metrics and totals a gear lacks (`farloop.results.fields`): those are null.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from farloop.errors import FarloopError, clip_text

KEY = "run.gear"

PACKETS, FLUID, MAX_MIN = "packets", "fluid", "max-min"

GEARS = (PACKETS, FLUID, MAX_MIN)

_STEPS = {PACKETS: ("packet-hops", "packet_hops"), FLUID: ("looks at flows", "looks")}
"""The steps that a run of a gear is made of, and the total that counts them; the baseline's are those of `FLUID`."""


def setting(gear: object) -> list[str]:
    """The setting that gives a scenario a gear; none for `None`.

    Raises:
        FarloopError: there is no such gear.
    """
    if gear is None:
        return []
    if gear not in GEARS:
        raise FarloopError(f"gear: {clip_text(repr(gear))}: expected {', '.join(GEARS[:-1])} or {GEARS[-1]}")
    return [f"{KEY}={gear}"]


def gear_of(scenario: Mapping[str, Any]) -> str:
    """The gear of a scenario with all keys, or of an older one without this one."""
    run = scenario.get("run")
    return str(run.get("gear", PACKETS)) if isinstance(run, Mapping) else PACKETS


def unit_of_steps(gear: str) -> str:
    """Returns the steps that a run of a gear is made of, in words."""
    return _STEPS.get(gear, _STEPS[FLUID])[0]


def steps(totals: Mapping[str, Any], gear: str) -> int:
    """Returns the number of steps that a run took: packet-hops, or looks at flows."""
    return int(totals.get(_STEPS.get(gear, _STEPS[FLUID])[1]) or 0)


def require_packets(scenario: Mapping[str, Any], what: str) -> None:
    """Refuses what needs the numbers of packets for a scenario of another gear.

    Args:
        scenario: The scenario with all keys.
        what: The command or option.

    Raises:
        FarloopError: its gear is another one.
    """
    if (gear := gear_of(scenario)) != PACKETS:
        raise FarloopError(
            f'{what}: needs numbers of packets, and the scenario has {KEY} = "{gear}"; expected {KEY} = "packets"'
        )


MEANINGS = {
    FLUID: "simulated as fluid queues and rates, not packet by packet",
    MAX_MIN: "computed from max-min fair rates and the delays of the empty network: a baseline, without queues",
}
"""What the numbers of a gear are, in words."""


def sentences(scenarios: Iterable[Mapping[str, Any]]) -> list[str]:
    """States of runs how they were simulated, where not all were packet by packet; and that gears differ, where they do."""
    each = list(dict.fromkeys(map(gear_of, scenarios)))
    if each in ([], [PACKETS]):
        return []
    if len(each) == 1:
        return [f"{MEANINGS.get(each[0], each[0])} (gear {each[0]}; docs/fluid.md says how far that is from packets)"]
    return [
        f"the runs have different gears ({', '.join(each)}): differences between them are also those of the gears "
        "(docs/fluid.md says how large)"
    ]


def error_sentence(estimate: Mapping[str, Any] | None) -> str:
    """States the bounds of the errors of a run by rates, as its `info` has them; empty where there are none."""
    if not estimate:
        return ""
    parts = [f"{_percent(row)} for flows {size}" for size, row in estimate["fct"].items()]
    if p99 := estimate["p99_slowdown"]:
        parts.append(f"{_percent(p99)} for the 99th percentile of the slowdown")
    sentences = [f"bounds of the mean error of completion times against packets: {_list(parts)}"] if parts else []
    if iteration := estimate.get("iteration_time"):
        sentences.append(f"bound of the error of the time of an iteration against packets: {_percent(iteration)}")
    return "; ".join(sentences)


def _percent(row: Mapping[str, Any]) -> str:
    return f"{100 * float(row['bound']):.2g} %" if row["bound"] < 1 else "a multiple"


def _list(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
