"""One identifier, one number: what the commands write of the same runs, read from their files by what these say of themselves.

Algorithms, seeds and traffic are the same: flows that do not finish, an endless flow, no flow at all.
"""

import json
import math
from collections import defaultdict

import pyarrow.parquet as pq
import pytest
from support.two_sites import ENDLESS, NO_FLOWS, TWO_SITES

ALGORITHMS, SEEDS = ("cubic", "dctcp"), (1, 2, 3)

STUDY = """\
base = "s.toml"
sizes = "gemini"
collect = [
  "jain", "throughput", "intra_throughput", "cross_throughput", "max_queue", "dropped", "unfinished", "paused", "packet_hops",
  "p99_slowdown", "intra_p99_slowdown", "cross_p50_slowdown", "intra_small_p99_slowdown", "aged_p99_slowdown",
  "intra_small_aged_p99_slowdown", "cross_medium_aged_mean_slowdown", "intra_small_aged_flows",
]
[grid]
"algorithm.name" = ["cubic", "dctcp"]
seed = [1, 2, 3]
"""

SCALES = {"paused_ps": 1e12}

#: A port of its own in every algorithm's and command's table.
OF_A_PORT = ("queue/mean", "queue/p99", "queue/max", "dropped/port", "paused/port", "utilisation/port", "marked/port")


@pytest.fixture(params=["unfinished", "endless", "no flows"])
def place(request, command):
    text = TWO_SITES
    if request.param == "endless":
        text += ENDLESS
    elif request.param == "no flows":
        text = NO_FLOWS
    (command.directory / "s.toml").write_text(text, encoding="utf-8")
    (command.directory / "study.toml").write_text(STUDY, encoding="utf-8")
    return command


def number_at(value, path):
    for key in path.split("/"):
        value = value[key]
    return value


def of_summaries(out):
    """Algorithm, seed, identifier and value of what summaries of runs have."""
    for where in [out] if (out / "flows.parquet").exists() else sorted((out / "runs").iterdir()):
        manifest, summary = (
            json.loads((where / name).read_text("utf-8")) for name in ("manifest.json", "summary.json")
        )
        for path, identifier in manifest["measures"].items():
            yield manifest["algorithm"], manifest["seed"], identifier, number_at(summary, path)


def of_table(path):
    """The same of a table with a row for each run, whose columns say which measure they have."""
    table = pq.read_table(path)
    measures = {
        field.name: field.metadata[b"measure"].decode()
        for field in table.schema
        if field.metadata and b"measure" in field.metadata
    }
    assert measures
    for row in table.to_pylist():
        if row.get("start", "own") == "own":
            for name, identifier in measures.items():
                value = row[name]
                yield row["algorithm"], row["seed"], identifier, value and value / SCALES.get(name, 1)


def of_answer(out):
    """The same of the runs of an answer, by the measures that its manifest gives for their columns."""
    measures = json.loads((out / "manifest.json").read_text("utf-8"))["measures"]
    for row in json.loads((out / "answer.json").read_text("utf-8"))["runs"]:
        for name, identifier in measures.items():
            if name in row:
                yield row["candidate"], row["seed"], identifier, row[name]


@pytest.mark.sampled
def test_every_command_writes_the_same_number_under_one_identifier(place):
    names = ",".join(ALGORITHMS)
    for command in (
        "run s.toml --set algorithm.name=cubic --seed 1 --out one",
        f"compare s.toml --algorithms {names} --seeds 1-3 --out several",
        "sweep study.toml --out study",
        f"arena --scenario s.toml --algorithms {names} --seeds 1-3 --same-start own --must none --out arena",
    ):
        done = place(*command.split(), "--no-report", "--quiet")
        assert done.returncode == 0, done.stderr
    out = place.directory
    numbers = {
        "run": of_summaries(out / "one"),
        "compare": of_summaries(out / "several"),
        "sweep": of_table(out / "study" / "runs.parquet"),
        "arena": of_table(out / "arena" / "cells.parquet"),
    }
    if "endless" not in (out / "s.toml").read_text("utf-8"):
        asked = "advise s.toml --candidates cubic,dctcp --no-tune --budget 5s --must none --out answer"
        if place(*asked.split(), "--no-report", "--quiet").returncode == 0:
            numbers["advise"] = of_answer(out / "answer")
    by_key = defaultdict(dict)
    for command, each in numbers.items():
        for algorithm, seed, identifier, value in each:
            if identifier not in OF_A_PORT:
                by_key[algorithm, seed, identifier][command] = math.nan if value is None else float(value)
    for key, by_command in by_key.items():
        first = next(iter(by_command.values()))
        assert all(value == pytest.approx(first, rel=1e-12, nan_ok=True) for value in by_command.values()), (
            key,
            by_command,
        )
    shared = {key[2] for key, by_command in by_key.items() if len(by_command) > 2}
    assert {"jain", "goodput", "dropped"} & shared
    assert {(algorithm, seed) for algorithm, seed, _ in by_key} >= {(a, s) for a in ALGORITHMS for s in SEEDS}
