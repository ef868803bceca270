"""GOAL traces as flows that wait for one another.

GOAL is the Group Operation Assembly Language (T. Hoefler, C. Siebert, A. Lumsdaine, ICPP 2009) that LogGOPSim and ATLAHS read. A message
(`send` with its `recv`) becomes a flow; what a rank computes (`calc`, nanoseconds) becomes the delay with which a flow follows those that
it depends on. Each operation has two moments, its start and its end, and each moment is the latest of some ends of messages, each with a
delay, and a constant: `requires` joins ends into a start, `irequires` joins starts.
"""

from __future__ import annotations

import csv
import io
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from os import PathLike

from farloop.errors import FarloopError, clip_text
from farloop.formats.ranks import rank_names
from farloop.formats.text_lines import numbered_lines, shown_path

MAX_WAITS = 5_000_000
"""Pairs of a flow and one that waits for it: what a scenario takes."""

_LARGEST = 10**18
_LABEL = r"[A-Za-z][A-Za-z0-9_]*"
_RANKS = re.compile(r"num_ranks\s+(\d+)")
_RANK = re.compile(r"rank\s+(\d+)\s*\{")
_CALC = re.compile(rf"(?:({_LABEL})\s*:\s*)?calc\s+(\d+)((?:\s+[a-z]+\s+\d+)*)")
_MESSAGE = re.compile(
    rf"(?:({_LABEL})\s*:\s*)?(send|recv)\s+(\d+)\s*b\s+(to|from)\s+(-1|\d+)((?:\s+[a-z]+\s+(?:-1|\d+))*)"
)
_NEEDS = re.compile(rf"({_LABEL})\s+(i?requires)\s+({_LABEL})")
_EXPECTED = (
    'expected "num_ranks N", "rank R {", "LABEL: send SIZEb to RANK tag TAG", "LABEL: recv SIZEb from RANK tag TAG", '
    '"LABEL: calc NANOSECONDS", "LABEL requires LABEL", "LABEL irequires LABEL" or "}"'
)


@dataclass
class _Operation:
    line: int
    name: str
    kind: str
    amount: int
    """Bytes or nanoseconds."""
    peer: int = -1
    tag: int = 0
    flow: int = -1
    """Of a message, by position in the list."""
    ends: list[int] = field(default_factory=list)
    """The operations of this rank whose ends it needs, by position."""
    starts: list[int] = field(default_factory=list)


@dataclass
class _Rank:
    line: int
    operations: list[_Operation] = field(default_factory=list)


@dataclass
class _Moment:
    """The latest of `constant` and the ends of flows, each with its delay: nanoseconds."""

    constant: int = 0
    flows: dict[int, int] = field(default_factory=dict)

    def join(self, other: _Moment) -> None:
        self.constant = max(self.constant, other.constant)
        for flow, delay in other.flows.items():
            self.flows[flow] = max(self.flows.get(flow, 0), delay)

    def later(self, nanoseconds: int) -> _Moment:
        return _Moment(self.constant + nanoseconds, {flow: delay + nanoseconds for flow, delay in self.flows.items()})


def flows_from_goal(path: str | PathLike[str], *, hosts: str = "h{1}", eager: bool = False) -> str:
    """The messages of a GOAL trace (its text form) as the CSV that a `[workload]` with `pattern = "list"` reads.

    A flow is called rRANK-LABEL by its `send`. It begins when what the trace makes it wait for is over: messages that its rank gets,
    with their last byte; messages that it sends, when they are acknowledged (with `eager`, at once, as LogGOPSim has it for small
    messages); computations of its rank. Ranks have processors enough: computations that the trace does not order overlap, whatever
    `cpu` and `nic` say. A receiver is always ready. A message of 0 bytes has 1.

    Args:
        path: The file.
        hosts: The host of each rank: names, separated by commas, or a name with the number of rank 0's host in braces.
        eager: Sends are eager: what depends on a rank's own send need not wait for it.

    Raises:
        FarloopError: the file cannot be read or is no such trace, a message lacks its other half, or operations wait for one another;
            the text names file and line.
    """
    name = shown_path(path)
    ranks = _read_ranks(path, name)
    names = rank_names(hosts, max(ranks, default=-1) + 1)
    sends = _match_messages(name, ranks)
    if not sends:
        raise FarloopError(f'{name}: no message; expected operations such as "l1: send 8b to 1 tag 0"')
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("name", "from", "to", "start", "size", "after"))
    rows: list[tuple[str, ...]] = [()] * len(sends)
    waits = 0
    for number, rank in ranks.items():
        starts = _starts(name, rank, eager=eager)
        for operation, start in zip(rank.operations, starts, strict=True):
            if operation.kind != "send":
                continue
            if names(number) == names(operation.peer):
                raise FarloopError(
                    f"{name}:{operation.line}: ranks {number} and {operation.peer} are both at {clip_text(names(number))}; "
                    "expected messages between different hosts (hosts)"
                )
            waits += len(start.flows)
            if waits > MAX_WAITS:
                raise FarloopError(f"{name}:{operation.line}: messages wait for more than {MAX_WAITS} others in all")
            after = [sends[flow] + (f"+{delay}ns" if delay else "") for flow, delay in sorted(start.flows.items())]
            size = f"{max(operation.amount, 1)}B"
            # Nothing ends before the run begins.
            begin = f"{start.constant}ns" if start.constant > max(start.flows.values(), default=0) else ""
            rows[operation.flow] = (
                sends[operation.flow], names(number), names(operation.peer), begin, size, " ".join(after)
            )  # fmt: skip
    writer.writerows(rows)
    return text.getvalue()


