"""Every column and metric has a unit and a meaning: in the files, and on the page."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import farloop
from farloop.results import fields, tables

PAGE = Path(__file__).parents[2] / "docs" / "outputs.md"


@pytest.mark.parametrize("name", fields.TABLES)
def test_every_column_of_a_file_says_unit_and_meaning(name, result, tmp_path):
    result.save(tmp_path / "r", report=False)
    for schema in (pq.read_schema(tmp_path / "r" / f"{name}.parquet"), getattr(result, name).schema):
        assert schema.names == fields.columns(name)
        for column, declared in zip(schema, fields.TABLES[name], strict=True):
            assert column.metadata[b"unit"].decode() == declared.unit
            assert column.metadata[b"meaning"].decode() == declared.meaning
            assert declared.unit
            assert declared.meaning.endswith(".")


@pytest.mark.parametrize("name", ["flows", "ports", "pauses", "circuits", "queues"])
def test_only_columns_that_say_so_have_nulls(name, result):
    table = getattr(result, name)
    for declared in fields.TABLES[name]:
        if not declared.optional:
            assert table[declared.name].null_count == 0, declared.name
        else:
            assert "null" in declared.meaning.lower(), declared.name


def test_units_are_those_of_the_names():
    for table in fields.TABLES.values():
        for declared in table:
            for end, unit in (("_ps", "ps"), ("_bytes", "B"), ("_bps", "bit/s")):
                assert declared.name.endswith(end) == (declared.unit == unit and declared.name != "value"), (
                    declared.name
                )


def test_every_metric_is_declared(result, tmp_path):
    recorded = {
        (o.split("/")[0], m) for o, m in zip(*(result.series[c].to_pylist() for c in ("object", "metric")), strict=True)
    }
    declared = {(kind, field.name) for kind, metrics in fields.METRICS.items() for field in metrics}
    # Queues are those of switches that schedule circuits, which this network has none of: tests/results/test_circuits.py.
    assert recorded == {(kind, name) for kind, name in declared if kind != "queue"}
    result.save(tmp_path / "r", report=False)
    written = json.loads(pq.read_schema(tmp_path / "r" / "series.parquet").metadata[b"farloop.metrics"])
    assert set(written) == {f"{kind}/{metric}" for kind, metric in declared}
    assert written["flow/throughput"][0] == "bit/s"


def test_every_total_of_a_run_is_declared_and_on_the_page(result, tmp_path):
    # Looks are of rates alone.
    assert list(result.info["totals"]) == [total.name for total in fields.TOTALS if total.name != "looks"]
    assert (
        json.loads((result.save(tmp_path / "r", report=False) / "manifest.json").read_text("utf-8"))["totals"]
        == result.info["totals"]
    )
    text = PAGE.read_text("utf-8").partition("<!-- totals of runs -->")[2]
    assert all(f"| `{total.name}` | {total.unit} |" in text for total in fields.TOTALS)


def test_rows_that_lack_columns_are_filled_as_declared():
    table = tables.from_rows("ports", [{"node": "a", "peer": "b", "kind": "host", "packets": 7}])
    assert table.schema.equals(tables.describe_columns("ports", table).schema)
    (row,) = table.to_pylist()
    assert (row["packets"], row["marked"], row["offered_bytes"], row["mean_queue_bytes"]) == (7, 0, None, 0.0)


@pytest.mark.parametrize("name", fields.TABLES)
def test_rows_make_the_types_that_the_simulator_gives(name, result):
    assert tables.from_rows(name, []).schema.types == getattr(result, name).schema.types


def test_the_page_is_made_from_the_same_declaration():
    text = PAGE.read_text("utf-8")
    assert fields.outputs_page(text) == text, "run `python -m farloop.results.fields docs/outputs.md`"
    for name in fields.TABLES:
        assert f"<!-- columns of {name} -->" in text
    for kind, metrics in fields.METRICS.items():
        assert f"<!-- metrics of {kind}s -->" in text
        assert all(f"| `{field.name}` | {field.unit} |" in text for field in metrics)


def test_every_number_of_a_summary_is_on_the_page(result):
    text = PAGE.read_text("utf-8").partition("## summary.json")[2]
    for key, value in result.summary.items():
        assert f"| `{key}` |" in text, key
        inner = (
            value
            if isinstance(value, dict) and key not in ("bottleneck", "slowdown", "mean_throughput", "unfinished")
            else {}
        )
        assert all(f"`{name}`" in text for name in inner), key


def test_outputs_are_read_in_public(result, comparison, tmp_path):
    assert farloop.load(result.save(tmp_path / "one", report=False)).runs[0].summary == result.summary
    assert [run.label for run in farloop.load(str(comparison.save(tmp_path / "two", report=False)))] == [
        "hpcc",
        "dctcp",
    ]


def test_slowdown_of_the_finished_flows(result):
    (short,) = [flow for flow in result.summary["flows"] if flow["name"] == "cross-short"]
    assert result.slowdown == pytest.approx([short["slowdown"]])
    assert np.isfinite(result.slowdown).all()


def test_metrics_are_listed_and_a_wrong_name_gets_the_nearest(result, comparison):
    assert result.metrics["flow"] == ["throughput", "cwnd", "pacing", "rtt"]
    assert "max_queue" in result.metrics["port"]
    for wrong, named in (
        (("flow/intra", "troughput"), "flow/intra has no such metric; did you mean throughput?"),
        (("flow/intro", "throughput"), "did you mean flow/intra?"),
        (("flow/intra", "queue"), "there is throughput, cwnd, pacing, rtt"),
    ):
        with pytest.raises(farloop.UnknownNameError) as raised:
            result.samples.get(*wrong)
        assert named in str(raised.value)
        assert isinstance(raised.value, KeyError)
        assert isinstance(raised.value, farloop.FarloopError)
    with pytest.raises(farloop.UnknownNameError, match=r"did you mean hpcc\?"):
        comparison["hpc"]


def test_a_run_without_records_says_so(small):
    bare = farloop.run(small, set=["run.duration=1ms", "record.interval=none"])
    assert bare.metrics == {}
    with pytest.raises(farloop.UnknownNameError, match="nothing was recorded"):
        bare.samples.get("flow/intra", "throughput")
