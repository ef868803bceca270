"""Curves of reports and pictures: told apart where there are few, grouped where there are many, absent where nothing is known."""

import dataclasses
import itertools
import re

import numpy as np
import pytest

import farloop
from farloop import palette
from farloop.results import curves
from farloop.results.replicas import replicas
from farloop.views.figures import draw
from farloop.views.figures.panels import throughput_panels
from farloop.views.report import page
from farloop.views.report.charts import charts

HEAD = """
[run]
duration = "{duration}"
[network]
topology = "spine-leaf"
spines = 2
leaves = 4
hosts_per_leaf = 4
rate = "10Gbps"
[switch]
buffer = "{buffer}"
pfc = false
[transport]
kind = "tcp"
[algorithm]
name = "newreno"
[record]
interval = "100us"
{record}
"""


def simulate(tmp_path, flows, *, duration="5ms", buffer="2MB", record="", **options):
    path = tmp_path / "curves.toml"
    text = HEAD.format(duration=duration, buffer=buffer, record=record)
    path.write_text(text + "\n".join(flows), encoding="utf-8")
    return farloop.run(path, **options)


def flow(name, source, destination, more=""):
    return f'[[flow]]\nname = "{name}"\nfrom = "{source}"\nto = "{destination}"\n{more}'


@pytest.fixture(scope="module")
def twelve(tmp_path_factory):
    """Eleven flows that share one receiver, and one that has a link of its own."""
    shared = [flow(f"web-{i}", f"h{i}", "h16") for i in range(1, 12)]
    return simulate(tmp_path_factory.mktemp("many"), [*shared, flow("alone", "h12", "h13")])


def chart_of(run, anchor):
    (chart_,) = [chart for chart in charts(run.alone) if chart.anchor == anchor]
    return chart_


