"""The program that selects connections (linux/rollout/rollout.bpf.c) and the plan's algorithm, held by links that end with them."""

from __future__ import annotations

import ctypes
import ipaddress
import os
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from farloop.errors import FarloopError
from farloop.kernel import libbpf
from farloop.kernel.doctor import missing_requirements, object_file
from farloop.kernel.programs import is_available
from farloop.kernel.rollout import net_namespaces
from farloop.kernel.rollout.rollout_plan import PROGRAMS, Network, RolloutPlan

LEASE = 2.0
"""Seconds that a heartbeat lasts."""

PINS = Path("/sys/fs/bpf/farloop")
"""Where committed plans stand, each in a folder of its name."""

MAPS = ("rollout_plan", "rollout_counts", "rollout_prefix", "rollout_ports", "rollout_netns", "rollout_conns")
COUNTS = ("seen", "moved", "taken_back", "closed", "refused", "refused_back", "full", "other_plan")
"""The program's counters, in the order of linux/rollout/kernel.h."""

COMMITTED, WITHDRAWN, CONNECTS, ACCEPTS, HAS_PORTS, HAS_NAMESPACES, HAS_FORMER, ECN, LIVE = (1 << i for i in range(9))
MOVED, CLOSED, ACCEPTED = 1, 2, 4

_PLAN = struct.Struct("=4Q2I16s16s")
_CONNECTION = struct.Struct("=3Q4I16s16s16s")
_SOCK_OPS = 3  # BPF_CGROUP_SOCK_OPS
_ROLES = {"connect": CONNECTS, "accept": ACCEPTS, "both": CONNECTS | ACCEPTS}


@dataclass
class Settings:
    """The plan as the program reads it (`struct plan`).

    Attributes:
        share: Of the class, 0 to 1.
    """

    beat: int
    lease: int
    seed: int
    share: float
    flags: int
    control: str
    former: str

    def pack(self) -> bytes:
        """The bytes of the map."""
        share = round(self.share * 2**32)
        names = (self.control.encode(), self.former.encode())
        return _PLAN.pack(self.beat, self.lease, self.seed, share, self.flags, 0, *names)

    @classmethod
    def parse(cls, data: bytes) -> Settings:
        """Reads the bytes of the map."""
        beat, lease, seed, share, flags, _, control, former = _PLAN.unpack(data)
        texts = (name.rstrip(b"\0").decode("ascii", "replace") for name in (control, former))
        return cls(beat, lease, seed, share / 2**32, flags, *texts)


@dataclass(frozen=True)
class Connection:
    """A connection of the class, as the program remembers it.

    Attributes:
        cookie: The socket's, which sock_diag has as well.
        former: The algorithm that it had; empty if it was never moved.
        namespace: Cookie of its network namespace.
    """

    cookie: int
    moved: bool
    closed: bool
    accepted: bool
    former: str
    namespace: int
    source: str
    destination: str


@dataclass
class Selection:
    """A plan in the kernel, by descriptors: it is there as long as somebody holds them or has pinned them."""

    maps: dict[str, int]
    links: dict[str, int] = field(default_factory=dict)

    def settings(self) -> Settings:
        """The plan as the program reads it now."""
        return Settings.parse(_lookup(self.maps["rollout_plan"], struct.pack("=I", 0), _PLAN.size) or bytes(_PLAN.size))

    def write(self, settings: Settings) -> None:
        """Has the program read this from now on."""
        _update(self.maps["rollout_plan"], struct.pack("=I", 0), settings.pack())

    def counts(self) -> dict[str, int]:
        """The program's counters since it was attached."""
        values = {}
        for number, name in enumerate(COUNTS):
            raw = _lookup(self.maps["rollout_counts"], struct.pack("=I", number), 8)
            values[name] = struct.unpack("=Q", raw)[0] if raw else 0
        return values

    def connections(self) -> dict[int, Connection]:
        """The connections that the program remembers, by cookie."""
        descriptor, listed = self.maps["rollout_conns"], {}
        for key in _keys(descriptor, 8):
            # It may have ended since.
            if raw := _lookup(descriptor, key, _CONNECTION.size):
                cookie = struct.unpack("=Q", key)[0]
                listed[cookie] = _connection(cookie, raw)
        return listed

    def remember(self, cookie: int, former: str) -> None:
        """Notes a connection that was moved by way of its process."""
        raw = _CONNECTION.pack(*2 * [time.monotonic_ns()], 0, MOVED, 0, 0, 0, b"", b"", former.encode())
        _update(self.maps["rollout_conns"], struct.pack("=Q", cookie), raw)

    def forget(self, cookies: set[int]) -> None:
        """Drops connections that have ended."""
        for cookie in cookies:
            key = ctypes.create_string_buffer(struct.pack("=Q", cookie), 8)
            libbpf.library().bpf_map_delete_elem(self.maps["rollout_conns"], key)

    def pin(self, folder: Path) -> None:
        """Pins everything below a folder of bpffs.

        Raises:
            FarloopError: the kernel refuses.
        """
        for name, descriptor in {**self.maps, **self.links}.items():
            if libbpf.library().bpf_obj_pin(descriptor, str(folder / name).encode()):
                raise libbpf.last_error(f"the kernel does not pin {folder / name}")

    def close(self) -> None:
        """Lets everything go: without pins the kernel detaches the program and unregisters the algorithm."""
        for descriptor in (*self.links.values(), *self.maps.values()):
            with suppress(OSError):
                os.close(descriptor)
        self.links.clear()
        self.maps.clear()


