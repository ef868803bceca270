"""Numbers of a run that carries jobs alone: over the time in which these ran, not over the rest of the run."""

import pytest

import farloop
from farloop.results import offered
from farloop.results.headline import headline
from farloop.results.job_times import PARTS, job_times, times_of_ranks
from farloop.scenario import Scenario
from farloop.views.report.page import page
from farloop.views.report.tables import load_rows, run_rows, worst_rows
from farloop.views.terminal import scenario as print_scenario

JOBS = """\
title = "Two sites"
[run]
duration = "{duration}"
[network]
topology = "datacenters"
fabric = "spine-leaf"
spines = 1
leaves = 1
hosts_per_leaf = 2
rate = "100Gbps"
wan_delay = "100us"
[algorithm]
name = "dcqcn"
[[job]]
name = "train"
model = "llama3-8b"
layers = 2
data = 4
microbatches = 2
scale = 256
start = "1ms"
iterations = 2
[record]
interval = "none"
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The same job in a run of twenty seconds, and of two thousand."""
    folder = tmp_path_factory.mktemp("jobs")
    made = []
    for duration in ("20s", "2000s"):
        file = folder / f"{duration}.toml"
        file.write_text(JOBS.format(duration=duration))
        made.append(farloop.run(file))
    return made


def test_loads_do_not_depend_on_what_is_left_of_the_run(runs):
    short, long = (run.numbers for run in runs)
    assert short["network"]["layers"] == long["network"]["layers"]
    assert short["network"]["arrivals"] == long["network"]["arrivals"]
    assert short["throughput"] > 0
    assert long["throughput"] == pytest.approx(short["throughput"])
    for what in ("mean_queue", "max_queue"):
        assert short["worst"][what]["port"] == long["worst"][what]["port"]
        assert short["worst"][what]["mean_queue"] == pytest.approx(long["worst"][what]["mean_queue"], rel=1e-6)
    assert [run.duration for run in runs] == [20.0, 2000.0]


def test_utilisation_and_goodput_are_what_was_sent_over_the_time_of_the_job(runs):
    run = runs[0]
    rows = run.iterations.to_pylist()
    begin, end = rows[0]["begin_ps"] / 1e12, rows[-1]["end_ps"] / 1e12
    assert run.numbers["network"]["arrivals"] == [begin, end] == [0.001, end]
    assert run.loaded_time == end - begin
    (job,) = run.info["jobs"]
    assert run.numbers["throughput"] == pytest.approx(8 * job["payload_bytes"] / (end - begin))
    port = run.numbers["worst"]["max_queue"]
    sent = max(
        row["tx_bytes"] / row["rate_bps"]
        for row in run.ports.to_pylist()
        if port["port"] == f"{row['node']}->{row['peer']}"
    )
    assert port["utilisation"] == pytest.approx(8 * sent / (end - begin))
    assert any(not cell.startswith("0.0 %") for *_, cell, _ in load_rows(run.alone)[1])


def test_a_layer_that_jobs_fill_is_no_overload():
    layer = {"links": 1, "capacity_bps": 1e9, "offered_bps": 9.9e8, "load": 0.99, "port": "a->b", "port_load": 0.99}
    network = {"arrivals": [0.0, 1.0], "layers": {"a->b": layer}, "of_jobs": True}
    assert not offered.worst_overload([network])
    assert offered.worst_overload([network | {"of_jobs": False}])


def test_progress_tells_when_the_jobs_are_over_not_the_run(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(
        JOBS.format(duration="2000s").replace("scale = 256", "scale = 8").replace("layers = 2", "layers = 1")
    )
    ends = []
    run = farloop.run(file, progress=lambda now, end, hops: ends.append((now, end, hops)))
    over = run.numbers["network"]["arrivals"][1]
    known = [(now, end) for now, end, hops in ends if hops]
    assert len(known) > 2
    assert all(now <= end < 2000 for now, end in known)
    assert known[-1][1] == pytest.approx(over, rel=0.2)


def test_parts_of_a_rank_add_up_and_the_last_rank_is_that_of_the_table(runs):
    run = runs[0]
    times = job_times(run.iterations, run.ranks, "train")
    assert times.iterations.tolist() == [1, 2]
    assert sum(times.shares) == pytest.approx(1.0)
    for at, number in enumerate(times.iterations):
        own = [row for row in run.ranks.to_pylist() if row["iteration"] == number]
        last = min(row["rank"] for row in own if row["end_ps"] == max(other["end_ps"] for other in own))
        assert times.last_ranks[at] == last
        ranks = times_of_ranks(run.ranks, "train", int(number))
        for place, part in enumerate(PARTS):
            assert times.parts[place, at] == pytest.approx(sum(rank[part] for rank in ranks) / len(ranks))
    assert 0 < times.exposed_share < 1


def test_the_answer_has_time_ideal_exposed_communication_and_bytes_across(runs):
    answer = headline(runs[0].alone)
    assert "An iteration of train takes" in answer.text
    assert "its ranks do not compute" in answer.text
    assert "Its communication is 1/256" in answer.text
    assert [number.name for number in answer.key_numbers] == [
        "iteration time", "exposed communication", "across sites per iteration",
    ]  # fmt: skip


def test_two_algorithms_are_compared_by_exposed_communication_too(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(JOBS.format(duration="20s"))
    answer = headline(farloop.compare(file, ["dcqcn", "hpcc"]))
    assert [effect.identifier for effect in answer.effects[:2]] == [
        "iteration_time/mean/train", "exposed_communication_share/mean/train",
    ]  # fmt: skip


def test_tables_of_jobs_have_no_columns_of_dashes_and_the_page_a_picture(runs):
    alone = runs[0].alone
    header, rows = run_rows(alone)
    assert "Jain" not in header
    assert "a flow inside" not in header
    assert all(cell is not None for row in rows for cell in row)
    assert "p99 queue" not in worst_rows(alone)[0]
    text = page(alone)
    assert text.count('class="dots stacked"') == 2
    assert "By rank, in the slowest iteration" in text


def test_explain_says_the_ideal_time_and_the_bytes_across(tmp_path, capsys):
    from farloop import catalogue

    file = tmp_path / "s.toml"
    file.write_text(JOBS.format(duration="20s"))
    job = Scenario.load(file).forecast["jobs"]["train"]
    run = farloop.run(file)
    assert job["ideal_s"] == run.numbers["jobs"]["train"]["ideal_s"]
    assert job["bytes_across"] == run.info["jobs"][0]["bytes_across"] > 0
    assert job["base_rtt_s"] == run.info["jobs"][0]["base_rtt_s"]
    print_scenario(catalogue.scenario(str(file)))
    shown = " ".join(capsys.readouterr().out.split())
    assert "an iteration of train:" in shown
    assert "on an ideal network" in shown
    assert "communication is 1/256" in shown