# How the colour-blind see colours: Machado, Oliveira, Fernandes (2009), severity 1.0, on linear RGB.
SIGHT = {
    "all colours": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def lab(colour, sight):
    channels = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(SIGHT[sight]) @ linear, 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(to_xyz @ seen / np.array([0.9505, 1.0, 1.089]))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("sight", SIGHT)
def test_curves_of_one_dash_are_told_apart_by_anybody(sight):
    names = [f"cross-{i}" for i in range(9)] + [f"web-{i}" for i in range(9)]
    looks = palette.flow_looks(names)
    assert len(set(looks.values())) == 18
    for dash in palette.DASHES:
        colours = [look.colour for look in looks.values() if look.dash == dash]
        apart = [np.linalg.norm(lab(a, sight) - lab(b, sight)) for a, b in itertools.combinations(colours, 2)]
        assert len(colours) == 6
        assert min(apart) > 9, "a difference of 2.3 is just noticeable"


def test_few_flows_have_a_look_each(tmp_path):
    run = simulate(tmp_path, [flow(f"web-{i}", f"h{i}", "h16") for i in range(1, 9)])
    ((*lines,),), _ = curves.curves(replicas([run]), curves.CURVES["throughput"])
    assert len({line.look for line in lines}) == len(lines) == 8
    drawn = chart_of(run, "throughput").panels.data
    assert len({(trace["line"]["color"], trace["line"]["dash"]) for trace in drawn}) == 8
    axis = throughput_panels([run], "").axes[0]
    assert len({(line.get_color(), line.get_linestyle()) for line in axis.lines}) == 8


def test_many_flows_are_a_median_a_band_and_outliers_by_name(twelve):
    ((median, outlier),), note = curves.curves(replicas([twelve]), curves.CURVES["throughput"])
    assert median.name == "median of 12 intra-datacenter flows"
    assert outlier.name == "alone"
    assert "flows far from the others by name: alone" in note
    rows = np.array([twelve.samples.get(f"flow/{name}", "throughput")[1] for name in twelve.samples.objects("flow")])
    assert np.allclose(median.values, np.median(rows, axis=0))
    assert np.allclose(median.band, np.percentile(rows, [10, 90], axis=0))
    shown = chart_of(twelve, "throughput")
    assert note in shown.explanation
    assert [trace["name"] for trace in shown.panels.data if "name" in trace] == [median.name, "alone"]
    assert len(throughput_panels([twelve], "").axes[0].collections) == 1


def test_of_flows_that_are_alike_none_is_an_outlier_and_only_those_under_way_count(tmp_path):
    late = [flow(f"web-{i}", f"h{i}", f"h{i + 4}", 'start = "2ms"\nstop = "4ms"') for i in range(1, 5)]
    later = [flow(f"web-{i}", f"h{i}", f"h{i - 4}", 'start = "2ms"\nstop = "4ms"') for i in range(9, 15)]
    run = simulate(tmp_path, late + later)
    ((median,),), note = curves.curves(replicas([run]), curves.CURVES["throughput"])
    assert "no flow is far from the others" in note
    under_way = (median.times > 0.002) & (median.times < 0.0041)
    assert np.isfinite(median.values[under_way]).all()
    assert np.isnan(median.values[~under_way]).all()


def test_both_kinds_of_many_flows_have_a_median_of_their_own():
    run = farloop.run("gear/fig09", set={"run.duration": "2ms", "flow.intra.count": "6", "flow.cross.count": "6"})
    ((*lines,),), _ = curves.curves(replicas([run]), curves.CURVES["throughput"])
    medians = {line.name: line.colour for line in lines if line.band}
    assert medians == {
        "median of 6 intra-datacenter flows": palette.INTRA[0],
        "median of 6 cross-datacenter flows": palette.CROSS[0],
    }


def test_there_is_no_round_trip_time_before_the_first_sample(tmp_path):
    run = simulate(tmp_path, [flow("late", "h1", "h5", 'start = "2ms"'), flow("early", "h2", "h6")])
    raw = run.samples.get("flow/late", "rtt")[1]
    assert (raw[:20] == 0).all(), "the table has zeros there"
    ((late, _),), _ = curves.curves(replicas([run]), curves.CURVES["rtt"])
    assert np.isnan(late.values[:20]).all()
    assert np.nanmin(late.values) > 0
    assert np.array_equal(late.values[20:], raw[20:])


def test_nothing_is_drawn_where_nothing_happened(tmp_path):
    run = simulate(tmp_path, [flow("one", "h1", "h5", 'start = "6ms"')], duration="5ms")
    anchors = {chart.anchor for chart in charts(run.alone)}
    assert "rtt" not in anchors, "no sample of it"
    assert not {"max_queue", "dropped", "paused"} & anchors, "no queue, drop or pause"
    assert {path.name for path in draw.draw(run.alone, tmp_path)}.isdisjoint({"queue.png"})


def test_a_panel_without_a_curve_is_left_out(twelve, tmp_path):
    none = simulate(tmp_path, [flow("one", "h1", "h5")], record="flows = []")
    figure = throughput_panels([dataclasses.replace(none, label="none"), twelve], "")
    assert [axis.get_title() for axis in figure.axes if axis.get_visible()] == ["newreno"]


def test_a_single_sample_is_a_dot(tmp_path):
    run = simulate(tmp_path, [flow("one", "h1", "h5")], duration="120us")
    (trace,) = chart_of(run, "throughput").panels.data
    assert trace["mode"] == "markers"
    (line,) = throughput_panels([run], "").axes[0].lines
    assert line.get_marker() == "."


def test_the_worst_ports_are_in_the_report_though_nobody_named_them(tmp_path):
    incast = [flow(f"in-{i}", f"h{i}", "h16", 'size = "2MB"') for i in range(13, 16)]
    run = simulate(tmp_path, incast, buffer="300kB")
    assert "leaf4->h16" in run.samples.objects("worst")
    assert "leaf4->h16" not in run.samples.objects("port"), "no port that the topology takes for its bottleneck"
    assert run.summary["worst"]["drops"]["port"] == "leaf4->h16"
    queue = run.samples.get("worst/leaf4->h16", "queue")[1]
    assert run.summary["worst"]["drops"]["p99_queue"] == pytest.approx(np.percentile(queue, 99))
    drops = chart_of(run, "dropped")
    (trace,) = [trace for trace in drops.panels.data if trace["name"] == "leaf4-&gt;h16"]
    assert np.sum(trace["y"]) == run.summary["worst"]["drops"]["drops"]
    text = page.page(run.alone)
    assert re.search(r'<h3 id="dropped">Drops</h3>', text)
    named = simulate(tmp_path, incast, buffer="300kB", record='ports = ["leaf1->*"]')
    assert named.samples.objects("worst") == []
    assert set(named.samples.objects("port")) == {f"leaf1->{n}" for n in ("h1", "h2", "h3", "h4", "spine1", "spine2")}


def test_the_worst_ports_are_the_same_on_any_number_of_threads(tmp_path):
    incast = [flow(f"in-{i}", f"h{i}", "h16", 'size = "200kB"') for i in range(1, 9)]
    single, four = (simulate(tmp_path, incast, buffer="300kB", threads=threads) for threads in (1, 4))
    assert single.samples.objects("worst")
    assert single.series.equals(four.series)
