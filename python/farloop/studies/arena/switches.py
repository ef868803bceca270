"""Effects of a run on its switches: pauses by port, drops where PFC was to prevent them, how long queues take to drain."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from farloop.results.run import Run

_ROUTER = "router"
"""Kind of the ports of a switch outside of all datacenters."""

_FOR_ROOM = ("dropped_buffer", "dropped_limit")
"""Drops that lossless classes are to have none of."""


def measure_switches(run: Run) -> dict[str, Any]:
    """Measures a run's switches, by the names of [CELLS][farloop.results.fields.CELLS]."""
    ports = run.ports.to_pylist()
    at_switches = [port for port in ports if port["kind"] != "host"]
    borders = _borders(ports)
    paused = {_name(port): port["paused_ps"] / 1e12 / run.duration for port in ports}
    across = [paused[_name(port)] for port in at_switches if port["node"] in borders]
    lossless = {
        node: _has_pfc(run.scenario, node, kind) for node, kind in {(p["node"], p["kind"]) for p in at_switches}
    }
    packets = sum(port["packets"] for port in ports if port["kind"] == "host")
    return {
        # Each class of packets is paused for itself; a port whose classes all are is paused once.
        "paused_share": min(1.0, max(paused.values(), default=0.0)),
        "border_paused_share": min(1.0, max(across)) if across else None,
        "lossless_dropped": sum(port[cause] for port in at_switches for cause in _FOR_ROOM if lossless[port["node"]]),
        "dropped_share": run.summary["dropped"] / packets if packets else 0.0,
        "queue_delay_s": max(
            (8 * p["mean_queue_bytes"] / p["rate_bps"] for p in at_switches if p["rate_bps"]), default=0.0
        ),
    }


def _name(port: Mapping[str, Any]) -> tuple[str, str, int]:
    return port["node"], port["peer"], port["link"]


def _borders(ports: list[dict[str, Any]]) -> set[str]:
    """The switches with a link to another datacenter, or to a router outside of all."""
    where = {port["node"]: port["datacenter"] for port in ports}
    return {
        port["node"]
        for port in ports
        if port["kind"] != "host" and (port["kind"] == _ROUTER or where.get(port["peer"]) != port["datacenter"])
    }


def _has_pfc(scenario: Mapping[str, Any], node: str, kind: str) -> bool:
    """Returns true if the scenario's keys make a switch lossless."""
    settings = scenario["wan_switch" if kind == _ROUTER else "switch"]
    has = bool(settings["pfc"])
    for override in scenario.get("switch_override", []):
        patterns = override["match"] if isinstance(override["match"], list) else [override["match"]]
        if override.get("pfc") is not None and any(fnmatchcase(node, pattern) for pattern in patterns):
            has = bool(override["pfc"])
    return has
