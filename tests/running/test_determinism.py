"""The same scenario and seed give the same bytes, whatever else happens."""

import contextlib
import hashlib
from pathlib import Path

import pytest

import farloop
from farloop.experiments.threads import Processors


def digests(directory):
    return {
        str(p.relative_to(directory)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(directory.glob("**/*.parquet"))
    }


def test_two_runs_give_the_same_bytes(small, tmp_path):
    first = digests(farloop.run(small).save(tmp_path / "a"))
    second = digests(farloop.run(small).save(tmp_path / "b"))
    assert set(first) == {
        "flows.parquet",
        "series.parquet",
        "ports.parquet",
        "pauses.parquet",
        "circuits.parquet",
        "queues.parquet",
        "iterations.parquet",
        "ranks.parquet",
    }
    assert first == second


def test_the_number_of_threads_changes_nothing(small, tmp_path):
    names = ["hpcc", "dctcp", "dcqcn"]
    single = digests(farloop.compare(small, names, threads=1).save(tmp_path / "one"))
    double = digests(farloop.compare(small, names, threads=2).save(tmp_path / "two"))
    assert len(single) == 8 * len(names)
    assert single == double


LARGE = """\
run.duration = "500us"
algorithm.name = "hpcc"
network = { topology = "datacenters", fabric = "spine-leaf", leaves = 4, hosts_per_leaf = 8, wan_delay = "50us" }
switch = { xoff = "100kB" }
record.interval = "20us"
[[workload]]
sizes = "websearch"
load = 0.4
cross_share = 0.2
"""


def test_the_parts_of_a_run_change_nothing(tmp_path):
    large = tmp_path / "large.toml"
    large.write_text(LARGE, encoding="utf-8")
    whole, parts = (farloop.run(large, threads=threads) for threads in (1, 2))
    assert (whole.info["parts"], parts.info["parts"]) == (1, 2)
    first, second = (run.save(tmp_path / name) for run, name in ((whole, "one"), (parts, "two")))
    assert digests(first) == digests(second)
    assert (first / "summary.json").read_bytes() == (second / "summary.json").read_bytes()
    # What says how it was computed is all that differs.
    facts = {"wall_s", "parts", "bytes_per_packet"}
    assert {key for key in whole.info if whole.info[key] != parts.info[key]} <= facts | {"totals"}
    for key in facts:
        parts.info[key] = whole.info[key]
    totals = whole.info["totals"]
    assert {key for key in totals if totals[key] != parts.info["totals"][key]} <= {"events"}
    parts.info["totals"]["events"] = totals["events"]
    again = (run.save(tmp_path / name) for run, name in ((whole, "again-one"), (parts, "again-two")))
    first, second = again
    for name in ("report.html", "manifest.json"):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_processors_go_to_simulations_first():
    def shares(processors, simulations):
        division = Processors(processors, simulations)
        with contextlib.ExitStack() as running:
            return [running.enter_context(division.take_share()) for _ in range(min(processors, simulations))]

    assert shares(8, 1) == [8]
    assert shares(8, 3) == [2, 3, 3]
    assert shares(2, 2) == [1, 1]
    assert shares(4, 9) == [1, 1, 1, 1]
    division = Processors(4, 5)
    with contextlib.ExitStack() as first:
        for _ in range(4):
            first.enter_context(division.take_share())
    # The last one has them all.
    with division.take_share() as left:
        assert left == 4


def test_comparing_gives_what_running_gives(small, tmp_path):
    alone = digests(farloop.run(small, algorithm="dctcp").save(tmp_path / "alone"))
    beside = digests(farloop.compare(small, ["hpcc", "dctcp"]).save(tmp_path / "beside") / "runs" / "dctcp")
    assert alone == beside


def test_the_seed_counts(small):
    # RED marks at random between its thresholds.
    red = {"switch.kmin": "3kB", "switch.kmax": "300kB", "switch.pmax": "0.5"}
    first = farloop.run(small, algorithm="dctcp", set=red, seed=1)
    second = farloop.run(small, algorithm="dctcp", set=red, seed=2)
    assert not first.flows.equals(second.flows)


DIGESTS = Path(__file__).parents[2] / "crates" / "scenario" / "tests" / "digests"
"""A scenario, and digests of its columns that tests of Rust compute with every check on (crates/scenario/tests/digests.rs)."""


@pytest.mark.parametrize("algorithm", ["dcqcn", "gear", "gemini", "annulus"])
def test_debug_and_release_builds_give_the_same_bytes(algorithm, scripts):
    """The installed module is a release build; the digests are of one with assertions and overflow checks."""
    lines = (DIGESTS / "small.txt").read_text("utf-8").splitlines()
    stored = dict(line.rsplit(" ", 1) for line in lines if line.startswith(f"{algorithm} "))
    assert len(stored) > 50
    text = (DIGESTS / "small.toml").read_text("utf-8")
    tables = farloop._native.Scenario(text, "small.toml", [("algorithm.name", algorithm)]).run().take_tables()
    digests = scripts("fuzz_scenarios").column_digests(tables)
    assert {f"{algorithm} {name}": digest for name, digest in digests.items()} == stored


def test_summary_and_pictures_are_the_same_bytes_and_the_rest_but_for_the_time_that_it_took(small, tmp_path):
    runs = [farloop.run(small) for _ in range(2)]
    first, second = (run.save(tmp_path / name) for run, name in zip(runs, "ab", strict=True))
    same = ["summary.json", *(str(p.relative_to(first)) for p in first.glob("figures/*.png"))]
    assert len(same) >= 4
    for name in same:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
    # Nothing but the wall time makes the others differ: given the same one, they are the same.
    for run in runs:
        run.info["wall_s"] = 1.0
    third, fourth = (run.save(tmp_path / name) for run, name in zip(runs, "cd", strict=True))
    for name in ("report.html", "manifest.json"):
        assert (third / name).read_bytes() == (fourth / name).read_bytes(), name
