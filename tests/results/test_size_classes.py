"""Classes of flow sizes: bounds, names, what is refused, and how tables and summaries state them."""

import dataclasses
import json
import re
import warnings

import numpy as np
import pyarrow as pa
import pytest

import farloop
from farloop.errors import FarloopError
from farloop.results import flow_completion, jitter, measures
from farloop.results.size_classes import GEMINI, MARK, MEDIAN, MIN_TAIL_FLOWS, NO_FLOWS, SplitAtMedian, add_mark, parse
from farloop.views.report.page import page
from farloop.views.report.tables import size_note, size_rows, slowdown_rows

SCENARIO = """\
title = "Sizes"
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

LONG = "".join(
    f"""
[[flow]]
name = "long-{i}"
from = "s{i}"
to = "d{i}"
size = "150kB"
"""
    for i in (1, 2)
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("sizes") / "sizes.toml"
    path.write_text(SCENARIO + LONG, encoding="utf-8")
    return farloop.run(path)


def members(classes, sizes):
    """The sizes in each class, by name."""
    values = np.array([np.nan if size is None else size for size in sizes])
    return {name: values[mask].tolist() for name, mask in classes.masks(values).items()}


def test_a_bound_belongs_to_the_class_below_it():
    sizes = [None, 1, 100e3, 100e3 + 1, 10e6, 10e6 + 1]
    assert members(GEMINI, sizes) == {"small": [1, 100e3], "medium": [100e3 + 1, 10e6], "large": [10e6 + 1]}
    assert members(parse("20kB"), [20e3, 20e3 + 1]) == {"up_to_20kB": [20e3], "above_20kB": [20e3 + 1]}


def test_the_median_divides_flows_with_a_size():
    assert members(MEDIAN, [None, 1, 3, 3, 9]) == {"at_most_median": [1, 3, 3], "above_median": [9]}
    assert members(MEDIAN, [None]) == {"at_most_median": [], "above_median": []}
    assert members(MEDIAN, []) == {"at_most_median": [], "above_median": []}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("gemini", ("small", "medium", "large")),
        ("100kB, 10MB", ("small", "medium", "large")),
        ("median", ("at_most_median", "above_median")),
        ("20kB,1MB", ("up_to_20kB", "20kB_to_1MB", "above_1MB")),
        ("64KiB", ("up_to_65.536kB", "above_65.536kB")),
        ("1B,2GB", ("up_to_1B", "1B_to_2GB", "above_2GB")),
    ],
)
def test_classes_are_read_from_names_and_bounds(text, names):
    classes = parse(text)
    assert classes.names == names
    assert parse(classes.name) == classes, "what an output keeps is read again"
    for size in classes.classes:
        assert "/" not in size.name and " " not in size.name
        assert measures.time_identifier("fct", "p99", "", size.name) in measures.declared_measures(classes)


TOO_MANY = ",".join(f"{i}kB" for i in range(1, 10))


@pytest.mark.parametrize(
    "text",
    ["", "tiny", "1MB,20kB", "20kB,20kB", "20kB,20000B", "0B", "-1kB", "1e999B", "20", "20kB,", TOO_MANY, 5],
)
def test_what_are_no_classes_is_refused_in_a_line(text):
    with pytest.raises(FarloopError, match="expected gemini, median, or up to 8 sizes that grow") as caught:
        parse(text)
    assert "\n" not in str(caught.value)


def test_small_medium_and_large_are_the_same_in_every_command():
    from farloop.studies.arena import measuring

    assert measuring.SIZES is GEMINI
    assert set(GEMINI.names) | set(MEDIAN.names) <= set(measures.SIZES)
    assert GEMINI.note.startswith(
        "Small: up to 100 kB; medium: more than 100 kB, up to 10 MB; large: more than 10 MB (GEMINI"
    )


def test_a_summary_has_classes_with_their_number_of_flows(run):
    summary = run.summary["slowdown"]["intra"]
    assert run.summary["sizes"] == "gemini"
    counts = {name: of["flows"] for name, of in summary["classes"].items()}
    assert counts == {"small": summary["flows"] - 2, "medium": 2, "large": 0}
    assert summary["classes"]["large"] == {"flows": 0, "mean": None, "p50": None, "p95": None, "p99": None}
    chosen = run.by_sizes("20kB").summary["slowdown"]["intra"]["classes"]
    assert {name: of["flows"] for name, of in chosen.items()} == {"up_to_20kB": counts["small"], "above_20kB": 2}
    assert run.by_sizes(None) is run
    with pytest.raises(FarloopError, match="expected gemini"):
        run.by_sizes("all")


def test_old_names_find_what_they_meant_with_a_warning(run):
    summary = run.summary
    for old, new in (("small", "at_most_median"), ("large", "above_median")):
        with pytest.warns(DeprecationWarning, match=f'"{old}" meant .* the median size .*: write "{new}"'):
            assert summary["slowdown"]["intra"][old] == summary["slowdown"]["intra"][new]
        with pytest.warns(DeprecationWarning, match=old):
            assert summary["slowdown"]["intra"].get(old) == summary["slowdown"]["intra"][new]
    with pytest.warns(DeprecationWarning, match="at_most_median"):
        assert summary["before_first_ack"]["intra"]["small"]["flows"] > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert summary["slowdown"]["intra"].get("medium") is None
        assert summary["slowdown"]["intra"].get("flows") > 0
        with pytest.raises(KeyError, match="nothing"):
            summary["slowdown"]["intra"]["nothing"]
        with pytest.raises(KeyError, match="small"):
            SplitAtMedian()["small"]
        assert "small" not in json.loads(json.dumps(summary["slowdown"]["intra"]))


def test_old_names_find_what_they_meant_over_seeds(run):
    several = farloop.run(run.file, seeds=[1, 2])
    (numbers,) = several.statistics.values()
    for of in (numbers["slowdown"]["intra"], numbers["pooled"]["intra"]):
        with pytest.warns(DeprecationWarning, match="at_most_median"):
            assert of["small"] == of["at_most_median"]
    assert numbers["pooled"]["intra"]["classes"]["medium"]["flows"] == 4
    assert numbers["pooled"]["intra"]["classes"]["large"] == {"flows": 0}


def test_tables_state_the_number_of_flows_and_mark_tails_of_few(run):
    header, rows = size_rows(run.alone)
    assert header[2:5] == ["small: flows", "small: mean", "small: p99"]
    row = dict(zip(header, rows[0], strict=True))
    assert row["medium: flows"] == "2"
    assert re.fullmatch(rf"[\d.]+ \{MARK}", row["medium: p99"])
    assert (row["large: flows"], row["large: mean"], row["large: p99"]) == (NO_FLOWS, None, None)
    assert MARK not in row["small: p99"]
    note = size_note(run.alone)
    assert note.startswith("Small: up to 100 kB") and "over fewer than 20 flows" in note
    text = page(run.alone)
    assert f"<td>{row['medium: p99']}</td>" in text and NO_FLOWS in text and "over fewer than 20 flows" in text
    assert NO_FLOWS in str(run) and "over fewer than 20 flows" in str(run)
    assert size_rows(run.by_sizes("median").alone)[0][2] == "at most median: flows"
    assert size_rows(run.by_sizes("1kB").alone)[0][2] == "up to 1 kB: flows"


def test_over_seeds_numbers_of_flows_are_those_of_all_together(run):
    header, rows = size_rows(run.alone)
    alone = dict(zip(header, rows[0], strict=True))
    seeds = [
        dataclasses.replace(
            run,
            label=f"{run.label}, seed {seed}",
            scenario=run.scenario | {"run": run.scenario["run"] | {"seed": seed}},
        )
        for seed in (1, 2)
    ]
    several = farloop.Comparison("two", seeds, seeds=(1, 2))
    header, rows = size_rows(several)
    both = dict(zip(header, rows[0], strict=True))
    assert int(both["small: flows"]) == 2 * int(alone["small: flows"])
    assert "those of all seeds together" in size_note(several)
    assert "seeds" not in size_note(run.alone)


def test_runs_with_other_classes_stand_in_one_table(run):
    both = farloop.Comparison("both", [run, dataclasses.replace(run.by_sizes("20kB,1MB,2MB"), label="other")])
    header, rows = size_rows(both)
    assert {len(row) for row in rows} == {len(header)}, "those of the first"
    assert rows[0][2:] == rows[2][2:]


def test_a_tail_of_enough_flows_has_no_mark():
    assert add_mark("3.1", MIN_TAIL_FLOWS) == "3.1"
    assert add_mark("3.1", MIN_TAIL_FLOWS - 1) == "3.1 *"


def test_the_classes_of_all_sizes_are_marked_alike(run):
    first = {
        kind: run.flows.filter(pa.compute.equal(run.flows["cross_datacenter"], number)).slice(0, count)
        for kind, number, count in (("intra", 0, 25), ("cross", 1, 5))
    }
    short = farloop.Comparison("short", [dataclasses.replace(run, flows=pa.concat_tables(first.values()))])
    header, rows = slowdown_rows(short)
    tails = {row[1]: row[header.index("p99")] for row in rows}
    assert MARK not in tails["intra"]
    assert tails["cross"].endswith(MARK)


def test_commands_take_classes_and_refuse_what_are_none(command):
    (command.directory / "sizes.toml").write_text(SCENARIO + LONG, encoding="utf-8")
    done = command("run", "sizes.toml", "--sizes", "20kB", "--out", "r", "--no-report")
    assert done.returncode == 0, done.stderr
    assert "up to 20 kB: flows" in done.stdout.replace("\n", " ") or "up to 20 kB" in done.stdout
    summary = json.loads((command.directory / "r" / "summary.json").read_text())
    assert set(summary["slowdown"]["intra"]["classes"]) == {"up_to_20kB", "above_20kB"}
    assert farloop.load(command.directory / "r").sizes == parse("20kB"), "an output keeps its classes"
    for words in (("run", "sizes.toml"), ("compare", "sizes.toml", "--algorithms", "dctcp"), ("report", "r")):
        done = command(*words, "--sizes", "1MB,1kB")
        assert (done.returncode, done.stdout) == (2, "")
        assert (
            done.stderr
            == "farloop: --sizes 1MB,1kB: expected gemini, median, or up to 8 sizes that grow, such as 100kB,10MB\n"
        )


def test_a_report_divides_an_output_by_other_classes(command):
    (command.directory / "sizes.toml").write_text(SCENARIO + LONG, encoding="utf-8")
    done = command("compare", "sizes.toml", "--algorithms", "dctcp,hpcc", "--out", "c", "--no-report")
    assert done.returncode == 0, done.stderr
    done = command("report", "c", "--sizes", "median")
    assert done.returncode == 0, done.stderr
    where = command.directory / "c"
    for path in (where / "summary.json", *where.glob("runs/*/summary.json")):
        summary = json.loads(path.read_text())
        summary = summary.get("dctcp", summary)
        assert set(summary["slowdown"]["intra"]["classes"]) == set(MEDIAN.names), path
        described = json.loads((path.parent / "manifest.json").read_text())
        assert described["sizes"] == "median"
        if path.parent != where:
            assert described["measures"] == measures.identifiers_of_summary(json.loads(path.read_text()))
            assert "tables" in described, "the rest stays"
    assert "at most median" in (where / "report.html").read_text()
    assert command("report", "c").returncode == 0
    assert farloop.load(where).sizes == MEDIAN, "they stay"
    manifest = json.loads((where / "manifest.json").read_text())
    (where / "manifest.json").write_text(json.dumps(manifest | {"sizes": 7}))
    with pytest.raises(FarloopError, match="damaged"):
        farloop.load(where)
    del manifest["sizes"]
    (where / "manifest.json").write_text(json.dumps(manifest))
    assert farloop.load(where).sizes == GEMINI, "outputs before classes could be chosen"


def test_numbers_of_other_definitions_are_not_read_again():
    numbers = jitter.TieSensitivity(1, {"dctcp": {"Jain's index": [0.5, 0.9]}})
    row = json.loads(json.dumps(numbers.row()))
    assert row["definitions"] == measures.VERSION
    assert jitter.TieSensitivity.read(row) == numbers
    assert jitter.TieSensitivity.read(row | {"definitions": measures.VERSION - 1}) is None
    assert jitter.TieSensitivity.read({key: value for key, value in row.items() if key != "definitions"}) is None


def test_flows_that_could_finish_are_aged(run):
    flows = flow_completion.age_slowdowns(run)
    finished = flow_completion.slowdowns(run.flows)
    known = ~np.isnan(finished)
    assert np.array_equal(flows[known], finished[known])
