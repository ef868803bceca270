"""Scenarios of jobs with less to simulate: bytes, rates, buffers and thresholds divided by one number, so that all times stay."""

from __future__ import annotations

import copy
from typing import Any

from farloop import units
from farloop.errors import FarloopError
from farloop.scenario import Scenario, Source

MIN_PACKETS = 20
"""Packets of the bandwidth-delay product of the shortest path: with fewer, windows and thresholds are mostly rounding."""

MAX_SCALE = 1024

_FORMAT = frozenset({"mtu", "header", "framing", "ack", "int_bytes", "mss"})
"""Sizes of what a packet has, which stay."""

_SECTIONS = ("network", "link", "switch", "wan_switch", "transport", "algorithm", "job", "event", "hosts")
"""Tables with rates and sizes."""


def scale_network(source: Source, by: int) -> Scenario:
    """The scenario with its jobs' bytes and all rates, buffers, thresholds and byte windows divided by a number.

    Packets keep their size, links their delay and ranks their computing time. So an iteration takes about as long, of fewer packets:
    docs/jobs.md has what that costs in exactness. The new scenario has every key.

    Args:
        source: A scenario whose traffic are jobs from the keys of plans.
        by: The number, 2 to 1024.

    Raises:
        FarloopError: it carries flows, a job is from a file, a `scale` would be above 1024, or the bandwidth-delay product of the shortest
            path would be below 20 packets.
    """
    scenario = Scenario.load(source)
    resolved = scenario.resolved
    _check(scenario, resolved, by)
    tables: dict[str, Any] = copy.deepcopy(resolved)
    tables.pop("case", None)
    for section in _SECTIONS:
        if section in tables:
            tables[section] = _divide(tables[section], by)
    for job in tables["job"]:
        job["scale"] *= by
        job["network_scale"] *= by
    made = Scenario.load(_drop_empty(tables))
    made.resolved  # noqa: B018  It is refused here where a divided value is out of range.
    return made


def _check(scenario: Scenario, resolved: dict[str, Any], by: int) -> None:
    where = scenario.file
    if not 2 <= by <= MAX_SCALE:
        raise FarloopError(f"{by}: expected 2 to {MAX_SCALE}")
    if not resolved.get("job") or resolved.get("flow") or resolved.get("workload"):
        raise FarloopError(f"{where}: expected [[job]] alone, no [[flow]] and no [[workload]]")
    for job in resolved["job"]:
        if job["file"] != "none":
            raise FarloopError(
                f"{where}: job.{job['name']}.file: its bytes cannot be divided; expected the keys of a plan"
            )
        if job["scale"] * by > MAX_SCALE:
            raise FarloopError(f"{where}: job.{job['name']}.scale: {job['scale']} times {by} is above {MAX_SCALE}")
    facts = scenario.forecast
    times = [job["base_rtt_s"][0] for job in facts["jobs"].values() if job["base_rtt_s"][0] is not None]
    if not times:
        return
    product = facts["network"]["line_rate_bps"] * min(times) / 8
    packets = product / by / units.size(str(resolved["transport"]["mtu"]))
    if packets < MIN_PACKETS:
        most = int(product / units.size(str(resolved["transport"]["mtu"])) / MIN_PACKETS)
        raise FarloopError(
            f"{where}: {by} leaves {packets:.3g} packets of the bandwidth-delay product of the shortest path; "
            f"expected {MIN_PACKETS} or more: " + (f"{most} or less" if most > 1 else "this network cannot be divided")
        )


def _divide(value: Any, by: int, key: str = "") -> Any:
    """The same with every rate and size of bytes divided; texts of other kinds stay."""
    if isinstance(value, dict):
        return {name: _divide(item, by, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_divide(item, by, key) for item in value]
    if not isinstance(value, str) or key in _FORMAT:
        return value
    if (rate := _read_quantity(units.rate, value)) is not None:
        return f"{round(rate / by)}bps"
    if (size := _read_quantity(units.size, value)) is not None:
        return f"{max(1, round(size / by))}B"
    return value


def _read_quantity(reader: Any, text: str) -> float | None:
    if not text[:1].isdigit():
        return None
    try:
        return float(reader(text))
    except (ValueError, FarloopError):
        return None


def _drop_empty(value: Any) -> Any:
    """The same without empty tables and lists, which a scenario does not have."""
    if isinstance(value, dict):
        return {key: _drop_empty(item) for key, item in value.items() if item not in ([], {}, None)}
    if isinstance(value, list):
        return [_drop_empty(item) for item in value]
    return value
