"""The calls of libbpf that the loader needs, by ctypes: nothing is compiled on the host."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from farloop.errors import FarloopError

SK_STORAGE = 24
"""`BPF_MAP_TYPE_SK_STORAGE`."""
STRUCT_OPS = 26
"""`BPF_MAP_TYPE_STRUCT_OPS`."""
RING = 27
"""`BPF_MAP_TYPE_RINGBUF`."""
PROGRAM_STRUCT_OPS = 27
"""`BPF_PROG_TYPE_STRUCT_OPS`."""
_TRACE_ITER = 28

_SIGNATURES = {
    "libbpf_version_string": (ctypes.c_char_p, []),
    "libbpf_set_print": (ctypes.c_void_p, [ctypes.c_void_p]),
    "bpf_object__open_mem": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]),
    "bpf_object__find_map_by_name": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]),
    "bpf_object__find_program_by_name": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]),
    "bpf_object__load": (ctypes.c_int, [ctypes.c_void_p]),
    "bpf_object__close": (None, [ctypes.c_void_p]),
    "bpf_map__set_initial_value": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]),
    "bpf_map__set_max_entries": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_uint32]),
    "bpf_map__reuse_fd": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_int]),
    "bpf_map__attach_struct_ops": (ctypes.c_void_p, [ctypes.c_void_p]),
    "bpf_program__fd": (ctypes.c_int, [ctypes.c_void_p]),
    "bpf_link_create": (ctypes.c_int, [ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p]),
    "bpf_iter_create": (ctypes.c_int, [ctypes.c_int]),
    "bpf_map_get_next_id": (ctypes.c_int, [ctypes.c_uint32, ctypes.c_void_p]),
    "bpf_map_get_fd_by_id": (ctypes.c_int, [ctypes.c_uint32]),
    "bpf_prog_get_next_id": (ctypes.c_int, [ctypes.c_uint32, ctypes.c_void_p]),
    "bpf_prog_get_fd_by_id": (ctypes.c_int, [ctypes.c_uint32]),
    "bpf_enable_stats": (ctypes.c_int, [ctypes.c_int]),
    "bpf_obj_get_info_by_fd": (ctypes.c_int, [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]),
    "bpf_prog_attach": (ctypes.c_int, [ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_uint]),
    "bpf_prog_detach2": (ctypes.c_int, [ctypes.c_int, ctypes.c_int, ctypes.c_int]),
    "bpf_prog_query": (ctypes.c_int, [ctypes.c_int, ctypes.c_int, ctypes.c_uint32, *3 * [ctypes.c_void_p]]),
    "bpf_map_delete_elem": (ctypes.c_int, [ctypes.c_int, ctypes.c_void_p]),
    "bpf_map_lookup_elem": (ctypes.c_int, [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]),
    "bpf_map_update_elem": (ctypes.c_int, [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64]),
    "bpf_map_get_next_key": (ctypes.c_int, [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]),
    "bpf_map__fd": (ctypes.c_int, [ctypes.c_void_p]),
    "bpf_map__set_map_flags": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_uint32]),
    "bpf_link__fd": (ctypes.c_int, [ctypes.c_void_p]),
    "bpf_link__destroy": (ctypes.c_int, [ctypes.c_void_p]),
    "bpf_obj_pin": (ctypes.c_int, [ctypes.c_int, ctypes.c_char_p]),
    "bpf_obj_get": (ctypes.c_int, [ctypes.c_char_p]),
    "ring_buffer__new": (ctypes.c_void_p, [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]),
    "ring_buffer__poll": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_int]),
    "ring_buffer__free": (None, [ctypes.c_void_p]),
}


Poll = Callable[[int], int]
"""Waits for up to so many ms for records, takes those that there are, and says how many."""


class _MapInfo(ctypes.Structure):
    """The beginning of `struct bpf_map_info`."""

    _fields_ = (
        ("type", ctypes.c_uint32),
        ("id", ctypes.c_uint32),
        ("key_size", ctypes.c_uint32),
        ("value_size", ctypes.c_uint32),
        ("max_entries", ctypes.c_uint32),
        ("map_flags", ctypes.c_uint32),
        ("name", ctypes.c_char * 16),
    )


class _ProgramInfo(ctypes.Structure):
    """The beginning of `struct bpf_prog_info`."""

    _fields_ = (
        ("type", ctypes.c_uint32),
        ("id", ctypes.c_uint32),
        ("code", ctypes.c_uint64 * 5),
        ("owner", ctypes.c_uint64 * 2),
        ("name", ctypes.c_char * 16),
        ("device", ctypes.c_uint64 * 3),
        ("symbols", ctypes.c_uint64 * 3),
        ("types", ctypes.c_uint64 * 3),
        ("lines", ctypes.c_uint64 * 4),
        ("tags", ctypes.c_uint64),
        ("run_time_ns", ctypes.c_uint64),
        ("run_cnt", ctypes.c_uint64),
        ("recursion_misses", ctypes.c_uint64),
    )


class _LinkOptions(ctypes.Structure):
    """The beginning of `struct bpf_link_create_opts`."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("flags", ctypes.c_uint32),
        ("iter_info", ctypes.c_void_p),
        ("iter_info_len", ctypes.c_uint32),
        ("target_btf_id", ctypes.c_uint32),
    )


