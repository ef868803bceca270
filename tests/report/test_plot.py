"""`farloop plot` and `.plot()`: one metric of a result as a figure; its file is the same whenever it is written."""

import re
import shutil
import zlib
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from support import studies

import farloop
from farloop.results.curves import BUSIEST_PORTS, CURVES, OTHER_PORTS, curves
from farloop.results.replicas import Replicas
from farloop.results.tables import Series
from farloop.studies.advice.asking import Advice
from farloop.views.figures.style import STYLES, read_inches

KINDS = {"bars": "p99_slowdown", "cdf": "slowdown", "time": "throughput", "heatmap": "queue"}


@pytest.fixture(scope="module")
def compared(comparison, tmp_path_factory):
    return comparison.save(tmp_path_factory.mktemp("outputs") / "it's", report=False)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    place = studies.written(tmp_path_factory.mktemp("study"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("farloop.experiments.processes.LocalPool", studies.PoolOfOne)
        return farloop.study(place / "study.toml", out=place / "out", report=False)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", ["pdf", "svg", "png"])
def test_every_kind_is_written_in_every_format_with_its_command_and_the_same_bytes(
    compared, command, kind, format, monkeypatch
):
    words = ["plot", str(compared), "--kind", kind, "--metric", KINDS[kind], "--width", "84mm", "--out", f"a.{format}"]
    done = command(*words)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    content = (command.directory / f"a.{format}").read_bytes()
    monkeypatch.setattr("time.time", lambda: 2e9)
    assert command(*words).returncode == 0
    assert (command.directory / f"a.{format}").read_bytes() == content
    line = f"plot '{compared.parent}/it'\"'\"'s' --metric {KINDS[kind]}"
    if format == "png":
        with Image.open(command.directory / "a.png") as picture:
            assert line in picture.info["Description"]
            assert picture.width == pytest.approx(84 / 25.4 * 300, abs=1)
    elif format == "svg":
        text = content.decode("utf-8")
        assert line.replace('"', "&quot;") in text or line in text
        assert "<text" in text
        assert "<dc:date>" not in text
        assert re.search(r'width="238\.\d+pt"', text)
    else:
        assert b"/CreationDate" not in content
        assert b"/Type3" not in content
        assert b"/FontFile2" in content
        assert b"/Subject" in content


def test_letters_of_a_paper_are_eight_points(compared, command):
    assert command("plot", str(compared), "--out", "a.pdf").returncode == 0
    content = (command.directory / "a.pdf").read_bytes()
    streams = [
        zlib.decompress(part)
        for part in re.findall(rb"FlateDecode.*?stream\r?\n(.*?)\r?\nendstream", content, re.DOTALL)
    ]
    sizes = {float(size) for stream in streams for size in re.findall(rb"/F\d+ ([0-9.]+) Tf", stream)}
    assert sizes == {STYLES["paper"].font, STYLES["paper"].font - 1}


def test_groups_stand_beside_one_another_and_bars_have_hatches(comparison):
    figure = comparison.plot("throughput", group="intra,cross", style="paper")
    (axis,) = figure.axes
    assert [label.get_text() for label in axis.get_xticklabels()] == ["intra", "cross"]
    heights = [bar.get_height() for bar in axis.patches]
    expected = [run.summary["mean_throughput"][kind] for run in comparison for kind in ("intra", "cross")]
    unit = {"Gbps": 1e9, "Mbps": 1e6}[re.search(r"\((\w+)\)", axis.get_ylabel())[1]]
    assert heights == pytest.approx([value / unit for value in expected])
    assert len({bar.get_hatch() for bar in axis.patches}) == 2


def test_a_distribution_is_that_of_the_flows(comparison):
    figure = comparison.plot("p99_slowdown", "cdf", group="cross")
    lines = figure.axes[0].get_lines()
    assert [line.get_label() for line in lines] == ["hpcc", "dctcp"]
    for line, run in zip(lines, comparison, strict=True):
        assert sorted(line.get_xdata()) == pytest.approx(sorted(run.slowdown))
    assert len({line.get_linestyle() for line in lines}) == 2, "told apart without colour"


def test_an_identifier_is_the_number_of_that_name(comparison):
    by_name, by_identifier = (comparison.plot(m) for m in ("cross_mean_slowdown", "fct_slowdown/mean/cross/finished"))
    widths = [[bar.get_width() for bar in figure.axes[0].patches] for figure in (by_name, by_identifier)]
    assert widths[0] == widths[1] == pytest.approx([run.slowdown.mean() for run in comparison])


def test_a_heat_map_has_the_same_ports_in_the_same_rows_of_all_panels(comparison):
    figure = comparison.plot("queue", "heatmap")
    panels = [axis for axis in figure.axes if axis.get_label() != "<colorbar>"]
    assert len(panels) == 2
    values = [axis.collections[0].get_array() for axis in panels]
    assert values[0].shape == values[1].shape
    names = [label.get_text() for label in panels[0].get_yticklabels()]
    peak = max(float(run.samples.get(f"port/{names[0]}", "max_queue")[1].max()) for run in comparison)
    unit = {"kB": 1e3, "MB": 1e6}[re.search(r"\((\w+)\)", figure.axes[-1].get_ylabel())[1]]
    assert max(float(np.nanmax(v[0])) for v in values) * unit == pytest.approx(peak)


def test_many_ports_are_the_busiest_and_a_band_of_the_others():
    times = np.arange(1.0, 5.0)
    kept = {(f"port/p{i}", "max_queue"): (times, np.full(4, float(i + 1))) for i in range(14)}
    series = Series.__new__(Series)
    series._index = kept
    run = SimpleNamespace(samples=series, flows=None)
    ((*lines, others),), note = curves([Replicas("x", [run])], CURVES["max_queue"], busiest=BUSIEST_PORTS)
    assert [line.name for line in lines] == ["p9", "p10", "p11", "p12", "p13"]
    assert others.name == OTHER_PORTS
    low, high = others.band
    assert (low[0], others.values[0], high[0]) == (1.0, 5.0, 9.0)
    assert note == "other ports: median and range of 9"


def test_a_study_has_its_points(study, command):
    figure = study.plot("throughput")
    (axis,) = figure.axes
    assert [label.get_text() for label in axis.get_xticklabels()] == ["0.2", "0.4"]
    assert axis.get_xlabel() == "workload.load"
    rows = study.points.to_pylist()
    unit = {"Gbps": 1e9, "Mbps": 1e6}[re.search(r"\((\w+)\)", axis.get_ylabel())[1]]
    assert [bar.get_height() for bar in axis.patches] == pytest.approx([row["throughput"] / unit for row in rows])
    words = [
        "plot",
        str(study.directory),
        "--kind",
        "heatmap",
        "--metric",
        "fct_slowdown/p99/finished",
        "--out",
        "a.pdf",
    ]
    assert command(*words).returncode == 0
    done = command("plot", str(study.directory), "--kind", "cdf")
    assert done.returncode == 2
    assert "a study has numbers, no flows or series; expected bars or heatmap" in done.stderr


def test_an_answer_and_an_explanation_have_bars(comparison, tmp_path):
    rows = [{"candidate": name, "seed": seed, "goodput": 1e9 * seed} for name in ("cubic", "bbr") for seed in (1, 2)]
    candidates = [{"name": name, "quantities": {"goodput": 1.5e9}} for name in ("cubic", "bbr")]
    answer = Advice(tmp_path, "", (), (), {"title": "t", "candidates": candidates, "runs": rows})
    assert [bar.get_width() for bar in answer.plot().axes[0].patches] == pytest.approx([1.5, 1.5])
    explanation = farloop.why(comparison.runs[0], "cross-short")
    figure = explanation.plot()
    unit = {"ms": 1e-3, "µs": 1e-6}[re.search(r"\((\w+)\)", figure.axes[0].get_xlabel())[1]]
    widths = [bar.get_width() for bar in figure.axes[0].patches]
    assert sum(widths) * unit == pytest.approx(explanation.time_ps / 1e12)
    assert widths == sorted(widths, reverse=True)
    assert explanation.plot()._repr_png_()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--kind", "pie"], "--kind pie: no such kind; there is bars, cdf, time, heatmap"),
        (["--metric", "p99_slowdwn"], "--metric p99_slowdwn: no such metric; did you mean p99_slowdown?"),
        (["--metric", "a/b"], "--metric a/b: no such measure of a run; there is "),
        (["--metric", "jain", "--kind", "cdf"], "--kind cdf: jain is one number of a run; expected a metric of flows"),
        (
            ["--metric", "jain", "--group", "cross"],
            "--metric jain: is not counted by group; expected a metric of flows",
        ),
        (
            ["--metric", "jain", "--kind", "time"],
            "--metric jain: is no curve over time; did you mean pacing? there is throughput",
        ),
        (["--metric", "jain", "--kind", "heatmap"], "--metric jain: is no series over time; "),
        (["--group", "up"], "--group up: no such group of flows; there is intra, cross, all"),
        (
            ["--size", "tiny"],
            "--size tiny: no such class of flow sizes; there is small, medium, large (--sizes gemini)",
        ),
        (["--width", "3"], "--width 3: expected a length from 1in to 40in, such as 3.3in, 84mm or 240pt"),
        (["--height", "900in"], "--height 900in: expected a length from 1in to 40in"),
        (["--style", "pap"], "--style pap: no such style; did you mean paper?"),
        (["--format", "gif"], "--format gif: no such format; there is pdf, svg, png"),
        (
            ["--format", "svg", "--out", "a.pdf"],
            "--format svg and --out a.pdf: expected an ending of that format, .svg",
        ),
        (["--out", "a.jpg"], "--out a.jpg: no such format; expected an ending of .pdf, .svg, .png, or --format"),
    ],
)
def test_what_is_refused_names_the_option_and_what_is_accepted(compared, command, words, said):
    done = command("plot", str(compared), *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"farloop: {said}"), done.stderr
    assert done.stderr.count("\n") == 1
    assert list(command.directory.iterdir()) == []


def test_a_file_of_the_output_is_not_overwritten(compared, command, tmp_path):
    own = tmp_path / "copy"
    shutil.copytree(compared, own)
    (own / "summary.svg").symlink_to(own / "summary.json")
    done = command("plot", str(own), "--out", str(own / "summary.svg"))
    assert done.returncode == 2
    assert "summary.json" in done.stderr


@pytest.mark.parametrize(
    ("text", "inches"), [("3.3in", 3.3), ("84mm", 84 / 25.4), ("8.4 cm", 84 / 25.4), ("240pt", 240 / 72)]
)
def test_lengths_have_units(text, inches):
    assert read_inches(text) == pytest.approx(inches)


def test_notebooks_show_a_study(study):
    html = study._repr_html_()
    assert f"<h3>{study.title}</h3>" in html
    assert len(re.findall("<tr", html)) == study.points.num_rows + 1
    assert "workload.load" in html or "load = 0.2" in html
