"""Gear's integer core and the telemetry option in C: hand-computed numbers, the equations in floating point, and any bytes."""

import ctypes
import math
import os
import random
import shlex
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GEAR = ROOT / "linux" / "gear"
PROBE, ECHO, NONE = 0x464C, 0x466C, 255
CROSS, STARTED, SAMPLED, BLIND, SLOW_START, LOST = (1 << i for i in range(6))
UNIT_Q20 = 1 << 20
u8, u32, u64 = ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint64


class Hop(ctypes.Structure):
    _fields_ = (("ts", u32), ("tx", u32), ("queue", u32), ("hop", u32), ("rate", u64))


class Constants(ctypes.Structure):
    _fields_ = tuple(
        (name, u64)
        for name in ("line_rate", "irtt", "cross_rtt", "eta", "w_ai", "max_stage", "packet", "payload", "in_flight")
    )


class Ack(ctypes.Structure):
    _fields_ = (
        *((name, u64) for name in ("now", "rtt", "acked")),
        *((name, u32) for name in ("ack_seq", "snd_nxt", "in_recovery", "hops")),
        ("hop", Hop * 3),
    )


class View(ctypes.Structure):
    _fields_ = tuple(
        (name, u64)
        for name in ("window", "reference", "load", "base_rtt", "pipe", "additive", "wan", "flags", "cwnd", "pacing")
    )


@pytest.fixture(scope="module")
def compiler():
    """The system's C compiler as a list of words."""
    words = shlex.split(os.environ.get("CC", "cc"))
    if shutil.which(words[0]) is None:
        pytest.skip(f"no C compiler: {words[0]} is not there")
    return words


@pytest.fixture(scope="module")
def native(compiler, tmp_path_factory):
    library = tmp_path_factory.mktemp("gear") / "gear.so"
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([*compiler, *flags, "-o", library, GEAR / "native.c"], check=True)
    loaded = ctypes.CDLL(str(library))
    loaded.native_start.argtypes = [ctypes.c_void_p, ctypes.c_void_p, u64, u64, u32]
    loaded.native_ack.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    loaded.native_loss.argtypes = [ctypes.c_void_p, ctypes.c_void_p, u32, u32, u32]
    loaded.native_view.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    return loaded


class Flow:
    """A flow of the core. Rates in bit per ms, times in ns, windows in bytes on the wire."""

    def __init__(self, native, *, window, rtt, line_rate=100_000_000, irtt=32_000, cross=3_200_000, eta=0.95, **given):
        fixed = {"w_ai": round(given.pop("w_ai", 0.0) * UNIT_Q20), "max_stage": 5, "packet": 1538, "payload": 1460}
        fixed |= {"in_flight": UNIT_Q20, **given}
        self.native = native
        self.c = Constants(line_rate, irtt, cross, round(eta * UNIT_Q20), **fixed)
        self.state = ctypes.create_string_buffer(native.native_size())
        self.now = 0
        native.native_start(ctypes.byref(self.c), self.state, round(window), rtt, 0)

    def ack(self, seq, nxt, *hops, rtt=0, acked=1460, recovery=False, after=1000):
        """An ACK with hops of (ts, tx, queue, number, rate)."""
        self.now += after
        records = (Hop * 3)(*(Hop(ts % 2**32, tx % 2**32, queue, hop, rate) for ts, tx, queue, hop, rate in hops))
        ack = Ack(self.now, rtt, acked, seq % 2**32, nxt % 2**32, recovery, len(hops), records)
        return self.native.native_ack(ctypes.byref(self.c), self.state, ctypes.byref(ack))

    def loss(self, una, nxt, timeout=False):
        self.native.native_loss(ctypes.byref(self.c), self.state, timeout, una, nxt)

    @property
    def view(self):
        seen = View()
        self.native.native_view(ctypes.byref(self.c), self.state, ctypes.byref(seen))
        return seen

    @property
    def window(self):
        return self.view.window / 1024

    @property
    def reference(self):
        return self.view.reference / 1024


def near(a, b, tolerance=5e-5):
    assert math.isclose(a, b, rel_tol=tolerance), f"{a} is not {b}"


RATE = 100_000_000  # 100 Gbps in bit per ms: 400 kB in 32 µs


