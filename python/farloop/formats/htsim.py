"""Connection matrices (`.cm`) of htsim (Broadcom's csg-htsim, uet-htsim) as flows that wait for one another.

The syntax is that of `ConnectionMatrix::load`: `Nodes N`, `Connections M` and, where there are any, `Triggers T`; then for each flow `A->B
[id K] start T size S` or `A->B id K trigger X size S`, perhaps with `send_done_trigger X` and `recv_done_trigger X`; then for each trigger
`trigger id X oneshot`, `multishot` or `barrier count C`. Sizes are bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from typing import NoReturn

from farloop.errors import FarloopError, clip_text, nearest
from farloop.formats.flow_text import MAX_FLOWS, ListedFlow, flow_text
from farloop.formats.network_text import time_text
from farloop.formats.ranks import rank_names
from farloop.formats.text_lines import decimal_number, numbered_lines, shown_path, whole_number

MAX_NODES = 10_000_000

START_UNITS = {"ps": 1, "ns": 10**3, "us": 10**6}
"""Of `start`: picoseconds."""

KINDS = ("oneshot", "multishot", "barrier")

_EXPECTED = (
    'expected "Nodes N", "Connections M", "Triggers T", "A->B id K start TIME size BYTES", "A->B id K trigger X size BYTES" (both perhaps '
    'with "send_done_trigger X" or "recv_done_trigger X"), or "trigger id X oneshot", "multishot" or "barrier count C"'
)
_HEADERS = {"Nodes": MAX_NODES, "Connections": MAX_FLOWS, "Triggers": MAX_FLOWS}
_KEYS = ("id", "start", "size", "trigger", "send_done_trigger", "recv_done_trigger")
_REFUSED = {
    "prio": "is the order in which NDP's receiver pulls, which farloop does not have",
    "msg": "joins messages to one connection; farloop's flows have a window each",
}


@dataclass(eq=False)
class _Connection:
    line: int
    source: int
    destination: int
    keys: dict[str, str]
    name: str = ""
    size: int = 0
    after: list[_Connection] = field(default_factory=list)


@dataclass
class _Trigger:
    line: int
    kind: str
    count: int
    activators: list[_Connection] = field(default_factory=list)
    targets: list[_Connection] = field(default_factory=list)


@dataclass
class _Matrix:
    path: str
    counts: dict[str, int] = field(default_factory=dict)
    """By the word of a header."""
    connections: list[_Connection] = field(default_factory=list)
    triggers: dict[int, _Trigger] = field(default_factory=dict)

    def fail(self, line: int, problem: str) -> NoReturn:
        raise FarloopError(f"{self.path}:{line}: {problem}")


def flows_from_htsim(path: str | PathLike[str], *, hosts: str = "h{1}", start_unit: str = "ps") -> str:
    """The flows of a connection matrix as the CSV that a `[workload]` with `pattern = "list"` reads.

    A flow is called cK by its id, or by its position if it has none. Size 0 is a flow without end. A flow that a trigger starts begins when
    those that activate the trigger are over: `oneshot` and `barrier` after all of them; `multishot` where one flow after another activates
    it. A flow knows of the end of another one that comes from or goes to its source, by the ACK or the last byte; that moment holds,
    whichever of `send_done_trigger` and `recv_done_trigger` the file has.

    Args:
        path: The file.
        hosts: The host of each node: names, separated by commas, or a name with the number of node 0's host in braces.
        start_unit: The unit of `start`: "ps" as in csg-htsim and uet-htsim; "ns", "us".

    Raises:
        FarloopError: the file cannot be read or is no connection matrix, or has what flows of farloop cannot do; the text names file, line
            and word.
    """
    if start_unit not in START_UNITS:
        raise FarloopError(f"start_unit: {clip_text(start_unit)}: {nearest(start_unit, START_UNITS)}")
    matrix = _read_matrix(path)
    if not matrix.connections:
        raise FarloopError(f"{matrix.path}: no connection; {_EXPECTED}")
    host = rank_names(hosts, matrix.counts["Nodes"])
    _tie(matrix)
    early = sum(_is_early(connection) for connection in matrix.connections)
    rows = [_row(matrix, connection, host, START_UNITS[start_unit]) for connection in matrix.connections]
    comments = [f"Flows of {matrix.path}, a connection matrix of htsim."]
    if early:
        comments.append(
            f"{early} flows begin at another end than their trigger says: send_done_trigger for a flow from the destination (here with the "
            "last byte, in htsim with its ACK), or recv_done_trigger for one from the source (here with the ACK)."
        )
    return flow_text(rows, comments)


def _row(matrix: _Matrix, connection: _Connection, host: Callable[[int], str], unit: int) -> ListedFlow:
    here, keys = f"{matrix.path}:{connection.line}", connection.keys
    ends = host(connection.source), host(connection.destination)
    if ends[0] == ends[1]:
        matrix.fail(connection.line, f"both nodes are at {clip_text(ends[0])}; expected two hosts (hosts)")
    start = time_text(round(decimal_number(here, keys["start"], "start") * unit)) if "start" in keys else ""
    size = f"{connection.size}B" if connection.size else ""
    return ListedFlow(connection.name, *ends, start, size, " ".join(before.name for before in connection.after))


def _read_matrix(path: str | PathLike[str]) -> _Matrix:
    matrix = _Matrix(shown_path(path))
    names: dict[str, int] = {}
    number = 1
    for number, line in numbered_lines(path, expected=_EXPECTED):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        first = words[0]
        if first in _HEADERS:
            if len(words) != 2 or first in matrix.counts:
                matrix.fail(number, f"{clip_text(line.strip())}: expected {first} once, with a number")
            matrix.counts[first] = whole_number(f"{matrix.path}:{number}", words[1], first, most=_HEADERS[first])
        elif "->" in first:
            connection = _connection(matrix, number, words)
            if connection.name in names:
                matrix.fail(number, f"id: the flow of line {names[connection.name]} has it; expected a unique one")
            names[connection.name] = number
            matrix.connections.append(connection)
        elif first == "trigger":
            _add_trigger(matrix, number, words)
        elif first in ("failure", "Failures"):
            if words != ["Failures", "0"]:
                matrix.fail(number, "failures belong to a topology of htsim; expected [[event]] in the scenario")
        else:
            matrix.fail(number, f"{clip_text(line.strip())}: {_EXPECTED}")
    for word, count in (("Connections", len(matrix.connections)), ("Triggers", len(matrix.triggers))):
        if matrix.counts.get(word, 0) != count:
            matrix.fail(number, f"{word} {matrix.counts.get(word, 0)}, but the file has {count}; expected the same")
    if "Nodes" not in matrix.counts:
        raise FarloopError(f'{matrix.path}: expected "Nodes N" on its first line')
    return matrix


def _connection(matrix: _Matrix, number: int, words: list[str]) -> _Connection:
    here = f"{matrix.path}:{number}"
    if "Nodes" not in matrix.counts:
        matrix.fail(number, 'expected "Nodes N" before the first connection')
    nodes = matrix.counts["Nodes"]
    if nodes == 0:
        matrix.fail(number, "there is no node, as Nodes says")
    source, _, destination = words[0].partition("->")
    ends = [whole_number(here, end, "node", most=nodes - 1) for end in (source, destination)]
    if ends[0] == ends[1]:
        matrix.fail(number, f"the flow goes from node {ends[0]} to itself; expected two nodes")
    keys: dict[str, str] = {}
    rest = iter(words[1:])
    for key in rest:
        if key in _REFUSED:
            matrix.fail(number, f"{key}: {_REFUSED[key]}; expected a connection without it")
        if key not in _KEYS:
            matrix.fail(number, f"{clip_text(key)}: unknown; {nearest(key, _KEYS)}")
        value = next(rest, None)
        if key in keys or value is None:
            matrix.fail(
                number, f"{key}: {'a second time' if key in keys else 'has no value'}; expected it with a value"
            )
        keys[key] = value
    for key in ("id", "trigger", "send_done_trigger", "recv_done_trigger"):
        if key in keys:
            whole_number(here, keys[key], key, least=1)
    if ("start" in keys) == ("trigger" in keys):
        matrix.fail(number, "expected one of start and trigger")
    if "size" not in keys:
        matrix.fail(number, "size: missing; expected bytes, 0 for a flow without end")
    size = whole_number(here, keys["size"], "size", most=10**15)
    name = f"c{int(keys['id'])}" if "id" in keys else f"n{len(matrix.connections) + 1}"
    return _Connection(number, ends[0], ends[1], keys, name, size)


def _add_trigger(matrix: _Matrix, number: int, words: list[str]) -> None:
    here = f"{matrix.path}:{number}"
    values: dict[str, int] = {}
    kinds: list[str] = []
    rest = iter(words[1:])
    for word in rest:
        if word in KINDS:
            kinds.append(word)
        elif word in ("id", "count") and word not in values:
            values[word] = whole_number(here, next(rest, ""), word, least=1)
        else:
            matrix.fail(number, f"{clip_text(word)}: {_EXPECTED}")
    if "id" not in values or len(kinds) != 1:
        matrix.fail(number, f"expected an id and one of {', '.join(KINDS)}")
    if ("count" in values) != (kinds[0] == "barrier"):
        matrix.fail(number, f"count: expected it with barrier, and only there, not with {kinds[0]}")
    if values["id"] in matrix.triggers:
        first = matrix.triggers[values["id"]].line
        matrix.fail(number, f"the trigger {values['id']} is in line {first} already; expected a unique id")
    matrix.triggers[values["id"]] = _Trigger(number, kinds[0], values.get("count", 1))


def _tie(matrix: _Matrix) -> None:
    """Finds what each flow waits for."""
    for connection in matrix.connections:
        for key, value in connection.keys.items():
            if "trigger" not in key:
                continue
            trigger = matrix.triggers.get(int(value))
            if trigger is None:
                matrix.fail(connection.line, f"{key}: there is no trigger {int(value)}; expected its line below")
            (trigger.targets if key == "trigger" else trigger.activators).append(connection)
    for identity, trigger in matrix.triggers.items():
        if not trigger.targets:
            continue
        if not trigger.activators:
            matrix.fail(
                trigger.targets[0].line, f"trigger: no flow activates {identity}; expected send_done_trigger {identity}"
            )
        if trigger.kind == "multishot":
            _tie_chain(matrix, identity, trigger)
            continue
        if len(trigger.activators) != trigger.count:
            matrix.fail(
                trigger.line,
                f"{len(trigger.activators)} flows activate the {trigger.kind} {identity}; expected {trigger.count}",
            )
        for target in trigger.targets:
            _wait(matrix, target, trigger.activators)


def _tie_chain(matrix: _Matrix, identity: int, trigger: _Trigger) -> None:
    """A multishot starts its next flow each time: which flow's end is the next is known where each activates it in its turn."""
    first = [flow for flow in trigger.activators if flow not in trigger.targets]
    if len(first) != 1:
        matrix.fail(
            trigger.line,
            f"multishot {identity}: {len(first)} flows that it does not start activate it, and only a run shows in which order; "
            "expected one",
        )
    before = first[0]
    for target in trigger.targets:
        if before not in trigger.activators:
            matrix.fail(
                target.line,
                f"trigger: {identity} does not fire again after the flow of line {before.line}, so this never begins",
            )
        _wait(matrix, target, [before])
        before = target


def _wait(matrix: _Matrix, target: _Connection, activators: list[_Connection]) -> None:
    for before in activators:
        if target.source not in (before.source, before.destination):
            matrix.fail(
                target.line,
                f"trigger: node {target.source} cannot know of the end of the flow of line {before.line}, which is between "
                f"{before.source} and {before.destination}; expected flows from or to node {target.source}",
            )
        if not before.size:
            matrix.fail(before.line, "size: a flow without end never activates its trigger; expected a size")
        target.after.append(before)


def _is_early(target: _Connection) -> bool:
    """Returns whether a flow that it waits for activates the trigger by the end at which this flow is not."""
    trigger = target.keys.get("trigger")
    return any(
        before.keys.get("send_done_trigger" if target.source == before.destination else "recv_done_trigger") == trigger
        for before in target.after
    )
