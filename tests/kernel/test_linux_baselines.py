"""CUBIC, DCTCP and Vegas in C, for kernels: their integers stay beside the equations in real numbers."""

import ctypes
import os
import random
import shlex
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from support.cases import cases

from farloop.kernel.baselines import CUBIC, DCTCP, VEGAS

LINUX = Path(__file__).parents[2] / "linux"
Q24 = 1 << 24

SOURCE = """
#define DCTCP_NO_TYPES
#define VEGAS_NO_TYPES
#include "cubic/core.h"
#include "dctcp/core.h"
#include "vegas/core.h"
u64 cubic_window(struct cubic_state *s) { return s->cwnd; }
u32 cubic_k_of(struct cubic_state *s) { return s->now.k; }
u32 root(u64 x) { return cubic_root(x); }
void begin_cubic(struct cubic_state *s, u32 cwnd) { __builtin_memset(s, 0, sizeof(*s)); cubic_slow_start(s, cwnd); }
void follow_cubic(struct cubic_state *s, u32 cwnd) { cubic_follow(s, cwnd); }
void stall_cubic(struct cubic_state *s, u32 now) { cubic_stall(s, now); }
void wake_cubic(struct cubic_state *s) { cubic_wake(s); }
void grow_cubic(struct cubic_constants *c, struct cubic_state *s, u32 now, u32 rtt, u32 acked) { cubic_grow(c, s, now, rtt, acked); }
u32 lose_cubic(struct cubic_constants *c, struct cubic_state *s, u32 flight) { return cubic_on_loss(c, s, flight); }
void time_out_cubic(struct cubic_state *s) { cubic_on_timeout(s); }
void undo_cubic(struct cubic_state *s, u32 cwnd) { cubic_on_undo(s, cwnd); }
void begin_dctcp(struct dctcp_constants *c, struct dctcp_state *s, u32 seq) { dctcp_init(c, s, 7, 3, seq); }
void ack_dctcp(struct dctcp_constants *c, struct dctcp_state *s, u32 n, u32 ce, u32 a, u32 b) { dctcp_on_ack(c, s, n, ce, a, b); }
u32 alpha_dctcp(struct dctcp_state *s) { return s->alpha; }
u32 mark_dctcp(struct dctcp_state *s, u32 cwnd) { return dctcp_after_mark(s, cwnd); }
u32 lose_dctcp(struct dctcp_constants *c, struct dctcp_state *s, u32 cwnd) { return dctcp_after_loss(c, s, cwnd); }
u32 grow_dctcp(struct dctcp_constants *c, struct dctcp_state *s, u32 cwnd, u32 n) { return dctcp_grow(c, s, cwnd, n); }
void begin_vegas(struct vegas_state *s, u32 rtt, u32 seq) { vegas_init(s, rtt, seq); }
void rtt_vegas(struct vegas_state *s, u32 rtt) { vegas_on_rtt(s, rtt); }
void ack_vegas(struct vegas_constants *c, struct vegas_state *s, struct vegas_window *w, u32 a, u32 b, u32 f, u32 n, u32 l)
{ vegas_on_ack(c, s, w, a, b, f, n, l); }
u32 lose_vegas(struct vegas_constants *c, struct vegas_state *s, u32 cwnd) { return vegas_on_loss(c, s, cwnd); }
u32 time_out_vegas(struct vegas_constants *c, struct vegas_state *s, u32 cwnd) { return vegas_on_timeout(c, s, cwnd); }
void undo_vegas(struct vegas_state *s) { vegas_on_undo(s); }
"""