def test_hpcc_as_the_simulators_tests_compute_it_by_hand(native):
    """The numbers of crates/cc/src/algorithms/hpcc.rs: T = 32 µs, 400,000 B fill the path."""
    flow = Flow(native, window=400_000, rtt=32_000, w_ai=80 / 400_000)
    assert flow.view.pipe == 400_000 * 1024
    flow.ack(1, 261, (0, 0, 40_000, 1, RATE))
    assert flow.window == 400_000, "the first ACK only stores"
    # Full wire and 0.1 BDP queued for a whole T: U = 1.1; W = 400,000 · 0.95/1.1 + 80.
    flow.ack(262, 522, (32_000, 400_000, 40_000, 1, RATE))
    near(flow.reference, 345_534.545)
    near(flow.view.pacing, 345_534.545 * 1460 / 1538 / 32e-6)
    # Later ACKs of the same round start from the same reference.
    for i in range(1, 4):
        flow.ack(262 + i, 523, (32_000 * (i + 1), 400_000 * (i + 1), 40_000, 1, RATE))
        near(flow.window, 345_534.545 * 0.95 / 1.1 + 80)
        near(flow.reference, 345_534.545)


def test_hpcc_measures_wire_and_the_smaller_of_two_queues(native):
    flow = Flow(native, window=400_000, rtt=32_000)
    flow.ack(1, 261, (0, 0, 20_000, 1, RATE))
    # 16 µs are T/2: u = 0.75 + 20,000/400,000 = 0.8, U = 1/2 · 1 + 1/2 · 0.8.
    flow.ack(2, 262, (16_000, 150_000, 40_000, 1, RATE))
    near(flow.view.load / UNIT_Q20, 0.9)


def test_hpcc_takes_the_busiest_hop(native):
    flow = Flow(native, window=400_000, rtt=32_000)
    flow.ack(1, 261, (0, 0, 0, 1, RATE), (0, 0, 0, 2, RATE), (0, 0, 0, 5, RATE))
    flow.ack(2, 262, (32_000, 100_000, 0, 1, RATE), (32_000, 320_000, 0, 5, RATE), (32_000, 200_000, 0, 2, RATE))
    near(flow.view.load / UNIT_Q20, 0.8)


def test_hpcc_adds_for_five_rounds_then_claims_what_is_free(native):
    flow = Flow(native, window=40_000, rtt=32_000, w_ai=1000 / 400_000)
    flow.ack(1, 261, (0, 0, 0, 1, RATE))
    trace = []
    for i in range(1, 8):
        flow.ack(1 + 261 * i, 261 * (i + 1), (32_000 * i, 200_000 * i, 0, 1, RATE))
        trace.append(flow.window)
    for now, then in zip(trace, [41_000, 42_000, 43_000, 44_000, 45_000, 86_500, 87_500], strict=True):
        near(now, then)


def test_gear_across_as_the_simulators_tests_compute_it_by_hand(native):
    """The numbers of gear/sender.rs: 10 Gbps · 50 ms = 62.5 MB, A = 0.5 % of 625 MB; u = 0.5."""
    flow = Flow(native, window=62.5e6, rtt=50_000_000, w_ai=0.005)
    assert flow.view.flags & CROSS
    flow.ack(1460, 1_000_000, (0, 0, 0, 1, RATE))
    assert flow.window == 62.5e6
    flow.ack(2920, 1_000_000, (31_000, 10_000, 0, 1, RATE))
    assert flow.window == 62.5e6, "less than an IRTT"
    flow.ack(4380, 1_000_000, (64_000, 400_000, 0, 1, RATE))
    near(flow.window, 178.125e6)
    near(flow.reference, 121.875e6)
    flow.ack(5840, 1_000_000, (128_000, 800_000, 0, 1, RATE))
    near(flow.window, (2.8 * 121.875 + 3.125) * 1e6)


def test_gear_across_excuses_its_own_step_and_no_more(native):
    """gear/cross.rs: 200 MB of reference, a step of 62.5 MB is 0.1 of the pipe of 625 MB: u = 1.2 counts as 1.1."""
    flow = Flow(native, window=200e6, rtt=50_000_000)
    flow.ack(1, 100, (0, 0, 0, 1, RATE))
    # (2 · 0.95/u - 1) · 200 MB = 262.5 MB at u = 1.9/2.3125; the reference becomes 200 · 0.95/u.
    u = 1.9 / 2.3125
    flow.ack(2, 100, (1_000_000, round(u * 12_500_000), 0, 1, RATE), after=10**6)
    near(flow.window, 262.5e6)
    reference = flow.reference
    near(reference, 200e6 * 0.95 / u)
    # What left after 100 left with the second telemetry: u = 1.2 since then.
    flow.ack(101, 200, (2_000_000, round((u + 1.2) * 12_500_000), 0, 1, RATE), after=10**6)
    near(flow.reference, reference * 0.95 / 1.1, 1e-4)


