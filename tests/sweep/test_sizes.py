"""Studies and classes of flow sizes: what names mean, which numbers they give, and numbers of other definitions."""

import json

import numpy as np
import pytest
from support.studies import BASE

import farloop
from farloop.results import measures
from farloop.results.size_classes import GEMINI, MEDIAN, parse
from farloop.studies.arena import measuring
from farloop.studies.sweep.measures import measure
from farloop.studies.sweep.remarks import Remarks

STUDY = """\
base = "base.toml"
sizes = "gemini"
collect = ["small_p99_slowdown", "cross_small_aged_p99_slowdown", "cross_small_aged_flows", "large_p99_slowdown", "throughput"]
[grid]
seed = "1-2"
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "base.toml").write_text(BASE.replace('duration = "20ms"', 'duration = "5ms"'), encoding="utf-8")
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    return tmp_path


@pytest.mark.usefixtures("without_workers")
def test_classes_of_a_study_are_those_that_it_states(place):
    swept = farloop.study(place / "study.toml", out=place / "s", report=False)
    assert swept.runs.schema.field("small_p99_slowdown").metadata[b"measure"] == b"fct_slowdown/p99/small/finished"
    for row in swept.runs.to_pylist():
        run = swept.run(row["run"])
        assert run.sizes == GEMINI
        cells = measuring.measure_run(run, "base").values
        assert row["cross_small_aged_p99_slowdown"] == cells["cross_small_slowdown_p99"]
        assert row["cross_small_aged_flows"] == cells["cross_small_flows"] > 0
        assert run.summary["unfinished"]["cross"] > 0, "else the two would be equal anyway"
        assert row["large_p99_slowdown"] is None
    (text,) = [caution for caution in swept.cautions if caution.startswith("large_p99_slowdown")]
    assert text == "large_p99_slowdown: no flows at 1 of 1 point"
    text = STUDY.replace('"gemini"', '"20kB"').replace("large_", "above_20kB_").replace("small_", "up_to_20kB_")
    (place / "study.toml").write_text(text, encoding="utf-8")
    other = farloop.study(place / "study.toml", out=place / "o", store=place / "run-store", report=False)
    assert (other.counts.made, other.counts.kept) == (0, 2), "the runs are the same"
    assert other.run(1).sizes == parse("20kB")
    assert other.runs["up_to_20kB_p99_slowdown"].to_pylist() == [None, None], "all flows have 50 kB"
    assert other.runs["above_20kB_p99_slowdown"].to_pylist() == swept.runs["small_p99_slowdown"].to_pylist()


@pytest.mark.usefixtures("without_workers")
def test_an_option_replaces_the_classes_of_a_study(place, command):
    done = command("sweep", "study.toml", "--sizes", "median", "--no-report", "--out", "m")
    assert done.returncode == 0, done.stderr
    manifest = json.loads((command.directory / "m" / "manifest.json").read_text())
    assert (manifest["sizes"], manifest["definitions"]) == ("median", measures.VERSION)
    assert "at most the median size" in manifest["collect"][0]["meaning"]
    done = command("sweep", "study.toml", "--sizes", "1MB,20kB", "--out", "n")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("farloop: --sizes: 1MB,20kB: expected gemini, median, or")


@pytest.mark.long
@pytest.mark.usefixtures("without_workers")
def test_a_report_draws_no_numbers_of_other_definitions(place, command):
    assert command("sweep", "study.toml", "--out", "s").returncode == 0
    path = command.directory / "s" / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["definitions"]
    path.write_text(json.dumps(manifest))
    done = command("report", "s")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "s: keeps numbers by the definitions of another version of farloop" in done.stderr
    done = command("sweep", "study.toml", "--out", "s")
    assert done.returncode == 0, "a second sweep measures anew"
    assert command("report", "s").returncode == 0
    page = (command.directory / "s" / "report.html").read_text()
    assert "classes of flow sizes" in page and "Small: up to 100 kB; medium: more than 100 kB" in page
    done = command("report", "s", "--sizes", "median")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "expected an output of run, compare or reproduce" in done.stderr


@pytest.mark.parametrize("kind", ["advice", "validation"])
def test_answers_and_validations_of_other_definitions_are_not_drawn(kind, command):
    (command.directory / "a").mkdir()
    (command.directory / "a" / "manifest.json").write_text(
        json.dumps({"farloop": "0", "kind": kind, "definitions": measures.VERSION - 1, "files": []})
    )
    done = command("report", "a")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "a: keeps numbers by the definitions of another version of farloop (0); repeat its command" in done.stderr


def test_tails_over_few_flows_are_counted_point_by_point():
    tail, mean, queue = (measure(name, MEDIAN) for name in ("small_p99_fct", "mean_slowdown", "p99 port/a->b queue"))
    remarks = Remarks()
    for flows in (40, 12, 19, 0):
        samples = {of.name: [np.ones(flows // 2), np.ones(flows - flows // 2)] for of in (tail, mean, queue)}
        remarks.note_sizes([tail, mean, queue], samples)
    (caution,) = remarks.content()["cautions"]
    assert caution == {
        "code": "few-flows",
        "text": "small_p99_fct: over 12 to 19 flows at 2 of 4 points: below 20 such a percentile is hardly more than their largest value; "
        "no flows at 1 of 4 points",
    }
