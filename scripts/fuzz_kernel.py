#!/usr/bin/env python3
"""Random events for GEMINI's cores, and random bytes for what reads the kernel's: part of `make fuzz-kernel`.

    scripts/fuzz_kernel.py [--seconds 60] [--seed 1] [--cargo]

GEMINI's C core (`linux/gemini/replay.c`, compiled with cc) writes what it makes of random flows; the cores in Python
(`tests/support/gemini_vectors.py`) and, with --cargo, in Rust have to come to the same, event by event. What `status` and `record`
read is bytes that were valid, with some of them changed.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "python")]

from support.gemini_vectors import Gemini  # noqa: E402

from farloop.errors import FarloopError  # noqa: E402
from farloop.kernel import programs, recording, settings  # noqa: E402
from farloop.kernel.baselines import CUBIC, DCTCP, VEGAS  # noqa: E402
from farloop.kernel.gemini import GEMINI  # noqa: E402

HEAD = {"format": "farloop gemini vectors", "version": 4}
KEYS = ("cwnd", "packets", "pacing", "cwnd_q10", "ssthresh_q10", "alpha")
LIMITS = {
    "mss": (1, 65535),
    "capacity": (1, 2**31 - 1),
    "threshold": (1, 2**30),
    "delay_threshold": (0, 10**10),
    "beta": (0, 2**30),
    "f_min": (0, 2**32),
    "h_per_byte": (0, 2**33),
    "h_min": (0, 2**40),
    "h_max": (0, 2**40),
    "max_cut": (1, 2**30),
    "g": (0, 2**30),
    "gain": (1, 2**26),
}


def near(rng, low, high):
    """A number at a bound, anywhere, or of any size."""
    return rng.choice([low, high, rng.randint(low, high), min(max(rng.getrandbits(rng.randrange(1, 48)), low), high)])


def flow(rng, events):
    """The lines of a flow, without what comes of them."""
    seq, ahead = rng.getrandbits(32), rng.randrange(1, 2**24)
    line = {"event": "start", "flow": "random"} | {key: near(rng, *limits) for key, limits in LIMITS.items()}
    line |= {
        "skip_after_cut": rng.random() < 0.5,
        "initial_cwnd": near(rng, line["mss"], 2**30),
        "slow_start": rng.random() < 0.5,
    }
    yield line | {
        "initial_alpha": near(rng, 0, 2**30),
        "base_rtt": rng.choice([None, near(rng, 1, 2**33 - 1)]),
        "seq": seq,
    }
    for _ in range(events):
        kind = rng.choice(["ack"] * 12 + ["fast_retransmit", "timeout", "undo", "host", "mss", "idle"])
        seq, in_flight = (seq + rng.randrange(ahead)) % 2**32, near(rng, 0, 2**34)
        line = {"event": kind}
        if kind == "ack":
            line |= {
                "acked": near(rng, 0, 2**30),
                "ack_seq": seq,
                "snd_nxt": (seq + ahead) % 2**32,
                "in_flight": in_flight,
            }
            line |= {"rtt": rng.choice([None, near(rng, 1, 2**34)]), "ecn_echo": rng.random() < 0.3}
            counted = rng.choice([line["acked"], near(rng, 0, 2**30)])
            line |= {"marked": counted if line["ecn_echo"] else 0}
            line |= {"in_recovery": rng.random() < 0.1, "app_limited": rng.random() < 0.1}
        elif kind == "undo":
            line |= {"prior_cwnd": near(rng, 0, 2**45), "prior_ssthresh": rng.choice([None, near(rng, 0, 2**45)])}
        elif kind == "host":
            line |= {"host_packets": near(rng, 0, 2**19), "host_ssthresh": rng.choice([None, near(rng, 0, 2**19)])}
        elif kind == "mss":
            line |= {"mss": near(rng, 1, 65535)}
        elif kind == "idle":
            line |= {"idle": near(rng, 0, 2**40), "rto": near(rng, 1, 2**33), "restart": near(rng, 1, 2**20)}
        else:
            line |= {"in_flight": in_flight, "snd_nxt": (seq + ahead) % 2**32}
        yield line


def compared(rng, replay, folder, flows, cargo):
    """How many events of so many flows all cores agree on; a difference ends it."""
    lines = [line for _ in range(flows) for line in flow(rng, 120)]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in [HEAD, *lines])
    done = subprocess.run([replay], input=text, capture_output=True, text=True, check=True)
    core = None
    for line, said in zip(lines, done.stdout.splitlines(), strict=True):
        numbers = (None if word == "null" else int(word) for word in said.split(" "))
        line |= dict(zip(KEYS, numbers, strict=True))
        core = Gemini(line) if line["event"] == "start" else core
        core.play(line)
        if core.state() != {key: line[key] for key in core.state()}:
            raise SystemExit(f"C and Python differ: {line}, {core.state()}")
    if cargo:
        file = folder / "random.jsonl"
        file.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in [HEAD, *lines]))
        workspace = ["--workspace", "--exclude", "farloop-py"]
        words = ["cargo", "test", "-q", *workspace, "--test", "gemini_vectors", "recorded"]
        done = subprocess.run(words, cwd=ROOT, env={**os.environ, "FARLOOP_GEMINI_VECTORS": str(file)}, check=False)
        if done.returncode:
            raise SystemExit(f"C and Rust differ: {file.read_text()[:2000]}")
    return len(lines)


def changed(rng, data):
    """Bytes with some of them, or their number, changed."""
    data = bytearray(data)
    for _ in range(rng.randrange(1, 12)):
        at = rng.randrange(len(data))
        data[at] = rng.choice([0, 255, rng.randrange(256), data[at] ^ 1 << rng.randrange(8)])
    cut = rng.choice([len(data)] * 6 + [rng.randrange(len(data) + 1)])
    return bytes(data[:cut])


def read(rng, times):
    """Rows and records that are no rows and records: each becomes a table and JSON, or an error that says so."""
    values = settings.constants(settings.parameters(["capacity=1Gbps"]))
    for _ in range(times):
        rows = changed(rng, rng.randbytes(programs.ROW.size * rng.randrange(1, 4)))
        recorded = recording.Recording(values)
        for program in (GEMINI, CUBIC, DCTCP, VEGAS):
            try:
                json.dumps(program.connections(rows))
            except FarloopError as error:
                if "no rows of" not in str(error):
                    raise
        for index in range(4):
            kind = rng.randrange(len(recording.KINDS) + 1)
            event = recording._EVENT.pack(
                7, index, 1, 2**20, 2**64 - 1, 8000, 14, 1448, *[near(rng, 0, 2**32 - 1)] * 6, kind, near(rng, 0, 2**32)
            )
            try:
                recorded.take(event if rng.random() < 0.5 else changed(rng, event))
            except FarloopError as error:
                if "which is no event" not in str(error):
                    raise
        for line in recorded.lines():
            json.loads(line)


def main():
    """Runs until the time is over, and says how much it was."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cargo", action="store_true", help="compare with the core in Rust, too")
    given = parser.parse_args()
    rng, end, events, reads = random.Random(given.seed), time.monotonic() + given.seconds, 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        flags = ["-std=c11", "-O1", "-fsanitize=undefined", "-fno-sanitize-recover=all"]
        words = [os.environ.get("CC", "cc"), *flags, "-o", folder / "replay", ROOT / "linux/gemini/replay.c"]
        subprocess.run(words, check=True)
        while reads == 0 or time.monotonic() < end:
            events += compared(rng, folder / "replay", folder, 40 if given.cargo else 4, given.cargo)
            read(rng, 50)
            reads += 50
    sys.stdout.write(f"seed {given.seed}: {events} events alike, {reads} lists of connections and recordings read\n")


if __name__ == "__main__":
    main()
