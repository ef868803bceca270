"""Jobs: rounds of collective operations, by hand and simulated."""

import json

import pyarrow as pa
import pytest

import farloop
from farloop.results.collectives import jobs, summarise_jobs
from farloop.scenario import Scenario
from farloop.studies.sweep.measures import measure

SCENARIO = """\
title = "Gradients"
[run]
duration = "20ms"
[network]
topology = "spine-leaf"
leaves = 2
spines = 2
hosts_per_leaf = 2
rate = "10Gbps"
[algorithm]
name = "dctcp"
[workload]
name = "sum"
pattern = "all-reduce"
size = "4MB"
rounds = 3
compute = "1ms"
"""


def test_a_round_lasts_from_its_first_start_to_its_last_byte():
    flows = pa.table(
        {
            "name": ["a-1-1", "a-1-2", "a-2-1", "a-2-2", "b-1", "a-10-1"],
            "start_ps": [10, 20, 500, None, 0, 0],
            "received_ps": [400, 300, 900, None, 7, 9],
        }
    )
    workloads = [{"pattern": "all-reduce", "name": "a", "rounds": 2}, {"pattern": "poisson", "name": "b"}]
    assert jobs(flows, {"workload": workloads}) == {"a": {"rounds": 2, "rounds_s": [390e-12]}}
    assert jobs(flows, {"workload": {"pattern": "all-reduce", "name": "none", "rounds": 1}}) == {
        "all-reduce-1": {"rounds": 1, "rounds_s": []}
    }
    assert jobs(flows, {}) == {}


def test_rounds_without_a_name_are_those_with_one():
    named = farloop.run(Scenario.from_text(SCENARIO))
    unnamed = farloop.run(Scenario.from_text(SCENARIO.replace('name = "sum"\n', "")))
    assert unnamed.summary["jobs"]["all-reduce-1"] == named.summary["jobs"]["sum"]
    assert unnamed.flows["name"][0].as_py() == "all-reduce-1-1-1"
    second = SCENARIO.replace("[workload]", "[[workload]]") + '[[workload]]\npattern = "all-reduce"\nsize = "1MB"\n'
    assert list(farloop.run(Scenario.from_text(second)).summary["jobs"]) == ["sum", "all-reduce-2"]


def test_summary_table_and_report_tell_of_jobs(tmp_path, capsys):
    (tmp_path / "s.toml").write_text(SCENARIO)
    result = farloop.run(tmp_path / "s.toml")
    job = result.summary["jobs"]["sum"]
    # Six steps of 1 MB at 10 Gbps, with headers and ACKs: more than 4.8 ms, and no queue to wait in.
    assert job["rounds"] == 3
    assert len(job["rounds_s"]) == 3
    assert all(4.8e-3 < took < 6e-3 for took in job["rounds_s"])
    result.save(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["jobs"]["sum"] == job
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Rounds of collective operations" in page
    assert "<td>sum</td>" in page


def test_what_never_began_has_no_start(tmp_path):
    text = SCENARIO.replace('duration = "20ms"', 'duration = "2ms"').replace("rounds = 3", "rounds = 2")
    (tmp_path / "s.toml").write_text(text)
    result = farloop.run(tmp_path / "s.toml")
    assert result.summary["jobs"]["sum"] == {"rounds": 2, "rounds_s": []}
    assert result.flows["start_ps"].null_count > 0
    assert any(flow["start"] is None for flow in result.summary["flows"])
    result.save(tmp_path / "out", report=False)
    assert farloop.load(tmp_path / "out").runs[0].summary["jobs"] == result.summary["jobs"]


TRAINING = """
run.duration = "{duration}"
algorithm.name = "dcqcn"
record.interval = "none"
[network]
topology = "datacenters"
fabric = "spine-leaf"
spines = 2
leaves = 2
hosts_per_leaf = 2
wan_delay = "1ms"
[[job]]
name = "train"
model = "llama3-8b"
layers = 4
pipeline = 2
data = 4
microbatches = 4
scale = 256
iterations = 2
"""


def test_iterations_of_a_training_job_stand_beside_an_ideal_network():
    result = farloop.run(Scenario.from_text(TRAINING.format(duration="60s")))
    job = result.summary["jobs"]["train"]
    assert job.items() >= summarise_jobs(result.iterations)["train"].items()
    assert (job["rounds"], len(job["rounds_s"])) == (2, 2)
    assert all(1 <= took / job["ideal_s"] < 1.1 for took in job["rounds_s"])
    mean = sum(job["rounds_s"]) / 2
    assert measure("iteration_time").measure_run(result) == pytest.approx(mean)
    assert measure("iteration_slowdown").measure_run(result) == pytest.approx(mean / job["ideal_s"])
    assert measure("unfinished_iterations").measure_run(result) == 0
    rows = result.ranks.to_pylist()
    assert len(rows) == 8 * 2
    for row in rows:
        times = row["computing_ps"] + row["communication_ps"] + row["waiting_ps"]
        assert times == row["end_ps"] - row["begin_ps"] > 0
    ends = [row["end_ps"] for row in result.iterations.to_pylist()]
    assert ends == [max(row["end_ps"] for row in rows if row["iteration"] == i) for i in (1, 2)]


def test_iterations_that_are_not_over_have_no_time():
    result = farloop.run(Scenario.from_text(TRAINING.format(duration="10ms")))
    assert result.summary["jobs"]["train"]["rounds_s"] == []
    assert [row["end_ps"] for row in result.iterations.to_pylist()] == [None, None]
    assert measure("iteration_time").measure_run(result) is None
    assert measure("unfinished_iterations").measure_run(result) == 2
