"""A host for live tests of rollouts: a cgroup of its own, bpffs in a private mount namespace, traffic, and what must not change."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from farloop.kernel import libbpf
from farloop.kernel.rollout import net_namespaces, rollout_run
from farloop.kernel.rollout.rollout_plan import RolloutPlan, read_plan

_NEWNS = 0x00020000
OURS = ("rollout", "farloop", "gemini", "cubic", "vegas", "dctcp")
"""Beginnings of the names of maps and programs that a rollout loads."""

_HOLDER = """
mount --make-rprivate / && mount -t bpf bpf /sys/fs/bpf && mkdir -p "$1" && mount -t cgroup2 none "$1" && echo ready && exec sleep infinity
"""

_TRAFFIC = """
import socket, sys, threading, time
port = int(sys.argv[1])
server = socket.create_server(("127.0.0.1", port), backlog=200)
def echo(c):
    with c:
        try:
            while data := c.recv(1 << 16):
                c.sendall(data)
        except OSError:
            pass
def serve():
    while True:
        threading.Thread(target=echo, args=(server.accept()[0],), daemon=True).start()
def talk(seconds):
    while True:
        with socket.create_connection(("127.0.0.1", port)) as s:
            latest = time.monotonic() + seconds
            while time.monotonic() < latest:
                s.sendall(b"x" * 4000)
                count = 0
                while count < 4000:
                    count += len(s.recv(1 << 16))
                time.sleep(0.02)
threading.Thread(target=serve, daemon=True).start()
for seconds in (0.05, 0.2, 1, 1, 1e9, 1e9):
    threading.Thread(target=talk, args=(seconds,), daemon=True).start()
print("ready", flush=True)
time.sleep(1e9)
"""


@dataclass
class RolloutHost:
    """The host as tests use it.

    Attributes:
        cgroup: Of the traffic, by its path in the mount namespace of the plans.
        folder: For plans and logs.
    """

    cgroup: Path
    folder: Path
    holder: int
    port: int
    children: list[int] = field(default_factory=list)

    def write_plan(
        self,
        text: str = "",
        name: str = "probe",
        version: int = 7,
        select: str = "live = true",
        algorithm: str = "cubic",
        **steps: object,
    ) -> RolloutPlan:
        """A plan of the traffic's connections; `text` follows, `select` stands in `[select]`, and `steps` are keys of `[steps]`."""
        keys = {
            "shares": "[0.5, 1.0]",
            "hold": '"1s"',
            "baseline": '"1s"',
            "finish": '"undo"',
            "take_back": '"5s"',
        } | steps
        path = self.folder / f"{name}.toml"
        path.write_text(
            f'[plan]\nname = "{name}"\nalgorithm = "{algorithm}"\nversion = {version}\ncgroup = "{self.cgroup}"\n'
            + f'[select]\nto = ["127.0.0.0/8"]\nports = [{self.port}]\n{select}\n[steps]\n'
            + "".join(f"{key} = {value}\n" for key, value in keys.items())
            + text
        )
        return read_plan(path)

    def log(self, plan: RolloutPlan) -> list[dict[str, Any]]:
        """The lines of a plan's log."""
        path = plan.path.with_suffix(".jsonl")
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def start(self, plan: RolloutPlan, priority: int = 0) -> int:
        """Begins to carry a plan out in a process of its own, with real-time priority if that is given; returns its id."""

        def carry_out() -> None:
            if priority:
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
            rollout_run.Rollout(plan, plan.path.with_suffix(".jsonl"), lambda _line: None).run()

        return self._fork(carry_out)

    def call(self, function: Callable[[], Any]) -> Any:
        """Calls a function where the plans' bpffs is; returns its result, or raises its exception."""
        reading, writing = os.pipe()

        def answer() -> None:
            try:
                result = (True, function())
            except Exception as error:
                result = (False, error)
            os.write(writing, pickle.dumps(result))

        process = self._fork(answer)
        os.close(writing)
        with os.fdopen(reading, "rb") as stream:
            data = stream.read()
        self.wait(process)
        ok, result = pickle.loads(data)
        if not ok:
            raise result
        return result

    def wait(self, process: int) -> int:
        """Waits for a process of `start`; returns its exit code, or minus the signal that ended it."""
        _, status = os.waitpid(process, 0)
        self.children.remove(process)
        return os.waitstatus_to_exitcode(status)

    def controls(self) -> dict[str, str]:
        """The congestion control of each connection of the traffic, by its own address."""
        from farloop.kernel.rollout.sockets import Watch

        watch = Watch()
        with contextlib.closing(watch):
            watch.follow_namespaces({0: Path("/proc/self/ns/net")})
            return {
                s.source: s.control
                for s in watch.living().values()
                if s.destination.endswith(f":{self.port}") and s.state == 1
            }

    def end(self) -> None:
        """Ends what still runs."""
        for process in self.children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)
                os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)

    def _fork(self, function: Callable[[], Any]) -> int:
        process = os.fork()
        if process:
            self.children.append(process)
            return process
        code = 1
        try:
            handle = os.open(f"/proc/{self.holder}/ns/mnt", os.O_RDONLY)
            if ctypes.CDLL(None).setns(handle, _NEWNS) == 0:
                function()
                code = 0
        except rollout_run.WithdrawnError:
            code = 3
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(code)