def test_a_smaller_round_trip_keeps_the_rate_and_makes_a_flow_one_inside(native):
    flow = Flow(native, window=20e6, rtt=20_000_000)
    rate = flow.view.pacing
    flow.ack(1460, 10**6, rtt=64_000)
    assert not flow.view.flags & CROSS
    # Blind, it grows as TCP does; the rest is the rate that there was.
    near(flow.view.pacing, rate, 0.05)


def test_without_telemetry_tcps_rules_hold_and_with_it_they_end(native):
    flow = Flow(native, window=15_380, rtt=1_000_000)
    assert flow.view.flags == BLIND | SLOW_START
    for i in range(10):
        flow.ack(1460 * (i + 1), 10**6)
    near(flow.window, 30_760)
    flow.loss(14_600, 10**6)
    near(flow.window, 0.7 * 30_760)
    flow.loss(16_000, 10**6)
    near(flow.window, 0.7 * 30_760), "once per round trip"
    before = flow.window
    for _ in range(14):
        flow.ack(10**6 + 1, 2 * 10**6)
    # One window of ACKs: 3 · (1 - 0.7)/(1 + 0.7) packets.
    near(flow.window - before, 0.529 * 1538, 0.03)
    flow.ack(2 * 10**6, 3 * 10**6, (0, 0, 0, 1, RATE))
    assert not flow.view.flags & (BLIND | SLOW_START)
    flow.loss(2 * 10**6, 3 * 10**6)
    near(flow.window, before + 0.529 * 1538, 0.01)
    flow.ack(2 * 10**6, 3 * 10**6, after=20_000_000)
    assert flow.view.flags & BLIND, "nothing for longer than four round trips and 10 ms"


def test_losses_bring_the_wans_window_in_across_only(native):
    for rtt, limited in ((32_000, False), (50_000_000, True)):
        flow = Flow(native, window=150_000, rtt=rtt)
        flow.ack(1460, 10**6, (0, 0, 0, 1, RATE))
        flow.loss(1460, 1460 + round(150_000 * 1460 / 1538))
        assert bool(flow.view.flags & LOST) == limited
        near(flow.view.pacing * rtt / 1e9, (0.7 if limited else 1) * 150_000 * 1460 / 1538, 1e-4)


def test_the_wans_window_begins_with_what_was_out_and_not_with_a_window_that_is_closed(native):
    flow = Flow(native, window=62.5e6, rtt=50_000_000)
    flow.ack(1460, 10**6, (0, 0, 0, 1, RATE))
    # u = 2.1: Eq. 9 leaves one packet, the reference is 62.5 MB * 0.95/2.1.
    flow.ack(2920, 10**6, (64_000, 800_000, 440_000, 1, RATE))
    assert flow.window == 1538
    near(flow.reference, 62.5e6 * 0.95 / 2.1, 1e-3)
    out = 50_000_000
    flow.loss(2920, 2920 + out)
    near(flow.view.wan / 1024, 0.7 * out * 1538 / 1460)
    # A round trip later less is out, whatever the window is: 0.7 of that.
    flow.loss(2920 + out, 2920 + out + 20_000_000)
    near(flow.view.wan / 1024, 0.7 * 20_000_000 * 1538 / 1460)


def test_windows_do_not_grow_while_a_loss_is_repaired(native):
    flow = Flow(native, window=62.5e6, rtt=50_000_000)
    flow.ack(1460, 10**6, (0, 0, 0, 1, RATE))
    flow.ack(2920, 10**6, (64_000, 400_000, 0, 1, RATE), recovery=True)
    assert flow.window == 62.5e6 and flow.reference == 62.5e6


