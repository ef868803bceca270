"""`farloop why` of stored runs: flows and jobs, the files it writes, and what it refuses in a line."""

import dataclasses
import json
import re

import pytest
from typer.testing import CliRunner

import farloop
from farloop import _native
from farloop.commands.app import app
from farloop.errors import FarloopError

JOB = """\
run.duration = "10s"
algorithm.name = "dcqcn"
[network]
topology = "datacenters"
fabric = "spine-leaf"
spines = 2
leaves = 2
hosts_per_leaf = 2
[[flow]]
name = "bulk"
from = "dc0-h1"
to = "dc1-h1"
size = "1MB"
[[job]]
name = "training"
model = "llama3-8b"
layers = 4
tensor = 2
pipeline = 2
data = 2
microbatches = 2
scale = 64
ranks_per_host = 2
hosts = "*"
placement = "striped"
iterations = 2
"""


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("why")
    (folder / "job.toml").write_text(JOB, encoding="utf-8")
    farloop.run(folder / "job.toml").save(folder / "run", report=False)
    return folder / "run"


def test_the_slowest_iteration_is_that_of_the_table(stored):
    asked = farloop.why(stored, "training")
    (run,) = farloop.load(stored)
    rows = run.iterations.to_pylist()
    slowest = max(rows, key=lambda row: row["time_ps"])
    assert (asked.iteration, asked.time_ps) == (slowest["iteration"], slowest["time_ps"])
    assert sum(part["time_ps"] for part in asked.parts) == asked.time_ps
    assert sum(time for pairs in asked.slices for _, time in pairs) == asked.time_ps
    assert farloop.why(stored, "training", iteration=1).iteration == 1
    assert farloop.why(stored, "bulk").finished


def test_a_job_of_divided_bytes_says_that_its_communication_is(stored):
    asked = farloop.why(stored, "training")
    assert asked.scale == asked.as_json["scale"] == 64
    assert "communication is 1/64, since its bytes are" in asked.answer
    assert "communication is" not in dataclasses.replace(asked, scale=1).answer


def test_the_answer_stands_before_its_parts(stored):
    done = CliRunner().invoke(app, ["why", str(stored), "training"])
    first, second, *_ = done.output.splitlines()
    assert first.startswith("iteration ") and "% computing" in first
    assert second.startswith("where the time of iteration ")


def test_files_are_written(stored, tmp_path):
    page, picture, path = tmp_path / "why.html", tmp_path / "why.svg", tmp_path / "why.json"
    given = ["why", str(stored), "training", "--html", str(page), "--svg", str(picture), "--perfetto", str(path)]
    done = CliRunner().invoke(app, [*given, "--json"])
    assert done.exit_code == 0, done.output
    asked = json.loads(done.output)
    assert sum(asked["causes_ps"].values()) == sum(asked["phases_ps"].values()) == asked["time_ps"]
    assert "Critical path" in page.read_text("utf-8") and "src=" not in page.read_text("utf-8")
    text = picture.read_text("utf-8")
    assert text.startswith("<svg xmlns=") and "computing: forward" in text
    shares = [float(share) for share in re.findall(r" ([0-9.]+) %</text>", text)]
    assert abs(sum(shares) - 100) < 1
    events = json.loads(path.read_text("utf-8"))["traceEvents"]
    bars = [event for event in events if event["ph"] == "X"]
    assert sum(bar["args"]["end_ps"] - bar["args"]["start_ps"] for bar in bars) == asked["time_ps"]
    assert sorted(tmp_path.iterdir()) == [page, path, picture]


@pytest.mark.parametrize(
    ("name", "more", "says"),
    [
        ("trainig", [], 'did you mean "training"?'),
        ("training", ["--iteration", "3"], '"training" has no iteration 3; expected one of 1 to 2'),
        ("training", ["--iteration", "0"], "--iteration 0; expected a number from 1 on"),
        ("bulk", ["--iteration", "1"], '"bulk" is a flow, which has no iterations'),
        ("bulk", ["--perfetto", "bulk.json"], "--perfetto shows ranks, but this is a flow; expected a job"),
        ("bulk", ["--html", "nowhere/page.html"], "No such file or directory; expected a file that can be written"),
    ],
)
def test_what_cannot_be_explained_is_refused_in_a_line(stored, tmp_path, monkeypatch, name, more, says):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["why", str(stored), name, *more])
    assert done.exit_code == 2
    assert says in " ".join(done.output.split()), done.output
    assert not list(tmp_path.iterdir())


def test_a_run_of_another_version_is_refused(stored):
    (run,) = farloop.load(stored)
    at = run.iterations.schema.get_field_index("end_ps")
    longer = run.iterations.column(at).to_pylist()
    longer = [end + 1 for end in longer]
    other = dataclasses.replace(run, iterations=run.iterations.set_column(at, "end_ps", [longer]))
    with pytest.raises(FarloopError, match="iteration 1 of training goes another way"):
        farloop.why(other, "training", iteration=1)


def test_it_ends_when_it_is_told_to(stored):
    with pytest.raises(_native.Cancelled):
        farloop.why(stored, "training", progress=lambda *_: False)


SPRAYED = """\
run.duration = "20ms"
transport = { kind = "multipath", preset = "mrc" }
switch.ecmp = "source"
algorithm.name = "mrc"
network = { topology = "multi-plane", planes = 2, spines = 1, leaves = 2, hosts_per_leaf = 2, rate = "10Gbps", fabric_rate = "10Gbps" }
event = [{ at = "0s", link = "plane2-leaf1<->plane2-spine1", loss = 0.02 }]
flow = [{ name = "bulk", from = "h1", to = "h3", size = "1MB" }]
"""


def test_a_sprayed_flow_names_planes_and_entropy_values(command):
    (command.directory / "sprayed.toml").write_text(SPRAYED, encoding="utf-8")
    shown = command("why", "sprayed.toml", "bulk", "--html", "why.html")
    last = re.search(r"the last packet left by h1:plane[12]-leaf1 with the entropy value \d+", shown.stdout)
    lost = re.search(
        r"\d+ packets? w\w+ sent again after a loss, the entropy value .* lost at plane2-leaf1:plane2-spine1",
        shown.stdout,
    )
    assert last, shown.stdout
    assert lost, shown.stdout
    page = (command.directory / "why.html").read_text("utf-8")
    assert f"<li>{last[0]}</li>" in page
    assert f"<li>{lost[0]}</li>" in page
