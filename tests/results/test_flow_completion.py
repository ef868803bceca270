"""Flow completion times of many flows: numbers by hand, tables and pictures that stay readable."""

import json

import numpy as np
import pyarrow as pa
import pytest

import farloop
from farloop.results import flow_completion, summary
from farloop.views.figures import draw as figures
from farloop.views.report import page as report
from farloop.views.report.tables import flow_rows, slowdown_rows

MANY = """\
title = "Many flows"
[run]
duration = "4ms"
[network]
topology = "dumbbell"
intra_pairs = 4
cross_pairs = 2
rate = "10Gbps"
wan_delay = "50us"
[algorithm]
name = "dctcp"
[workload]
sizes = "20kB"
load = 0.3
stop = "3ms"
[record]
flows = []
"""


def flows(*rows):
    """Rows of (cross, size, start, received, ideal) in bytes and picoseconds; `None` for what does not exist."""
    keys = ("cross_datacenter", "size_bytes", "start_ps", "received_ps", "ideal_fct_ps")
    return pa.table({key: [row[i] for row in rows] for i, key in enumerate(keys)})


BY_HAND = flows(
    (0, 100, 0, 20, 10),  # slowdown 2
    (0, 100, 5, 15, 10),  # slowdown 1
    (0, 900, 0, 400, 100),  # slowdown 4
    (0, 900, 0, None, 100),  # unfinished
    (0, None, 0, None, None),  # without a size
    (1, 100, 10, 60, 10),  # slowdown 5
    (1, 900, 2 * 10**12, None, 10),  # starts after the end
)


def test_slowdowns_by_hand():
    slowdowns, unfinished = flow_completion.slowdown_summary(BY_HAND, 1.0)
    intra = slowdowns["intra"]
    assert (intra["flows"], intra["mean"], intra["p50"]) == (3, pytest.approx(7 / 3), 2.0)
    assert intra["p99"] == pytest.approx(2 + 0.98 * 2)
    # Sizes 100, 100, 100, 900, 900, 900: the median of 500 parts them.
    assert (intra["at_most_median"]["flows"], intra["at_most_median"]["mean"]) == (2, 1.5)
    assert (intra["above_median"]["flows"], intra["above_median"]["mean"]) == (1, 4.0)
    assert {name: of["flows"] for name, of in intra["classes"].items()} == {"small": 3, "medium": 0, "large": 0}
    assert slowdowns["cross"]["mean"] == 5.0
    assert slowdowns["cross"]["above_median"] is None
    assert unfinished == {"intra": 1, "cross": 0}


def test_flows_of_the_median_size_are_in_the_lower_half():
    table = flows((0, 100, 0, 20, 10), (0, 300, 0, 30, 10), (0, 300, 0, 50, 10), (0, 900, 0, 90, 10))
    intra = flow_completion.slowdown_summary(table, 1.0)[0]["intra"]
    assert (intra["at_most_median"]["flows"], intra["at_most_median"]["mean"]) == (3, pytest.approx(10 / 3))
    assert (intra["above_median"]["flows"], intra["above_median"]["mean"]) == (1, 9.0)


