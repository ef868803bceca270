"""What a study shows: bands from low to high with gaps, places that the seeds can tell, precision that was not reached."""

import numpy as np
import pyarrow as pa
import pytest

from farloop.studies.sweep import multiples
from farloop.views import study_page, study_pictures

METRIC = "mean_slowdown"
UNITS = {"workload.load": "1", METRIC: "1", f"{METRIC} low": "1", f"{METRIC} high": "1", f"{METRIC} ci95": "1"}


def table(columns):
    columns_only = pa.table(columns)
    described = [field.with_metadata({"unit": UNITS.get(field.name, "")}) for field in columns_only.schema]
    return columns_only.cast(pa.schema(described))


def points(values, low, high, **more):
    count = len(values)
    half = [None if a is None else max(v - a, b - v) for v, a, b in zip(values, low, high, strict=True)]
    columns = {
        "point": list(range(1, count + 1)),
        "algorithm": ["hpcc"] * count,
        "workload.load": [0.1 * (i + 1) for i in range(count)],
        "seeds": [10] * count,
        METRIC: values,
        f"{METRIC} ci95": pa.array(half, pa.float64()),
        f"{METRIC} low": pa.array(low, pa.float64()),
        f"{METRIC} high": pa.array(high, pa.float64()),
    }
    return table(columns | more)


GAP = points(
    [1.2, 1.5, 2.0, 2.6, 7.4, 9.0],
    [1.1, 1.4, None, 2.2, None, None],
    [1.4, 2.5, None, 9.5, None, None],
)


def test_a_band_has_a_gap_where_no_interval_exists():
    drawn = multiples.multiples(GAP, ["workload.load"], METRIC)
    (line,) = drawn.panels[""]
    assert line.low[[0, 1, 3]].tolist() == [1.1, 1.4, 2.2]
    assert line.high[[0, 1, 3]].tolist() == [1.4, 2.5, 9.5]
    assert np.isnan(line.low[[2, 4, 5]]).all()
    assert (line.bands(), line.list_isolated()) == ([slice(0, 2)], [3])
    figure = study_pictures.small_multiples(drawn, "")
    axis = figure.axes[0]
    (band,) = [c for c in axis.collections if c.get_paths() and len(c.get_paths()[0].vertices) > 3]
    ends = band.get_paths()[0].vertices
    assert ends[:, 0].max() == pytest.approx(0.2), "the band ends where no interval is"
    assert (ends[:, 1].min(), ends[:, 1].max()) == (1.1, 2.5)


def test_a_report_s_band_has_the_same_gap():
    drawn = multiples.multiples(GAP, ["workload.load"], METRIC)
    traces = study_page._panels(drawn).data
    (band,) = [trace for trace in traces if trace.get("fill") == "toself"]
    assert np.asarray(band["x"]).tolist() == pytest.approx([0.1, 0.2, 0.2, 0.1])
    assert np.asarray(band["y"]).tolist() == [1.4, 2.5, 1.4, 1.1]
    (line,) = [trace for trace in traces if "error_y" in trace]
    assert np.flatnonzero(np.isfinite(line["error_y"]["array"])).tolist() == [3], "an interval alone is a bar"
    assert line["error_y"]["array"][3] == pytest.approx(6.9)
    assert line["error_y"]["arrayminus"][3] == pytest.approx(0.4)


def test_an_interval_is_told_by_its_ends():
    row = GAP.to_pylist()
    assert multiples.metric_text(row[3], METRIC, "1") == "2.6 [2.2, 9.5]"
    assert multiples.metric_text(row[2], METRIC, "1") == "2"


def test_a_study_of_an_older_version_is_not_drawn_below_zero():
    old = GAP.drop_columns([f"{METRIC} low", f"{METRIC} high"])
    interval = multiples.interval_of(old.to_pylist()[3], METRIC)
    assert (interval.low, interval.high) == (0.0, pytest.approx(9.5))


def runs(scores):
    rows = [(p, seed, value) for p, each in enumerate(scores, 1) for seed, value in enumerate(each, 1)]
    return pa.table(
        {
            "point": [p for p, _, _ in rows],
            "seed": [seed for _, seed, _ in rows],
            "status": ["done"] * len(rows),
            METRIC: [float(value) for _, _, value in rows],
        }
    )


def test_places_are_given_where_the_seeds_tell_them():
    draw = np.random.default_rng(3)
    base = np.exp(draw.normal(size=10))
    noise = 1 + 0.02 * draw.normal(size=(4, 10))
    scores = base * noise * np.array([[1.0], [1.001], [2.0], [4.0]])
    table_ = points([float(row.mean()) for row in scores], [None] * 4, [None] * 4)
    shown, note = multiples.standings(runs(scores), table_, METRIC, "less")
    places = {row["point"]: place for place, row in shown}
    assert {places[1], places[2]} == {"best", "not told apart from the best"}
    assert (places[3], places[4]) == ("3 of 4", "worst")
    assert note.startswith("The seeds do not tell the best from 1 other point")


def test_what_no_seed_tells_apart_is_no_ranking():
    scores = np.exp(np.random.default_rng(4).normal(size=(5, 10)))
    table_ = points([float(row.mean()) for row in scores], [None] * 5, [None] * 5)
    shown, note = multiples.standings(runs(scores), table_, METRIC, "less")
    assert [place for place, _ in shown][1:] == ["not told apart from the best"] * 4
    assert "this is no ranking" in note
    _, note = multiples.standings(runs(scores[:, :1]), table_, METRIC, "less")
    assert "nothing tells" in note
