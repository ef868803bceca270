"""Algorithms of the kernel half: load them, take them away, say what their connections do."""

from __future__ import annotations

import ipaddress
import os
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from farloop.errors import FarloopError
from farloop.kernel import libbpf
from farloop.kernel.doctor import missing_requirements, object_file

ROW = struct.Struct("=104s72s5I16s16sIHHHH")
"""`struct row` of linux/flows.bpf.c."""

_DEFAULT = Path("/proc/sys/net/ipv4/tcp_congestion_control")
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
_SETTINGS = ".rodata.settings"
_F_LINK = 1 << 13  # BPF_F_LINK: a struct_ops map that is in service as long as its link is held
_STRUCT_OPS = 44  # BPF_STRUCT_OPS of enum bpf_attach_type
_STATES = ("open", "disorder", "cwr", "recovery", "loss")


@dataclass(frozen=True)
class Program:
    """An algorithm for the kernel.

    Attributes:
        name: Name in commands and scenarios, and of its compiled object.
        control: Its name as a congestion control of TCP, and of its struct_ops map.
        flows: Its map of connections.
        parameters: Makes parameters of settings, each KEY=VALUE.
        packed: Makes the bytes that the program reads of parameters.
        connection_row: Makes what `status` tells of a connection of icsk_ca_priv, what is stored beside it, and the kernel's numbers.
        shared: A map of connections that other programs use as well.
    """

    name: str
    control: str
    flows: str
    parameters: Callable[[Iterable[str]], dict[str, Any]]
    packed: Callable[[dict[str, Any]], bytes]
    connection_row: Callable[[bytes, bytes, dict[str, Any]], dict[str, Any]]
    shared: str | None = None

    def load(
        self, settings: Iterable[str] = (), *, ring: tuple[str, int] | None = None, packed: bytes | None = None
    ) -> dict[str, Any]:
        """Registers it with the kernel, which holds it until `unload`; no connection uses it before one asks for it.

        Args:
            settings: Parameters, each KEY=VALUE.
            ring: A ring buffer of the program, and its size in bytes, a power of two of pages.
            packed: The constants that the program reads, where they do not follow from the parameters alone.

        Returns:
            The parameters.

        Raises:
            FarloopError: something is missing, a setting is wrong, or it is loaded already.
        """
        parameters = self.parameters(settings)
        if lacking := missing_requirements(self.name):
            raise FarloopError(f"{self.name} cannot be loaded: {lacking[0]}")
        if self.is_loaded():
            raise FarloopError(f"{self.name} is loaded already; `farloop kernel unload {self.name}` takes it away")
        content = self.packed(parameters) if packed is None else packed
        libbpf.register(object_file(self.name).read_bytes(), self.control, (_SETTINGS, content), ring, self.shared)
        return parameters

    def register_by_link(self, parameters: dict[str, Any], control: str | None = None) -> int:
        """Registers it for as long as somebody holds the descriptor of its link, or has pinned it.

        Args:
            parameters: Its parameters, checked.
            control: Its name for the kernel, at most 15 characters; without, its own.

        Returns:
            The descriptor.

        Raises:
            FarloopError: the kernel refuses.
        """
        code, control = object_file(self.name).read_bytes(), control or self.control
        if control != self.control:
            code = rename_control(code, self.control, control)
        bpf, content = libbpf.library(), self.packed(parameters)
        with libbpf.open_object(code) as handle:
            if self.shared:
                libbpf.share_map(handle, self.shared)
            constants = bpf.bpf_object__find_map_by_name(handle, _SETTINGS.encode())
            ops = bpf.bpf_object__find_map_by_name(handle, self.control.encode())
            if not constants or not ops or bpf.bpf_map__set_initial_value(constants, content, len(content)):
                raise libbpf.last_error("the compiled program is another one")
            if bpf.bpf_map__set_map_flags(ops, _F_LINK) or bpf.bpf_object__load(handle):
                raise libbpf.last_error("the kernel refuses the program")
            made = bpf.bpf_map__attach_struct_ops(ops)
            if not made:
                raise libbpf.last_error(f"the kernel does not register {control}")
            try:
                # libbpf before 1.2 does not ask for the link.
                if is_available(control):
                    return os.dup(bpf.bpf_link__fd(made))
                link: int = bpf.bpf_link_create(bpf.bpf_map__fd(ops), 0, _STRUCT_OPS, None)
                if link < 0:
                    raise libbpf.last_error(f"the kernel does not register {control}")
                return link
            finally:
                bpf.bpf_link__destroy(made)

    def unload(self) -> None:
        """Takes it away. Connections that use it keep it until they end; new ones get another.

        Raises:
            FarloopError: it is not loaded, or it is the default of this network namespace.
        """
        if lacking := missing_requirements(self.name, objects=False):
            raise FarloopError(f"{self.name} cannot be unloaded: {lacking[0]}")
        numbers = [m.id for m in libbpf.maps() if (m.kind, m.name) == (libbpf.STRUCT_OPS, self.control)]
        if not numbers or not self.is_loaded():
            # What connections still hold has been unloaded before.
            left = "; connections that use it keep it until they end" if numbers else ""
            raise FarloopError(f"{self.name} is not loaded{left}")
        if _DEFAULT.read_text().strip() == self.control:
            raise FarloopError(
                f"{self.control} is the default of this network namespace; choose another first, such as: "
                "sysctl net.ipv4.tcp_congestion_control=cubic"
            )
        for number in numbers:
            libbpf.unregister(number)

    def is_loaded(self) -> bool:
        """True if connections can ask for it."""
        return is_available(self.control)

    def status(self) -> dict[str, Any]:
        """Returns whether it is loaded, and its connections in all network namespaces.

        Returns:
            `loaded`, and `connections` as `connections` tells them.

        Raises:
            FarloopError: something is missing, or the kernel refuses.
        """
        if lacking := missing_requirements(self.name):
            raise FarloopError(f"{self.name}'s connections cannot be listed: {lacking[0]}")
        code = object_file("flows").read_bytes()
        numbers = [m.id for m in libbpf.maps() if (m.kind, m.name) == (libbpf.SK_STORAGE, self.flows)]
        rows = b"".join(libbpf.read_storage(code, "flows", number) for number in numbers)
        return {"loaded": self.is_loaded(), "connections": self.connections(rows)}

    def connections(self, rows: bytes) -> list[dict[str, Any]]:
        """Parses the kernel's rows.

        Returns:
            Of each connection its addresses, `namespace` (inode), `state`, `mss` (bytes), `cwnd` (packets), `ssthresh` (packets, or None),
            `srtt_ms` (None before the first sample), and what the algorithm tells.

        Raises:
            FarloopError: they are no whole rows.
        """
        if len(rows) % ROW.size:
            raise FarloopError(
                f"the kernel's list of connections has {len(rows)} bytes, which are no rows of {ROW.size}"
            )
        connections = [self._connection(row) for row in ROW.iter_unpack(rows)]
        return sorted(connections, key=lambda c: (c["namespace"], c["source"], c["destination"]))

    def _connection(self, row: tuple[Any, ...]) -> dict[str, Any]:
        private, stored, cwnd, ssthresh, mss, srtt, state = row[:7]
        source, destination, namespace, source_port, destination_port, family, _ = row[7:]
        common = {
            "source": _address(source, source_port, family),
            "destination": _address(destination, destination_port, family),
            "namespace": namespace,
            "state": _STATES[state] if state < len(_STATES) else str(state),
            "mss": mss,
            "cwnd": cwnd,
            "ssthresh": None if ssthresh >= 2**31 - 1 else ssthresh,
            "srtt_ms": srtt / 1e3 if srtt else None,
        }
        return common | self.connection_row(private, stored, common)


