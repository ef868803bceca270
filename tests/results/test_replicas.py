"""Several seeds: means with confidence intervals in tables, bands in pictures, and how many seeds they are."""

import dataclasses

import numpy as np
import pytest

import farloop
from farloop import statistics
from farloop.results import curves, flow_completion
from farloop.results.replicas import replicas
from farloop.results.seeds import mean_text
from farloop.units import rate_text
from farloop.views.figures import draw as figures
from farloop.views.figures.panels import slowdown_panels, throughput_panels
from farloop.views.report import page as report
from farloop.views.report.charts import charts
from farloop.views.report.tables import run_rows, slowdown_rows, worst_rows

NOISY = """
title = "Losses differ between seeds"
[run]
duration = "20ms"
[network]
topology = "dumbbell"
rate = "1Gbps"
wan_delay = "1ms"
wan_loss = 0.002
[transport]
kind = "tcp"
[algorithm]
name = "cubic"
[[flow]]
name = "intra"
from = "s1"
to = "d1"
[[flow]]
name = "cross"
from = "s2"
to = "r1"
"""

RANDOM = """
[run]
duration = "10ms"
[network]
topology = "spine-leaf"
spines = 2
leaves = 2
hosts_per_leaf = 4
rate = "10Gbps"
[algorithm]
name = "fixed"
[[workload]]
name = "web"
sizes = "websearch"
load = 0.5
"""

SEEDS = (1, 2, 3)


def of_seeds(path) -> farloop.Comparison:
    runs = [farloop.run(path, seed=seed) for seed in SEEDS]
    named = [dataclasses.replace(run, label=f"{run.label}, seed {run.seed}") for run in runs]
    return farloop.Comparison("Several seeds", named, seeds=SEEDS)


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    path = tmp_path_factory.mktemp("noisy") / "noisy.toml"
    path.write_text(NOISY, encoding="utf-8")
    return of_seeds(path)


@pytest.fixture(scope="module")
def random(tmp_path_factory):
    path = tmp_path_factory.mktemp("random") / "random.toml"
    path.write_text(RANDOM, encoding="utf-8")
    return of_seeds(path)


def test_runs_of_one_case_belong_together(noisy, comparison):
    (of,) = replicas(noisy.runs)
    assert (of.label, of.n, of.caption) == ("cubic", 3, "cubic (n = 3 seeds)")
    assert [of.caption for of in replicas(comparison.runs)] == ["hpcc", "dctcp"]


def test_tables_have_means_with_intervals(noisy):
    _, (row,) = run_rows(noisy)
    rates = [run.summary["mean_throughput"]["intra"] for run in noisy]
    assert row[0] == "cubic (n = 3 seeds)"
    assert row[1] == statistics.mean(rates, floor=0.0).format(rate_text)
    assert row[1].startswith(f"{np.mean(rates) / 1e6:.3g}")
    assert row[1].endswith("]")


def test_a_mean_of_nothing_is_nothing_and_one_value_has_no_interval():
    assert mean_text([None, None], str) is None
    assert mean_text([2.0, None], str) == "2.0 (n = 1)"


def test_curves_are_means_with_bands(noisy):
    (lines,), note = curves.curves(replicas(noisy.runs), curves.CURVES["throughput"])
    assert note == "mean of 3 seeds with 95 % band"
    cross = next(line for line in lines if line.name == "cross")
    rows = [run.samples.get("flow/cross", "throughput")[1] for run in noisy]
    assert np.allclose(cross.values, np.mean(rows, axis=0))
    low, high = cross.band
    assert (low <= cross.values).all()
    assert (cross.values <= high).all()
    assert (high - low).max() > 0, "losses differ between seeds"
    figure = throughput_panels(noisy.runs, "")
    assert len([a for a in figure.axes if a.get_visible()]) == 1
    assert len(figure.axes[0].collections) == 2
    assert "n = 3 seeds" in figure.axes[0].get_title()
    (chart,) = [c for c in charts(noisy) if c.anchor == "throughput"]
    assert sum(trace.get("fill") == "toself" for trace in chart.panels.data) == 2
    assert note in chart.explanation


def test_flows_that_are_others_in_every_seed_are_not_averaged(random):
    _, note = curves.curves(replicas(random.runs), curves.CURVES["throughput"])
    assert "the first of 3 seeds alone" in note


def test_slowdowns_of_several_seeds_have_bands(random):
    tables = [run.flows for run in random]
    sizes, (median, tail), bands = flow_completion.mean_percentiles_by_size(tables, "intra", [50, 99])
    assert 3 <= sizes.size <= flow_completion.BINS
    assert (median <= tail).all()
    assert bands.shape == (2, 2, sizes.size)
    for middle, (low, high) in zip((median, tail), bands, strict=True):
        known = ~np.isnan(low)
        assert (low[known] <= middle[known]).all() and (middle[known] <= high[known]).all()
        assert (low[known] >= 1).all(), "no slowdown is below 1"
        assert (high - low)[known].max() > 0
    figure = slowdown_panels(random.runs, "")
    assert len(figure.axes[0].collections) == 2
    values, share = flow_completion.cumulative(tables, "intra", 10**6)
    finished = sum(run.summary["slowdown"]["intra"]["flows"] for run in random)
    assert (values.size, share[-1]) == (finished, 1.0)


def test_one_run_is_drawn_as_before(random):
    flows = random.runs[0].flows
    sizes, rows, bands = flow_completion.mean_percentiles_by_size([flows], "intra", [50])
    assert np.array_equal(sizes, flow_completion.percentiles_by_size(flows, "intra", [50])[0])
    assert np.array_equal(rows, flow_completion.percentiles_by_size(flows, "intra", [50])[1])
    assert np.isnan(bands).all()


def test_the_worst_port_is_that_of_the_worst_seed(random):
    _, rows = worst_rows(random)
    longest = max((run.summary["worst"]["max_queue"]["max_queue"], run.label) for run in random)
    (row,) = [row for row in rows if "longest queue" in row[1]]
    assert row[0] == longest[1]


def test_slowdown_tables_have_intervals(random):
    _, rows = slowdown_rows(random)
    # Some flow is unfinished: one row of the finished ones, one that counts all.
    assert [row[1].partition(", ")[2] for row in rows] == ["finished only", "all, at least"]
    assert all(row[i].endswith("]") for row in rows for i in (4,)), "mean"
    assert rows[0][2].endswith("]"), "finished"


def test_report_and_pictures_of_several_seeds(noisy, tmp_path):
    assert "n = 3 seeds" in report.page(noisy)
    assert {p.name for p in figures.draw(noisy, tmp_path)} == {"throughput.png", "queue.png", "network.png"}
    paper = dataclasses.replace(noisy, figure="gear/fig14")
    assert {"fig14.png", "throughput-seeds.png"} <= {p.name for p in figures.draw(paper, tmp_path)}
