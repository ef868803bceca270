"""Gear in the running kernel: HPCC's law inside a datacenter, Gear's across, from telemetry in a TCP option (docs/int-option.md)."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from farloop import _native
from farloop.errors import FarloopError
from farloop.kernel import libbpf, telemetry
from farloop.kernel.addresses import Ends
from farloop.kernel.doctor import missing, object_file
from farloop.units import rate, seconds

NAME = "gear"
"""Its name as a congestion control of TCP, and of its struct_ops map."""

STORAGE = "gear_flows"
"""The socket storage of its connections."""

PARAMETERS = ("capacity", "irtt", "cross_factor", "eta", "w_ai_fraction", "max_stage", "initial_rate", "in_flight")
"""What can be set: parameters of spec/gear.md, the line rate, and the rate to begin with."""

_SETTINGS = struct.Struct("=9QQ")
"""`struct settings` of linux/gear/kernel.h."""
_ROW = struct.Struct("=9Q4I")
"""`struct flow_row` of linux/gear/rows.bpf.c, after the ends."""
_FLAGS = {"cross": 1, "blind": 8, "limited_by_losses": 32}
_DEFAULT = Path("/proc/sys/net/ipv4/tcp_congestion_control")
_LARGEST_RATE = 2**30 * 1000
_LARGEST_TIME = 8.0

_SCENARIO = """
[run]
duration = "1ms"
[network]
topology = "dumbbell"
[transport]
kind = "tcp"
[algorithm]
name = "gear"
[[flow]]
from = "s1"
to = "r1"
"""


def parameters(settings: Iterable[str]) -> dict[str, Any]:
    """Gear's parameters with these settings, each KEY=VALUE, checked as a scenario's `[algorithm.gear]` is.

    Raises:
        FarloopError: a setting is wrong, or C or the round-trip time inside a datacenter is not set.
    """
    own: dict[str, str] = {}
    pairs = []
    for setting in settings:
        key, equals, value = (part.strip() for part in setting.partition("="))
        if not equals:
            raise FarloopError(f"--set {setting}: expected KEY=VALUE, such as capacity=10Gbps")
        if key in ("capacity", "initial_rate", "in_flight"):
            own[key] = value
        elif key in PARAMETERS:
            pairs.append((f"algorithm.gear.{key}", value))
        else:
            raise FarloopError(
                f"--set {key}: the kernel's Gear has no such parameter; expected {', '.join(PARAMETERS)}"
            )
    try:
        resolved = json.loads(_native.resolve(_SCENARIO, NAME, pairs))["algorithm"]["gear"]
    except _native.ScenarioError as error:
        raise FarloopError(str(error).replace("algorithm.gear.", "")) from None
    found: dict[str, Any] = {"capacity": own.get("capacity", "none"), "initial_rate": own.get("initial_rate", "none")}
    found |= {key: resolved[key] for key in PARAMETERS if key in resolved}
    found["in_flight"] = _number("in_flight", own.get("in_flight", "2"), 1.0, 16.0)
    for key in ("capacity", "irtt"):
        if found[key] == "none":
            what = "the rate of the access link" if key == "capacity" else "the round-trip time inside a datacenter"
            example = "10Gbps" if key == "capacity" else "50us"
            raise FarloopError(f"{key} is not known: say {what}, such as --set {key}={example}")
    _rate("capacity", found["capacity"])
    if found["initial_rate"] != "none":
        _rate("initial_rate", found["initial_rate"])
    if not 1e-6 <= seconds(found["irtt"]) <= _LARGEST_TIME:
        raise FarloopError(f"--set irtt: {found['irtt']} is outside the accepted range; expected 1us to 8s")
    return found


def packed(found: dict[str, Any]) -> bytes:
    """The parameters as `struct settings` of linux/gear/kernel.h."""
    irtt = round(seconds(found["irtt"]) * 1e9)
    initial = 0 if found["initial_rate"] == "none" else _rate("initial_rate", found["initial_rate"])
    return _SETTINGS.pack(
        _rate("capacity", found["capacity"]),
        irtt,
        min(round(float(found["cross_factor"]) * irtt), 2**63),
        _fixed(found["eta"]),
        _fixed(found["w_ai_fraction"]),
        int(found["max_stage"]),
        0,
        0,
        _fixed(found["in_flight"]),
        initial,
    )


def load(settings: Iterable[str] = ()) -> dict[str, Any]:
    """Registers Gear with the kernel, which holds it until `unload`; no connection uses it before one asks for it.

    Returns:
        The parameters.

    Raises:
        FarloopError: something is missing, a setting is wrong, or it is loaded already.
    """
    found = parameters(settings)
    if lacking := lacks():
        raise FarloopError(f"gear cannot be loaded: {lacking[0]}")
    if loaded():
        raise FarloopError("gear is loaded already; `farloop kernel unload gear` takes it away")
    code = object_file(NAME).read_bytes()
    libbpf.register(code, NAME, (".rodata.settings", packed(found)), share=telemetry.STORAGE)
    return found


def unload() -> None:
    """Takes Gear away. Connections that use it keep it until they end; cgroups keep telemetry until `telemetry.detach`.

    Raises:
        FarloopError: it is not loaded, or it is the default of this network namespace.
    """
    if lacking := missing(objects=False):
        raise FarloopError(f"gear cannot be unloaded: {lacking[0]}")
    numbers = [m.id for m in libbpf.maps() if (m.kind, m.name) == (libbpf.STRUCT_OPS, NAME)]
    if not numbers:
        raise FarloopError("gear is not loaded")
    if _DEFAULT.read_text().strip() == NAME:
        raise FarloopError(
            "gear is the default of this network namespace; choose another first, such as: sysctl net.ipv4.tcp_congestion_control=cubic"
        )
    for number in numbers:
        libbpf.unregister(number)


def loaded() -> bool:
    """Whether connections can ask for it."""
    return NAME in Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


def lacks() -> list[str]:
    """What is missing here: one line each, with how to get it."""
    if object_file(NAME).exists():
        return telemetry.lacks()
    return [
        *telemetry.lacks(),
        f"program {NAME}: not compiled; `make kernel` in a checkout does it, and wheels of Linux bring it",
    ]


def status() -> dict[str, Any]:
    """Whether Gear is loaded, and its connections in all network namespaces.

    Returns:
        `loaded`; `connections`, each with addresses, `namespace` (inode), `kind` ("intra" or "cross"), `window_bytes` on the wire, `cwnd`
        (packets), `load` (of the busiest hop, 1 for full), `base_rtt_ms`, `pacing_bps` and counters, `telemetry` those of
        `telemetry.connections` or None.
    """
    if lacking := lacks():
        raise FarloopError(f"gear's connections cannot be listed: {lacking[0]}")
    paths = {(c["namespace"], c["source"], c["destination"]): c for c in telemetry.connections()}
    found = []
    for c in parsed(telemetry.rows("flows", STORAGE)):
        path = paths.get((c["namespace"], c["source"], c["destination"]))
        ends = ("namespace", "source", "destination")
        found.append({**c, "telemetry": path and {k: v for k, v in path.items() if k not in ends}})
    return {"loaded": loaded(), "connections": found}


def parsed(data: bytes) -> list[dict[str, Any]]:
    """What the kernel's rows say.

    Raises:
        FarloopError: they are no whole rows.
    """
    size = Ends.LAYOUT.size + _ROW.size
    if len(data) % size:
        raise FarloopError(f"the kernel's list of connections has {len(data)} bytes, which are no rows of {size}")
    found = []
    for at in range(0, len(data), size):
        row = _ROW.unpack_from(data, at + Ends.LAYOUT.size)
        window, reference, load_, base_rtt, pacing, acks, reported, samples, updates, losses, timeouts, flags, cwnd = (
            row
        )
        found.append(
            {
                **Ends.read(data, at),
                "kind": "cross" if flags & _FLAGS["cross"] else "intra",
                "blind": bool(flags & _FLAGS["blind"]),
                "limited_by_losses": bool(flags & _FLAGS["limited_by_losses"]),
                "window_bytes": window // 1024,
                "reference_bytes": reference // 1024,
                "cwnd": cwnd,
                "load": load_ / 2**20,
                "base_rtt_ms": base_rtt / 1e6,
                "pacing_bps": pacing * 8,
                "acks": acks,
                "acks_with_telemetry": reported,
                "samples": samples,
                "updates": updates,
                "losses": losses,
                "timeouts": timeouts,
            }
        )
    return sorted(found, key=lambda c: (c["namespace"], c["source"], c["destination"]))


def _rate(key: str, text: str) -> int:
    """In bit per ms."""
    try:
        found = rate(text)
    except ValueError as error:
        raise FarloopError(f"--set {key}: {error}") from None
    if not 1e3 <= found <= _LARGEST_RATE:
        raise FarloopError(f"--set {key}: {text} is outside the accepted range; expected 1kbps to 1Tbps")
    return round(found / 1000)


def _number(key: str, text: str, least: float, most: float) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not least <= found <= most:
        raise FarloopError(f"--set {key}: {text} is outside the accepted range; expected {least:g} to {most:g}")
    return found


def _fixed(value: float) -> int:
    return int(float(value) * 2**20 + 0.5)
