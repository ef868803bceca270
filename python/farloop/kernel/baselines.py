"""Baselines of GEMINI, for kernels that lack it, or lack it as a BPF program: CUBIC, DCTCP and Vegas."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

from farloop.kernel.programs import Program
from farloop.kernel.settings import resolve_parameters, to_fixed_point

_START = "connections of the kernel begin as the kernel's do"
_NO_HYSTART = "this program ends slow start at a loss or a mark; the kernel's own cubic has HyStart"

_REFUSED = {
    "cubic": {
        "ecn": "marks are answered where both ends of a connection have agreed on ECN (sysctl net.ipv4.tcp_ecn)",
        "hystart": _NO_HYSTART,
    },
    "dctcp": {
        "slow_start": _START,
        "ai_scaling": "this program has DCTCP of RFC 8257",
        "ai_scaling_cap": "this program has DCTCP of RFC 8257",
        "cross_rtt_factor": "this program has DCTCP of RFC 8257",
        "pacing": "sch_fq paces connections of the kernel",
        "pacing_gain": "sch_fq paces connections of the kernel",
        "window_cap": "this program has DCTCP of RFC 8257",
        "window_cap_bytes": "this program has DCTCP of RFC 8257",
        "window_cap_scaling": "this program has DCTCP of RFC 8257",
        "control": "this program has DCTCP of RFC 8257",
        "increase_rate": "this program has DCTCP of RFC 8257",
        "min_rate": "this program has DCTCP of RFC 8257",
    },
    "vegas": {"initial_window": _START, "linux": "this program has Vegas of the papers"},
}

_CUBIC = struct.Struct("=13Q")
_DCTCP = struct.Struct("=Q8I64x")
_VEGAS = struct.Struct("=8I72x")
_STORED = struct.Struct("=4I56x")
"""`struct connection` of linux/classic.h."""


def _pack_cubic(values: dict[str, Any]) -> bytes:
    alpha = 3 * (1 - values["beta"]) / (1 + values["beta"])
    numbers = (
        to_fixed_point(values["c"], 20),
        to_fixed_point(values["beta"], 16),
        min(to_fixed_point(alpha, 24), 1 << 24),
    )
    flags = (values["reno_friendly"], values["fast_convergence"], values["alpha_one"])
    return struct.pack("=3Q4I", *numbers, *map(int, flags), to_fixed_point(values["growth_before_loss"], 24))


def _pack_dctcp(values: dict[str, Any]) -> bytes:
    numbers = (
        to_fixed_point(values["g"], 30),
        to_fixed_point(values["initial_alpha"], 30),
        to_fixed_point(values["increase"], 16),
    )
    return struct.pack("=3Q2I", *numbers, values["loss_cut"] == "half", 0)


def _pack_vegas(values: dict[str, Any]) -> bytes:
    thresholds = (
        values["scale"] * values["alpha"],
        values["scale"] * max(values["alpha"], values["beta"]),
        values["gamma"],
    )
    keep = 0.75 if values["loss_factor"] == "none" else values["loss_factor"]
    return struct.pack(
        "=3Q2I", *(to_fixed_point(x, 10) for x in thresholds), to_fixed_point(keep, 16), values["min_window"]
    )


def _parse_counts(stored: bytes) -> dict[str, Any]:
    return dict(zip(("reductions", "fast_retransmits", "timeouts", "undone"), _STORED.unpack(stored), strict=True))


def _cubic_state(private: bytes, stored: bytes, common: dict[str, Any]) -> dict[str, Any]:
    numbers = _CUBIC.unpack(private)
    w_max, last = numbers[1], numbers[12]
    return {"w_max": w_max / 2**24 if w_max else None, "acks": last >> 32, **_parse_counts(stored)}


def _dctcp_state(private: bytes, stored: bytes, common: dict[str, Any]) -> dict[str, Any]:
    _, alpha, _, _, _, _, _, acks, _ = _DCTCP.unpack(private)
    return {"alpha": alpha / 2**30, "acks": acks, **_parse_counts(stored)}


def _vegas_state(private: bytes, stored: bytes, common: dict[str, Any]) -> dict[str, Any]:
    base_rtt, _, _, _, _, _, _, acks = _VEGAS.unpack(private)
    return {"base_rtt_ms": None if base_rtt == 2**32 - 1 else base_rtt / 1e3, "acks": acks, **_parse_counts(stored)}


def _program(name: str, packed: Any, state: Any) -> Program:
    def parameters(settings: Iterable[str]) -> dict[str, Any]:
        return resolve_parameters(name, settings, _REFUSED[name])

    return Program(name, f"farloop_{name}", f"{name}_flows", parameters, packed, state)


CUBIC = _program("cubic", _pack_cubic, _cubic_state)
"""CUBIC of RFC 9438, without HyStart."""
DCTCP = _program("dctcp", _pack_dctcp, _dctcp_state)
"""DCTCP of RFC 8257."""
VEGAS = _program("vegas", _pack_vegas, _vegas_state)
"""Vegas of the papers."""
