"""Pictures: nothing is cropped, nothing covers anything, units and scales suit the data, texts are drawn as they stand."""

import base64
import dataclasses
import itertools
import json
import re

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import farloop
from farloop.results import curves
from farloop.results.replicas import replicas
from farloop.units import BYTES, RATES, TIMES, unit_for
from farloop.views.figures import draw as figures
from farloop.views.figures.panels import grid, queue_panels, slowdown_panels, throughput_panels
from farloop.views.figures.text import escape_text
from farloop.views.report import page as report
from farloop.views.report.charts import charts
from farloop.views.report.tables import name_in_words

LONG = "A title that goes on and on, as the titles of papers do, past the width of any panel, and further still, to the end of the line"

MICROSECONDS = f"""
title = "{LONG}"
[run]
duration = "60us"
[record]
interval = "500ns"
[network]
topology = "dumbbell"
wan_delay = "5us"
[algorithm]
name = "hpcc"
[[flow]]
name = "intra $x^2^3$"
from = "s1"
to = "d1"
[[flow]]
name = "cross"
from = "s2"
to = "r1"
"""


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    path = tmp_path_factory.mktemp("short") / "short.toml"
    path.write_text(MICROSECONDS.replace("intra $x^2^3$", "intra"), encoding="utf-8")
    return farloop.run(path)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    path = tmp_path_factory.mktemp("many") / "many.toml"
    text = """
[run]
duration = "2ms"
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
    path.write_text(text, encoding="utf-8")
    return farloop.compare(path, ["fixed", "hpcc", "timely"])


def drawn(figure):
    """A figure with everything in its place, and what measures it."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return canvas.get_renderer()


def texts(figure):
    labels = [t for axis in figure.axes if axis.get_visible() for t in (axis.title, axis.xaxis.label, axis.yaxis.label)]
    return [t for t in [figure._suptitle, *labels] if t and t.get_text()]


def check(figure):
    """Every text inside the figure, no tick label on its neighbour, no legend on any panel."""
    renderer = drawn(figure)
    for text in texts(figure):
        box = text.get_window_extent(renderer)
        assert box.x0 >= 0, text.get_text()
        assert box.x1 <= figure.bbox.x1 + 1, text.get_text()
        assert box.y1 <= figure.bbox.y1 + 1, text.get_text()
    for axis in figure.axes:
        if not axis.get_visible():
            continue
        shown = [t for t in axis.get_xticklabels() if t.get_text()]
        low, high = sorted(axis.get_xlim())
        boxes = [t.get_window_extent(renderer) for t in shown if low <= t.get_position()[0] <= high]
        boxes.sort(key=lambda box: box.x0)
        for left, right in itertools.pairwise(boxes):
            assert left.x1 < right.x0, [t.get_text() for t in shown]
        for legend in figure.legends:
            assert not legend.get_window_extent(renderer).overlaps(axis.get_window_extent(renderer))
        assert axis.get_legend() is None


@pytest.mark.parametrize("panels", [throughput_panels, queue_panels])
def test_a_single_run_of_microseconds_is_drawn_whole(short, panels):
    figure = panels([short], LONG)
    check(figure)
    assert figure.axes[0].get_xlabel() == "time (µs)"
    assert figure.axes[0].get_xlim()[1] == pytest.approx(60, rel=0.1)


def test_long_names_of_runs_fit_above_their_panels(short):
    runs = [dataclasses.replace(short, label=f"{LONG} {i}") for i in range(4)]
    check(throughput_panels(runs, LONG))


def test_the_legend_leaves_the_p99_curves_free(many):
    figure = slowdown_panels(many.runs, LONG)
    check(figure)
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["fixed", "hpcc", "timely"]


