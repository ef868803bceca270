"""The kernel's GEMINI in the simulator: the arithmetic of core.h itself, compiled when it is first used, as the algorithm gemini-linux.

    farloop run SCENARIO --algorithm gemini-linux --algorithm-file linux/gemini/gemini_linux.py

Flow by flow and picosecond by picosecond what farloop's own `gemini` does (docs/kernel.md). A C compiler is needed: cc, or what CC in the
environment says.
"""

import ctypes
import functools
import hashlib
import os
import shlex
import struct
import subprocess
import tempfile
from pathlib import Path

from farloop.algorithm import Algorithm, parameter
from farloop.kernel.settings import to_fixed_point

HERE = Path(__file__).resolve().parent
FLAGS = ("-std=c11", "-O2", "-shared", "-fPIC")
NONE = 2**64 - 1
"""No threshold."""

CONSTANTS = struct.Struct("=12Q2I")
"""`struct gemini_constants`."""
STATE_BYTES = 96

_U32, _U64, _FLOW = ctypes.c_uint32, ctypes.c_uint64, [ctypes.c_char_p, ctypes.c_char_p]
_SIGNATURES = {
    "host_sizes": (_U64, []),
    "host_begin": (None, [*_FLOW, _U64, _U32, _U64, _U64, _U64]),
    "host_first_rtt": (None, [*_FLOW, _U64]),
    "host_ack": (None, [*_FLOW, _U64, _U64, _U64, _U64, _U32, _U32, _U32]),
    "host_loss": (_U32, [*_FLOW, _U32, _U64, _U32]),
    "host_undo": (None, [ctypes.c_char_p, _U64, _U64]),
    "host_idle": (None, [ctypes.c_char_p, _U64, _U64, _U64]),
    "host_cwnd": (_U64, [ctypes.c_char_p]),
    "host_pacing": (_U64, _FLOW),
}


