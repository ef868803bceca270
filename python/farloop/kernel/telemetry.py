"""Telemetry in a TCP option, at the ends of connections: linux/gear/options.bpf.c for the sockets of a cgroup (docs/int-option.md)."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from farloop.errors import FarloopError
from farloop.kernel import libbpf
from farloop.kernel.addresses import Ends
from farloop.kernel.doctor import missing_requirements, object_file

STORAGE = "int_paths"
"""The socket storage that senders, receivers and Gear share."""

ENTRIES = 3
"""Hops that an option has room for."""

_PROGRAM = "options"
_SOCK_OPS = 3  # BPF_CGROUP_SOCK_OPS
_ALLOW_MULTI = 2
_PATH = struct.Struct("=7Q6I36s36s")
"""`struct path` of linux/gear/kernel.h."""
_COUNTERS = ("probes", "probed", "unstamped", "echoes", "echoed", "no_room", "partial")
_INFO = struct.Struct("=64x16s")
"""The beginning of `struct bpf_prog_info`, up to the name."""


def attach(cgroup: Path, entries: int = ENTRIES) -> None:
    """Has sockets that are made in a cgroup carry telemetry from now on, until `detach`, or until the cgroup is no more.

    Args:
        cgroup: A directory of the unified hierarchy (cgroup v2).
        entries: Hops for which packets with data have room, 1 to 3; each costs them 12 bytes.

    Raises:
        FarloopError: something is missing, it is no such directory, or it has the program already.
    """
    if not 1 <= entries <= ENTRIES:
        raise FarloopError(f"{entries} entries; expected 1 to {ENTRIES}")
    if lacking := missing_requirements("options"):
        raise FarloopError(f"telemetry cannot be attached: {lacking[0]}")
    bpf = libbpf.library()
    with _directory(cgroup) as directory:
        if _programs(directory):
            raise FarloopError(f"{cgroup} has telemetry already; `farloop kernel telemetry detach {cgroup}` ends it")
        with libbpf.open_object(object_file("options").read_bytes()) as handle:
            content = struct.pack("=Q", entries)
            constants = bpf.bpf_object__find_map_by_name(handle, b".rodata.settings")
            if not constants or bpf.bpf_map__set_initial_value(constants, content, len(content)):
                raise libbpf.last_error("the compiled program has no settings of 8 bytes")
            libbpf.share_map(handle, STORAGE)
            if bpf.bpf_object__load(handle):
                raise libbpf.last_error("the kernel refuses the program")
            program = bpf.bpf_program__fd(bpf.bpf_object__find_program_by_name(handle, _PROGRAM.encode()))
            if bpf.bpf_prog_attach(program, directory, _SOCK_OPS, _ALLOW_MULTI):
                raise libbpf.last_error(f"the kernel does not attach it to {cgroup}")


def detach(cgroup: Path) -> None:
    """Takes the program away: connections of the cgroup go on without the option.

    Raises:
        FarloopError: it is not there, or something is missing.
    """
    if lacking := missing_requirements(objects=False):
        raise FarloopError(f"telemetry cannot be detached: {lacking[0]}")
    with _directory(cgroup) as directory:
        programs = _programs(directory)
        if not programs:
            raise FarloopError(f"{cgroup} has no telemetry")
        for number in programs:
            with _program(number) as descriptor:
                if libbpf.library().bpf_prog_detach2(descriptor, directory, _SOCK_OPS):
                    raise libbpf.last_error(f"the kernel does not detach it from {cgroup}")


def is_attached(cgroup: Path) -> bool:
    """Returns true if the program is attached to the cgroup."""
    with _directory(cgroup) as directory:
        return bool(_programs(directory))


def connections() -> list[dict[str, Any]]:
    """Returns what each connection with telemetry has offered, met and echoed, in all network namespaces.

    Returns:
        For each `source`, `destination`, `namespace` (inode) and the counters of `struct path` in linux/gear/kernel.h.
    """
    if lacking := missing_requirements("options"):
        raise FarloopError(f"connections with telemetry cannot be listed: {lacking[0]}")
    return parse_rows(rows("paths", STORAGE))


def rows(program: str, storage: str) -> bytes:
    """Returns the output of an iterator of linux/gear/rows.bpf.c over all socket storage of that name."""
    code = object_file("rows").read_bytes()
    numbers = [m.id for m in libbpf.maps() if (m.kind, m.name) == (libbpf.SK_STORAGE, storage)]
    return b"".join(libbpf.read_storage(code, program, number) for number in numbers)


def parse_rows(data: bytes) -> list[dict[str, Any]]:
    """Parses the kernel's rows.

    Raises:
        FarloopError: they are no whole rows.
    """
    size = Ends.LAYOUT.size + _PATH.size
    if len(data) % size:
        raise FarloopError(f"the kernel's list of connections has {len(data)} bytes, which are no rows of {size}")
    paths = []
    for at in range(0, len(data), size):
        numbers = _PATH.unpack_from(data, at + Ends.LAYOUT.size)
        counters = dict(zip(_COUNTERS, numbers, strict=False))
        paths.append({**Ends.read(data, at), **counters, "entry_bytes": numbers[9]})
    return sorted(paths, key=lambda c: (c["namespace"], c["source"], c["destination"]))


@contextmanager
def _directory(cgroup: Path) -> Iterator[int]:
    try:
        descriptor = os.open(cgroup, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise FarloopError(f"{cgroup}: {error.strerror}; expected a directory of cgroup v2") from None
    try:
        if not (cgroup / "cgroup.procs").exists():
            raise FarloopError(
                f"{cgroup} is no cgroup; expected a directory of cgroup v2, such as one below /sys/fs/cgroup"
            )
        yield descriptor
    finally:
        os.close(descriptor)


def _programs(directory: int) -> list[int]:
    """Numbers of the programs of ours that are attached there."""
    numbers, count, flags = (ctypes.c_uint32 * 64)(), ctypes.c_uint32(64), ctypes.c_uint32()
    done = libbpf.library().bpf_prog_query(
        directory, _SOCK_OPS, 0, ctypes.byref(flags), ctypes.byref(numbers), ctypes.byref(count)
    )
    if done:
        raise libbpf.last_error("the kernel does not say what is attached there; expected a directory of cgroup v2")
    return [number for number in numbers[: count.value] if _name(number) == _PROGRAM]


def _name(number: int) -> str:
    with _program(number) as descriptor:
        info, size = ctypes.create_string_buffer(256), ctypes.c_uint32(256)
        if libbpf.library().bpf_obj_get_info_by_fd(descriptor, info, ctypes.byref(size)):
            raise libbpf.last_error("the kernel does not say what its BPF programs are")
        name: bytes = _INFO.unpack_from(info.raw)[0]
    return name.rstrip(b"\0").decode("ascii", "replace")


@contextmanager
def _program(number: int) -> Iterator[int]:
    descriptor = libbpf.library().bpf_prog_get_fd_by_id(number)
    if descriptor < 0:
        raise libbpf.last_error("the kernel does not open its BPF programs")
    try:
        yield descriptor
    finally:
        os.close(descriptor)
