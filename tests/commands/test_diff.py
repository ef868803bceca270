"""`farloop diff`: settings, numbers and tables that differ between two outputs, and what cannot be compared."""

import json
import shutil
from dataclasses import replace

import pytest
from conftest import SMALL

import farloop
from farloop.results.differences import NumberChange


@pytest.fixture(scope="module")
def delayed():
    """The small run on a longer link, with another seed."""
    return farloop.run(farloop.Scenario.from_text(SMALL), set={"network.wan_delay": "2ms"}, seed=4)


@pytest.fixture
def outputs(result, delayed, tmp_path):
    result.save(tmp_path / "old", report=False)
    delayed.save(tmp_path / "new", report=False)
    return tmp_path


def numbers_of(difference):
    (run,) = difference.runs
    return {number.measure: number for number in run.numbers}


def test_settings_and_numbers_that_differ_with_their_change(result, delayed):
    difference = farloop.diff(result, delayed)
    (run,) = difference.runs
    assert [(row.name, row.old, row.new) for row in run.settings] == [
        ("run.seed", 3, 4),
        ("network.wan_delay", "1ms", "2ms"),
    ]
    numbers = numbers_of(difference)
    goodput = numbers["goodput"]
    assert (goodput.old, goodput.new) == (result.summary["throughput"], delayed.summary["throughput"])
    assert goodput.change == pytest.approx(goodput.new / goodput.old - 1)
    assert (goodput.unit, numbers["jain"].unit) == ("bit/s", "1")
    assert numbers["jain"].old == result.summary["jain"]
    assert numbers["fct_slowdown/mean/cross/begun"].name == "mean FCT slowdown, flows across"
    assert {"dropped", "retransmitted", "queue/max/worst_port"} <= set(numbers)
    assert not numbers["dropped"].differs
    count = sum(number.differs for number in numbers.values())
    assert 0 < count < len(numbers)
    assert difference.answer == f"2 settings and {count} of {len(numbers)} numbers differ."
    assert "flows" in run.tables


def test_the_same_run_twice_is_equal(result, outputs):
    difference = farloop.diff(result, outputs / "old")
    assert difference.is_equal
    assert difference.answer == "The two outputs are equal: same settings, same numbers, same tables."
    assert farloop.diff(replace(result, scenario=result.scenario | {"title": "Another"}), result).is_equal


def test_another_algorithm_is_a_name_and_its_own_keys(comparison):
    (run,) = farloop.diff(comparison["hpcc"], comparison["dctcp"]).runs
    settings = {row.name: row for row in run.settings}
    assert run.label == "hpcc to dctcp"
    assert (settings["algorithm.name"].old, settings["algorithm.name"].new) == ("hpcc", "dctcp")
    parameters = settings["algorithm.hpcc"]
    assert parameters.new is None
    assert parameters.old == comparison["hpcc"].scenario["algorithm"]["hpcc"]
    assert not [name for name in settings if name.startswith("algorithm.hpcc.")]


def test_a_key_that_one_output_has_alone_keeps_its_name(result):
    scenario = json.loads(json.dumps(result.scenario))
    del scenario["network"]["wan_delay"]
    (run,) = farloop.diff(result, replace(result, scenario=scenario)).runs
    assert [(row.name, row.old, row.new) for row in run.settings] == [("network.wan_delay", "1ms", None)]


def test_the_version_and_files_of_a_scenario_are_settings(result):
    newer = replace(result, info=result.info | {"version": "9.9.9"}, inputs={"sizes.csv": "ab" * 32})
    difference = farloop.diff(replace(result, inputs={"sizes.csv": "cd" * 32}), newer)
    assert difference.settings == ["farloop", "file sizes.csv"]
    assert difference.answer == "2 settings differ; the numbers are equal."
    assert difference.setting_rows()[1][1] == ["file sizes.csv", "SHA-256 cdcdcdcdcdcd", "SHA-256 abababababab"]


def test_tables_are_named_where_all_numbers_are_equal(result):
    difference = farloop.diff(result, replace(result, series=result.series.slice(1)))
    assert not difference.is_equal
    assert difference.answer == "Settings and numbers are equal. The table series differs."


def test_a_change_from_zero_or_nothing_has_no_percent():
    assert NumberChange("goodput", "goodput", "bit/s", 4.0, 5.0).change == 0.25
    assert NumberChange("goodput", "goodput", "bit/s", 0.0, 5.0).change is None
    assert NumberChange("goodput", "goodput", "bit/s", None, 5.0).change is None
    assert NumberChange("goodput", "goodput", "bit/s", None, 5.0).differs


def test_runs_are_compared_by_name(comparison, result):
    difference = farloop.diff(comparison, replace(comparison, runs=[comparison["dctcp"], comparison["hpcc"]]))
    assert difference.is_equal
    assert [run.label for run in difference.runs] == ["hpcc", "dctcp"]
    scenario = comparison["hpcc"].scenario
    changed = replace(comparison["hpcc"], scenario=scenario | {"switch": scenario["switch"] | {"alpha": 2.5}})
    difference = farloop.diff(comparison, replace(comparison, runs=[changed]))
    assert difference.answer == "1 setting differs; the numbers are equal. Only the old output has dctcp."
    with pytest.raises(
        farloop.FarloopError, match="no run has the same name in both outputs: the old one has hpcc, dctcp"
    ):
        farloop.diff(comparison, replace(comparison, runs=[replace(comparison["hpcc"], label="other")]))


