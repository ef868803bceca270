"""GEMINI in the running kernel."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

from farloop.kernel.programs import Program
from farloop.kernel.settings import constants, pack_settings, parameters

NAME = "gemini"
"""Its name as a congestion control of TCP, and of its struct_ops map."""

EVENTS = "gemini_events"
"""Its ring buffer of recorded events."""

_PRIVATE = struct.Struct("=9Q5I2H4BI")
"""`struct private_state` of linux/gemini/kernel.h: core, states, the window that the kernel has."""

_FLOW = struct.Struct("=3Q12I")
"""`struct flow` of linux/gemini/kernel.h: counters, and what the receiving half keeps."""

_FLAGS = {"initial": 1, "congested_wan": 2, "no_sample": 32}


def _state(private: bytes, stored: bytes, common: dict[str, Any]) -> dict[str, Any]:
    cwnd, ssthresh, base_rtt, srtt8, *_ = core = _PRIVATE.unpack(private)
    alpha, f, _, _, _, flags, mss, _, _, late, marked, _ = core[9:]
    _, acks, unsampled, *counts = _FLOW.unpack(stored)
    names = (
        "marked_acks",
        "ecn_cuts",
        "delay_cuts",
        "fast_retransmits",
        "timeouts",
        "undone",
        "idle_restarts",
        "moved",
    )
    counts[0] += marked
    packet = max(mss, 1) << 10
    return {
        "mss": mss,
        "cwnd": max(cwnd // packet, 1),
        "ssthresh": None if ssthresh == 2**64 - 1 else max(ssthresh // packet, 1),
        "alpha": alpha / 2**30,
        "f": f / 2**30,
        "base_rtt_ms": None if flags & _FLAGS["no_sample"] else base_rtt / 1e6,
        "srtt_ms": None if flags & _FLAGS["no_sample"] else srtt8 / 8e6,
        "congested_wan": bool(flags & _FLAGS["congested_wan"]),
        "acks": acks + late,
        "samples": acks + late - unsampled,
        **dict(zip(names, counts, strict=False)),
    }


GEMINI = Program(NAME, NAME, "gemini_flows", parameters, lambda values: pack_settings(constants(values)), _state)
"""The program."""


def load(settings: Iterable[str] = (), *, room: int = 0) -> dict[str, Any]:
    """Registers GEMINI with the kernel, as `Program.load` does.

    Args:
        settings: Parameters, each KEY=VALUE.
        room: Bytes for recorded events, a power of two of pages; none are recorded without.

    Returns:
        The parameters.
    """
    if not room:
        return GEMINI.load(settings)
    given = list(settings)
    content = pack_settings(constants(parameters(given)), record=True)
    return GEMINI.load(given, ring=(EVENTS, room), packed=content)


unload = GEMINI.unload
is_loaded = GEMINI.is_loaded
status = GEMINI.status
connections = GEMINI.connections
