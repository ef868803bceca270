"""A plan of a rollout (PLAN.toml), read and checked without privileges."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from farloop.errors import FarloopError, clip_text, nearest
from farloop.formats.toml_table import TomlTable
from farloop.kernel.baselines import CUBIC, DCTCP, VEGAS
from farloop.kernel.gear import GEAR
from farloop.kernel.gemini import GEMINI
from farloop.kernel.programs import Program
from farloop.units import rate, seconds

PROGRAMS: dict[str, Program] = {program.name: program for program in (GEMINI, CUBIC, DCTCP, VEGAS, GEAR)}
"""The algorithms of plans."""

ECN_ALGORITHMS = ("gemini", "dctcp")
"""Those that answer marks, and need receivers that echo each of them."""

TWO_ENDED = ("gear",)
"""Those that are nothing without the other end."""

ROLES = ("connect", "accept", "both")
FINISHES = ("commit", "wait", "undo")
MAX_NAME = 15
"""Characters of a congestion control's name in the kernel, TCP_CA_NAME_MAX less the final zero."""
MAX_VERSION = 999
MAX_PREFIXES = 1024
MAX_PORTS = 1024

_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
_TABLES = ("plan", "parameters", "select", "receiver", "steps", "switchback", "limits", "metrics", "predict")


class PlanError(FarloopError):
    """A plan that cannot be carried out as it stands; the text names file, line, key and what is accepted."""


Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class Limit:
    """A bound that stops a plan.

    Attributes:
        key: A key of `[limits]`.
        bound: In SI units; with `relative` in multiples of the value before the first step.
        relative: True for "1.5x".
        text: As the plan writes it.
    """

    key: str
    bound: float
    relative: bool
    text: str


@dataclass(frozen=True)
class RolloutPlan:
    """A checked plan. Times are in seconds.

    Attributes:
        name: Its name, also that of its folder in bpffs.
        algorithm: A key of `PROGRAMS`.
        version: Number behind the algorithm's name in the kernel.
        cgroup: The directory whose sockets are chosen; None for the root of cgroup v2.
        parameters: The algorithm's, checked.
        seed: Of the hash and of blocks.
        prefixes: Addresses of the other side.
        ports: Of the side that listens; empty for all.
        namespaces: "host", "all", or paths of network namespaces.
        role: "connect", "accept" or "both".
        former: Only connections with this algorithm are moved; None for all.
        live: Connections that began unmoved are moved at a later step.
        existing: Sockets of before are moved, and idle ones taken back, by way of their processes.
        receiver_ready: The plan says that receivers echo every mark, or speak the other half.
        shares: Of the class, one a step.
        hold: How long a step is watched.
        baseline: How long the class is watched before the first step.
        finish: "commit", "wait" (until commit or undo) or "undo".
        take_back: How long an end waits for connections to take their former algorithm.
        blocks: Number of blocks of the switchback; 0 for none.
        block: How long one lasts.
        limits: What stops the plan.
        window: Over how long limits are judged.
        completions: A FIFO with a line of JSON for each completion of the application, or None.
        listen: Address and port of the loopback for Prometheus, or None for the local socket alone.
        scenario: Of the prediction, or None.
    """

    path: Path
    name: str
    algorithm: str
    version: int
    cgroup: Path | None
    parameters: dict[str, Any]
    seed: int
    prefixes: tuple[Network, ...]
    ports: tuple[int, ...]
    namespaces: tuple[str, ...]
    role: str
    former: str | None
    live: bool
    existing: bool
    receiver_ready: bool
    shares: tuple[float, ...]
    hold: float
    baseline: float
    finish: str
    take_back: float
    blocks: int
    block: float
    limits: tuple[Limit, ...]
    window: float
    completions: Path | None
    listen: tuple[str, int] | None
    scenario: Path | None

    @property
    def control(self) -> str:
        """Name of the congestion control in the kernel, such as "gemini.2"."""
        return f"{PROGRAMS[self.algorithm].control}.{self.version}"

    @property
    def needs_ecn(self) -> bool:
        """True if its connections ask for ECN."""
        return self.algorithm in ECN_ALGORITHMS

    def has_connection(self, source: str, destination: str) -> bool:
        """True if the class has a connection by its ends, as far as they say who opened it."""
        host, _, port = destination.rpartition(":")
        own_port = source.rpartition(":")[2]
        ports = {"connect": {port}, "accept": {own_port}, "both": {port, own_port}}[self.role]
        if self.ports and not ports & set(map(str, self.ports)):
            return False
        address = ipaddress.ip_address(host.strip("[]"))
        return any(prefix.version == address.version and address in prefix for prefix in self.prefixes)


