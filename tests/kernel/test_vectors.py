"""The recorded behaviour of GEMINI, replayed by an implementation written from `vectors/README.md` alone."""

import json
from pathlib import Path

from support.gemini_vectors import Gemini

VECTORS = Path(__file__).parents[2] / "vectors" / "gemini.jsonl"


def test_another_implementation_gives_the_same_numbers() -> None:
    lines = [json.loads(line) for line in VECTORS.read_text().splitlines()]
    assert lines[0] == {"format": "farloop gemini vectors", "version": 4}
    flow = None
    for number, event in enumerate(lines[1:], start=2):
        if event["event"] == "start":
            flow = Gemini(event)
        assert flow is not None
        flow.play(event)
        expected = {key: event[key] for key in flow.state()}
        assert flow.state() == expected, f"line {number}: {event}"


def marked_packets(ack: dict[str, int | None]) -> int:
    """What an ACK of Accurate ECN reports, written from `vectors/README.md` alone."""
    packets, size, increase, mss = (ack[key] or 0 for key in ("packets", "bytes", "increase", "mss"))
    if packets <= 7:
        return increase
    most = packets - (packets - increase) % 8
    marked = ack["ce_bytes"]
    if marked is None:
        return increase if (ack["average"] or 0) > 256 else most
    if marked == 0:
        return increase
    if packets >= 16 and ack["certain"]:
        return most if size <= marked else min(most, increase + (-(-marked * packets // size) & ~7))
    return increase if marked <= increase * mss and marked < most * mss // 2 else most


def test_another_implementation_counts_the_same_marks() -> None:
    lines = [json.loads(line) for line in (VECTORS.parent / "accecn.jsonl").read_text().splitlines()]
    assert lines[0] == {"format": "farloop accecn vectors", "version": 1}
    for number, ack in enumerate(lines[1:], start=2):
        assert marked_packets(ack) == ack["marked"], f"line {number}: {ack}"


def state_after(line: dict[str, str | bool]) -> str:
    """What becomes of the state of an entropy value of MRC, written from the table of `spec/mrc.md` alone."""
    before, event = str(line["from"]), line["event"]
    if event == "deny":
        return "denied"
    if before == "denied":
        return "good" if event == "allow" else before
    if before in ("good", "skip") and event in ("lost", "always-skip"):
        return "assumed-bad" if line["may_leave"] else before
    if before == "assumed-bad" and event in ("probed", "probed-marked"):
        return "skip" if event == "probed-marked" and line["mark_skips"] else "good"
    changes = {("good", "skip-once"): "skip", ("good", "trimmed"): "skip", ("skip", "passed"): "good"}
    return changes.get((before, str(event)), before)


def test_another_implementation_knows_the_same_states() -> None:
    lines = [json.loads(line) for line in (VECTORS.parent / "mrc.jsonl").read_text().splitlines()]
    assert lines[0] == {"format": "farloop mrc vectors", "version": 1}
    assert len(lines) == 1 + 4 * 9 * 4
    for line in lines[1:]:
        assert state_after(line) == line["to"], line