def test_both_kinds_of_flows_have_one_scale(many):
    mixed = [dataclasses.replace(run) for run in many.runs]
    figure = slowdown_panels(mixed, "")
    by_size = figure.axes[::2]
    assert len({tuple(axis.get_ylim()) for axis in by_size}) == 1
    assert len({tuple(axis.get_xlim()) for axis in by_size}) == 1
    highest = max(line.get_ydata().max() for axis in by_size for line in axis.lines)
    assert by_size[0].get_ylim()[1] >= highest


@pytest.mark.parametrize("count", [1, 4, 6, 11])
def test_each_bar_that_has_a_name_stands_above_it(count):
    figure, axes = grid(2, "", columns=2, shared=False)
    names = [f"case {i}" for i in range(count)]
    axes[0].bar(names, range(count))
    axes[1].plot(range(1000))
    FigureCanvasAgg(figure).draw()
    assert [(t.get_text(), x) for t, x in zip(axes[0].get_xticklabels(), axes[0].get_xticks(), strict=True)] == [
        (name, i) for i, name in enumerate(names)
    ]
    assert len(axes[1].get_xticks()) <= 8


@pytest.mark.parametrize("text", ["$x^2^3$", r"a \$ b $ c $", "$", r"\alpha", "_hidden", "a_b^c"])
def test_texts_are_drawn_as_they_stand(comparison, tmp_path, text):
    sly = dataclasses.replace(
        comparison, title=text, runs=[dataclasses.replace(comparison.runs[0], label=text), comparison.runs[1]]
    )
    assert figures.draw(sly, tmp_path)
    shown, is_formula = mpl.text.Text()._preprocess_math(escape_text(text))
    assert not is_formula
    assert shown.lstrip("\u200b") == text


def test_the_papers_figures_take_any_title_and_name(comparison, tmp_path):
    runs = [dataclasses.replace(run, label=f"$x^2^3$ {run.label}") for run in comparison.runs]
    sly = dataclasses.replace(comparison, title="$x^2^3$", runs=runs, figure="gear/fig14")
    assert {p.name for p in figures.draw(sly, tmp_path)} == {"fig14.png"}


def test_units_follow_the_data():
    assert unit_for([2.0], TIMES).name == "s"
    assert unit_for([0.5], TIMES).name == "ms"
    assert unit_for([20e-6], TIMES).name == "µs"
    assert unit_for([900.0, 12e3], BYTES).name == "kB"
    assert unit_for([900.0], BYTES).name == "B"
    assert unit_for([1e9], RATES).name == "Gbps"
    assert unit_for([], BYTES).name == "B"
    assert unit_for([0.0, float("nan")], TIMES).name == "s"


def test_charts_have_units_by_the_data_one_scale_and_say_if_it_is_logarithmic(short, small):
    comparison = farloop.compare(small, ["hpcc", "dctcp"], set={"network.wan_delay": "10ms", "run.duration": "60ms"})
    of_short = {c.anchor: c for c in charts(farloop.Comparison("", [short]))}
    assert of_short["throughput"].panels.layout["xaxis"]["title"]["text"] == "time (µs)"
    assert of_short["cwnd"].panels.layout["yaxis"]["title"]["text"] == "kB"
    by_name = {c.anchor: c for c in charts(comparison)}
    for chart in by_name.values():
        axes = [chart.panels.layout[f"yaxis{i}"] for i in ("", 2)]
        assert axes[1]["matches"] == "y", chart.anchor
    # Base round-trip times of some 40 µs and 20 ms.
    assert by_name["rtt"].panels.layout["yaxis"]["type"] == "log"
    assert "logarithmic" in by_name["rtt"].explanation
    assert by_name["throughput"].panels.layout["yaxis"].get("type") != "log", "shares of a link"


def with_samples(run, count):
    """A run whose samples are many."""
    table = {"t": np.arange(1, count + 1) * 1e-3, "v": np.linspace(0, 1e9, count)}

    class Samples:
        def objects(self, kind):
            return ["intra"] if kind == "flow" else []

        def __contains__(self, key):
            return True

        def highest(self, kind, metric, most):
            return self.objects(kind)

        def get(self, obj, metric):
            return table["t"], table["v"]

    copy = dataclasses.replace(run)
    copy.__dict__.update(samples=Samples(), summary=run.summary)
    return copy


