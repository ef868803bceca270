#!/usr/bin/env python3
"""Bytes for what reads the files of others: `make fuzz-importers`.

    scripts/fuzz_importers.py [--seconds 600] [--seed 1] [--program PROGRAM]

The readers of jobs (GOAL as text, for flows as well, and as binary; Chakra, AICB, PARAM) get what libFuzzer finds by coverage (PROGRAM:
crates/job/fuzz). Those in Python get files that were valid, with some bytes or values changed: GraphML, manifests, and what an arena
keeps of its slow flows (why.json). Each refuses with one message of its own kind, or reads; nothing else may be raised. libFuzzer has
three quarters of the seconds, and those in Python a quarter, beside it.
"""

import argparse
import copy
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "python")]

import farloop  # noqa: E402
from farloop._native import ScenarioError  # noqa: E402
from farloop.errors import FarloopError  # noqa: E402
from farloop.formats.graphml import from_graphml  # noqa: E402
from farloop.formats.job import read_job  # noqa: E402
from farloop.formats.job_formats import FORMATS  # noqa: E402
from farloop.messages import say  # noqa: E402
from farloop.output.store import EXPLANATION, Store  # noqa: E402
from farloop.results import why_chosen  # noqa: E402
from farloop.running.why import why  # noqa: E402
from farloop.studies.arena import tails  # noqa: E402

SCENARIO = """\
run.duration = "1ms"
algorithm.name = "dctcp"
[network]
topology = "dumbbell"
intra_pairs = 1
cross_pairs = 1
[[flow]]
from = "s1"
to = "d1"
size = "10kB"
"""

GRAPHML = """\
<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key attr.name="kind" attr.type="string" for="node" id="k0"/>
<key attr.name="rate" attr.type="string" for="edge" id="k1"/>
<key attr.name="loss" attr.type="double" for="edge" id="k2"/>
<graph edgedefault="undirected">
<node id="h1"/><node id="h2"/><node id="t"><data key="k0">switch</data></node>
<edge source="h1" target="t"><data key="k1">10Gbps</data></edge>
<edge source="t" target="h2"><data key="k1">10Gbps</data><data key="k2">0.01</data></edge>
</graph></graphml>
"""

JOBS = {
    "plan": "layers = 1\ntensor = 2\ndata = 2\nmicrobatches = 1\n",
    "aicb": (
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 1 ga: 1 all_gpus: 8\n1\n"
        "attention -1 100 ALLREDUCE 4096 200 ALLTOALL_EP 4096 300 ALLGATHER_DP_EP 7 100\n"
    ),
    "param": (
        '[{"comms": "init", "pg_id": 1, "global_ranks": [1, 0]},\n'
        ' {"comms": "all_reduce", "req": 1, "in_msg_size": 8, "out_msg_size": 8, "dtype": "Float", "startTime_ns": 9},\n'
        ' {"comms": "all_to_allv", "req": 2, "pg_id": 1, "in_msg_size": 4, "out_msg_size": 4, "in_split": [2, 2],'
        ' "out_split": [2, 2], "dtype": "long"},\n {"comms": "wait", "req": 1}, {"comms": "wait", "req": 2},\n'
        ' {"comms": "broadcast", "req": 3, "root": 1, "in_msg_size": 4, "out_msg_size": 4, "dtype": "int"},\n'
        ' {"comms": "send", "src_rank": 0, "dst_rank": 1, "in_msg_size": 1, "out_msg_size": 1, "dtype": "int"},\n'
        ' {"comms": "recv", "src_rank": 0, "dst_rank": 1, "in_msg_size": 1, "out_msg_size": 1, "dtype": "int",'
        ' "world_size": 2}]\n'
    ),
}
"""A job in each format that farloop cannot write from a plan."""

ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    2**31,
    2**63,
    2**80,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "x",
    "\0",
    "\x1b[31m\u202e",
    "9" * 5000,
]
ODD += [[], {}, [[]], [None], {"": None}, "../..", "/dev/zero"]


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Some bytes changed, left out, doubled, or cut off."""
    made = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 5, 20])):
        at, length = rng.randrange(len(made) + 1), rng.choice([1, 1, 2, 8, 60])
        match rng.randrange(5):
            case 0:
                made[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                del made[at : at + length]
            case 2:
                made[at:at] = made[at : at + length] * rng.choice([1, 1, 200])
            case 3:
                made[at:at] = rng.choice(
                    [b"<", b'"', b"&x;", b"[" * 3000, b"9" * 30, b"\xff", b"\0", b"-", b"e999", b"{}"]
                )
            case _:
                del made[at:]
    return bytes(made)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in JSON with each of its keys or positions."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield value, key
        yield from places(inner)


def changed(content: Any, rng: random.Random) -> Any:
    """JSON with some values replaced or left out."""
    made = {"all": copy.deepcopy(content)}
    for _ in range(rng.choice([1, 1, 1, 3])):
        where, key = rng.choice(list(places(made)))
        if rng.random() < 0.2 and isinstance(where, dict) and where is not made:
            del where[key]
        else:
            where[key] = copy.deepcopy(rng.choice(ODD))
        if not list(places(made)):
            break
    return made.get("all")


def text_of(content: Any, rng: random.Random) -> bytes:
    """JSON as bytes, now and then damaged."""
    text = json.dumps(content).encode("utf-8", "surrogatepass")
    return damaged(text, rng) if rng.random() < 0.3 else text


class Readers:
    """Readers of files in Python, with a valid file for each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        run = farloop.run(farloop.Scenario.from_text(SCENARIO, "fuzz.toml"))
        run.save(folder / "run", report=False)
        self.run = run
        self.manifest = json.loads((folder / "run" / "manifest.json").read_text("utf-8"))
        self.explanation = why(run, "f1").as_json
        self.chosen = why_chosen.flows_of(run)[0]

    def graphml(self, rng: random.Random) -> None:
        """A network."""
        file = self.folder / "g.graphml"
        file.write_bytes(damaged(GRAPHML.encode(), rng))
        from_graphml(file)

    def manifests(self, rng: random.Random) -> None:
        """An output."""
        (self.folder / "run" / "manifest.json").write_bytes(text_of(changed(self.manifest, rng), rng))
        farloop.load(self.folder / "run")

    def explanations(self, rng: random.Random) -> None:
        """Record that is kept of a slow flow: read, or taken for nothing."""
        store = Store(self.folder / "store")
        store.directory.mkdir(exist_ok=True)
        (store.directory / f"key.{EXPLANATION}").write_bytes(text_of(changed(self.explanation, rng), rng))
        tails._check_stored(store.explanation("key"), self.run, self.chosen)