@contextlib.contextmanager
def rollout_host(folder: Path) -> Iterator[RolloutHost]:
    """The host, with traffic in its cgroup."""
    mount = folder / "cgroup"
    words = ["unshare", "--mount", "sh", "-c", _HOLDER, "sh", str(mount)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as holder, contextlib.ExitStack() as stack:
        stack.callback(holder.kill)
        assert holder.stdout is not None and holder.stdout.readline() == "ready\n"
        group = mount / f"farloop-rollout-{os.getpid()}"
        seen = Path(f"/proc/{holder.pid}/root{group}")
        seen.mkdir()
        stack.callback(remove_group, seen)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        join = f'echo $$ > {seen}/cgroup.procs && exec "$@"'
        words = ["sh", "-c", join, "sh", sys.executable, "-c", _TRAFFIC, str(port)]
        traffic = stack.enter_context(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
        stack.callback(traffic.kill)
        assert traffic.stdout is not None and traffic.stdout.readline() == "ready\n"
        host = RolloutHost(group, folder, holder.pid, port)
        stack.callback(host.end)
        yield host


def remove_group(group: Path) -> None:
    """Takes a cgroup away once its last process has ended."""
    for _ in range(100):
        with contextlib.suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.05)
    group.rmdir()


def host_state() -> dict[str, object]:
    """What a plan may not leave changed: namespaces, qdiscs, routes, rules, cgroups, sysctls of networking, maps, programs, algorithms."""

    def lines(*words: str) -> list[str]:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()

    own = Path("/proc/self/ns/net").stat().st_ino
    return {
        "namespace": own in net_namespaces.list_namespaces(),
        "named namespaces": sorted(p.name for p in Path("/run/netns").glob("*")),
        "qdiscs": lines("tc", "qdisc", "show"),
        "routes": lines("ip", "route", "show", "table", "all"),
        "rules": lines("ip", "rule", "show"),
        "interfaces": [line.split(":")[1] for line in lines("ip", "-o", "link", "show")],
        "sysctls": lines(
            "sysctl", "net.core", "net.ipv4.tcp_congestion_control", "net.ipv4.tcp_allowed_congestion_control"
        ),
        "ecn": Path("/proc/sys/net/ipv4/tcp_ecn").read_text(),
        "mounts": Path("/proc/self/mounts").read_text(),
        "algorithms": Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split(),
        "maps": sorted(m.id for m in libbpf.maps() if m.name.startswith(OURS)),
        "programs": sorted(p.id for p in libbpf.programs() if p.name.startswith(OURS)),
    }


def steady_state(patience: float = 15.0) -> dict[str, object]:
    """The host's state once it has stayed the same for a second: what a test before this one held may not be free yet."""
    latest = time.monotonic() + patience
    state = host_state()
    while time.monotonic() < latest:
        time.sleep(1.0)
        before, state = state, host_state()
        if state == before:
            break
    return state


def settled_state(expected: dict[str, object], patience: float = 15.0) -> dict[str, object]:
    """The host's state once it is as expected, or after some seconds: the kernel frees what is held no more when it finds time."""
    latest = time.monotonic() + patience
    while (state := host_state()) != expected and time.monotonic() < latest:
        time.sleep(0.2)
    return state
