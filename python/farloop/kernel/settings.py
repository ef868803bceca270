"""Parameters as scenarios write them; GEMINI's in the fixed point of its core (crates/cc/src/algorithms/gemini/core.rs)."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping
from typing import Any

from farloop import _native
from farloop.errors import FarloopError
from farloop.units import rate, seconds, size

FULL_PACKET = 1538
"""Bytes on the wire of a full-size packet, of which K's rule counts 50 per Gbps."""

NAMES = (
    "mss",
    "capacity",
    "threshold",
    "delay_threshold",
    "beta",
    "f_min",
    "h_per_byte",
    "h_min",
    "h_max",
    "max_cut",
    "g",
    "gain",
)
"""The constants of 64 bits in the order of `struct gemini_constants`."""

LAYOUT = struct.Struct("=12Q2I2Q")
"""`struct settings`."""

_SCENARIO = """
[run]
duration = "1ms"
[network]
topology = "dumbbell"
[transport]
kind = "tcp"
[algorithm]
name = "{0}"
[[flow]]
from = "s1"
to = "r1"
"""


def resolve_parameters(algorithm: str, settings: Iterable[str], refused: Mapping[str, str]) -> dict[str, Any]:
    """An algorithm's parameters with these settings, each KEY=VALUE, checked as a scenario's `[algorithm.NAME]` is.

    Args:
        algorithm: Its name in scenarios.
        settings: The settings.
        refused: Parameters that the kernel's program does not have, and why.

    Raises:
        FarloopError: a setting is wrong, or refused.
    """
    pairs = []
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise FarloopError(f"--set {setting}: expected KEY=VALUE, such as capacity=10Gbps")
        if why := refused.get(key.strip()):
            raise FarloopError(f"--set {key.strip()}: {why}")
        pairs.append((f"algorithm.{algorithm}.{key.strip()}", value.strip()))
    try:
        document = json.loads(_native.Scenario(_SCENARIO.format(algorithm), algorithm, pairs).resolved())
    except _native.ScenarioError as error:
        raise FarloopError(str(error).replace(f"algorithm.{algorithm}.", "")) from None
    of_kernel: dict[str, Any] = {k: v for k, v in document["algorithm"][algorithm].items() if k not in refused}
    return of_kernel


def parameters(settings: Iterable[str]) -> dict[str, Any]:
    """GEMINI's parameters with these settings, each KEY=VALUE, checked as a scenario's `[algorithm.gemini]` is.

    Raises:
        FarloopError: a setting is wrong, or C is not set.
    """
    values = resolve_parameters(
        "gemini", settings, {"slow_start": "connections of the kernel always begin in slow start"}
    )
    if values["capacity"] == "none":
        raise FarloopError(
            "C is not known: say the rate of the access link, or of the bottleneck where that is slower, such as --set capacity=10Gbps"
        )
    return values


def constants(values: dict[str, Any]) -> dict[str, int]:
    """The constants of the core, as `Constants::new` makes them of the same parameters.

    Pacing counts payload, as Linux paces: unlike the simulator's, `gain` has no headers. `mss` is each connection's own, here 0.
    """
    capacity = rate(values["capacity"])
    threshold = values["ecn_threshold"]
    k = 50 * FULL_PACKET * capacity / 1e9 if threshold == "none" else size(threshold)
    return {
        "mss": 0,
        "capacity": min(max(int(capacity) // 8000, 1), 2**31 - 1),
        "threshold": min(max(int(k), 1), 2**30),
        "delay_threshold": round(seconds(values["delay_threshold"]) * 1e9),
        "beta": to_fixed_point(values["beta"], 30),
        "f_min": to_fixed_point(values["f_min"], 30),
        "h_per_byte": to_fixed_point(8 * values["h"], 40),
        "h_min": 0 if values["h_min"] == "none" else to_fixed_point(values["h_min"], 20),
        "h_max": 1 << 40 if values["h_max"] == "none" else to_fixed_point(values["h_max"], 20),
        "max_cut": to_fixed_point(values["max_cut"], 30),
        "g": to_fixed_point(values["g"], 30),
        "gain": min(to_fixed_point(values["pacing_gain"], 16), 1 << 26),
        "skip_after_cut": int(values["skip_after_cut"]),
        "initial_alpha": to_fixed_point(values["initial_alpha"], 30),
    }


def pack_settings(values: dict[str, int], *, record: bool = False) -> bytes:
    """The constants as `struct settings` of linux/gemini/kernel.h."""
    last = (values["skip_after_cut"], 0, values["initial_alpha"], record)
    return LAYOUT.pack(*(values[n] for n in NAMES), *last)


def to_fixed_point(x: float, bits: int) -> int:
    """A real number in units of 2^-bits, to the nearest."""
    return int(float(x) * (1 << bits) + 0.5)