@dataclass(frozen=True)
class Map:
    """A map that the kernel holds.

    Attributes:
        kind: Its type, such as `SK_STORAGE`.
        id: Its number.
        name: Its name, at most 15 characters.
    """

    kind: int
    id: int
    name: str


@dataclass(frozen=True)
class Calls:
    """The kernel's counts of a program while `counting` lasts, in this process or another.

    Attributes:
        kind: Its type, such as `PROGRAM_STRUCT_OPS`.
        id: Its number.
        name: Its name, at most 15 characters.
        calls: Number of runs.
        time: For how long, in ns, with the reading of the clock.
        refused: Number of runs refused because the program already ran on that processor.
    """

    kind: int
    id: int
    name: str
    calls: int
    time: int
    refused: int


@functools.cache
def library() -> ctypes.CDLL:
    """Libbpf 1.x with typed calls; what it would print is kept for `complaint`."""
    try:
        loaded = ctypes.CDLL("libbpf.so.1", use_errno=True)
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(loaded, name)
            function.restype, function.argtypes, function.errcheck = result, arguments, _raise_kept
    except (OSError, AttributeError) as error:
        raise FarloopError(
            f"libbpf 1.x cannot be loaded ({error}); install it: the package libbpf1 or libbpf of the distribution"
        ) from None
    loaded.libbpf_set_print(ctypes.cast(_keep, ctypes.c_void_p))
    return loaded


_log_lines: list[str] = []

_kept: list[BaseException] = []
"""Exception of a function that libbpf calls, such as by a signal: C knows no exceptions, and ctypes would print it and go on."""


def _keep_exceptions(function: Callable[..., int], otherwise: int) -> Callable[..., int]:
    """The function for libbpf to call: what it raises is raised again when libbpf returns; until then it gives `otherwise`."""

    @functools.wraps(function)
    def keep(*args: Any) -> int:
        try:
            return function(*args)
        except BaseException as error:
            _kept.append(error)
            return otherwise

    return keep


def _raise_kept(result: Any, _function: Any, _arguments: Any) -> Any:
    if _kept:
        error = _kept[0]
        _kept.clear()
        raise error
    return result


def _keep_log(level: int, form: bytes, arguments: int) -> int:
    if level > 1:
        return 0
    text = ctypes.create_string_buffer(1 << 16)
    ctypes.CDLL(None).vsnprintf(text, ctypes.c_size_t(len(text)), form, ctypes.c_void_p(arguments))
    _log_lines.append(text.value.decode("utf-8", "replace").rstrip())
    return 0


