"""GEMINI's arithmetic in C, for kernels: it gives the recorded numbers, and compiles to BPF without what BPF lacks."""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from support.gemini_vectors import states

ROOT = Path(__file__).parents[2]
GEMINI = ROOT / "linux" / "gemini"
VECTORS = ROOT / "vectors" / "gemini.jsonl"
FLAGS = ["-std=c11", "-O2", "-Wall", "-Wextra"]


@pytest.fixture(scope="module")
def compiler():
    """The system's C compiler as a list of words."""
    words = shlex.split(os.environ.get("CC", "cc"))
    if shutil.which(words[0]) is None:
        pytest.skip(f"no C compiler: {words[0]} is not there")
    return words


def replayed(compiler, folder, core=None):
    """What the replayer writes for each recorded line, with another text of core.h if one is given."""
    folder.mkdir()
    for name in ("core.h", "replay.c"):
        (folder / name).write_text(core if core and name == "core.h" else (GEMINI / name).read_text())
    subprocess.run([*compiler, *FLAGS, "-o", "replay", "replay.c"], cwd=folder, check=True)
    done = subprocess.run([folder / "replay"], input=VECTORS.read_bytes(), check=True, capture_output=True)
    return done.stdout.decode().splitlines()


@pytest.fixture(scope="module")
def recorded():
    return states([json.loads(line) for line in VECTORS.read_text().splitlines()[1:]])


def test_the_c_core_gives_the_recorded_numbers(compiler, recorded, tmp_path):
    for number, (now, then) in enumerate(zip(replayed(compiler, tmp_path / "c"), recorded, strict=True), start=2):
        assert now == then, f"line {number} of vectors/gemini.jsonl"


@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        ("s->reduced_until = ack->ack_seq - 1;", ";"),
        ("s->rtt_end = ack_seq - 1;", ";"),
        ("if (GEMINI_RARE(gemini_is(s, GEMINI_NO_SAMPLE)))", "if (0)"),
        ("if (cwnd != gemini_cwnd_packets(s)) {", "if (1) {"),
        ("(u32)gemini_min(f, 0xffffffffULL)", "(u32)f"),
        ("if (!gemini_is(s, GEMINI_UNDOABLE))", "if (0)"),
        ("gemini_set(s, GEMINI_WAS_INITIAL, gemini_is(s, GEMINI_INITIAL));", ""),
        ("s->ssthresh = gemini_max(s->ssthresh, (s->cwnd >> 2) + (s->cwnd >> 1));", ";"),
    ],
)
def test_the_vectors_tell_a_rule_that_a_kernel_needs(compiler, recorded, tmp_path, rule, broken):
    core = (GEMINI / "core.h").read_text()
    assert core.count(rule) == 1
    assert replayed(compiler, tmp_path / "c", core.replace(rule, broken)) != recorded


def test_a_line_that_is_not_understood_is_named(compiler, tmp_path):
    replayed(compiler, tmp_path / "c")
    head, first, *_ = VECTORS.read_text().splitlines()
    no_mss, null = first.replace('"mss"', '"size"'), first.replace('"gain":', '"gain":null,"was":')
    for text, message in [
        (head.replace('"version":4', '"version":3'), "line 1: is not version 4 of farloop gemini vectors"),
        (f"{head}\n{no_mss}\n", "line 2: lacks mss"),
        (f"{head}\n{null}\n", "line 2: has null in gain"),
        (f'{head}\n{{"event":"ack"}}\n', "line 2: comes before a start"),
        (f'{head}\n{first}\n{{"event":"rain"}}\n', "line 3: has an unknown event"),
    ]:
        done = subprocess.run([tmp_path / "c" / "replay"], input=text, text=True, capture_output=True, check=False)
        assert (done.returncode, done.stderr.strip()) == (1, message)


def test_the_c_core_fits_into_bpf(tmp_path):
    """No call of a helper for wide products, and no signed division, both of which BPF lacks."""
    if shutil.which("clang") is None:
        pytest.skip("no clang")
    source = tmp_path / "all.c"
    source.write_text(
        f'#include "{GEMINI / "core.h"}"\n'
        """
        void all(struct gemini_constants *c, struct gemini_state *s, struct gemini_ack *a, u64 *out)
        {
            gemini_init(c, s, out[0], out[1], out[2], out[3], out[4]);
            gemini_resync(s, out[5], out[6]);
            gemini_on_mss(c, s, out[17]);
            gemini_on_ack(c, s, a);
            out[7] = gemini_on_loss(c, s, out[8], out[9], out[10]);
            gemini_on_undo(s, out[11], out[12]);
            gemini_on_idle_restart(s, out[13], out[14], out[15]);
            out[16] = gemini_pacing(c, s) + gemini_ssthresh_packets(s);
        }
        """
    )
    flags = ["-target", "bpf", "-O2", "-Wall", "-Werror", "-S", "-o", "-"]
    done = subprocess.run(["clang", *flags, source], capture_output=True, text=True, check=False)
    if "No available targets" in done.stderr or "unknown target" in done.stderr:
        pytest.skip("this clang does not compile to BPF")
    assert done.returncode == 0, done.stderr
    assert " /= " in done.stdout and not re.findall(r"\bcall (?!gemini_)|\bs/=|__multi3", done.stdout)