def _lines(path: str | PathLike[str]) -> Iterator[tuple[int, str]]:
    """Lines without comments, from 1."""
    number, inside = 0, False
    for number, raw in numbered_lines(path, expected=_EXPECTED, binary="expected GOAL's text form, not its binary one"):
        line = raw
        if inside or "/" in line:
            line, inside = _strip_comment(line, inside)
        if line := line.strip():
            yield number, line
    if inside:
        raise FarloopError(f'{shown_path(path)}:{number}: a comment does not end; expected "*/"')


def _strip_comment(line: str, inside: bool) -> tuple[str, bool]:
    kept = ""
    while line:
        if inside:
            _, end, line = line.partition("*/")
            inside = not end
            continue
        begin = min((at for mark in ("//", "/*") if (at := line.find(mark)) >= 0), default=len(line))
        kept += line[:begin] + " "
        if line[begin : begin + 2] != "/*":
            break
        inside, line = True, line[begin + 2 :]
    return kept, inside


def _read_ranks(path: str | PathLike[str], name: str) -> dict[int, _Rank]:
    ranks: dict[int, _Rank] = {}
    count, rank, labels = -1, None, dict[str, int]()
    needs: list[tuple[int, str, str, str]] = []
    number = 0
    for number, line in _lines(path):
        here = f"{name}:{number}"
        if rank is None:
            if matched := _RANKS.fullmatch(line):
                if count >= 0:
                    raise FarloopError(f"{here}: num_ranks a second time")
                count = _number(here, matched[1])
            elif matched := _RANK.fullmatch(line):
                of = _number(here, matched[1])
                if count < 0:
                    raise FarloopError(f'{here}: expected "num_ranks N" before the first rank')
                if of >= count or of in ranks:
                    problem = "a second time" if of in ranks else f"of {count}"
                    raise FarloopError(f"{here}: rank {of} {problem}; expected each of 0 to {count - 1} at most once")
                rank = ranks[of] = _Rank(number)
                labels, needs = {}, []
            else:
                raise FarloopError(f"{here}: {clip_text(line)}: {_EXPECTED}")
        elif line == "}":
            _tie(name, rank, labels, needs)
            rank = None
        elif matched := _NEEDS.fullmatch(line):
            needs.append((number, matched[1], matched[2], matched[3]))
        else:
            # Labels begin with a letter: a position is never one.
            made = _operation(here, number, line, count, len(rank.operations))
            if made.name in labels:
                raise FarloopError(f"{here}: the label {clip_text(made.name)} a second time in this rank")
            labels[made.name] = len(rank.operations)
            rank.operations.append(made)
    if rank is not None:
        raise FarloopError(f'{name}:{number}: the end of the file inside of a rank; expected "}}"')
    if count < 0:
        raise FarloopError(f'{name}: expected "num_ranks N" on its first line')
    return ranks


def _operation(here: str, number: int, line: str, count: int, position: int) -> _Operation:
    if matched := _CALC.fullmatch(line):
        _options(here, matched[3], ("cpu", "nic"))
        return _Operation(number, matched[1] or str(position), "calc", _number(here, matched[2]))
    matched = _MESSAGE.fullmatch(line)
    if not matched or (matched[2], matched[4]) not in (("send", "to"), ("recv", "from")):
        raise FarloopError(f"{here}: {clip_text(line)}: {_EXPECTED}")
    options = _options(here, matched[6], ("tag", "cpu", "nic"))
    peer, tag = _number(here, matched[5]), options.get("tag", 0)
    if peer < 0 or tag < 0:
        raise FarloopError(
            f"{here}: {clip_text(line)}: -1 stands for any; which message that is only a run would tell: expected a rank and a tag"
        )
    if peer >= count:
        raise FarloopError(f"{here}: there is no rank {peer}; expected one of 0 to {count - 1}")
    return _Operation(number, matched[1] or str(position), matched[2], _number(here, matched[3]), peer, tag)