def read_plan(path: Path) -> RolloutPlan:
    """Reads and checks a plan.

    Raises:
        PlanError: it cannot be read, or something in it is not as expected.
    """
    file = _Table.of_plan(path)
    file.only(*_TABLES)
    head, select, steps = (file.part(key) for key in ("plan", "select", "steps"))
    head.only("name", "algorithm", "version", "cgroup", "seed")
    select.only("to", "ports", "namespaces", "role", "former", "live", "existing")
    steps.only("shares", "hold", "baseline", "finish", "take_back")
    algorithm = head.one_of("algorithm", tuple(PROGRAMS))
    version = head.whole_number("version", 1, MAX_VERSION, default=1)
    if len(name := f"{PROGRAMS[algorithm].control}.{version}") > MAX_NAME:
        raise head.refused("version", f"{name} has {len(name)} characters; expected at most {MAX_NAME}")
    blocks, block = _blocks(file.part("switchback"))
    limits, window, completions = _limits(file.part("limits"), path)
    plan = RolloutPlan(
        path=path,
        name=_plan_name(head),
        algorithm=algorithm,
        version=version,
        cgroup=Path(text) if (text := head.optional_text("cgroup", "the directory of a cgroup of version 2")) else None,
        parameters=_parameters(file, algorithm),
        seed=head.whole_number("seed", 0, 2**64 - 1, default=1),
        prefixes=_prefixes(select),
        ports=_ports(select),
        namespaces=tuple(select.texts("namespaces", "texts")) if "namespaces" in select.values else ("all",),
        role=select.one_of("role", ROLES) if "role" in select.values else "connect",
        former=select.optional_text("former", "an algorithm of the kernel, such as cubic") or None,
        live=select.flag("live", default=False),
        existing=select.flag("existing", default=False),
        receiver_ready=_receiver(file.part("receiver"), algorithm),
        shares=_shares(steps),
        hold=steps.seconds("hold", 1.0, 86400.0, default="30s"),
        baseline=steps.seconds("baseline", 0.0, 86400.0, default="10s"),
        finish=steps.one_of("finish", FINISHES) if "finish" in steps.values else "wait",
        take_back=steps.seconds("take_back", 0.5, 600.0, default="10s"),
        blocks=blocks,
        block=block,
        limits=limits,
        window=window,
        completions=completions,
        listen=_listen(file.part("metrics")),
        scenario=_scenario(file.part("predict"), path),
    )
    if plan.baseline < 1 and any(limit.relative for limit in limits):
        raise steps.refused("baseline", "limits with an x compare with the time before; expected 1s or more")
    return plan