def go_on(examine: Callable[[random.Random], None], seed: int, until: float) -> int:
    """Examines case after case; the number of cases.

    Raises:
        Exception: one raised what no reader may; its seed is printed.
    """
    cases = 0
    while time.monotonic() < until:
        case = seed * 1_000_000 + cases
        try:
            examine(random.Random(case))
        except (FarloopError, ScenarioError):
            pass
        except BaseException:
            say(f"{examine.__name__}: case {case}")
            raise
        cases += 1
    return cases


def seeds(folder: Path) -> None:
    """Files that are valid, behind the byte that chooses a format, for libFuzzer to change."""
    folder.mkdir(parents=True, exist_ok=True)
    plan = folder.parent / "seed.toml"
    plan.write_text(JOBS["plan"], encoding="utf-8")
    for number, job_format in enumerate(FORMATS, 1):
        name = folder.parent / f"seed{job_format.extension}"
        if job_format.name in JOBS:
            name.write_text(JOBS[job_format.name], encoding="utf-8")
        else:
            (first, *_) = read_job([plan], out=name, to=job_format.name, timed=False)["written"]
            name = Path(first)
        (folder / job_format.name).write_bytes(bytes([number]) + name.read_bytes())


def main() -> int:
    """The readers of jobs, then those in Python."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", type=Path, help="the compiled crates/job/fuzz; without it those in Python alone")
    parser.add_argument("--corpus", type=Path, default=ROOT / "target" / "fuzz-importers" / "corpus")
    options = parser.parse_args()
    fuzzer = None
    if options.program:
        seeds(options.corpus)
        command = [
            options.program,
            options.corpus,
            f"-seed={options.seed}",
            f"-max_total_time={options.seconds * 3 / 4:.0f}",
        ]
        command += ["-max_len=4096", "-timeout=30", "-rss_limit_mb=2048", "-verbosity=0", "-print_final_stats=1"]
        fuzzer = subprocess.Popen([*command, f"-artifact_prefix={options.corpus.parent}{os.sep}"])
    try:
        examine_all(options.seed, options.seconds / 4)
        return fuzzer.wait() if fuzzer else 0
    finally:
        if fuzzer:
            fuzzer.kill()


def examine_all(seed: int, seconds: float) -> None:
    """The readers in Python, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        readers = Readers(Path(folder))
        chosen = (readers.graphml, readers.manifests, readers.explanations)
        for examine in chosen:
            cases = go_on(examine, seed, time.monotonic() + seconds / len(chosen))
            say(f"{examine.__name__}: {cases} cases")


if __name__ == "__main__":
    sys.exit(main())
