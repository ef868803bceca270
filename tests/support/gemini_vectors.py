"""GEMINI's integer arithmetic, written from `vectors/README.md` alone, and what a replay writes."""

from typing import Any

NONE = 1 << 64
STATE = ("cwnd", "packets", "pacing", "cwnd_q10", "ssthresh_q10", "alpha")


def scale(a: int, b: int, n: int) -> int:
    return (a >> n) * b + (((a % (1 << n)) * b) >> n)


def after(a: int, b: int) -> bool:
    return (b - a) % (1 << 32) >= 1 << 31


class Gemini:
    def __init__(self, start: dict[str, Any]) -> None:
        self.c = start
        self.mss = start["mss"]
        self.cwnd = start["initial_cwnd"] << 10
        self.ssthresh = NONE if start["slow_start"] else self.cwnd
        self.initial = start["slow_start"]
        self.alpha = start["initial_alpha"]
        self.sampled = start["base_rtt"] is not None
        self.first_rtt(start["base_rtt"] if self.sampled else 10**6)
        self.acked = self.marked = self.carry = 0
        self.alpha_end = self.reduced_until = start["seq"]
        self.was_initial: bool | None = None  # before a loss that can be undone
        self.forget_delay()

    def forget_delay(self) -> None:
        self.wan, self.least, self.window_end = False, NONE, NONE

    def first_rtt(self, rtt: int) -> None:
        self.srtt8 = 8 * rtt
        self.set_base(rtt)

    def set_base(self, rtt: int) -> None:
        c = self.c
        self.base = rtt
        pipe = c["capacity"] * rtt // 10**6
        self.f = min(max((4 * c["threshold"] << 30) // (pipe + c["threshold"]), c["f_min"]), 2**32 - 1)
        self.increase = (min(max(scale(pipe, c["h_per_byte"], 20), c["h_min"]), c["h_max"]) * self.mss) >> 10

    def play(self, e: dict[str, Any]) -> None:
        if e["event"] != "start":
            getattr(self, {"mss": "resize"}.get(e["event"], e["event"]))(e)

    def ack(self, e: dict[str, Any]) -> None:
        c, seq = self.c, e["ack_seq"]
        next_round = after(seq, self.reduced_until)
        if next_round:
            self.reduced_until = seq - 1
        self.acked += e["acked"]
        self.marked += e["marked"]
        if after(seq, self.alpha_end):
            if self.acked:
                s = max(self.acked.bit_length() - 34, 0)
                fraction = ((min(self.marked, self.acked) >> s) << 30) // (self.acked >> s)
                self.alpha += ((fraction * c["g"]) >> 30) - ((self.alpha * c["g"] + 2**30 - 1) >> 30)
            self.acked, self.marked, self.alpha_end = 0, 0, e["snd_nxt"]
        rtt = NONE if e["rtt"] is None else min(max(e["rtt"], 1), 2**33 - 1)
        if rtt != NONE:
            if not self.sampled:
                self.sampled = True
                self.first_rtt(rtt)
            elif rtt < self.base:
                self.set_base(rtt)
            self.srtt8 += rtt - (self.srtt8 >> 3)
        if next_round or not c["skip_after_cut"]:
            self.least = min(self.least, rtt)
            if self.window_end == NONE:
                self.window_end = e["snd_nxt"]
            if after(seq, self.window_end):
                if self.least == NONE:
                    self.window_end = seq - 1
                else:
                    self.wan = self.least > self.base + c["delay_threshold"]
                    self.least, self.window_end = NONE, e["snd_nxt"]
        if not (e["ecn_echo"] and next_round) and not self.wan:
            self.grow(e)
        elif next_round:
            dcn = (self.alpha * self.f) >> 30 if e["ecn_echo"] else 0
            cut = min(max(dcn, c["beta"] if self.wan else 0), c["max_cut"])
            two = 2 * self.mss << 10
            self.cwnd = max(self.cwnd - scale(self.cwnd, cut, 30), min(self.cwnd, two))
            self.ssthresh, self.initial, self.was_initial = max(self.cwnd, two), False, None
            self.reduced(e["snd_nxt"])

    def grow(self, e: dict[str, Any]) -> None:
        cwnd = self.cwnd >> 10
        unmarked = max(e["acked"] - e["marked"], 0)
        if not unmarked or e["in_recovery"] or e["app_limited"] or e["in_flight"] + e["acked"] < (cwnd + 1) // 2:
            return
        a = min(unmarked, cwnd)
        if self.cwnd < self.ssthresh:
            growth = min(unmarked, (2 if self.initial else 1) * self.mss) << 10
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
        segment = self.mss << 10
        if e["event"] == "fast_retransmit" or self.cwnd > segment:
            self.cwnd, self.ssthresh = (half if e["event"] == "fast_retransmit" else segment), half
            self.was_initial, self.initial = self.initial, False
        self.reduced(e["snd_nxt"])

    fast_retransmit = timeout = loss

    def undo(self, e: dict[str, Any]) -> None:
        if self.was_initial is not None:
            self.cwnd = max(self.cwnd, e["prior_cwnd"])
            self.ssthresh = NONE if e["prior_ssthresh"] is None else max(self.ssthresh, e["prior_ssthresh"])
            self.initial, self.was_initial = self.was_initial, None

    def host(self, e: dict[str, Any]) -> None:
        threshold = None if self.ssthresh == NONE else self.packets(self.ssthresh)
        if e["host_packets"] != self.packets(self.cwnd):
            self.cwnd, self.carry = max(e["host_packets"], 1) * self.mss << 10, 0
        if e["host_ssthresh"] != threshold:
            self.ssthresh = NONE if e["host_ssthresh"] is None else max(e["host_ssthresh"], 1) * self.mss << 10

    def resize(self, e: dict[str, Any]) -> None:
        self.mss = e["mss"]
        self.cwnd = max(self.cwnd, self.mss << 10)
        self.set_base(self.base)

    def idle(self, e: dict[str, Any]) -> None:
        self.forget_delay()
        halvings = (e["idle"] - 1) // e["rto"]
        if halvings > 0:
            if self.ssthresh != NONE:
                self.ssthresh = max(self.ssthresh, (self.cwnd >> 2) + (self.cwnd >> 1))
            self.cwnd = max(self.cwnd >> halvings, min(self.cwnd, max(e["restart"], self.mss) << 10))

    def packets(self, window: int) -> int:
        return min(max((window >> 10) // self.mss, 1), 2**31 - 2)

    def state(self) -> dict[str, int | None]:
        wire = scale(self.cwnd, (2 if self.cwnd < self.ssthresh else 1) * self.c["gain"], 16)
        return {
            "cwnd": self.cwnd >> 10,
            "packets": self.packets(self.cwnd),
            "pacing": max(wire * 62_500_000 // self.srtt8, 1)
            if wire // self.srtt8 < (2**64 - 1) // 62_500_000
            else 2**64 - 1,
            "cwnd_q10": self.cwnd,
            "ssthresh_q10": None if self.ssthresh == NONE else self.ssthresh,
            "alpha": self.alpha,
        }


def states(events):
    """What the replayer has to write for them."""
    return [" ".join("null" if event[key] is None else str(event[key]) for key in STATE) for event in events]
