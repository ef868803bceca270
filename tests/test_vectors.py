"""The recorded behaviour of GEMINI, replayed by an implementation written from `vectors/README.md` alone."""

import json
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).parents[1] / "vectors" / "gemini.jsonl"
NONE = 1 << 64


def scale(a: int, b: int, n: int) -> int:
    return (a >> n) * b + (((a % (1 << n)) * b) >> n)


class Gemini:
    def __init__(self, start: dict[str, Any]) -> None:
        self.c = start
        self.mss = start["mss"]
        self.cwnd = start["initial_cwnd"] << 10
        self.ssthresh = NONE if start["slow_start"] else self.cwnd
        self.alpha = start["initial_alpha"]
        self.set_base(start["base_rtt"])
        self.srtt8 = 8 * self.base
        self.acked = self.marked = self.alpha_end = self.carry = self.reduced_until = 0
        self.undo: tuple[int, int] | None = None
        self.forget_delay()

    def forget_delay(self) -> None:
        self.wan, self.least, self.window_end = False, NONE, NONE

    def set_base(self, rtt: int) -> None:
        c = self.c
        self.base = rtt
        pipe = c["capacity"] * rtt // 10**6
        self.f = max((4 * c["threshold"] << 30) // (pipe + c["threshold"]), c["f_min"])
        self.increase = (min(max(scale(pipe, c["h_per_byte"], 20), c["h_min"]), c["h_max"]) * self.mss) >> 10

    def ack(self, e: dict[str, Any]) -> None:
        c = self.c
        self.acked += e["acked"]
        self.marked += e["acked"] if e["ecn_echo"] else 0
        if e["ack_seq"] > self.alpha_end:
            if self.acked:
                s = max(self.acked.bit_length() - 34, 0)
                fraction = ((self.marked >> s) << 30) // (self.acked >> s)
                self.alpha += ((fraction * c["g"]) >> 30) - ((self.alpha * c["g"] + 2**30 - 1) >> 30)
            self.acked, self.marked, self.alpha_end = 0, 0, e["snd_nxt"]
        rtt = NONE if e["rtt"] is None else min(max(e["rtt"], 1), 2**33 - 1)
        if rtt != NONE:
            if rtt < self.base:
                self.set_base(rtt)
            self.srtt8 += rtt - (self.srtt8 >> 3)
        if e["ack_seq"] > self.reduced_until or not c["skip_after_cut"]:
            self.least = min(self.least, rtt)
            if self.window_end == NONE:
                self.window_end = e["snd_nxt"]
            if e["ack_seq"] > self.window_end and self.least != NONE:
                self.wan = self.least > self.base + c["delay_threshold"]
                self.least, self.window_end = NONE, e["snd_nxt"]
        if not e["ecn_echo"] and not self.wan:
            self.grow(e)
        elif e["ack_seq"] > self.reduced_until:
            dcn = (self.alpha * self.f) >> 30 if e["ecn_echo"] else 0
            cut = min(max(dcn, c["beta"] if self.wan else 0), c["max_cut"])
            two = 2 * self.mss << 10
            self.cwnd = max(self.cwnd - scale(self.cwnd, cut, 30), min(self.cwnd, two))
            self.ssthresh, self.undo = max(self.cwnd, two), None
            self.reduced(e["snd_nxt"])

    def grow(self, e: dict[str, Any]) -> None:
        cwnd = self.cwnd >> 10
        if not e["acked"] or e["in_recovery"] or e["app_limited"] or e["in_flight"] + e["acked"] < (cwnd + 1) // 2:
            return
        a = min(e["acked"], cwnd)
        if self.cwnd < self.ssthresh:
            growth = min(e["acked"], (2 if self.ssthresh == NONE else 1) * self.mss) << 10
        elif a < 2**18:
            growth, self.carry = divmod(a * self.increase + self.carry, cwnd)
        else:
            s = a.bit_length() - 18
            growth = ((a >> s) * self.increase) // (cwnd >> s)
        self.cwnd = min(self.cwnd + growth, (2**36 - 1) << 10)

    def reduced(self, snd_nxt: int) -> None:
        self.reduced_until, self.carry = snd_nxt, 0
        if self.c["skip_after_cut"]:
            self.forget_delay()

    def loss(self, e: dict[str, Any]) -> None:
        half = max(min(e["in_flight"] << 10, self.cwnd) // 2, 2 * self.mss << 10)
        if e["event"] == "spurious":
            if self.undo:
                self.cwnd, self.ssthresh = max(self.cwnd, self.undo[0]), max(self.ssthresh, self.undo[1])
                self.undo = None
            return
        segment = self.mss << 10
        if e["event"] == "fast_retransmit" or self.cwnd > segment:
            self.undo = (self.cwnd, self.ssthresh)
            self.cwnd, self.ssthresh = (half if e["event"] == "fast_retransmit" else segment), half
        self.reduced(e["snd_nxt"])

    def state(self) -> dict[str, int | None]:
        wire = scale(self.cwnd, (2 if self.cwnd < self.ssthresh else 1) * self.c["gain"], 16)
        return {
            "cwnd": self.cwnd >> 10,
            "pacing": max(wire * 62_500_000 // self.srtt8, 1),
            "cwnd_q10": self.cwnd,
            "ssthresh_q10": None if self.ssthresh == NONE else self.ssthresh,
            "alpha": self.alpha,
        }


def test_another_implementation_gives_the_same_numbers() -> None:
    lines = [json.loads(line) for line in VECTORS.read_text().splitlines()]
    assert lines[0] == {"format": "farloop gemini vectors", "version": 2}
    flow = None
    for number, event in enumerate(lines[1:], start=2):
        if event["event"] == "start":
            flow = Gemini(event)
        assert flow is not None
        if event["event"] == "ack":
            flow.ack(event)
        elif event["event"] != "start":
            flow.loss(event)
        expected = {key: event[key] for key in flow.state()}
        assert flow.state() == expected, f"line {number}: {event}"
