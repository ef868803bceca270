"""GEMINI in the running kernel: load it, take it away, say what its connections do."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from farloop.errors import FarloopError
from farloop.kernel import libbpf
from farloop.kernel.doctor import missing, object_file
from farloop.kernel.settings import constants, packed, parameters

NAME = "gemini"
"""Its name as a congestion control of TCP, and of its struct_ops map."""

EVENTS = "gemini_events"
"""Its ring buffer of recorded events."""

_STORAGE = "gemini_flows"
_DEFAULT = Path("/proc/sys/net/ipv4/tcp_congestion_control")
_ROW = struct.Struct("=9Q6IIBBH3Q12I16s16sIHHH6x")
"""`struct row` of linux/gemini/flows.bpf.c: core, packet size and states, counters, addresses."""

_FLAGS = {"initial": 1, "congested_wan": 2, "no_sample": 32}


def load(settings: Iterable[str] = (), *, room: int = 0) -> dict[str, Any]:
    """Registers GEMINI with the kernel, which holds it until `unload`; no connection uses it before one asks for it.

    Args:
        settings: Parameters, each KEY=VALUE.
        room: Bytes for recorded events, a power of two of pages; none are recorded without.

    Returns:
        The parameters.

    Raises:
        FarloopError: something is missing, a setting is wrong, or it is loaded already.
    """
    found = parameters(settings)
    if lacking := missing():
        raise FarloopError(f"gemini cannot be loaded: {lacking[0]}")
    if loaded():
        raise FarloopError("gemini is loaded already; `farloop kernel unload gemini` takes it away")
    code = object_file("gemini").read_bytes()
    content = packed(constants(found), record=room > 0)
    libbpf.register(code, NAME, (".rodata.settings", content), (EVENTS, room) if room else None)
    return found


def unload() -> None:
    """Takes GEMINI away. Connections that use it keep it until they end; new ones get another.

    Raises:
        FarloopError: it is not loaded, or it is the default of this network namespace.
    """
    if lacking := missing(objects=False):
        raise FarloopError(f"gemini cannot be unloaded: {lacking[0]}")
    numbers = _registered()
    if not numbers:
        raise FarloopError("gemini is not loaded")
    if _DEFAULT.read_text().strip() == NAME:
        raise FarloopError(
            "gemini is the default of this network namespace; choose another first, such as: sysctl net.ipv4.tcp_congestion_control=cubic"
        )
    for number in numbers:
        libbpf.unregister(number)


def loaded() -> bool:
    """Whether connections can ask for it."""
    return NAME in Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


def status() -> dict[str, Any]:
    """Whether GEMINI is loaded, and its connections in all network namespaces.

    Returns:
        `loaded`; `connections`, each with addresses, `namespace` (inode), `cwnd` (packets), `ssthresh` (packets or None), `alpha`, `f`,
        `base_rtt_ms`, `srtt_ms`, `pacing_bps` and counters.
    """
    if lacking := missing():
        raise FarloopError(f"gemini's connections cannot be listed: {lacking[0]}")
    code = object_file("flows").read_bytes()
    numbers = [m.id for m in libbpf.maps() if (m.kind, m.name) == (libbpf.SK_STORAGE, _STORAGE)]
    rows = b"".join(libbpf.read_storage(code, "flows", number) for number in numbers)
    return {"loaded": loaded(), "connections": connections(rows)}


def connections(rows: bytes) -> list[dict[str, Any]]:
    """What the kernel's rows say.

    Raises:
        FarloopError: they are no whole rows.
    """
    if len(rows) % _ROW.size:
        raise FarloopError(f"the kernel's list of connections has {len(rows)} bytes, which are no rows of {_ROW.size}")
    found = [_connection(row) for row in _ROW.iter_unpack(rows)]
    return sorted(found, key=lambda c: (c["namespace"], c["source"], c["destination"]))


def _connection(row: tuple[Any, ...]) -> dict[str, Any]:
    cwnd, ssthresh, base_rtt, srtt8 = row[:4]
    alpha, f, _, _, _, flags, mss, state, _, _ = row[9:19]
    _, acks, samples = row[19:22]
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
    source, destination, namespace, source_port, destination_port, family = row[34:40]
    packet = max(mss, 1) << 10
    states = ("open", "disorder", "cwr", "recovery", "loss")
    return {
        "source": _address(source, source_port, family),
        "destination": _address(destination, destination_port, family),
        "namespace": namespace,
        "state": states[state] if state < len(states) else str(state),
        "mss": mss,
        "cwnd": max(cwnd // packet, 1),
        "ssthresh": None if ssthresh == 2**64 - 1 else max(ssthresh // packet, 1),
        "alpha": alpha / 2**30,
        "f": f / 2**30,
        "base_rtt_ms": None if flags & _FLAGS["no_sample"] else base_rtt / 1e6,
        "srtt_ms": None if flags & _FLAGS["no_sample"] else srtt8 / 8e6,
        "congested_wan": bool(flags & _FLAGS["congested_wan"]),
        "acks": acks,
        "samples": samples,
        **dict(zip(names, row[22:30], strict=True)),
    }


def _address(raw: bytes, port: int, family: int) -> str:
    if family == 4:
        return f"{ipaddress.IPv4Address(raw[:4])}:{port}"
    address = ipaddress.IPv6Address(raw)
    return f"{address.ipv4_mapped}:{port}" if address.ipv4_mapped else f"[{address}]:{port}"


def _registered() -> list[int]:
    return [m.id for m in libbpf.maps() if (m.kind, m.name) == (libbpf.STRUCT_OPS, NAME)]
