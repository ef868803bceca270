"""Where the time of one flow went, as `farloop why` shows it (docs/why.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from farloop.results.showing import Drawable
from farloop.units import time_text

MEANINGS = {
    "serialisation": "its packets were put on the link",
    "propagation": "its packets were on the link",
    "queue": "waited while others' packets were served",
    "pause": "paused by PFC",
    "hold": "held back by the port's discipline or circuit",
    "pacing": "waited for the pacing rate",
    "segmentation offload": "waited for a whole chunk",
    "recovery": "lost, until it was sent again",
    "algorithm's timer": "waited for a timer of its algorithm",
    "credit": "waited for credit of the receiving host",
    "receiver": "waited for the receiver to answer",
    "host stall": "waited for a host that stalled",
    "delay noise": "delay noise of a host",
    "unfinished": "after its last acknowledgement",
}
"""The causes, in a phrase each."""

LIMITS = {
    "window": "its window was full",
    "window after losses": "its window was full, which a loss had cut",
    "credit": "it had no credit",
    "receive window": "the receiver's window was full",
    "segmentation offload": "the host waited for a whole chunk",
    "handshake": "its connection was not open",
    "recovery": "losses were being repaired",
}
"""Meanings of the source's limits, as the end of a sentence."""

STATES = ("good", "skip", "assumed bad", "denied")
"""States of entropy values (spec/mrc.md)."""

_ALL_LIMITS = {"", "rate", "earlier messages", *LIMITS}
_PART = ("cause", "limit", "port", "rival", "own", "root", "entropy", "time_ps")
_SENDING = ("at_ps", "port", "sequence", "entropy")
_REPAIR = ("before", "again", "lost", "state")

SMALLEST = 200
"""Parts below this fraction of the time share a row."""


