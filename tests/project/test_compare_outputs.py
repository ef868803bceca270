"""The comparison of outputs before and after a change that moves no number: what it sees, and what it lets pass."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest


@pytest.fixture
def folders(tmp_path):
    """Two outputs that are the same but for wall time, commit and the order of columns and keys."""
    made = []
    for name, wall, commit in (("old", 1.0, "0123abc"), ("new", 2.0, "fedcba9")):
        folder = tmp_path / name / "run"
        folder.mkdir(parents=True)
        columns = {"flow": ["a", "b"], "fct_s": [0.5, float("nan")], "wall_s": [wall, wall]}
        order = list(columns) if name == "old" else list(reversed(columns))
        pq.write_table(pa.table({key: columns[key] for key in order}), folder / "flows.parquet")
        values = {"jain": 0.5, "rows": [{"name": "x", "n": 1}, {"name": "y", "n": 2}], "wall_s": wall}
        keys = list(values) if name == "old" else list(reversed(values))
        (folder / "summary.json").write_text(json.dumps({key: values[key] for key in keys}))
        (folder / "points.csv").write_text("# farloop\nload,p99\n0.1,3\n")
        (folder / "report.html").write_text(f"<p>commit {commit}</p>\n<p>0.5</p>\n")
        (folder / "picture.png").write_bytes(b"\x89PNG\xff")
        made.append(tmp_path / name)
    return made


def test_what_varies_from_run_to_run_does_not_count(scripts, folders, capsys):
    assert scripts("compare_outputs").compare(*folders, {}) == 0
    assert capsys.readouterr().out == "5 files in both folders, 0 differ\n"


@pytest.mark.parametrize(
    ("file", "old", "new", "line"),
    [
        ("summary.json", '"jain": 0.5', '"jain": 0.6', "jain: 0.5 became 0.6"),
        ("summary.json", '"n": 2', '"n": 3', "rows/y/n: 2 became 3"),
        ("summary.json", '"jain"', '"fairness"', "jain: gone, was 0.5"),
        ("points.csv", "0.1,3", "0.1,4", "p99: ['3'] became ['4']"),
        ("report.html", "0.5", "0.4", "line 2, column 6: '<p>0.5</p>' became '<p>0.4</p>'"),
        ("report.html", "</p>\n<p>", "</p>\n\n<p>", "3 lines became 4"),
    ],
)
def test_anything_else_is_a_difference(scripts, folders, capsys, file, old, new, line):
    path = folders[1] / "run" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    assert scripts("compare_outputs").compare(*folders, {}) == 1
    out = capsys.readouterr().out
    assert f"  {line}\n" in out
    assert out.endswith("5 files in both folders, 1 differ\n")


def test_tables_pictures_and_missing_files_count(scripts, folders, capsys):
    run = folders[1] / "run"
    pq.write_table(pa.table({"flow": ["a", "b"], "fct_s": [0.5, 0.25]}), run / "flows.parquet")
    (run / "picture.png").write_bytes(b"\x89PNG\xfe")
    (run / "points.csv").unlink()
    assert scripts("compare_outputs").compare(*folders, {}) == 1
    out = capsys.readouterr().out
    assert "fct_s: [0.5, 'nan'] became [0.5, 0.25]" in out
    assert "run/picture.png: 1 differences" in out
    assert "run/points.csv: in" in out
    assert out.endswith("4 files in both folders, 3 differ\n")


def test_a_label_may_get_another_name(scripts, folders):
    path = folders[1] / "run/summary.json"
    path.write_text(path.read_text().replace('"jain"', '"jain_endless"'))
    assert scripts("compare_outputs").compare(*folders, {"jain": "jain_endless"}) == 0
    assert scripts("compare_outputs").compare(*folders, {"jain": "jain_relative"}) == 1


def test_each_run_of_the_list_has_a_name_of_its_own(scripts):
    import tomllib

    module = scripts("compare_outputs")
    names = [run["name"] for run in tomllib.loads(module.RUNS.read_text("utf-8"))["run"]]
    assert len(names) == len(set(names))
    commands = {run["command"].split()[0] for run in tomllib.loads(module.RUNS.read_text("utf-8"))["run"]}
    assert commands >= {
        "run",
        "compare",
        "sweep",
        "advise",
        "arena",
        "reproduce",
        "validate",
        "why",
        "interference",
        "report",
    }