class _Table(TomlTable):
    """A table of a plan, whose errors name the line."""

    @classmethod
    def of_plan(cls, path: Path) -> _Table:
        whole = cls.of_file(path, "a plan (docs/rollout.md)", PlanError)
        return cls(whole.values, str(path), PlanError)

    def refused(self, key: str, expected: str) -> FarloopError:
        """The error for a key, with its line; that of its table where it is missing."""
        line = line_of(Path(self.where), self.path, key)
        return PlanError(f"{self.where}:{line}: {self.path}{'.' if self.path else ''}{key}: {expected}")

    def only(self, *keys: str) -> None:
        """Refuses all other keys."""
        for key in self.values:
            if key not in keys:
                raise self.refused(key, f"no such {'key' if self.path else 'table'}; {nearest(key, keys)}")

    def part(self, key: str) -> _Table:
        """A table of the file, empty if it is not there."""
        value = self.values.get(key, {})
        if not isinstance(value, Mapping):
            raise self.refused(key, f"expected a table, [{key}]")
        return _Table(value, self.where, PlanError, key)

    def whole_number(self, key: str, least: int, most: int, *, default: int) -> int:
        """A whole number within bounds."""
        value = self.values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self.refused(key, f"{clip_text(value)}; expected a whole number from {least} to {most}")
        return value

    def seconds(self, key: str, least: float, most: float, *, default: str) -> float:
        """A duration within bounds."""
        value = self.values.get(key, default)
        expected = f"{clip_text(value)}; expected a duration from {least:g}s to {most:g}s, such as {default!r}"
        try:
            duration = seconds(value) if isinstance(value, str) else -1.0
        except ValueError:
            raise self.refused(key, expected) from None
        if not least <= duration <= most:
            raise self.refused(key, expected)
        return duration


def line_of(path: Path, table: str, key: str) -> int:
    """The line of a key of a table, that of the table's head where the key is not there, or 1."""
    inside, head = "", 1
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, ValueError):
        return 1
    for number, line in enumerate(lines, 1):
        if match := re.match(r"\s*\[+\s*([^\]\s]+)\s*\]", line):
            inside = match[1]
            if inside == (table or key):
                head = number
        elif inside == table and re.match(rf'\s*"?{re.escape(key)}"?\s*[=.]', line):
            return number
    return head


def _plan_name(head: _Table) -> str:
    name = head.text("name")
    if not _NAME.fullmatch(name):
        raise head.refused(
            "name", f"{clip_text(name)}; expected up to 31 of a-z, 0-9 and -, a letter first, such as far-gemini"
        )
    return name


def _parameters(file: _Table, algorithm: str) -> dict[str, Any]:
    given = file.part("parameters")
    for key, value in given.values.items():
        if isinstance(value, dict | list):
            raise given.refused(key, "expected a number, a text, true or false")
    words = [f"{k}={str(v).lower() if isinstance(v, bool) else v}" for k, v in given.values.items()]
    try:
        return PROGRAMS[algorithm].parameters(words)
    except FarloopError as error:
        key = next((k for k in given.values if k in str(error)), "")
        message = re.sub(r"--set:? ", "", str(error))
        raise PlanError(
            f"{given.where}:{line_of(Path(given.where), 'parameters', key)}: parameters: {message}"
        ) from None


def _prefixes(select: _Table) -> tuple[Network, ...]:
    expected = 'prefixes of the other side, such as ["10.2.0.0/16", "fd00:2::/64"]'
    texts = select.texts("to", expected)
    if len(texts) > MAX_PREFIXES:
        raise select.refused("to", f"{len(texts)} prefixes; expected at most {MAX_PREFIXES}")
    networks = []
    for text in texts:
        try:
            networks.append(ipaddress.ip_network(text))
        except ValueError as error:
            raise select.refused("to", f"{error}; expected {expected}") from None
    return tuple(networks)


def _ports(select: _Table) -> tuple[int, ...]:
    expected = 'expected ports and ranges, such as [443, "8000-8010"]'
    values = select.values.get("ports", [])
    if not isinstance(values, list):
        raise select.refused("ports", expected)
    ports: set[int] = set()
    for value in values:
        match = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", str(value)) if isinstance(value, int | str) else None
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if isinstance(value, bool) or not 1 <= first <= last <= 65535:
            raise select.refused("ports", f"{clip_text(value)}; {expected}")
        ports |= set(range(first, last + 1))
    if len(ports) > MAX_PORTS:
        raise select.refused("ports", f"{len(ports)} ports; expected at most {MAX_PORTS}, or no ports for all")
    return tuple(sorted(ports))