@dataclass
class Explanation(Drawable):
    """Where the time of a flow went.

    Attributes:
        flow: Its name.
        number: Its number in the table of flows.
        start_ps: When it began.
        end_ps: When its last byte was acknowledged, or the run ended; in picoseconds as all times.
        finished: True if its last byte was acknowledged.
        after: The flow whose end let it begin (`flow`, `end_ps`, `delay_ps`), where it followed others.
        parts: The parts of the time, which together are exactly `end_ps - start_ps`: `cause`, `limit` ("window", "rate" and others
            where the source waited for these, and this is the way of the ACK that ended the wait), `port`, `rival` (the flow whose packets
            were served), `own` (that is the flow itself), `root` (the port where a chain of pauses begins), `entropy` (over multipath
            endpoints the entropy value of the packet that waited or was lost), `time_ps`.
        slices: The same by hundredths of the time: pairs of a part's place in `parts` and picoseconds.
        last: The data packet whose acknowledgement was the last: `at_ps` (its departure), `port` (the source's: it names the plane),
            `sequence` (its offset in bytes), `entropy`. None where no data was acknowledged.
        repairs: Packets that were sent again, in the order of time: `before` and `again` as `last`, `lost` (the port of the loss; None if
            the packet was only late), `state` (of the first one's entropy value by then, under `mrc`; else None).
        before: Explanation by `follow` of the flow that it waited for.
    """

    flow: str
    number: int
    start_ps: int
    end_ps: int
    finished: bool
    after: dict[str, Any] | None
    parts: list[dict[str, Any]]
    slices: list[list[list[int]]] = field(repr=False)
    last: dict[str, Any] | None = None
    repairs: list[dict[str, Any]] = field(default_factory=list, repr=False)
    before: Explanation | None = None

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Explanation | None:
        """Reads what `as_json` wrote, without the flows before; `None` where it is something else: anybody may have written the file."""
        start, end, number, parts, after = (content.get(k) for k in ("start_ps", "end_ps", "number", "parts", "after"))
        flow, finished = content.get("flow"), content.get("finished")
        if not (
            _is_count(start) and _is_count(end) and _is_count(number) and _is_name(flow) and type(finished) is bool
        ):
            return None
        if not isinstance(parts, list) or not all(isinstance(part, dict) and _is_part(part) for part in parts):
            return None
        kept = [{key: part.get(key) for key in _PART} for part in parts]
        if sum(part["time_ps"] for part in kept) != end - start or (kept and start == end):
            return None
        if after is not None:
            if not isinstance(after, dict) or not _is_name(after.get("flow")):
                return None
            if not (_is_count(after.get("end_ps")) and _is_count(after.get("delay_ps"))):
                return None
            after = {key: after[key] for key in ("flow", "end_ps", "delay_ps")}
        last, repairs = content.get("last"), content.get("repairs", [])
        if (
            not (last is None or _is_sending(last))
            or not isinstance(repairs, list)
            or not all(map(_is_repair, repairs))
        ):
            return None
        last = None if last is None else {key: last[key] for key in _SENDING}
        own = [{key: repair[key] for key in _REPAIR} for repair in repairs]
        return cls(flow, number, start, end, finished, after, kept, slices=[], last=last, repairs=own)

    @property
    def time_ps(self) -> int:
        """The time from start to end: the flow completion time of one that finished."""
        return self.end_ps - self.start_ps

    @property
    def title(self) -> str:
        """Name of the flow."""
        return self.flow

    @property
    def chain(self) -> list[Explanation]:
        """This flow, the one that it waited for, and so on, as far as they were followed."""
        own, at = [], self
        while True:
            own.append(at)
            if at.before is None:
                return own
            at = at.before

    def share(self, part: dict[str, Any]) -> float:
        """A part of the time, from 0 to 1."""
        return float(part["time_ps"]) / self.time_ps if self.time_ps else 0.0

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The parts, largest first: cause, limit, where, by whom, time, share. Small ones are one row, propagation is of the path."""
        return largest_first(
            self.parts, self.time_ps, lambda part: (part["cause"], part["limit"], place_name(part), cause_name(part))
        )

    @property
    def paths(self) -> list[str]:
        """In a line each by which path its last packet went and which packets were sent again; none where packets take one path."""
        if self.last is None or self.last["entropy"] is None:
            return []
        lines = [f"the last packet left {_path_text(self.last)}"]
        groups = Counter((repair["lost"] is None, repair["state"]) for repair in self.repairs)
        for (late, state), count in sorted(groups.items(), key=str):
            first = next(r for r in self.repairs if (r["lost"] is None, r["state"]) == (late, state))
            packets = f"{count} packet was" if count == 1 else f"{count} packets were"
            words = f"{packets} sent again after {'being late' if late else 'a loss'}"
            words += f", the entropy value {state} by then" if state else ""
            place = "" if late else f", lost at {first['lost']}"
            lines.append(f"{words}; the first one had left {_path_text(first['before'])}{place}")
        return lines

    @property
    def largest(self) -> tuple[str, float]:
        """The cause of most of the time in a few words, wherever it was and whoever caused it, and its share, from 0 to 1.

        If most of that was spent under a limit of the source, such as a full window, the words have it. ("", 0.0) where it took no time.
        """
        groups: dict[str, dict[str, int]] = {}
        for part in self.parts:
            limits = groups.setdefault(cause_text(part), {})
            limits[part["limit"]] = limits.get(part["limit"], 0) + int(part["time_ps"])
        if not groups:
            return "", 0.0
        cause, limits = max(groups.items(), key=lambda item: sum(item[1].values()))
        time = sum(limits.values())
        limit = max(limits, key=lambda name: limits[name])
        words = f"{cause} ({limit})" if limit and cause != "pacing" and 2 * limits[limit] > time else cause
        return words, time / self.time_ps if self.time_ps else 0.0

    @property
    def limits_ps(self) -> dict[str, int]:
        """The time by the limit of the source that it was spent under: "" for none, "window", "rate", and others where there are any."""
        limits = {"": 0, "window": 0, "rate": 0}
        for part in self.parts:
            limits[part["limit"]] = limits.get(part["limit"], 0) + int(part["time_ps"])
        return limits

    @property
    def answer(self) -> str:
        """In one line what took most of the time."""
        whole = time_text(self.time_ps / 1e12)
        if not self.parts:
            return f"{self.flow} took no time"
        groups: dict[tuple[str, str, str], int] = {}
        for part in self.parts:
            key = (str(part["cause"]), place_name(part), cause_name(part))
            groups[key] = groups.get(key, 0) + int(part["time_ps"])
        (cause, place, by), time = max(groups.items(), key=lambda item: item[1])
        share = f"{100 * time / self.time_ps:.0f} % of its {whole}"
        text = {
            "queue": f"{share} it waited at {place} behind {by}",
            "pause": f"{share} it was paused at {place}, {by}",
            "serialisation": f"{share} went into putting its own packets on the link {place}",
            "propagation": f"{share} went into propagation",
            "pacing": f"{share} it waited for its pacing rate",
            "recovery": f"{share} went into recovery from losses" + (f" at {place}" if place else ""),
        }.get(cause, f"{share} went into {cause}: {MEANINGS[cause]}")
        limits = self.limits_ps
        limit = max(limits, key=lambda name: limits[name])
        if limit in LIMITS and cause != "pacing":
            text += f"; {100 * limits[limit] / self.time_ps:.0f} % of the time {LIMITS[limit]}"
        state = "" if self.finished else " (it did not finish)"
        return f"{self.flow}{state}: {text}"

    @property
    def as_json(self) -> dict[str, Any]:
        """All of it, for `--json`."""
        own: dict[str, Any] = {
            "flow": self.flow,
            "number": self.number,
            "start_ps": self.start_ps,
            "end_ps": self.end_ps,
            "time_ps": self.time_ps,
            "finished": self.finished,
            "answer": self.answer,
            "after": self.after,
            "limits_ps": {name or "none": time for name, time in self.limits_ps.items()},
            "last": self.last,
            "repairs": self.repairs,
            "parts": self.parts,
        }
        return own if self.before is None else {**own, "before": self.before.as_json}

    def __str__(self) -> str:
        return self.answer


def _is_count(value: object) -> TypeGuard[int]:
    """True for a value of JSON that is a time or a number, as the simulator counts them."""
    return type(value) is int and 0 <= value < 2**63


def _is_name(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value.isprintable()


def _is_part(part: Mapping[str, object]) -> bool:
    """True for a part of an explanation: it has all keys, and causes and limits that exist."""
    # Outputs from before there were planes have no entropy values.
    if not set(_PART) - {"entropy"} <= set(part) or not _is_count(part["time_ps"]) or type(part["own"]) is not bool:
        return False
    if not all(part[key] is None or _is_name(part[key]) for key in ("port", "rival", "root")):
        return False
    if not _is_entropy(part.get("entropy")):
        return False
    cause, limit = part["cause"], part["limit"]
    return isinstance(cause, str) and cause in MEANINGS and isinstance(limit, str) and limit in _ALL_LIMITS


def _is_entropy(value: object) -> bool:
    return value is None or _is_count(value)


def _is_sending(sending: object) -> bool:
    """True for a departure of data."""
    return (
        isinstance(sending, dict)
        and set(_SENDING) <= set(sending)
        and _is_count(sending["at_ps"])
        and _is_count(sending["sequence"])
        and _is_name(sending["port"])
        and _is_entropy(sending["entropy"])
    )


def _is_repair(repair: object) -> bool:
    """True for a packet that was sent again."""
    return (
        isinstance(repair, dict)
        and set(_REPAIR) <= set(repair)
        and _is_sending(repair["before"])
        and _is_sending(repair["again"])
        and (repair["lost"] is None or _is_name(repair["lost"]))
        and (repair["state"] is None or repair["state"] in STATES)
    )


def _path_text(sending: Mapping[str, Any]) -> str:
    return f"by {sending['port']} with the entropy value {sending['entropy']}"


def largest_first(
    parts: list[dict[str, Any]], time_ps: int, group: Callable[[dict[str, Any]], tuple[str, ...]]
) -> list[tuple[str, ...]]:
    """Rows of the parts by `group`, largest first, each with its time and share; small ones are one row."""
    groups: dict[tuple[str, ...], int] = {}
    for part in parts:
        key = group(part)
        groups[key] = groups.get(key, 0) + int(part["time_ps"])
    ordered = sorted(groups.items(), key=lambda item: -item[1])
    large = [(key, time) for key, time in ordered if time * SMALLEST >= time_ps]
    small = [time for _, time in ordered[len(large) :]]
    if len(small) == 1:
        large, small = ordered, []

    def percent(time: int) -> str:
        return f"{100 * time / time_ps:.1f} %" if time_ps else "0 %"

    rows = [(*key, time_text(time / 1e12), percent(time)) for key, time in large]
    if small:
        words = (f"{len(small)} smaller parts", *[""] * (len(ordered[0][0]) - 1))
        rows.append((*words, time_text(sum(small) / 1e12), percent(sum(small))))
    return rows


def place_name(part: dict[str, Any]) -> str:
    """Where it was: links of a path share their delay."""
    return "" if part["cause"] == "propagation" else str(part["port"] or "")


def cause_text(part: dict[str, Any]) -> str:
    """The cause in words; of a queue also whose packets were served."""
    if part["cause"] == "pause":
        return "PFC pause"
    if part["cause"] != "queue":
        return str(part["cause"])
    if part["own"]:
        return "queue behind its own packets"
    return "queue behind rivals" if part["rival"] else "queue behind frames of the link"


def cause_name(part: dict[str, Any]) -> str:
    """Returns its cause: the flow whose packets were served, or the port where a chain of pauses begins."""
    if part["root"]:
        return f"root {part['root']}"
    if part["cause"] != "queue":
        return ""
    if part["own"]:
        return "its own packets"
    return f"flow {part['rival']}" if part["rival"] else "frames of the link"