_keep = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(_keep_exceptions(_keep_log, 0))


def last_error(doing: str) -> FarloopError:
    """Returns the error of the last failed call: the kernel's error, and libbpf's last lines."""
    number = ctypes.get_errno()
    log = " | ".join(line for text in _log_lines[-3:] for line in text.splitlines()[-2:])
    _log_lines.clear()
    return FarloopError(f"{doing}: {os.strerror(number) if number else 'refused'}{f' ({log})' if log else ''}")


@contextmanager
def open_object(code: bytes) -> Iterator[int]:
    """A compiled object, opened and closed; what it attached stays."""
    bpf = library()
    buffer = ctypes.create_string_buffer(code, len(code))
    handle = bpf.bpf_object__open_mem(buffer, len(code), None)
    if not handle:
        raise last_error("the compiled program cannot be read")
    try:
        yield handle
    finally:
        bpf.bpf_object__close(handle)


def register(
    code: bytes, ops: str, settings: tuple[str, bytes], room: tuple[str, int] | None = None, share: str | None = None
) -> None:
    """Loads an object and registers its struct_ops map `ops`; the kernel holds it from then on.

    Args:
        code: The compiled object.
        ops: Name of the struct_ops map.
        settings: A section of constants, such as ".rodata.settings", and its bytes.
        room: A ring buffer and its size in bytes, a power of two of pages.
        share: A socket storage map that another program may have already; it is used then.
    """
    bpf = library()
    with open_object(code) as handle:
        if share:
            share_map(handle, share)
        section, content = settings
        constants = bpf.bpf_object__find_map_by_name(handle, section.encode())
        if not constants or bpf.bpf_map__set_initial_value(constants, content, len(content)):
            raise last_error(f"the compiled program has no {section} of {len(content)} bytes")
        if room:
            ring = bpf.bpf_object__find_map_by_name(handle, room[0].encode())
            if not ring or bpf.bpf_map__set_max_entries(ring, room[1]):
                raise last_error(f"the compiled program has no {room[0]}")
        if bpf.bpf_object__load(handle):
            raise last_error("the kernel refuses the program")
        # The link is left alone: to destroy it would unregister the map.
        if not bpf.bpf_map__attach_struct_ops(bpf.bpf_object__find_map_by_name(handle, ops.encode())):
            raise last_error(f"the kernel does not register {ops}")


def share_map(handle: int, name: str) -> None:
    """Has an opened object use the socket storage map of that name that the kernel holds, if there is one."""
    bpf = library()
    numbers = [m.id for m in maps() if (m.kind, m.name) == (SK_STORAGE, name)]
    if not numbers:
        return
    mine = bpf.bpf_object__find_map_by_name(handle, name.encode())
    with _map(max(numbers)) as descriptor:
        if not mine or bpf.bpf_map__reuse_fd(mine, descriptor):
            raise last_error(f"{name} of another program cannot be shared; another version of farloop may have made it")


def maps() -> list[Map]:
    """All maps that the kernel holds."""
    bpf, held, number = library(), [], ctypes.c_uint32(0)
    while bpf.bpf_map_get_next_id(number, ctypes.byref(number)) == 0:
        with suppress(FileNotFoundError), _map(number.value) as descriptor:
            info, size = _MapInfo(), ctypes.c_uint32(ctypes.sizeof(_MapInfo))
            if bpf.bpf_obj_get_info_by_fd(descriptor, ctypes.byref(info), ctypes.byref(size)):
                raise last_error("the kernel does not say what its BPF maps are")
            held.append(Map(info.type, info.id, info.name.decode("ascii", "replace")))
    if ctypes.get_errno() not in (0, 2):
        raise last_error("the kernel does not list its BPF maps")
    return held