def _options(here: str, text: str, known: tuple[str, ...]) -> dict[str, int]:
    words = text.split()
    options: dict[str, int] = {}
    for key, value in zip(words[::2], words[1::2], strict=True):
        if key not in known or key in options:
            problem = "a second time" if key in options else "unknown"
            raise FarloopError(f"{here}: {clip_text(key)}: {problem}; expected each of {', '.join(known)} at most once")
        options[key] = _number(here, value)
    return options


def _number(here: str, digits: str) -> int:
    if len(digits) > len(str(_LARGEST)) or int(digits) > _LARGEST:
        raise FarloopError(f"{here}: {clip_text(digits)} is too large; expected at most {_LARGEST}")
    return int(digits)


def _tie(name: str, rank: _Rank, labels: dict[str, int], needs: list[tuple[int, str, str, str]]) -> None:
    """Resolves the dependencies between a rank's operations from labels to positions."""
    for line, later, kind, sooner in needs:
        for label in (later, sooner):
            if label not in labels:
                raise FarloopError(f"{name}:{line}: there is no operation {clip_text(label)} in this rank")
        operation = rank.operations[labels[later]]
        (operation.ends if kind == "requires" else operation.starts).append(labels[sooner])


def _match_messages(name: str, ranks: dict[int, _Rank]) -> list[str]:
    """Gives each message its number: the names of flows by number.

    Messages of one pair and tag arrive in the order in which the trace has them.
    """
    waiting: dict[tuple[int, int, int], deque[_Operation]] = {}
    names: list[str] = []
    for number, rank in ranks.items():
        for operation in rank.operations:
            if operation.kind == "send":
                operation.flow = len(names)
                names.append(f"r{number}-{operation.name}")
                waiting.setdefault((number, operation.peer, operation.tag), deque()).append(operation)
    for number, rank in ranks.items():
        for operation in rank.operations:
            if operation.kind != "recv":
                continue
            queue = waiting.get((operation.peer, number, operation.tag))
            if not queue:
                raise FarloopError(
                    f"{name}:{operation.line}: rank {operation.peer} sends no such message to rank {number} (tag {operation.tag}); "
                    "expected as many send as recv"
                )
            send = queue.popleft()
            if send.amount > operation.amount:
                raise FarloopError(
                    f"{name}:{operation.line}: {operation.amount} bytes for a message of {send.amount} (line {send.line})"
                )
            operation.flow = send.flow
    for (_, to, tag), queue in waiting.items():
        if queue:
            raise FarloopError(
                f"{name}:{queue[0].line}: rank {to} receives no such message (tag {tag}); expected as many recv as send"
            )
    return names


def _starts(name: str, rank: _Rank, *, eager: bool) -> list[_Moment]:
    """When each operation of a rank begins."""
    operations = rank.operations
    followers: list[list[tuple[int, bool]]] = [[] for _ in operations]
    left = [len(o.ends) + len(o.starts) for o in operations]
    for position, operation in enumerate(operations):
        for sooner in operation.ends:
            followers[sooner].append((position, True))
        for sooner in operation.starts:
            followers[sooner].append((position, False))
    begins = [_Moment() for _ in operations]
    ready = deque(position for position, count in enumerate(left) if count == 0)
    done = 0
    while ready:
        position = ready.popleft()
        done += 1
        operation, begin = operations[position], begins[position]
        if not followers[position]:
            continue
        end = begin
        if operation.kind == "calc":
            end = begin.later(operation.amount)
        elif operation.kind == "recv":
            end = _Moment(begin.constant, {**begin.flows, operation.flow: begin.flows.get(operation.flow, 0)})
        elif not eager:
            # A message begins when its operation does, and ends later.
            end = _Moment(0, {operation.flow: 0})
        for follower, needs_end in followers[position]:
            begins[follower].join(end if needs_end else begin)
            left[follower] -= 1
            if left[follower] == 0:
                ready.append(follower)
    if done < len(operations):
        stuck = next(position for position, count in enumerate(left) if count)
        raise FarloopError(
            f"{name}:{operations[stuck].line}: this operation waits for itself, directly or through other operations"
        )
    return begins
