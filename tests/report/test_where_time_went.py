"""The report's section of where the time went: what it explains, what it shows, what it says of the rest."""

import dataclasses
import re

import numpy as np
import pytest
from support.pages import parsed
from typer.testing import CliRunner

import farloop
from farloop.commands.app import app
from farloop.errors import FarloopError
from farloop.experiments import explaining
from farloop.experiments.execution import Execution
from farloop.results import why_chosen
from farloop.views.report import where

NETWORK = """\
run.duration = "20ms"
[network]
topology = "dumbbell"
intra_pairs = 2
cross_pairs = 1
rate = "1Gbps"
link_delay = "5us"
wan_delay = "1ms"
"""

FLOWS = (
    NETWORK
    + """
[algorithm]
name = "dctcp"
[[flow]]
name = "bulk"
from = "s1"
to = "d1"
size = "500kB"
[[flow]]
name = "small"
from = "s2"
to = "d1"
start = "1ms"
size = "20kB"
[[flow]]
name = "never-over"
from = "s3"
to = "r1"
size = "100MB"
[[flow]]
name = "endless"
from = "s1"
to = "d2"
"""
)

JOB = """\
run.duration = "10s"
algorithm.name = "dcqcn"
[network]
topology = "datacenters"
fabric = "spine-leaf"
spines = 2
leaves = 2
hosts_per_leaf = 2
[[job]]
name = "training"
model = "llama3-8b"
layers = 2
tensor = 1
pipeline = 2
data = 2
microbatches = 2
scale = 256
ranks_per_host = 1
hosts = "*"
iterations = 2
"""


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """Two algorithms with two seeds, and where that was saved."""
    folder = tmp_path_factory.mktemp("where")
    (folder / "flows.toml").write_text(FLOWS, encoding="utf-8")
    comparison = farloop.compare(folder / "flows.toml", ["dctcp", "timely"], seeds="1-2")
    comparison.save(folder / "out", report=False)
    return comparison, folder / "out"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("where")
    (folder / "job.toml").write_text(JOB, encoding="utf-8")
    return farloop.run(folder / "job.toml")


def asked(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return done.exit_code, " ".join(done.output.split())


def test_the_flow_at_a_share_of_the_slowdowns_is_one_that_there_is(compared):
    run = compared[0].runs[0]
    slowdowns = np.array([3.0, np.nan, 1.0, 3.0])
    at = {role: why_chosen.flow_at(run, slowdowns, role).name for role in why_chosen.FLOWS}
    names = run.flows["name"].to_pylist()
    assert at == {"slowest": names[3], "99 %": names[3], "median": names[0]}
    assert why_chosen.flow_at(run, np.full(4, np.nan), "median") is None


def test_a_flow_is_explained_once_and_one_that_is_not_over_counts_with_its_age(compared):
    chosen = why_chosen.flows_of(compared[0].runs[0])
    assert [flow.role for flow in chosen] == ["slowest, 99 %", "median"]
    assert {flow.name for flow in chosen} <= {"bulk", "small", "never-over"}


def test_the_section_has_a_bar_for_each_and_all_of_its_time(compared):
    comparison, saved = compared
    code, output = asked("report", saved, "--why", "--quiet")
    assert code == 0, output
    page = (saved / "report.html").read_text("utf-8")
    assert '<a href="#why">Where the time went</a>' in page
    assert parsed(page).found == []
    for label in ("dctcp", "timely"):
        assert f"<summary>{label}: slowest, 99 %: " in page
    assert "seed 2: slowest" not in page, "of several seeds the first one is explained"
    bars = re.findall(r'<span class="bar" role="img" aria-label="[^"]*">(.*?)</span></summary>', page)
    assert len(bars) == 4
    for bar in bars:
        shares = [float(share) for share in re.findall(r"width:([0-9.]+)%", bar)]
        assert sum(shares) == pytest.approx(100, abs=0.1)
    assert page.count('aria-label="bulk: what its time went into"') >= 1
    asked("report", saved, "--quiet")
    assert "Where the time went" not in (saved / "report.html").read_text("utf-8"), "nobody asked this time"
    assert comparison.runs[0].scenario


def test_the_colours_of_a_cause_are_the_same_in_all_bars(compared):
    anchor, _, html = where.runs_section(explaining.answer_report_questions(compared[0], Execution()), several=True)
    assert anchor == "why"
    colours = {}
    for colour, label in re.findall(r'background:(#\w+)" title="(.*?) [0-9.]+ %"', html):
        assert colours.setdefault(label, colour) == colour
    assert len(colours) > 2
    assert len(set(colours.values())) == len(colours)


def test_the_slowest_iteration_of_a_job_has_its_path(trained):
    (explained,) = explaining.answer_report_questions(trained.alone, Execution())
    slowest = max(trained.iterations.to_pylist(), key=lambda row: row["time_ps"])
    assert explained.chosen.iteration == explained.explanation.iteration == slowest["iteration"]
    assert explained.chosen.slowdown == slowest["time_ps"] / slowest["ideal_ps"]
    _, _, html = where.runs_section([explained], several=False)
    assert "Iterations of jobs" in html
    assert "<h3>Flows" not in html
    assert "Critical path" in html


def test_what_is_not_over_or_another_versions_has_a_line(trained, compared):
    at = trained.iterations.schema.get_field_index("end_ps")
    later = [end + 1 for end in trained.iterations.column(at).to_pylist()]
    other = dataclasses.replace(trained, iterations=trained.iterations.set_column(at, "end_ps", [later]))
    with pytest.raises(FarloopError, match="goes another way when it is simulated again"):
        explaining.answer_report_questions(other.alone, Execution())
    run = compared[0].runs[0]
    both = dataclasses.replace(
        compared[0], seeds=(), runs=[run, dataclasses.replace(run, label="measured", scenario={})]
    )
    html = where.runs_section(explaining.answer_report_questions(both, Execution()), several=True)[2]
    line = '<p class="soft">measured: not explained: the run has no scenario; expected one that farloop simulated</p>'
    assert html.count(line) == 1, "the same reason once"


def test_too_little_memory_is_told_before_it_is_taken(compared, monkeypatch):
    monkeypatch.setattr("farloop._native.total_memory", lambda: 1000)
    with pytest.raises(FarloopError, match=r"the run may take .* packets of the followed flow|the run may take"):
        explaining.answer_report_questions(compared[0], Execution())


def test_shared_connections_end_the_command_and_the_old_report_stays(tmp_path):
    shared = 'transport = { kind = "tcp", connections = "persistent" }\n'
    (tmp_path / "tcp.toml").write_text(shared + FLOWS, encoding="utf-8")
    farloop.run(tmp_path / "tcp.toml").save(tmp_path / "out")
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    code, output = asked("report", tmp_path / "out", "--why", "--quiet")
    assert code == 2
    assert "flows that share a connection are not followed" in output
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()} == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_an_output_without_runs_of_its_own_says_which_have_some(tmp_path, compared):
    assert asked("report", tmp_path, "--why")[0] == 2
    (tmp_path / "manifest.json").write_text('{"farloop": "0", "kind": "study", "files": []}', encoding="utf-8")
    code, output = asked("report", tmp_path, "--why")
    assert code == 2
    assert "has no runs of its own; load one of the runs in it" in output


def test_an_ordinary_report_simulates_nothing(compared, monkeypatch):
    def fail(*_, **__):
        raise AssertionError("simulated")

    monkeypatch.setattr("farloop.running.why.why", fail)
    monkeypatch.setattr("farloop.experiments.explaining.explain", fail)
    assert asked("report", compared[1], "--quiet")[0] == 0
