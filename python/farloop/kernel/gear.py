"""Gear in the running kernel: HPCC's law inside a datacenter, Gear's across, from telemetry in a TCP option (docs/int-option.md)."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from farloop.errors import FarloopError
from farloop.kernel import telemetry
from farloop.kernel.addresses import Ends
from farloop.kernel.doctor import missing_requirements
from farloop.kernel.programs import Program
from farloop.kernel.settings import resolve_parameters, to_fixed_point
from farloop.units import rate, seconds

PARAMETERS = ("irtt", "cross_factor", "eta", "max_stage", "w_ai_fraction")
"""Parameters of spec/gear.md that can be set, besides `capacity`, `initial_rate` and `in_flight`."""

_OWN = {"capacity": "none", "initial_rate": "none", "in_flight": "2"}
_LAWS = "the kernel has HPCC's law inside a datacenter and Gear's across, as the simulator reads them"
_REFUSED = dict.fromkeys(
    (
        "scale_intra_additive",
        "queue_horizon",
        "step_threshold",
        "step_factor_min",
        "step_factor_max",
        "step_feedback",
        "first_rtt_consecutive",
        "cross_first_update",
        "cross_additive_in_reference",
        "own_correction",
        "cross_window_limit",
        "pacing",
        "intra",
        "cross",
        "scale_hpcc_additive",
    ),
    _LAWS,
)

_SETTINGS = struct.Struct("=10Q")
"""`struct settings` of linux/gear/kernel.h."""
_ROW = struct.Struct("=9Q4I")
"""`struct flow_row` of linux/gear/rows.bpf.c, after the ends."""
_FLAGS = {"cross": 1, "blind": 8, "limited_by_losses": 32}
_LARGEST_RATE = 2**30 * 1000


@dataclass(frozen=True)
class Gear(Program):
    """Gear, whose connections are listed by a program of their own, and whose socket storage other programs share."""

    def status(self) -> dict[str, Any]:
        """Returns whether it is loaded, and its connections in all network namespaces.

        Returns:
            `loaded`; `connections`, as `connections` tells them, each with `telemetry`: the counters of `telemetry.connections`, or None.

        Raises:
            FarloopError: something is missing, or the kernel refuses.
        """
        if lacking := missing_requirements(self.name):
            raise FarloopError(f"{self.name}'s connections cannot be listed: {lacking[0]}")
        ends = ("namespace", "source", "destination")
        paths = {tuple(c[key] for key in ends): c for c in telemetry.connections()}
        connections = self.connections(telemetry.rows("flows", self.flows))
        for c in connections:
            path = paths.get(tuple(c[key] for key in ends))
            c["telemetry"] = path and {key: value for key, value in path.items() if key not in ends}
        return {"loaded": self.is_loaded(), "connections": connections}

    def connections(self, rows: bytes) -> list[dict[str, Any]]:
        """Parses the kernel's rows.

        Returns:
            Of each connection its addresses, `namespace` (inode), `kind` ("intra" or "cross"), `window_bytes` and `reference_bytes` on the
            wire, `cwnd` (packets), `load` (of the busiest hop, 1 for full), `base_rtt_ms`, `pacing_bps` and counters.

        Raises:
            FarloopError: they are no whole rows.
        """
        size = Ends.LAYOUT.size + _ROW.size
        if len(rows) % size:
            raise FarloopError(f"the kernel's list of connections has {len(rows)} bytes, which are no rows of {size}")
        connections = [
            {**Ends.read(rows, at), **_state(_ROW.unpack_from(rows, at + Ends.LAYOUT.size))}
            for at in range(0, len(rows), size)
        ]
        return sorted(connections, key=lambda c: (c["namespace"], c["source"], c["destination"]))


def parameters(settings: Iterable[str]) -> dict[str, Any]:
    """Gear's parameters with these settings, each KEY=VALUE, checked as a scenario's `[algorithm.gear]` is.

    Raises:
        FarloopError: a setting is wrong, or C or the round-trip time inside a datacenter is not set.
    """
    own, others = dict(_OWN), []
    for setting in settings:
        key, equals, value = (part.strip() for part in setting.partition("="))
        if equals and key in own:
            own[key] = value
        else:
            others.append(setting)
    of_gear = resolve_parameters("gear", others, _REFUSED)
    values = {**own, **{key: of_gear[key] for key in PARAMETERS}}
    for key, what, example in (
        ("capacity", "the rate of the access link", "10Gbps"),
        ("irtt", "the round-trip time inside a datacenter", "50us"),
    ):
        if values[key] == "none":
            raise FarloopError(f"{key} is not known: say {what}, such as --set {key}={example}")
    _rate("capacity", values["capacity"])
    if values["initial_rate"] != "none":
        _rate("initial_rate", values["initial_rate"])
    values["in_flight"] = _number("in_flight", values["in_flight"], 1.0, 16.0)
    return values


def pack_settings(values: dict[str, Any]) -> bytes:
    """The parameters as `struct settings` of linux/gear/kernel.h."""
    irtt = round(seconds(values["irtt"]) * 1e9)
    return _SETTINGS.pack(
        _rate("capacity", values["capacity"]),
        irtt,
        min(round(float(values["cross_factor"]) * irtt), 2**63),
        to_fixed_point(values["eta"], 20),
        to_fixed_point(values["w_ai_fraction"], 20),
        int(values["max_stage"]),
        0,
        0,
        to_fixed_point(values["in_flight"], 20),
        0 if values["initial_rate"] == "none" else _rate("initial_rate", values["initial_rate"]),
    )


def _state(row: tuple[int, ...]) -> dict[str, Any]:
    window, reference, load, base_rtt, pacing, acks, reported, samples, updates, losses, timeouts, flags, cwnd = row
    return {
        "kind": "cross" if flags & _FLAGS["cross"] else "intra",
        "blind": bool(flags & _FLAGS["blind"]),
        "limited_by_losses": bool(flags & _FLAGS["limited_by_losses"]),
        "cwnd": cwnd,
        "window_bytes": window // 1024,
        "reference_bytes": reference // 1024,
        "load": load / 2**20,
        "base_rtt_ms": base_rtt / 1e6,
        "pacing_bps": pacing * 8,
        "acks": acks,
        "acks_with_telemetry": reported,
        "samples": samples,
        "updates": updates,
        "fast_retransmits": losses,
        "timeouts": timeouts,
    }


def _rate(key: str, text: str) -> int:
    """In bit per ms."""
    try:
        bits_per_second = rate(text)
    except ValueError as error:
        raise FarloopError(f"--set {key}: {error}") from None
    if not 1e3 <= bits_per_second <= _LARGEST_RATE:
        raise FarloopError(f"--set {key}: {text} is outside the accepted range; expected 1kbps to 1Tbps")
    return round(bits_per_second / 1000)


def _number(key: str, text: str, least: float, most: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not least <= number <= most:
        raise FarloopError(f"--set {key}: {text} is outside the accepted range; expected {least:g} to {most:g}")
    return number


GEAR = Gear(
    "gear", "gear", "gear_flows", parameters, pack_settings, lambda private, stored, common: {}, telemetry.STORAGE
)
"""Gear as commands know it."""