def is_available(control: str) -> bool:
    """True if sockets can ask for a congestion control of this name."""
    return control in _AVAILABLE.read_text().split()


def rename_control(code: bytes, before: str, after: str) -> bytes:
    """A compiled object whose `struct tcp_congestion_ops` has another name.

    Raises:
        FarloopError: there is none of the name before.
    """
    (offset,) = struct.unpack_from("<Q", code, 0x28)
    size, count, names = struct.unpack_from("<3H", code, 0x3A)
    sections = [struct.unpack_from("<2I4Q", code, offset + i * size) for i in range(count)]
    for at, _, _, _, start, length in sections:
        name = sections[names][4] + at
        if code[name : code.index(b"\0", name)] in (b".struct_ops", b".struct_ops.link"):
            field_ = before.encode().ljust(16, b"\0")
            place = code.find(field_, start, start + length)
            if place >= 0:
                return code[:place] + after.encode().ljust(16, b"\0") + code[place + 16 :]
    raise FarloopError(f"the compiled program has no algorithm {before}; `make kernel` compiles it again")


def _address(raw: bytes, port: int, family: int) -> str:
    if family == 4:
        return f"{ipaddress.IPv4Address(raw[:4])}:{port}"
    address = ipaddress.IPv6Address(raw)
    return f"{address.ipv4_mapped}:{port}" if address.ipv4_mapped else f"[{address}]:{port}"
