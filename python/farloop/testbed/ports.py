"""The program of the testbed's ports (linux/testbed/switch.bpf.c): loaded once, attached everywhere, its counters read."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from farloop.kernel import doctor, libbpf
from farloop.testbed.namespaces import Namespace

FIRST_INTERFACE = 1000
"""`FIRST_PORT`: number n has the interface with this index more."""

FIRST_FLOW = 10_000
"""Flow n sends to TCP port `FIRST_FLOW` + n."""

NO_LIMIT = 1 << 40
"""A queue that is never that long, in bytes."""

_SET, _PORTS, _DROPS = "farloop_set", "farloop_ports", "farloop_drops"
_EGRESS = 2
_LOCKED = 4
_SETTINGS = struct.Struct("=9Q")
_PORT = struct.Struct("=8x10Q8x")
_TICK = 1024
_BYTE = 7_812_500
"""Bit/s that are a byte in 1024 ns."""


class _Hook(ctypes.Structure):
    """`struct bpf_tc_hook`."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("ifindex", ctypes.c_int),
        ("attach_point", ctypes.c_int),
        ("parent", ctypes.c_uint32),
    )


class _Options(ctypes.Structure):
    """`struct bpf_tc_opts`."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("prog_fd", ctypes.c_int),
        ("flags", ctypes.c_uint32),
        ("prog_id", ctypes.c_uint32),
        ("handle", ctypes.c_uint32),
        ("priority", ctypes.c_uint32),
    )


_SIGNATURES = {
    "bpf_map__fd": (ctypes.c_int, [ctypes.c_void_p]),
    "bpf_map_lookup_elem": (ctypes.c_int, [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]),
    "bpf_map_lookup_elem_flags": (ctypes.c_int, [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64]),
    "bpf_map_update_elem": (ctypes.c_int, [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64]),
    "bpf_tc_hook_create": (ctypes.c_int, [ctypes.c_void_p]),
    "bpf_tc_attach": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p]),
}


@dataclass(frozen=True)
class Setting:
    """Settings of a port, in bytes on the wire; `rate` in bit/s, `pmax` a probability, `packets` 0 for no such limit.

    Of the packets with data the one of number `lost`, counted from 1, is dropped; 0 for none.
    """

    rate: int
    unseen: int
    limit: int = NO_LIMIT
    packets: int = 0
    kmin: int = NO_LIMIT
    kmax: int = NO_LIMIT
    pmax: float = 1.0
    lost: int = 0

    def pack_bytes(self, epoch: int) -> bytes:
        """`struct settings`."""
        chance = min(int(self.pmax * 2**32), 2**32)
        marking = (self.kmin, self.kmax, chance)
        return _SETTINGS.pack(*marking, self.limit, self.packets, self.unseen, self.rate, epoch, self.lost)


@dataclass(frozen=True)
class Counters:
    """Counters of a port: packets, bytes on the wire, marks, drops, queues in bytes; `integral` in byte-seconds.

    Packets that wait count as packets and bytes.
    """

    packets: int
    bytes: int
    marked: int
    dropped: int
    longest: int
    longest_of_epoch: int
    queue: float
    integral: float

    @property
    def sent(self) -> int:
        """Bytes on the wire of what has left."""
        return max(self.bytes - int(self.queue), 0)


class Ports:
    """The loaded program.

    Args:
        handle: The opened object.
        settings: Of each port.
        flows: Number of flows.

    Raises:
        FarloopError: the kernel refuses it.
    """

    def __init__(self, handle: int, settings: Sequence[Setting], flows: int) -> None:
        bpf = _library()
        self._settings = list(settings)
        self._epoch = 1
        sizes = {_SET: len(settings), _PORTS: len(settings), _DROPS: max(flows, 1)}
        maps = {name: bpf.bpf_object__find_map_by_name(handle, name.encode()) for name in sizes}
        for name, entries in sizes.items():
            if not maps[name] or bpf.bpf_map__set_max_entries(maps[name], entries):
                raise libbpf.last_error(f"the compiled program has no {name}")
        if bpf.bpf_object__load(handle):
            raise libbpf.last_error("the kernel refuses the testbed's ports")
        self._maps = {name: bpf.bpf_map__fd(of_object) for name, of_object in maps.items()}
        self._program = bpf.bpf_program__fd(bpf.bpf_object__find_program_by_name(handle, b"egress"))
        for number in range(len(settings)):
            self._set(number)

    def attach(self, number: int, namespace: Namespace) -> None:
        """Puts it at the egress of the interface of port `number`.

        Raises:
            FarloopError: the kernel does not do it.
        """
        bpf = _library()
        hook = _Hook(ctypes.sizeof(_Hook), FIRST_INTERFACE + number, _EGRESS, 0)
        options = _Options(ctypes.sizeof(_Options), self._program, 0, 0, 1, 1)
        with namespace.enter_namespace():
            made = bpf.bpf_tc_hook_create(ctypes.byref(hook))
            if made or bpf.bpf_tc_attach(ctypes.byref(hook), ctypes.byref(options)):
                raise libbpf.last_error("the kernel does not attach the testbed's ports")

    def read(self, number: int) -> Counters:
        """The counters of a port; the queue and its integral until now."""
        bpf, key, value = _library(), ctypes.c_uint32(number), ctypes.create_string_buffer(_PORT.size)
        where = (self._maps[_PORTS], ctypes.byref(key), value, _LOCKED)
        if bpf.bpf_map_lookup_elem_flags(*where):
            raise libbpf.last_error("the counters of the testbed's ports cannot be read")
        packets, size, marked, dropped, longest, of_epoch, epoch, integral, last, queue = _PORT.unpack(value.raw)
        ticks = max(time.monotonic_ns() - last, 0) / _TICK if last else 0.0
        rate = self._settings[number].rate
        drained = min(ticks, queue * _BYTE / rate)
        left = max(queue - drained * rate / _BYTE, 0.0)
        area = integral + drained * (queue + left) / 2
        longest_of_epoch = of_epoch if epoch == self._epoch else int(left)
        return Counters(packets, size, marked, dropped, longest, longest_of_epoch, left, area * _TICK / 1e9)

    def begin_epoch(self, numbers: Sequence[int]) -> None:
        """From now on `longest_of_epoch` of these ports is about what comes."""
        self._epoch += 1
        for number in numbers:
            self._set(number)

    def lose(self, number: int, packet: int) -> None:
        """A port drops one of the packets with data that reach it, counted from 1."""
        self._settings[number] = dataclasses.replace(self._settings[number], lost=packet)
        self._set(number)

    def count_dropped(self, flow: int) -> int:
        """Data packets of a flow that the ports have dropped."""
        bpf, key, value = _library(), ctypes.c_uint32(flow), ctypes.c_uint64(0)
        if bpf.bpf_map_lookup_elem(self._maps[_DROPS], ctypes.byref(key), ctypes.byref(value)):
            raise libbpf.last_error("the counters of the testbed's ports cannot be read")
        return value.value

    def _set(self, number: int) -> None:
        key, value = ctypes.c_uint32(number), self._settings[number].pack_bytes(self._epoch)
        if _library().bpf_map_update_elem(self._maps[_SET], ctypes.byref(key), value, 0):
            raise libbpf.last_error("the testbed's ports cannot be set")


@contextmanager
def load_program(settings: Sequence[Setting], flows: int) -> Iterator[Ports]:
    """The program in the kernel until the block ends and the interfaces that it is attached to are gone."""
    with libbpf.open_object(doctor.object_file("switch").read_bytes()) as handle:
        yield Ports(handle, settings, flows)


@functools.cache
def _library() -> ctypes.CDLL:
    bpf = libbpf.library()
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(bpf, name)
        function.restype, function.argtypes = result, arguments
    return bpf