def open_pinned(folder: Path) -> Selection:
    """A committed plan.

    Raises:
        FarloopError: there is none, or it is not whole.
    """
    opened: dict[str, int] = {}
    for name in (*MAPS, "select", "control"):
        descriptor = libbpf.library().bpf_obj_get(str(folder / name).encode())
        if descriptor < 0:
            for each in opened.values():
                os.close(each)
            raise libbpf.last_error(f"{folder / name} cannot be opened")
        opened[name] = descriptor
    return Selection({name: opened[name] for name in MAPS}, {name: opened[name] for name in ("select", "control")})


def attach(plan: RolloutPlan, cgroup: Path) -> Selection:
    """Registers the plan's algorithm and attaches the program, which selects nothing yet.

    Raises:
        FarloopError: something is missing, the name is taken, or the kernel refuses.
    """
    for name in (plan.algorithm, "rollout"):
        if lacking := missing_requirements(name, rows=False):
            raise FarloopError(f"{plan.path}: the plan cannot be carried out: {lacking[0]}")
    if is_available(plan.control):
        raise FarloopError(f"{plan.control} is registered already; choose another plan.version")
    with ExitStack() as stack:
        held = Selection({})
        stack.callback(held.close)
        held.links["control"] = PROGRAMS[plan.algorithm].register_by_link(plan.parameters, plan.control)
        _load_program(plan, cgroup, held)
        stack.pop_all()
    return held


def _load_program(plan: RolloutPlan, cgroup: Path, held: Selection) -> None:
    bpf = libbpf.library()
    with libbpf.open_object(object_file("rollout").read_bytes()) as handle:
        if bpf.bpf_object__load(handle):
            raise libbpf.last_error("the kernel refuses the program that selects connections")
        for name in MAPS:
            held.maps[name] = os.dup(bpf.bpf_map__fd(bpf.bpf_object__find_map_by_name(handle, name.encode())))
        fill_class(plan, held)
        program = bpf.bpf_program__fd(bpf.bpf_object__find_program_by_name(handle, b"rollout"))
        directory = os.open(cgroup, os.O_RDONLY | os.O_DIRECTORY)
        try:
            # A link leaves other programs of the cgroup in place, and lets others join.
            link = bpf.bpf_link_create(program, directory, _SOCK_OPS, None)
        finally:
            os.close(directory)
        if link < 0:
            raise libbpf.last_error(f"the kernel does not attach the program to {cgroup}")
        held.links["select"] = link


def fill_class(plan: RolloutPlan, held: Selection) -> None:
    """Writes the plan's class and its settings, with a share of nothing."""
    for prefix in plan.prefixes:
        _update(held.maps["rollout_prefix"], pack_prefix(prefix), struct.pack("=I", 1))
    for port in plan.ports:
        _update(held.maps["rollout_ports"], struct.pack("=I", port), struct.pack("=I", 1))
    flags = _ROLES[plan.role]
    flags |= HAS_PORTS if plan.ports else 0
    flags |= HAS_FORMER if plan.former else 0
    flags |= ECN if plan.needs_ecn else 0
    flags |= LIVE if plan.live else 0
    if "all" not in plan.namespaces:
        flags |= HAS_NAMESPACES
        for name in plan.namespaces:
            cookie = net_namespaces.cookie_of(net_namespaces.path_of(name))
            _update(held.maps["rollout_netns"], struct.pack("=Q", cookie), struct.pack("=I", 1))
    lease = round(LEASE * 1e9)
    held.write(Settings(time.monotonic_ns(), lease, plan.seed, 0.0, flags, plan.control, plan.former or ""))


def pack_prefix(prefix: Network) -> bytes:
    """A prefix as a key of the trie: IPv4 as ::ffff:0:0/96."""
    packed = prefix.network_address.packed
    mapped = b"\0" * 10 + b"\xff\xff" + packed if len(packed) == 4 else packed
    return struct.pack("=I16s", prefix.prefixlen + 8 * (16 - len(packed)), mapped)


def find_cgroup() -> Path | None:
    """Where cgroup v2 is mounted, or None."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, where, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(where)
    return None


def _connection(cookie: int, raw: bytes) -> Connection:
    _, _, namespace, state, _, local, remote, source, destination, former = _CONNECTION.unpack(raw)
    return Connection(
        cookie,
        bool(state & MOVED),
        bool(state & CLOSED),
        bool(state & ACCEPTED),
        former.rstrip(b"\0").decode("ascii", "replace"),
        namespace,
        address_text(source, local),
        address_text(destination, remote),
    )


def address_text(raw: bytes, port: int) -> str:
    """An address of 16 bytes with a port, IPv4 in its own form."""
    address = ipaddress.IPv6Address(raw)
    return f"{address.ipv4_mapped}:{port}" if address.ipv4_mapped else f"[{address}]:{port}"


def _lookup(descriptor: int, key: bytes, size: int) -> bytes | None:
    value = ctypes.create_string_buffer(size)
    missing = libbpf.library().bpf_map_lookup_elem(descriptor, ctypes.create_string_buffer(key, len(key)), value)
    return None if missing else value.raw


def _update(descriptor: int, key: bytes, value: bytes) -> None:
    given = (ctypes.create_string_buffer(key, len(key)), ctypes.create_string_buffer(value, len(value)))
    if libbpf.library().bpf_map_update_elem(descriptor, *given, 0):
        raise libbpf.last_error("the kernel does not take the plan")


def _keys(descriptor: int, size: int) -> Iterator[bytes]:
    following, before = ctypes.create_string_buffer(size), None
    keys = []
    while not libbpf.library().bpf_map_get_next_key(descriptor, before, following):
        keys.append(following.raw)
        before = ctypes.create_string_buffer(following.raw, size)
        # An entry that goes meanwhile sends the walk back to the beginning.
        if len(keys) > 1 << 18:
            break
    yield from dict.fromkeys(keys)