def test_an_unfinished_flow_counts_with_its_age_and_at_least_with_one():
    second = 10**12
    table = flows(
        (0, 100, 0, None, second // 4),  # four times as old as it is long
        (0, 100, second - 10, None, second),  # has just begun
        (0, None, 0, None, None),
        (1, 100, 2 * second, None, 10),  # starts after the end
        (1, 100, 0, second // 2, second // 10),
    )
    assert flow_completion.bound_slowdowns(table, 1.0) == pytest.approx([4.0, 1.0, np.nan, np.nan, 5.0], nan_ok=True)
    intra = flow_completion.aged_distribution(table, 1.0)
    assert (intra["intra"]["flows"], intra["intra"]["mean"], intra["cross"]) == (2, 2.5, None)


def test_nothing_finished_is_no_distribution():
    slowdowns, unfinished = flow_completion.slowdown_summary(flows((0, 10, 0, None, 5)), 1.0)
    assert slowdowns == {"intra": None, "cross": None}
    assert unfinished == {"intra": 1, "cross": 0}


def test_size_bins_are_tenths_and_leave_out_what_is_empty():
    table = flows(*[(0, 10 * (i // 2 + 1), 0, 10 * (i // 2 + 1) if i < 18 else None, 10) for i in range(20)])
    sizes, ((median,)) = flow_completion.percentiles_by_size(table, "intra", [50])
    assert sizes.tolist() == [10.0 * (i + 1) for i in range(9)], "of the tenth bin none finished"
    assert median.tolist() == [i + 1.0 for i in range(9)]
    equal = flows(*[(0, 7, 0, 10 + i, 10) for i in range(30)])
    sizes, rows = flow_completion.percentiles_by_size(equal, "intra", [50, 99])
    assert sizes.tolist() == [7.0]
    assert rows.shape == (2, 1)
    sizes, rows = flow_completion.percentiles_by_size(equal, "cross", [50, 99])
    assert sizes.size == 0
    assert rows.shape == (2, 0)


def test_the_distribution_function_ends_at_one_with_few_points():
    table = flows(*[(0, 7, 0, 10 + i, 10) for i in range(1000)])
    values, share = flow_completion.cumulative([table], "intra", 50)
    assert values.size == 50
    assert (values[0], values[-1]) == (1.0, 100.9)
    assert (share[0], share[-1]) == (0.001, 1.0)
    assert (np.diff(share) > 0).all()


def test_a_stopped_flow_was_active_until_then():
    table = pa.table(
        {
            "start_ps": [10**11] * 3,
            "received_ps": [None, None, 3 * 10**11],
            "stop_ps": [5 * 10**11, None, None],
            "delivered_bytes": [8] * 3,
        }
    )
    assert summary.throughputs(table, 1.0).tolist() == pytest.approx([64 / 0.4, 64 / 0.9, 64 / 0.2])


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    path = tmp_path_factory.mktemp("many") / "many.toml"
    path.write_text(MANY, encoding="utf-8")
    return farloop.compare(path, ["dctcp", "hpcc"])


def test_many_flows_get_a_table_of_their_slowdown(many, comparison):
    header, rows = slowdown_rows(many)
    assert [row[:2] for row in rows] == [["dctcp", "intra"], ["dctcp", "cross"], ["hpcc", "intra"], ["hpcc", "cross"]]
    assert all(len(row) == len(header) for row in rows)
    for run in many:
        slowdowns = run.summary["slowdown"]["intra"]
        assert slowdowns["flows"] > 20
        assert 1 <= slowdowns["p50"] <= slowdowns["p95"] <= slowdowns["p99"]
        assert run.summary["mean_throughput"]["intra"] > 0
    assert slowdown_rows(comparison)[1] == [], "three flows are no distribution"


def test_the_list_of_flows_is_cut_at_the_slowest(many):
    assert many.runs[0].flows.num_rows > 100
    assert "flows" not in many.runs[0].summary
    _, rows = flow_rows(many)
    assert len(rows) == 2 * summary.MAX_FLOWS_LISTED
    listed = [float(str(row[6])) for row in rows[: summary.MAX_FLOWS_LISTED]]
    every = np.sort(flow_completion.slowdowns(many.runs[0].flows))
    assert sorted(listed) == pytest.approx(every[-summary.MAX_FLOWS_LISTED :].tolist(), abs=0.006)
    page = report.page(many)
    assert "Every flow" not in page
    assert f"The {summary.MAX_FLOWS_LISTED} slowest flows of each run" in page
    assert f"{many.runs[0].flows.num_rows:,} flows" in page


def test_pictures_of_the_slowdown(many, comparison, tmp_path):
    names = {path.name for path in figures.draw(many, tmp_path)}
    assert "slowdown.png" in names
    assert 'id="slowdown"' in report.page(many)
    assert "slowdown" not in figures.generic(comparison)
    assert 'id="slowdown"' not in report.page(comparison)


def test_the_command_prints_it(command):
    (command.directory / "many.toml").write_text(MANY, encoding="utf-8")
    done = command("run", "many.toml", "--out", "r", "--no-report")
    assert done.returncode == 0, done.stderr
    assert "FCT slowdown of" in done.stdout
    assert len(done.stdout.splitlines()) < 40  # no line for each flow
    summary = json.loads((command.directory / "r" / "summary.json").read_text())
    statistics = {"flows", "mean", "p50", "p95", "p99"}
    assert set(summary["slowdown"]["cross"]) == statistics | {"classes", "at_most_median", "above_median"}
    assert set(summary["slowdown"]["cross"]["classes"]) == {"small", "medium", "large"}
    assert set(summary["unfinished"]) == {"intra", "cross"}


def test_many_recorded_ports_stay_readable(command):
    text = MANY.replace("intra_pairs = 4", "intra_pairs = 30").replace("flows = []", 'interval = "1ms"')
    ports = ", ".join(f'"s{i}->left"' for i in range(1, 31))
    path = command.directory / "ports.toml"
    path.write_text(text + f"ports = [{ports}]\n", encoding="utf-8")
    run = farloop.run(path)
    assert len(run.samples.objects("port")) == 30
    chosen = run.samples.highest("port", "max_queue", 16)
    assert len(chosen) == 16
    peak = {p: run.samples.get(f"port/{p}", "max_queue")[1].max() for p in run.samples.objects("port")}
    assert min(peak[p] for p in chosen) >= max(peak[p] for p in peak if p not in chosen)
    figures.draw(farloop.Comparison("ports", [run]), command.directory)
    assert "Of 30 recorded, the 8 that reach the highest values" in report.page(farloop.Comparison("ports", [run]))