def test_report_and_picture_show_the_same_points_and_say_what_they_are(result):
    run = with_samples(result, 4500)
    (lines,), note = curves.curves(replicas([run]), curves.CURVES["throughput"])
    assert note == "each point the mean of 3 samples (3 ms)"
    figure = throughput_panels([run], "")
    assert figure.legends[0].get_title().get_text() == note
    (chart,) = [c for c in charts(farloop.Comparison("", [run])) if c.anchor == "throughput"]
    assert note in chart.explanation
    in_picture = figure.axes[0].lines[0].get_ydata()
    assert np.allclose(in_picture, chart.panels.data[0]["y"])
    assert len(in_picture) == 1500 == lines[0].times.size


def test_where_every_sample_is_a_point_nothing_is_said(result):
    assert curves.curves(replicas([result]), curves.CURVES["throughput"])[1] == ""


def test_numbers_of_claims_have_names_for_people():
    assert name_in_words("Gear_ratio_least") == "Gear ratio (least)"
    assert name_in_words("GEMINI_converged_s") == "GEMINI converged (s)"
    assert name_in_words("ratio") == "ratio"


def test_the_report_escapes_names_of_runs_and_flows(result):
    page = report.page(farloop.Comparison("", [dataclasses.replace(result, label="<b>x</b>")]))
    assert "<b>x</b>" not in page.replace("\\u003cb\\u003e", "")


def test_charts_are_what_plotly_draws(comparison, result):
    """The Python package of plotly refuses what its script does not know."""
    import plotly.graph_objects as go

    many = farloop.Comparison("five", [dataclasses.replace(result, label=f"run {i}") for i in range(5)])
    for compared in (comparison, many):
        for chart in charts(compared):
            panels = go.Figure({"data": chart.panels.data, "layout": chart.panels.layout})
            assert len(panels.layout.annotations) == len(compared)
            go.Figure({"layout": chart.panels.narrow_layout()})
            drawn = chart.panels.html("here")
            written = json.loads(re.search(r"\.push\((\{.*\})\)</script>", drawn)[1])
            assert (written["narrow"], written["wide"]) == (chart.panels.narrow_layout(), chart.panels.layout)
            assert (len(written["data"]), written["config"]["responsive"]) == (len(panels.data), True)
            y = np.frombuffer(base64.b64decode(written["data"][0]["y"]["bdata"]), "<f8")
            assert np.array_equal(y, chart.panels.data[0]["y"], equal_nan=True)
    throughput = charts(many)[0].panels.layout
    # Three rows of two, the last of one; each column says below its last panel what runs along it.
    assert [i for i in range(1, 6) if throughput[f"xaxis{i if i > 1 else ''}"]["title"].get("text")] == [4, 5]
    assert "xaxis6" not in throughput
    below, above = throughput["yaxis5"]["domain"], throughput["yaxis3"]["domain"]
    assert below[0] == 0 and below[1] < above[0] < above[1] < throughput["yaxis"]["domain"][0]
    assert throughput["yaxis"]["domain"][1] == pytest.approx(1)
    # On a phone one below the other, all with their names.
    narrow = next(c for c in charts(many) if c.anchor == "throughput").panels.narrow_layout()
    domains = [narrow[f"yaxis{i if i > 1 else ''}"]["domain"] for i in range(1, 6)]
    assert all(lower[1] < upper[0] for upper, lower in itertools.pairwise(domains))
    assert all(narrow[f"xaxis{i if i > 1 else ''}"]["domain"] == [0, 1] for i in range(1, 6))
    assert all(narrow[f"yaxis{i if i > 1 else ''}"]["title"]["text"] for i in range(1, 6))
    assert narrow["height"] > throughput["height"]