def _receiver(table: _Table, algorithm: str) -> bool:
    table.only("ready")
    ready = table.flag("ready", default=False)
    if algorithm in TWO_ENDED and not ready:
        raise table.refused(
            "ready",
            f"{algorithm} needs its other half at receivers (`farloop kernel telemetry attach`); expected true, once they have it",
        )
    return ready


def _shares(steps: _Table) -> tuple[float, ...]:
    expected = "expected shares from above 0 to 1, each above the one before, such as [0.05, 0.5, 1.0]"
    values = steps.values.get("shares", [0.05, 0.5, 1.0])
    if not isinstance(values, list) or not values:
        raise steps.refused("shares", expected)
    before = 0.0
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float) or not before < value <= 1:
            raise steps.refused("shares", f"{clip_text(values)}; {expected}")
        before = value
    return tuple(map(float, values))


def _blocks(table: _Table) -> tuple[int, float]:
    table.only("blocks", "block")
    blocks = table.whole_number("blocks", 0, 1000, default=0)
    if blocks % 2 or 0 < blocks < 4:
        raise table.refused(
            "blocks", f"{blocks}; expected 0 for none, or an even number from 4 on: half of them are on"
        )
    return blocks, table.seconds("block", 1.0, 86400.0, default="10s")


def _share_of(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise ValueError
    return float(value)


def _per_second(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ValueError
    return float(value)


LIMITS: dict[str, tuple[Callable[[Any], float], str]] = {
    "retransmissions": (_share_of, "a share of the segments sent, such as 0.02"),
    "rtt": (seconds, 'a duration, such as "20ms"'),
    "delivery": (rate, 'a rate, such as "50Mbps"'),
    "marks": (_share_of, "a share of the segments delivered, such as 0.3"),
    "completions": (_per_second, "completions per second, such as 10"),
    "completion_time": (seconds, 'a duration, such as "200ms"'),
}
"""Keys of `[limits]`: how they are read, and what they take besides multiples such as "1.5x"."""


def _limits(table: _Table, path: Path) -> tuple[tuple[Limit, ...], float, Path | None]:
    table.only(*LIMITS, "window", "fifo")
    limits = []
    for key, (read, what) in LIMITS.items():
        if key not in table.values:
            continue
        value = table.values[key]
        relative = isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)?x", value) is not None
        try:
            bound = float(value[:-1]) if relative else read(value)
        except (TypeError, ValueError):
            raise table.refused(key, f'{clip_text(value)}; expected {what}, or a multiple such as "1.5x"') from None
        if not 0 < bound < float("inf"):
            raise table.refused(key, f"{clip_text(value)}; expected {what}, above 0")
        limits.append(Limit(key, bound, relative, str(value)))
    fifo = table.optional_text("fifo", "the path of a FIFO")
    if not fifo and (key := next((limit.key for limit in limits if limit.key.startswith("completion")), "")):
        raise table.refused(key, "completions come from a FIFO; expected limits.fifo, its path, as well")
    return tuple(limits), table.seconds("window", 1.0, 60.0, default="2s"), (path.parent / fifo if fifo else None)


def _listen(table: _Table) -> tuple[str, int] | None:
    table.only("listen")
    text = table.optional_text("listen", "an address of the loopback with a port")
    if not text:
        return None
    host, _, port = text.rpartition(":")
    try:
        loopback = ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        loopback = False
    if not loopback or not port.isdigit() or not 0 <= int(port) <= 65535:
        raise table.refused(
            "listen", f"{clip_text(text)}; expected an address of the loopback and a port, such as 127.0.0.1:9470"
        )
    return host.strip("[]"), int(port)


def _scenario(table: _Table, path: Path) -> Path | None:
    table.only("scenario")
    text = table.optional_text("scenario", "the path of a scenario")
    if not text:
        return None
    if not (scenario := path.parent / text).is_file():
        raise table.refused("scenario", f"{clip_text(text)}: no such file; expected a scenario, relative to the plan")
    return scenario