@functools.cache
def core():
    """The compiled core, one for the process."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "host.so"
        words = [*shlex.split(os.environ.get("CC", "cc")), *FLAGS, "-o", str(library), str(HERE / "host.c")]
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=False)
        except OSError:
            raise RuntimeError(f"no C compiler: {words[0]} cannot be run; CC may name one") from None
        if done.returncode:
            raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
        core_library = ctypes.CDLL(str(library))
    for name, (result, arguments) in _SIGNATURES.items():
        getattr(core_library, name).restype, getattr(core_library, name).argtypes = result, arguments
    if core_library.host_sizes() != CONSTANTS.size << 32 | STATE_BYTES:
        raise RuntimeError("core.h has other members than this file knows")
    return core_library


class GeminiLinux(Algorithm):
    """GEMINI as the Linux kernel runs it: the arithmetic in C."""

    name = "gemini-linux"
    source = "Zeng et al., Congestion Control for Cross-Datacenter Networks, IEEE/ACM ToN 2022; linux/gemini/core.h"
    needs = ("ecn", "accurate_ecn", "even_pacing")
    sources = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in ("core.h", "host.c"))).hexdigest()

    capacity = parameter("0bps", "Configured bandwidth C; 0bps for the line rate of the flow's NIC.", high="10Tbps")
    ecn_threshold = parameter(
        "0B", "ECN marking threshold K; 0B for 50 full-size packets per Gbps of C (GEMINI, section III-C).", high="1GB"
    )
    delay_threshold = parameter("5ms", "Queueing delay T above the base RTT.", low="1ns", high="10s")
    beta = parameter(0.2, "Fraction of the window that delay takes.", low=0.0, high=1.0)
    h = parameter(1.2e-7, "Window increase H in segments per bit of C times RTT_base.", low=0.0, high=0.001)
    h_min = parameter(0.1, "Smallest increase h in segments per round trip.", low=0.0, high=1e6)
    h_max = parameter(5.0, "Largest increase h in segments per round trip.", low=0.0, high=1048576.0)
    f_min = parameter(0.0, "Floor on F.", low=0.0, high=4.0)
    max_cut = parameter(1.0, "Largest fraction of the window taken by one cut.", low=0.01, high=1.0)
    g = parameter(0.0625, "Gain of the estimate of the marked fraction.", low=0.0001, high=1.0)
    initial_alpha = parameter(1.0, "Marked fraction assumed at the start.", low=0.0, high=1.0)
    slow_start = parameter(False, "Start with 10 segments (or the flow's initial window) in slow start.")
    pacing_gain = parameter(1.25, "Windows per smoothed RTT at which packets are paced.", low=0.1, high=10.0)
    skip_after_cut = parameter(False, "Leave out the RTTs of packets that left before a cut.")

    def start(self, flow):
        """Begins as farloop's own GEMINI does: at the initial rate or window, or in slow start."""
        self.core = core()
        mss = min(max(flow.mss, 1), 65535)
        packet = max(flow.packet, mss)
        self.constants = self._constants(flow, mss, packet)
        self.state = ctypes.create_string_buffer(STATE_BYTES)
        if flow.initial_cwnd is not None:
            cwnd = max(flow.initial_cwnd, mss)
        elif self.slow_start:
            cwnd = 10 * mss
        else:
            # Rounded as the simulator rounds: a flow's first window is payload that its initial rate carries in a base RTT.
            wire = flow.initial_rate * flow.base_rtt_ps // (8 * 10**12)
            cwnd = max(int(wire / (packet / mss)), mss)
        self.initial = cwnd
        base_rtt = max(flow.base_rtt_ps // 1000, 1)
        threshold = NONE if flow.ssthresh is None else max(flow.ssthresh, 1)
        alpha = to_fixed_point(self.initial_alpha, 30)
        self.core.host_begin(self.constants, self.state, cwnd, self.slow_start, alpha, base_rtt, threshold)
        # Sequence numbers stand for bytes, or for as few as 32 bits can tell apart on a long pipe.
        self.unit = max(int(flow.bdp).bit_length() - 28, 0)
        self.una = 0
        self.before_loss = self._window()
        self._give()

    def _constants(self, flow, mss, packet):
        capacity = self.capacity or flow.line_rate
        threshold = self.ecn_threshold or int(50.0 * flow.packet * capacity / 1e9)
        numbers = (
            mss,
            min(max(capacity // 8000, 1), 2**31 - 1),
            min(max(threshold, 1), 2**30),
            self.delay_threshold // 1000,
            to_fixed_point(self.beta, 30),
            to_fixed_point(self.f_min, 30),
            to_fixed_point(8 * self.h, 40),
            to_fixed_point(self.h_min, 20),
            to_fixed_point(self.h_max, 20),
            to_fixed_point(self.max_cut, 30),
            to_fixed_point(self.g, 30),
            min(to_fixed_point(self.pacing_gain * (packet / mss), 16), 1 << 26),
        )
        return CONSTANTS.pack(*numbers, self.skip_after_cut, 0)

    def on_established(self, rtt_ps):
        """RTT_base begins with the handshake."""
        self.core.host_first_rtt(self.constants, self.state, rtt_ps // 1000)
        self._give()

    def on_ack(self, ctx, ack):
        """Algorithm 1."""
        self.una = ack.ack_seq
        rtt = 0 if ack.rtt_ps is None else max(ack.rtt_ps // 1000, 1)
        flags = ack.ecn_echo | ack.in_recovery << 1 | ack.app_limited << 2
        ahead = self._ahead(ack.snd_nxt)
        self.core.host_ack(
            self.constants,
            self.state,
            ack.acked,
            ack.in_flight,
            rtt,
            ack.marked,
            self._number(ack.ack_seq),
            ahead,
            flags,
        )
        self._give()

    def on_loss(self, ctx, loss):
        """As TCP answers losses, and takes back what was none."""
        if loss.kind == "spurious":
            self.core.host_undo(self.state, *self.before_loss)
        else:
            now = self._window()
            timeout = loss.kind == "timeout"
            ahead = self._ahead(loss.snd_nxt)
            if self.core.host_loss(self.constants, self.state, timeout, loss.in_flight, ahead):
                self.before_loss = now
        self._give()

    def on_idle_restart(self, ctx, silence):
        """Data goes out after silence."""
        idle, rto = silence
        if rto is not None:
            self.core.host_idle(self.state, idle // 1000, rto // 1000, self.initial)
            self._give()

    def _number(self, offset):
        return offset >> self.unit & 2**32 - 1

    def _ahead(self, offset):
        distance = max((offset >> self.unit) - (self.una >> self.unit), 0)
        return self._number(self.una) + min(distance, 2**31 - 1) & 2**32 - 1

    def _window(self):
        """Window and threshold in Q10 bytes."""
        return struct.unpack_from("=2Q", self.state.raw)

    def _give(self):
        self.cwnd = self.core.host_cwnd(self.state)
        self.pacing_rate = self.core.host_pacing(self.constants, self.state)
