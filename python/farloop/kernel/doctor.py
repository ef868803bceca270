"""Requirements of the kernel half on a host, checked without changing anything."""

from __future__ import annotations

import os
import platform
import re
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from farloop.errors import FarloopError
from farloop.kernel import host_trials, libbpf

OBJECTS = Path(__file__).parent / "objects"
"""Where the compiled BPF programs lie: in wheels, and after `make kernel`."""

BTF = Path("/sys/kernel/btf/vmlinux")
"""The types of the running kernel."""

PROGRAMS = ("gemini", "cubic", "dctcp", "vegas")
"""The algorithms that there are for the kernel."""

SWITCH = "switch"
"""The program of a testbed's ports."""

ROLLOUT = "rollout"
"""The program that selects connections for a rollout."""

TELEMETRY = ("gear", "options", "rows")
"""Programs around telemetry in a TCP option: a congestion control, what the ends of connections run, and what lists them."""

_MIN_KERNEL = (6, 10)
"""cong_control() has its four arguments from this kernel on."""

_MIN_ACCECN = (7, 0)
"""Accurate ECN can be switched on from this kernel on; those shortly before have the code and refuse the setting."""

_CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_PERFMON": 38, "CAP_BPF": 39}


@dataclass(frozen=True)
class Check:
    """One checked requirement.

    Attributes:
        what: The requirement.
        need: "load" for loading and unloading, "build" for compiling the programs, "traffic" for tests with real traffic, "rollout" for
            rollouts, "note" for what only matters to some.
        ok: True if the requirement is met.
        found: The version or path found, or what is missing and how to get it.
    """

    what: str
    need: str
    ok: bool
    found: str


def checks() -> list[Check]:
    """Everything, in the order in which it is needed."""
    return [
        _kernel(),
        _types(),
        _jit(),
        _capabilities(),
        _libbpf(),
        _objects(),
        _ecn(),
        _counted_marks(),
        _default(),
        cgroup_check(),
        _bpffs(),
        _iterators(),
        _qdiscs(),
        _clang(),
        _headers(),
        _command("ip", "traffic", "iproute2"),
        _command("tc", "traffic", "iproute2"),
        _command("bpftool", "traffic", "bpftool"),
        _command("iperf3", "traffic", "iperf3"),
    ]


def report() -> list[dict[str, Any]]:
    """All checks, as JSON has them."""
    return [asdict(check) for check in checks()]


def missing_requirements(program: str = "gemini", *, objects: bool = True, rows: bool = True) -> list[str]:
    """Returns the missing requirements for loading a program, a line each with how to get it.

    Args:
        program: Its name.
        objects: False for unloading, which needs no compiled program.
        rows: False where nothing lists its connections.
    """
    needed = [_kernel(), _types(), _jit(), _capabilities(), _libbpf()]
    lists = ("rows" if program in TELEMETRY else "flows",) if rows else ()
    needed += [_object(name) for name in (program, *lists)] if objects else []
    return [f"{check.what}: {check.found}" for check in needed if not check.ok]


def checks_to_build() -> bool:
    """Returns true if the programs can be compiled here."""
    return all(check.ok for check in checks() if check.need == "build")


def object_file(name: str) -> Path:
    """The compiled program of that name."""
    return OBJECTS / f"{name}.bpf.o"


def _kernel() -> Check:
    if platform.system() != "Linux":
        return Check(
            "kernel", "load", False, f"{platform.system()}; Linux {_MIN_KERNEL[0]}.{_MIN_KERNEL[1]} or later is needed"
        )
    release = platform.release()
    ok = _release() >= _MIN_KERNEL
    return Check(
        "kernel",
        "load",
        ok,
        f"Linux {release}" if ok else f"Linux {release}; {_MIN_KERNEL[0]}.{_MIN_KERNEL[1]} or later is needed",
    )


def _release() -> tuple[int, int]:
    """The running kernel's version and patch level; zeros where it says neither."""
    match = re.match(r"(\d+)\.(\d+)", platform.release())
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _exists(what: str, path: Path, source: str, *, need: str = "load") -> Check:
    return Check(what, need, path.exists(), str(path) if path.exists() else f"{path} is missing; get {source}")


def _types() -> Check:
    return _exists("BTF", BTF, "a kernel built with CONFIG_DEBUG_INFO_BTF=y")


def _jit() -> Check:
    value = _read("/proc/sys/net/core/bpf_jit_enable")
    # Where the kernel has no interpreter there is nothing to switch, and the file may not be there.
    ok = value != "0"
    return Check("BPF JIT", "load", ok, "on" if ok else "off; sysctl net.core.bpf_jit_enable=1 switches it on")


def _capabilities() -> Check:
    held = next((line for line in _read("/proc/self/status").splitlines() if line.startswith("CapEff:")), "CapEff: 0")
    bits = int(held.split()[1], 16)
    lacking = [name for name, bit in _CAPABILITIES.items() if not bits >> bit & 1]
    state = "all held" if not lacking else f"{', '.join(lacking)} missing; run it as root"
    return Check("capabilities", "load", not lacking, state)


def _libbpf() -> Check:
    try:
        version = libbpf.library().libbpf_version_string().decode()
    except FarloopError as error:
        return Check("libbpf", "load", False, str(error))
    return Check("libbpf", "load", True, f"version {version.lstrip('v')}")


