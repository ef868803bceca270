"""A plan's shares, simulated beforehand: a scenario whose flows have the plan's algorithm, one share after the other."""

from __future__ import annotations

import tomllib
import zlib
from copy import deepcopy
from typing import Any

from farloop.errors import FarloopError
from farloop.kernel.gear import PARAMETERS as GEAR_PARAMETERS
from farloop.kernel.rollout.rollout_plan import RolloutPlan
from farloop.units import seconds

SHARES = (0.0, 0.05, 0.5, 1.0)
"""Of the flows that are moved."""


def predict_shares(plan: RolloutPlan) -> list[dict[str, Any]]:
    """Simulates the plan's scenario at each share.

    Returns:
        For each `share` the number of flows `moved`, mean rates of moved and of other flows (`moved_bps`, `unmoved_bps`, None without
        any), the rate of all together (`all_bps`), the mean round-trip time of delivered bytes (`rtt_s`) and the share of packets sent
        again (`retransmissions`).

    Raises:
        FarloopError: the plan has no scenario, or one that cannot say this.
    """
    if plan.scenario is None:
        raise FarloopError(
            f"{plan.path}: predict.scenario is missing; expected the path of a scenario with [[flow]] entries"
        )
    document = tomllib.loads(plan.scenario.read_text("utf-8"))
    flows = document.get("flow")
    if not isinstance(flows, list) or not flows:
        raise FarloopError(f"{plan.scenario}: the prediction moves flows one by one; expected [[flow]] entries")
    before = document.get("algorithm", {}).get("name", "")
    if before == plan.algorithm:
        raise FarloopError(
            f"{plan.scenario}: algorithm.name is {before} already, and the simulator has one set of its parameters; expected the algorithm "
            "that connections have before the plan, and another one than the plan's"
        )
    order = sorted(range(len(flows)), key=lambda i: zlib.crc32(f"{plan.seed}:{i}".encode()))
    rows: list[dict[str, Any]] = []
    for share in SHARES:
        count = max(round(share * len(flows)), 1 if share else 0)
        if not any(row["moved"] == count for row in rows):
            rows.append({"share": share} | _simulate(plan, document, set(order[:count])))
    return rows


def _simulate(plan: RolloutPlan, document: dict[str, Any], moved: set[int]) -> dict[str, Any]:
    import farloop

    changed = deepcopy(document)
    for number, flow in enumerate(changed["flow"]):
        if number in moved:
            flow["algorithm"] = plan.algorithm
    if moved:
        own = changed.setdefault("algorithm", {}).setdefault(plan.algorithm, {})
        own |= {k: v for k, v in plan.parameters.items() if plan.algorithm != "gear" or k in GEAR_PARAMETERS}
    changed.setdefault("record", {}).setdefault("flows", "all")
    result = farloop.run(changed)
    rows = result.flows.select(
        ["name", "start_ps", "finish_ps", "delivered_bytes", "retransmitted", "packets"]
    ).to_pylist()
    end = seconds(changed["run"]["duration"]) * 1e12
    rates, rtts, weights = {}, 0.0, 0
    for number, row in enumerate(rows):
        lasted = ((end if row["finish_ps"] is None else row["finish_ps"]) - row["start_ps"]) / 1e12
        rates[number] = 8 * row["delivered_bytes"] / lasted if lasted > 0 else 0.0
        samples = [v for v in result.samples.get(f"flow/{row['name']}", "rtt")[1] if v > 0]
        if samples:
            rtts += row["delivered_bytes"] * sum(samples) / len(samples)
            weights += row["delivered_bytes"]
    groups = {
        name: [rates[i] for i in rates if (i in moved) == own] for name, own in (("moved", True), ("unmoved", False))
    }
    packets = sum(row["packets"] for row in rows)
    return {
        "moved": len(moved),
        **{f"{name}_bps": sum(group) / len(group) if group else None for name, group in groups.items()},
        "all_bps": sum(rates.values()),
        "rtt_s": rtts / weights if weights else None,
        "retransmissions": sum(row["retransmitted"] for row in rows) / packets if packets else 0.0,
    }