@pytest.fixture(scope="module")
def cores(tmp_path_factory):
    """The three cores as a library, with every overflow and division by zero an end of the test."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"no C compiler: {compiler[0]} is not there")
    folder = tmp_path_factory.mktemp("cores")
    (folder / "all.c").write_text(SOURCE)
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{LINUX}"]
    subprocess.run([*compiler, *flags, "-o", "all.so", "all.c"], cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / "all.so"))
    library.cubic_window.restype = ctypes.c_uint64
    library.root.argtypes = [ctypes.c_uint64]
    for name in ("root", "cubic_k_of", "lose_cubic", "alpha_dctcp", "mark_dctcp", "lose_dctcp", "grow_dctcp"):
        getattr(library, name).restype = ctypes.c_uint32
    for name in ("lose_vegas", "time_out_vegas"):
        getattr(library, name).restype = ctypes.c_uint32
    return library


class Core:
    """A flow of a core: its functions with constants and state before the other arguments."""

    def __init__(self, cores, program, settings=()):
        self.cores, self.name = cores, program.name
        self.constants = ctypes.create_string_buffer(program.packed(program.parameters(settings)), 64)
        self.state = ctypes.create_string_buffer(104)

    def __getattr__(self, name):
        function = getattr(self.cores, f"{name}_{self.name}")
        return lambda *given: function(self.constants, self.state, *given)

    def of_state(self, name, *given):
        return getattr(self.cores, name)(self.state, *given)


def test_the_cube_root_is_the_whole_part(cores):
    rng = random.Random(1)
    drawn = [rng.getrandbits(rng.randrange(1, 65)) for _ in range(cases(2000))]
    for x in [0, 1, 7, 8, 26, 27, 2**63, 2**64 - 1, *drawn]:
        root = cores.root(x)
        assert root**3 <= x < (root + 1) ** 3


def cubic_after_loss(cores, segments, settings=()):
    """A flow that lost a packet of so many, and its threshold."""
    flow = Core(cores, CUBIC, settings)
    flow.of_state("begin_cubic", segments)
    return flow, flow.lose(segments)


def test_cubic_follows_the_curve_of_its_rfc(cores):
    flow, threshold = cubic_after_loss(cores, 1000)
    assert threshold == 699  # 0.7 is a bit less in 16 binary digits
    flow.of_state("follow_cubic", 700)
    now, rtt, began = 2**32 - 3000, 100, None
    for _ in range(140):
        window = flow.of_state("cubic_window") / Q24
        began = now if began is None else began
        t = (now - began) / 1000
        for i in range(int(window)):
            flow.grow((now + i * rtt // int(window)) % 2**32, rtt, 1)
        now += rtt
        expected = 0.4 * (t + rtt / 1000 - (300 / 0.4) ** (1 / 3)) ** 3 + 1000
        assert flow.of_state("cubic_window") / Q24 == pytest.approx(expected, abs=3), t
    assert flow.of_state("cubic_k_of") == pytest.approx(9086, abs=2)
    assert t > 9.1 and window > 1030


class RealCubic:
    """spec/cubic.md, equations 1 to 7, in seconds and segments."""

    def __init__(self, cwnd, beta, c, alpha_one, growth_before_loss):
        self.cwnd, self.w_max, self.prior, self.epoch = cwnd, 0, float("inf"), None
        self.beta, self.c, self.alpha_one = beta, c, alpha_one
        self.growth_before_loss = growth_before_loss

    def lose(self):
        self.w_max = self.cwnd * (1 + self.beta) / 2 if self.cwnd < self.w_max else self.cwnd
        self.prior, self.epoch = self.cwnd, None

    def grow(self, now, rtt, acked):
        if self.epoch is None:
            origin = max(self.w_max, self.cwnd)
            self.epoch, self.w_est = (now, origin, ((origin - self.cwnd) / self.c) ** (1 / 3)), self.cwnd
        start, origin, k = self.epoch
        curve = lambda t: self.c * (t - k) ** 3 + origin  # noqa: E731
        alpha = 1 if self.alpha_one and self.w_est >= self.prior else 3 * (1 - self.beta) / (1 + self.beta)
        acked = min(acked, self.cwnd)
        self.w_est += alpha * acked / self.cwnd
        least = self.cwnd + (0 if self.w_max else self.growth_before_loss * acked)
        if curve(now - start) < self.w_est:
            self.cwnd = max(self.w_est, least)
        else:
            target = min(max(curve(now - start + rtt), self.cwnd), 1.5 * self.cwnd)
            self.cwnd = max(self.cwnd + (target - self.cwnd) * acked / self.cwnd, least)


@pytest.mark.parametrize("seed", range(6))
def test_cubic_stays_beside_real_numbers(cores, seed):
    rng = random.Random(seed)
    rtt, beta, c = rng.choice([1, 20, 200]), rng.choice([0.5, 0.7, 0.9]), rng.choice([0.04, 0.4, 4])
    alpha_one, start, growth = rng.random() < 0.5, rng.choice([20, 400, 9000]), rng.choice([0, 0.05, 0.05])
    settings = {"beta": beta, "c": c, "alpha_one": str(alpha_one).lower(), "growth_before_loss": growth}
    flow = Core(cores, CUBIC, [f"{key}={value}" for key, value in settings.items()])
    flow.of_state("begin_cubic", start)
    real, now = RealCubic(start, beta, c, alpha_one, growth), 0
    for _ in range(8):
        for _ in range(rng.randrange(10, 80)):
            window = int(real.cwnd)
            for i in range(0, window, per := max(1, window // 20)):
                flow.grow(at := now + i * rtt // window, rtt, per)
                real.grow(at / 1000, rtt / 1000, per)
            now += rtt
            assert flow.of_state("cubic_window") / Q24 == pytest.approx(real.cwnd, rel=0.01, abs=0.2)
            if real.cwnd > 200_000:  # an ACK of more than 2^14 segments counts as so many
                break
        threshold = flow.lose(int(real.cwnd))
        assert threshold == pytest.approx(real.cwnd * beta, abs=2)
        real.lose()
        real.cwnd = threshold
        flow.of_state("follow_cubic", threshold)


def test_cubic_time_stands_still_while_the_window_is_not_used(cores):
    windows = []
    for pause in (None, "stall", "wake"):
        flow, _ = cubic_after_loss(cores, 1000)
        flow.of_state("follow_cubic", 700)
        now = 50
        for i in range(60):
            if pause and i == 30:
                flow.of_state(f"{pause}_cubic", *([now - 1] if pause == "stall" else []))
                now += 5000
            for j in range(700):
                flow.grow(now + j // 7, 100, 1)
            now += 100
        windows.append(flow.of_state("cubic_window") / Q24)
    assert windows[1] == pytest.approx(windows[0], abs=2) and windows[2] == pytest.approx(windows[0], abs=2)
    assert windows[0] < 990


def test_cubic_grows_from_a_first_window_of_one(cores):
    flow = Core(cores, CUBIC)
    flow.of_state("follow_cubic", 1)
    flow.grow(0, 10, 1)
    assert 1 < flow.of_state("cubic_window") / Q24 < 2


def test_cubic_takes_back_what_was_no_loss(cores):
    flow, _ = cubic_after_loss(cores, 1000)
    flow.of_state("follow_cubic", 700)
    for i in range(5000):
        flow.grow(i, 100, 1)
    before = flow.state.raw
    flow.lose(500)
    flow.of_state("time_out_cubic")
    flow.of_state("follow_cubic", 1)
    flow.of_state("undo_cubic", int.from_bytes(before[:8], "little") >> 24)
    assert flow.state.raw[8:48] == before[8:48]


def test_dctcps_alpha_is_the_marked_fractions_average(cores):
    flow = Core(cores, DCTCP, ["g=0.125"])
    seq = 2**32 - 500_000
    flow.begin(seq)
    rng, alpha, delivered, marked = random.Random(3), 1.0, 7, 3
    for _ in range(200):
        end, window = (seq + 40 * 1000) % 2**32, rng.randrange(1, 40)
        ce = rng.randrange(window + 1)
        flow.ack(delivered + window // 2, marked, seq, end)  # within the window of data
        delivered, marked = delivered + window, marked + ce
        flow.ack(delivered, marked, (seq + 1000) % 2**32, end)
        alpha, seq = alpha * 0.875 + 0.125 * ce / window, end
        assert flow.of_state("alpha_dctcp") / 2**30 == pytest.approx(alpha, abs=1e-6)
        assert flow.of_state("mark_dctcp", 1000) == pytest.approx(1000 * (1 - alpha / 2), abs=1)
    for _ in range(400):
        delivered, seq = delivered + 1, (seq + 1000) % 2**32
        flow.ack(delivered, marked, seq, seq)
    assert flow.of_state("alpha_dctcp") == 0
    assert [flow.lose(n) for n in (1000, 5, 4, 1)] == [500, 2, 2, 2]
    assert Core(cores, DCTCP, ["loss_cut=alpha"]).lose(1000) == 1000
    assert flow.of_state("mark_dctcp", 1) == 2


@pytest.mark.parametrize("increase", [0.25, 1, 3])
def test_dctcp_grows_by_packets_per_round_trip(cores, increase):
    flow, cwnd = Core(cores, DCTCP, [f"increase={increase}"]), 10
    rounds = int(40 / increase)
    for _ in range(rounds):
        for _ in range(window := cwnd):
            cwnd = flow.grow(cwnd, 1)
        assert cwnd - window <= increase + 1
    assert cwnd == pytest.approx(10 + increase * rounds, rel=0.1)


class VegasPath:
    """One bottleneck and one flow: each round acknowledges the whole window, at the base RTT and what the queue takes."""

    def __init__(self, cores, settings=(), packets=20, ssthresh=2**31 - 1, cwnd=4):
        self.flow, self.packets, self.seq = Core(cores, VEGAS, settings), packets, 2**32 - 90_000
        self.flow.of_state("begin_vegas", 1000, self.seq)
        self.window = (ctypes.c_uint32 * 2)(cwnd, ssthresh)

    def round(self, samples=True, grows=True):
        window = self.window[0]
        rtt = 1000 + max(window - self.packets, 0) * 1000 // self.packets
        for _ in range(window):
            if samples:
                self.flow.of_state("rtt_vegas", rtt)
            self.seq = (self.seq + 1000) % 2**32
            end = (self.seq + self.window[0] * 1000 - 1000) % 2**32
            self.flow.ack(self.window, self.seq, end, self.window[0] - 1, 1, not grows)
        return self.window[0]


@pytest.mark.parametrize(("scale", "low", "high"), [(1, 22, 24), (5, 30, 40), (10, 40, 60)])
def test_vegas_keeps_its_packets_in_the_queue(cores, scale, low, high):
    path = VegasPath(cores, [f"scale={scale}"], ssthresh=4)
    trace = [path.round() for _ in range(80)]
    assert low <= trace[-1] <= high and trace[-1] == trace[-2], trace
    assert path.window[1] <= path.window[0]


def test_vegas_starts_slowly_in_every_other_round(cores):
    path = VegasPath(cores)
    trace = [path.round() for _ in range(14)]
    grew = [b > a for a, b in zip([4, *trace], trace, strict=False)]
    assert trace[:4] == [8, 8, 16, 16] or trace[:4] == [8, 9, 16, 16] or grew[:4] == [True, False, True, False], trace
    # More than one packet waits: slow start is over, and a linear search goes on.
    assert 18 <= trace[-1] <= 24 and path.window[1] < 2**31 - 1, trace


def test_vegas_grows_as_reno_without_samples_and_answers_losses(cores):
    path = VegasPath(cores, ssthresh=4, packets=10**6)
    trace = [path.round(samples=False) for _ in range(20)]
    assert trace[-1] - trace[0] == pytest.approx(19 / 5, abs=3), trace
    assert path.flow.lose(100) == 75 and path.flow.lose(2) == 2
    assert path.flow.time_out(100) == 50
    path.flow.of_state("undo_vegas")
    held = VegasPath(cores, ssthresh=4)
    assert {held.round(samples=False, grows=False) for _ in range(10)} == {4}


def test_settings_reach_the_cores(cores):
    """The loader's bytes are read where the core's members lie."""
    flow = Core(cores, CUBIC, ["c=1.5", "beta=0.25", "reno_friendly=false"])
    assert struct.unpack_from("=3Q4I", flow.constants.raw)[:2] == (3 << 19, 1 << 14)
    assert cubic_after_loss(cores, 1000, ["beta=0.25"])[1] == 250