def uncompiled_message(*names: str) -> str:
    """Returns the message for missing programs, with a command to copy that builds them."""
    several = "them" if len(names) > 1 else "it"
    listed = f": {', '.join(names)}" if len(names) > 1 else ""
    return (
        f"not compiled{listed}; `{build_line()}` in a checkout compiles {several}, and wheels of Linux bring {several}"
    )


def build_line() -> str:
    """The command that compiles the programs here, after the packages that it needs."""
    lacking = [name for name, check in (("clang", _clang()), ("libbpf-dev", _headers())) if not check.ok]
    return " && ".join([*([f"sudo apt-get install -y {' '.join(lacking)}"] if lacking else []), "make kernel"])


def _object(name: str) -> Check:
    path = object_file(name)
    return Check(f"program {name}", "load", path.exists(), str(path) if path.exists() else uncompiled_message(name))


def _objects() -> Check:
    """All compiled programs in one line."""
    names = (*PROGRAMS, "flows", *TELEMETRY, SWITCH, ROLLOUT)
    lacking = [name for name in names if not object_file(name).exists()]
    return Check("programs", "load", not lacking, uncompiled_message(*lacking) if lacking else str(OBJECTS))


def _clang() -> Check:
    return _command("clang", "build", "clang 12 or later")


def _headers() -> Check:
    return _exists("libbpf headers", Path("/usr/include/bpf/bpf_helpers.h"), "libbpf-dev or libbpf-devel", need="build")


def _ecn() -> Check:
    value = _read("/proc/sys/net/ipv4/tcp_ecn")
    meanings = {
        "0": "off: the other side must use an algorithm that needs it, such as gemini, too",
        "1": "asked for and accepted",
        "2": "accepted",
        "3": "counted marks (Accurate ECN, RFC 9768) asked for and accepted",
        "4": "asked for; counted marks accepted",
        "5": "accepted, counted marks as well",
    }
    return Check("ECN", "note", value != "0", f"net.ipv4.tcp_ecn = {value or 'unknown'}, {meanings.get(value, 'on')}")


def _counted_marks() -> Check:
    """Whether the kernel counts marks, and what the programs then see of an ACK."""
    echoes = "programs see echoes: all that a marked ACK delivers counts as marked"
    counts = "programs see the packets that were marked, one by one"
    if not _read("/proc/sys/net/ipv4/tcp_ecn_option"):
        return Check("Accurate ECN", "note", False, f"this kernel has none; {echoes}")
    if _release() < _MIN_ACCECN:
        found = (
            f"the kernel has the code, but refuses net.ipv4.tcp_ecn = 3 before Linux {_MIN_ACCECN[0]}.{_MIN_ACCECN[1]}"
        )
        return Check("Accurate ECN", "note", False, f"{found}; {echoes}")
    if _read("/proc/sys/net/ipv4/tcp_ecn") not in ("3", "4", "5"):
        return Check(
            "Accurate ECN", "note", False, f"off; sysctl net.ipv4.tcp_ecn=3 switches it on; until then {echoes}"
        )
    return Check("Accurate ECN", "note", True, f"on, where both ends have it: {counts}; otherwise {echoes}")


def _default() -> Check:
    value = _read("/proc/sys/net/ipv4/tcp_congestion_control")
    return Check("default congestion control", "note", True, value or "unknown")


def cgroup_check() -> Check:
    """The row of cgroup v2, whose sockets rollouts choose from."""
    lines = [line.split() for line in _read("/proc/self/mounts").splitlines()]
    where = next((place for _, place, kind, *_ in lines if kind == "cgroup2"), None)
    if where:
        return Check("cgroup v2", "rollout", True, where)
    version_1 = any(kind == "cgroup" for _, _, kind, *_ in lines)
    state = "only cgroup v1 is mounted" if version_1 else "not mounted"
    return Check(
        "cgroup v2",
        "rollout",
        False,
        f"{state}; mkdir -p /sys/fs/cgroup/unified && mount -t cgroup2 none /sys/fs/cgroup/unified",
    )


def _bpffs() -> Check:
    """The row of bpffs, where plans are committed."""
    lines = [line.split() for line in _read("/proc/self/mounts").splitlines()]
    ok = any(where == "/sys/fs/bpf" and kind == "bpf" for _, where, kind, *_ in lines)
    lacking = "not mounted, so a rollout cannot be committed; mount -t bpf bpf /sys/fs/bpf mounts it"
    return Check("bpffs", "rollout", ok, "/sys/fs/bpf" if ok else lacking)


def _iterators() -> Check:
    """The row of programs that list connections."""
    refusal = host_trials.refusal_of_iterators(object_file("flows"))
    lacking = f"{refusal}; without them `status` and `record` list no connections, and rollouts do (sock_diag)"
    return Check("iterators", "note", refusal is None, "taken" if refusal is None else lacking)


def _qdiscs() -> Check:
    """Which queueing disciplines the kernel lacks."""
    lacking = host_trials.missing_qdiscs()
    if lacking is None:
        return Check("queueing disciplines", "note", False, "not tried: needs root, and tc and unshare")
    without = {
        "fq": "TCP paces by itself",
        "fq_codel": "others queue",
        "netem": "`farloop testbed` has a link emulator of its own",
        "tbf": "`farloop testbed` does not run",
    }
    text = "; ".join(f"no {name}: {without[name]}" for name in lacking)
    return Check("queueing disciplines", "note", not lacking, text or "fq, fq_codel, netem, tbf")


def _command(name: str, need: str, package: str) -> Check:
    # Where ordinary users do not look for commands.
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    return Check(name, need, path is not None, path or f"missing; install {package}")


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