@contextmanager
def count_runs() -> Iterator[None]:
    """While this lasts the kernel counts the runs of all BPF programs of this host and their time, which costs each some 20 ns."""
    descriptor = library().bpf_enable_stats(0)
    if descriptor < 0:
        raise last_error("the kernel does not count the runs of programs")
    try:
        yield
    finally:
        os.close(descriptor)


def programs() -> list[Calls]:
    """All programs that the kernel holds."""
    bpf, held, number = library(), [], ctypes.c_uint32(0)
    while bpf.bpf_prog_get_next_id(number, ctypes.byref(number)) == 0:
        descriptor = bpf.bpf_prog_get_fd_by_id(number)
        if descriptor < 0:
            continue
        info, size = _ProgramInfo(), ctypes.c_uint32(ctypes.sizeof(_ProgramInfo))
        try:
            if bpf.bpf_obj_get_info_by_fd(descriptor, ctypes.byref(info), ctypes.byref(size)):
                raise last_error("the kernel does not say what its BPF programs are")
        finally:
            os.close(descriptor)
        name = info.name.decode("ascii", "replace")
        held.append(Calls(info.type, info.id, name, info.run_cnt, info.run_time_ns, info.recursion_misses))
    return held


def unregister(number: int) -> None:
    """Takes the struct_ops map with this number out of service, if it is not on its way out already: connections may still hold it."""
    key = ctypes.c_uint32(0)
    with suppress(FileNotFoundError), _map(number) as descriptor:
        if library().bpf_map_delete_elem(descriptor, ctypes.byref(key)) and ctypes.get_errno() != errno.EINPROGRESS:
            raise last_error("the kernel does not unregister it")


def read_storage(code: bytes, program: str, number: int) -> bytes:
    """Returns the output of an iterator over the socket storage map with this number; empty if the map no longer exists."""
    bpf = library()
    with suppress(FileNotFoundError), open_object(code) as handle, _map(number) as descriptor:
        if bpf.bpf_object__load(handle):
            raise last_error("the kernel refuses the program that lists connections")
        target = (ctypes.c_uint32 * 4)(descriptor)
        options = _LinkOptions(ctypes.sizeof(_LinkOptions), 0, ctypes.addressof(target), ctypes.sizeof(target), 0)
        made = bpf.bpf_program__fd(bpf.bpf_object__find_program_by_name(handle, program.encode()))
        link = bpf.bpf_link_create(made, 0, _TRACE_ITER, ctypes.byref(options))
        if link < 0:
            raise last_error("the kernel does not list connections")
        try:
            rows = bpf.bpf_iter_create(link)
        finally:
            os.close(link)
        if rows < 0:
            raise last_error("the kernel does not list connections")
        with os.fdopen(rows, "rb") as stream:
            return stream.read()
    return b""


@contextmanager
def open_ring(number: int, take: Callable[[bytes], None]) -> Iterator[Poll]:
    """The ring buffer with this number: a function that has `take` called with each record that there is."""
    bpf = library()

    def took(_context: int, data: int, size: int) -> int:
        take(ctypes.string_at(data, size))
        return 0

    kept = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(
        _keep_exceptions(took, -errno.EINTR)
    )
    with _map(number) as descriptor:
        reader = bpf.ring_buffer__new(descriptor, ctypes.cast(kept, ctypes.c_void_p), None, None)
        if not reader:
            raise last_error("the ring buffer cannot be read")
        try:
            yield lambda ms: int(bpf.ring_buffer__poll(reader, ms))
        finally:
            bpf.ring_buffer__free(reader)


@contextmanager
def _map(number: int) -> Iterator[int]:
    descriptor = library().bpf_map_get_fd_by_id(number)
    if descriptor < 0:
        if ctypes.get_errno() == 2:
            raise FileNotFoundError(number)
        raise last_error("the kernel does not open its BPF maps")
    try:
        yield descriptor
    finally:
        os.close(descriptor)
