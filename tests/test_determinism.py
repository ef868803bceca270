"""The same scenario and seed give the same bytes, whatever else happens."""

import hashlib

import farloop


def digests(directory):
    return {
        str(p.relative_to(directory)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(directory.glob("**/*.parquet"))
    }


def test_two_runs_give_the_same_bytes(small, tmp_path):
    first = digests(farloop.run(small).save(tmp_path / "a"))
    second = digests(farloop.run(small).save(tmp_path / "b"))
    assert set(first) == {"flows.parquet", "series.parquet", "ports.parquet"}
    assert first == second


def test_the_number_of_threads_changes_nothing(small, tmp_path):
    names = ["hpcc", "dctcp", "dcqcn"]
    one = digests(farloop.compare(small, names, threads=1).save(tmp_path / "one"))
    two = digests(farloop.compare(small, names, threads=2).save(tmp_path / "two"))
    assert len(one) == 9
    assert one == two


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
