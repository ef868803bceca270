"""`farloop scale`: fewer packets in the same time, and what cannot be divided."""

import pytest
from typer.testing import CliRunner

import farloop
from farloop.commands.app import app
from farloop.errors import FarloopError
from farloop.results.headline import headline
from farloop.scaling import scale_network
from farloop.scenario import Scenario
from farloop.views.report.tables import job_rows

SITES = """\
[run]
duration = "60s"
[network]
topology = "datacenters"
fabric = "spine-leaf"
spines = 1
leaves = 2
hosts_per_leaf = 1
rate = "400Gbps"
border = "core"
wan_links = 1
wan_rate = "400Gbps"
wan_delay = "500us"
[algorithm]
name = "hpcc"
[[job]]
name = "train"
model = "llama3-8b"
layers = 1
pipeline = 1
data = 4
microbatches = 1
tokens = 1024
scale = 8
[record]
interval = "none"
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sites.toml"
    path.write_text(SITES)
    return path


@pytest.mark.long
@pytest.mark.parametrize("by", [4, 16, 64])
def test_an_iteration_takes_as_long_with_a_part_of_the_packets(file, by):
    whole, part = farloop.run(file), farloop.run(scale_network(file, by))
    time, divided = (run.iterations["time_ps"][0].as_py() for run in (whole, part))
    # Bytes alone would leave next to nothing of what the network takes.
    assert whole.numbers["jobs"]["train"]["exposed_share"] > 0.2
    assert divided == pytest.approx(time, rel=0.03)
    hops = [run.info["totals"]["packet_hops"] for run in (whole, part)]
    assert hops[1] == pytest.approx(hops[0] / by, rel=0.05)
    ideal = [run.iterations["ideal_ps"][0].as_py() for run in (whole, part)]
    assert ideal[1] == pytest.approx(ideal[0], rel=0.03)


def test_times_and_formats_stay_and_rates_sizes_and_bytes_are_divided(file):
    before, after = Scenario.load(file).resolved, scale_network(file, 16).resolved
    assert after["network"]["rate"] == "25Gbps"
    assert after["network"]["wan_delay"] == before["network"]["wan_delay"]
    assert after["transport"] == before["transport"]
    assert after["switch"]["buffer"] == "625kB"
    assert after["switch"]["alpha"] == before["switch"]["alpha"]
    (job,) = after["job"]
    assert (job["scale"], job["network_scale"], job["domain_rate"]) == (128, 16, "225Gbps")
    assert job["flops"] == before["job"][0]["flops"]


def test_tables_and_answer_say_of_bytes_only_what_the_network_was_not_divided_by(file):
    text = SITES.replace("scale = 8\n", "")
    run = farloop.run(scale_network(Scenario.from_text(text), 64))
    assert run.iterations["scale"].to_pylist() == [1]
    assert "bytes" not in job_rows(run.alone)[0]
    assert "communication is" not in headline(run.alone).text
    both = farloop.run(scale_network(file, 64))
    assert both.iterations["scale"].to_pylist() == [8]
    assert "Its communication is 1/8" in headline(both.alone).text


@pytest.mark.parametrize(
    ("text", "by", "words"),
    [
        (SITES, 1, "1: expected 2 to 1024"),
        (SITES, 256, "job.train.scale: 8 times 256 is above 1024"),
        (SITES, 128, "128 leaves 10.5 packets of the bandwidth-delay product of the shortest path; expected 20 or more: 66 or less"),
        (SITES + '[[flow]]\nfrom = "dc0-h1"\nto = "dc1-h1"\n', 4, "expected [[job]] alone, no [[flow]] and no [[workload]]"),
    ],
)  # fmt: skip
def test_what_cannot_be_divided_is_refused_with_a_line(tmp_path, text, by, words):
    path = tmp_path / "s.toml"
    path.write_text(text)
    with pytest.raises(FarloopError) as refused:
        scale_network(path, by)
    assert words in str(refused.value)
    done = CliRunner().invoke(app, ["scale", str(path), str(by)])
    assert done.exit_code == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert words in done.stderr


def test_the_command_writes_a_scenario(file, tmp_path):
    out = tmp_path / "smaller.toml"
    assert CliRunner().invoke(app, ["scale", str(file), "16", "--out", str(out)]).exit_code == 0
    assert Scenario.load(out).resolved == scale_network(file, 16).resolved
    shown = CliRunner().invoke(app, ["scale", str(file), "16"])
    assert shown.stdout == out.read_text()


def test_a_network_scale_that_does_not_divide_the_scale_is_refused(file):
    with pytest.raises(farloop.ScenarioError, match=r"job\.train\.network_scale.*3 is no divisor of scale, which is 8"):
        Scenario.load(file).override(["job.train.network_scale=3"]).explained  # noqa: B018