class Model:
    """The same two laws in floating point, from spec/hpcc.md and spec/gear.md."""

    def __init__(self, flow, window, rtt, cross):
        c = flow.c
        self.t, self.irtt, self.eta, self.stages, self.cross = rtt, c.irtt, c.eta / UNIT_Q20, c.max_stage, cross
        self.pipe = c.line_rate * rtt / 8e6
        self.w = self.wc = self.start = self.before = min(max(window, c.packet), self.pipe)
        self.a, self.floor = c.w_ai / UNIT_Q20 * self.pipe, c.packet
        self.u, self.stage, self.last, self.sampled, self.seen = 1.0, 0, None, False, []

    def clamp(self, w):
        return min(max(w, self.floor), self.pipe)

    def load(self, then, now, queue, horizon):
        span, capacity = now[0] - then[0], now[4] * (now[0] - then[0]) / 8e6
        return (now[1] - then[1] + queue * span / horizon) / capacity, span

    def ack(self, seq, nxt, now):
        seen, self.seen = self.seen, [*self.seen, (nxt, now)]
        if self.last is None:
            self.last = nxt
            return
        if not self.cross:
            then = seen[-1][1]
            u, span = self.load(then, now, min(now[2], then[2]), self.t)
            share = min(span, self.t) / self.t
            self.u = (1 - share) * self.u + share * u
            up = self.u >= self.eta or self.stage >= self.stages
            self.w = self.clamp(self.wc * (self.eta / self.u if up else 1) + self.a)
            if seq > self.last:
                self.stage, self.wc, self.last = 0 if up else self.stage + 1, self.w, nxt
            return
        known = [record for sent, record in seen if sent < seq]
        u, span = self.load(known[-1] if known else seen[0][1], now, now[2], self.irtt)
        if not known and span < self.irtt:
            return
        self.w = self.clamp(max(2 * self.eta / u - 1, 0) * self.wc + self.a)
        if seq > self.last or not self.sampled:
            pipe = now[4] * self.t / 8e6
            own = min((self.start - self.before) / pipe, max(u - self.eta, 0)) if self.start > self.before else 0
            self.wc, self.last = self.clamp(self.wc * self.eta / (u - own) + self.a), nxt
            self.before, self.start = self.start, self.w
        self.sampled = True


@pytest.mark.parametrize("cross", [False, True], ids=["HPCC", "Gear"])
@pytest.mark.parametrize("seed", range(4))
def test_the_integers_follow_the_equations_in_floating_point(native, cross, seed):
    """Random load and queues, numbers that wrap: within 0.1 % after hundreds of ACKs."""
    dice = random.Random(seed)
    rtt, rate = (30_000_000, 200_000) if cross else (1_000_000, 200_000)
    given = {"w_ai": 0.005, "max_stage": dice.choice([0, 5])}
    flow = Flow(native, window=50_000, rtt=rtt, line_rate=rate, irtt=1_000_000, cross=5_000_000, **given)
    model = Model(flow, 50_000, rtt, cross)
    # Stamps, counters and sequence numbers begin before they wrap.
    ts, tx, seq, out = 2**32 - 5 * rtt, 2**32 - 100_000, 2**32 - 50_000, 0
    # A new snapshot with each ACK, so that the core remembers what the model does.
    step = rtt // 40
    for i in range(400):
        step_tx = round(rate * step / 8e6 * dice.uniform(0.3, 1.4))
        queue = dice.randrange(0, 300) * 64
        ts, tx, seq = ts + step, tx + step_tx, seq + 1500
        out = max(out, seq) + 1
        nxt = seq + 40 * 1500 + (i % 3)
        now = (ts, tx, queue, 3, rate)
        flow.ack(seq, nxt, now, after=step)
        model.ack(seq, nxt, now)
        near(flow.window, model.w, 1e-3)
        near(flow.reference, model.wc, 1e-3)
    assert 1514 < flow.window < model.pipe * 0.999, "a window at a bound follows anything"


def option(identifier, *entries):
    return struct.pack(">BBH", 253, 4 + 12 * len(entries), identifier) + b"".join(entries)


def encoded(native, ts, tx, queue, hop, rate):
    entry = (u8 * 12)()
    native.native_encode(entry, ctypes.byref(Hop(ts, tx, queue, hop, rate)))
    return bytes(entry)


def find(native, options, identifier=PROBE, length=None):
    return native.native_find(options.ljust(40, b"\0"), len(options) if length is None else length, identifier)


TIMESTAMPS = b"\1\1\x08\x0a" + bytes(8)
EMPTY = bytes(12)


def test_an_entry_is_laid_out_as_the_page_says(native):
    """docs/int-option.md's example, byte by byte."""
    entry = encoded(native, 0x01020304, 0x0A0B0C0D, 30_000, 1, 200_000)
    assert entry == bytes.fromhex("010203040a0b0c0d01d53209")
    hop = Hop()
    assert native.native_decode(entry, ctypes.byref(hop))
    # 30,000 B to the nearest 64; 200 Mbps are 200 · 10^1 times 100 kbit/s.
    assert (hop.ts, hop.tx, hop.queue, hop.hop, hop.rate) == (0x01020304, 0x0A0B0C0D, 30_016, 1, 200_000)
    assert not native.native_decode(EMPTY, ctypes.byref(hop))


@pytest.mark.parametrize(
    "mbps", [0.1, 1, 10, 155, 200, 235, 1000, 2500, 10_000, 25_000, 40_000, 100_000, 400_000, 800_000]
)
def test_rates_of_three_digits_are_exact(native, mbps):
    hop = Hop()
    native.native_decode(encoded(native, 0, 0, 0, 1, round(mbps * 1000)), ctypes.byref(hop))
    assert hop.rate == round(mbps * 1000)