def test_numbers_are_means_over_seeds(small):
    runs = farloop.run(small, seeds=[1, 2], set={"run.duration": "6ms"})
    shorter = farloop.run(small, seeds=[1, 2, 5], set={"run.duration": "5ms"})
    difference = farloop.diff(runs, shorter)
    assert difference.settings == ["run.duration", "run.seed"]
    (run,) = difference.runs
    assert next(row.new for row in run.settings if row.name == "run.seed") == [1, 2, 5]
    goodput = numbers_of(difference)["goodput"]
    assert goodput.old == pytest.approx(sum(each.summary["throughput"] for each in runs) / 2)


def test_the_command_prints_the_answer_and_both_tables(command, outputs):
    done = command("diff", "old", "new")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == command("diff", "old", "new").stdout
    lines = [" ".join(line.split()) for line in done.stdout.replace("│", " ").splitlines()]
    assert lines[0].startswith("2 settings and ")
    assert "network.wan_delay 1ms 2ms" in lines
    (goodput,) = [line for line in lines if line.startswith("goodput")]
    assert goodput.endswith(" %")
    assert not [line for line in lines if line.startswith("dropped packets")], "it is equal"
    quiet = command("diff", "old", "new", "--quiet")
    assert (quiet.returncode, quiet.stdout) == (1, "")


def test_values_that_look_equal_have_their_change(result):
    totals = result.info["totals"] | {"end_s": 0.02000001}
    longer = farloop.diff(result, replace(result, info=result.info | {"totals": totals}))
    (row,) = [row for row in longer.number_rows()[1] if row[0] == "goodput"]
    assert row[1] == row[2]
    assert row[3] == "-5e-05 %"


def test_equal_outputs_end_with_0(command, outputs):
    shutil.copytree(outputs / "old", outputs / "copy")
    done = command("diff", "old", "copy")
    assert (done.returncode, done.stdout.count("\n")) == (0, 1)
    assert done.stdout.startswith("The two outputs are equal")


def test_json_has_all_numbers(command, outputs):
    done = command("diff", "old", "new", "--json")
    content = json.loads(done.stdout)
    assert (done.returncode, content["equal"]) == (1, False)
    (run,) = content["runs"]
    assert {"name": "network.wan_delay", "old": "1ms", "new": "2ms"} in run["settings"]
    by_measure = {number["measure"]: number for number in run["numbers"]}
    assert by_measure["dropped"]["differs"] is False
    assert by_measure["goodput"]["change"] == pytest.approx(
        by_measure["goodput"]["new"] / by_measure["goodput"]["old"] - 1
    )


def rewrite_manifest(output, section):
    """Takes a section out of the scenario that an output remembers: its numbers cannot be computed then."""
    content = json.loads((output / "manifest.json").read_text())
    del content["scenario"][section]
    (output / "manifest.json").write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (lambda new: shutil.rmtree(new), "new: no such directory; expected a directory that `farloop run --out` wrote"),
        (lambda new: (new / "manifest.json").unlink(), "new: is no farloop output (it has no manifest.json)"),
        (lambda new: (new / "manifest.json").write_text("{"), "manifest.json: is not JSON; the output is damaged"),
        (lambda new: (new / "flows.parquet").unlink(), "flows.parquet"),
        (lambda new: (new / "manifest.json").write_text('{"farloop": "1", "kind": "advice"}'), "new: has no runs"),
        (lambda new: rewrite_manifest(new, "switch"), "new: "),
    ],
)
def test_what_is_no_output_is_one_line(command, outputs, damage, named):
    damage(outputs / "new")
    for words in (("old", "new"), ("new", "old")):
        done = command("diff", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("farloop: ") and done.stderr.count("\n") == 1
        assert named in done.stderr


def test_a_comparison_without_one_of_its_runs_is_refused(command, comparison, tmp_path):
    comparison.save(tmp_path / "both", report=False)
    shutil.rmtree(tmp_path / "both" / "runs" / "dctcp")
    done = command("diff", "both", "both")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "both/runs/dctcp: no such directory" in done.stderr


def test_a_comparison_with_a_damaged_run_is_refused(command, comparison, tmp_path):
    comparison.save(tmp_path / "both", report=False)
    rewrite_manifest(tmp_path / "both" / "runs" / "dctcp", "switch")
    done = command("diff", "both", "both")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("farloop: both: is a damaged farloop output: ")


JOB = """
[run]
duration = "10s"
[network]
topology = "spine-leaf"
leaves = 2
spines = 1
hosts_per_leaf = 2
rate = "10Gbps"
fabric_rate = "10Gbps"
[algorithm]
name = "dcqcn"
[record]
interval = "none"
[[job]]
name = "train"
model = "llama3-8b"
layers = 1
tokens = 64
data = 2
microbatches = 1
scale = 1024
hosts = ["h1", "h3"]
"""


def test_jobs_are_compared_by_name():
    before = farloop.run(farloop.Scenario.from_text(JOB))
    numbers = numbers_of(farloop.diff(before, farloop.run(farloop.Scenario.from_text(JOB.replace("= 64", "= 128")))))
    time = numbers["iteration_time/mean/train"]
    assert (time.unit, time.old) == ("s", before.numbers["jobs"]["train"]["rounds_s"][0])
    assert time.new > time.old
    renamed = farloop.run(farloop.Scenario.from_text(JOB.replace('"train"', '"other"')))
    difference = farloop.diff(before, renamed)
    numbers = numbers_of(difference)
    assert numbers["iteration_time/mean/train"].new is None
    assert numbers["iteration_time/mean/other"].old is None
    assert difference.settings == ["job.train", "job.other"]