def test_queues_saturate(native):
    hop = Hop()
    native.native_decode(encoded(native, 0, 0, 10**8, 7, 1000), ctypes.byref(hop))
    assert (hop.queue, hop.hop) == (65535 * 64, 7)


def test_the_option_is_found_where_it_stands(native):
    assert find(native, TIMESTAMPS + option(PROBE, EMPTY, EMPTY)) == 12
    assert find(native, option(PROBE, EMPTY, EMPTY, EMPTY)) == 0
    assert find(native, option(ECHO, EMPTY), ECHO) == 0
    assert find(native, option(ECHO, EMPTY) + option(PROBE, EMPTY)) == 16
    sack = b"\1\1\x05\x0a" + bytes(8)
    assert find(native, sack + TIMESTAMPS + option(PROBE, EMPTY)) == 24


@pytest.mark.parametrize(
    "options",
    [
        b"",
        TIMESTAMPS,
        option(ECHO, EMPTY),
        b"\0" + b"\1" * 3 + option(PROBE, EMPTY),
        b"\1" + option(PROBE, EMPTY),
        option(PROBE, EMPTY)[:-1],
        option(PROBE),
        struct.pack(">BBH", 253, 17, PROBE) + bytes(13),
        struct.pack(">BBH", 253, 40, PROBE) + bytes(12),
        b"\xfd",
        b"\xfd\0" + bytes(14),
        b"\xfd\1" + bytes(14),
        b"\x02\xff" + option(PROBE, EMPTY),
    ],
    ids=[
        "nothing", "another option", "the other identifier", "after the end", "not at a multiple of four", "cut off", "no entry",
        "half an entry", "longer than the header", "a kind alone", "length 0", "length 1", "another option too long",
    ],
)  # fmt: skip
def test_what_is_no_option_is_none(native, options):
    assert find(native, options) == NONE


def test_more_than_40_bytes_are_none(native):
    assert find(native, option(PROBE, EMPTY, EMPTY, EMPTY), length=41) == NONE


def test_a_hop_writes_where_there_is_room_or_where_the_queue_is_shorter(native):
    def place(queue, rate, *entries, hop=4):
        data = option(PROBE, *entries).ljust(40, b"\0")
        return native.native_place(data, 0, ctypes.byref(Hop(0, 0, queue, hop, rate)))

    fast, slow = encoded(native, 1, 1, 6400, 1, 100_000), encoded(native, 1, 1, 640, 2, 10_000)
    assert place(0, 1000, EMPTY) == 4
    assert place(0, 1000, fast, EMPTY, EMPTY) == 16
    assert place(0, 1000, fast, slow, hop=2) == 16, "its own, from a loop"
    # Eq. 3: both drain in 512 µs. As long is not longer.
    assert place(64_000, 1_000_000, fast, slow) == NONE
    assert place(65_000, 1_000_000, fast, slow) == 4
    shorter = encoded(native, 1, 1, 320, 2, 10_000)
    assert place(65_000, 1_000_000, fast, shorter) == 16
    assert place(6400, 200_000, fast, shorter) == NONE if 6400 / 200_000 < 320 / 10_000 else 16


def test_the_corpus_of_the_fuzzer_passes_under_sanitizers(compiler, tmp_path):
    """docs/int-option.md says how it was made."""
    corpus = sorted((GEAR / "corpus").iterdir())
    assert len(corpus) >= 10
    program = tmp_path / "fuzz"
    words = [*compiler, "-std=c11", "-O0", "-DREPLAY", "-o", program, GEAR / "fuzz.c"]
    checked = subprocess.run(
        [*words, "-fsanitize=address,undefined", "-fno-sanitize-recover=all"], capture_output=True, check=False
    )
    if checked.returncode:
        subprocess.run(words, check=True)
    done = subprocess.run([program, *corpus], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"{len(corpus)} inputs\n"), done.stderr


def test_the_c_core_fits_into_bpf(tmp_path):
    """No call for wide products, no signed division, both of which BPF lacks."""
    if shutil.which("clang") is None:
        pytest.skip("no clang")
    flags = ["-target", "bpf", "-O2", "-Wall", "-Werror", "-S", "-o", "-"]
    done = subprocess.run(["clang", *flags, GEAR / "native.c"], capture_output=True, text=True, check=False)
    if "No available targets" in done.stderr or "unknown target" in done.stderr:
        pytest.skip("this clang does not compile to BPF")
    assert done.returncode == 0, done.stderr
    assert " /= " in done.stdout and "s/=" not in done.stdout and "__multi3" not in done.stdout
