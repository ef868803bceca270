"""Flow lists from Parquet: the CSV that comes out is read by a scenario; what is wrong is named."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import SMALL

import farloop


class Period(pa.ExtensionType):
    """Types that pandas registers with Arrow as soon as it is imported."""

    def __init__(self):
        super().__init__(pa.int64(), "pandas.period")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage, serialized):
        return cls()


PERIODS = pa.ExtensionArray.from_storage(Period(), pa.array([1, 2]))

GOOD = {"from": ["s1", "s2"], "to": ["d1", "r1"]}


@pytest.fixture
def convert(tmp_path):
    path = tmp_path / "flows.parquet"

    def written(columns):
        pq.write_table(pa.table(columns), path)
        return farloop.flows_from_parquet(path)

    return written


def test_numbers_get_the_unit_of_their_column(convert):
    text = convert(
        GOOD
        | {
            "start_s": [0.1, 1e-6],
            "stop_ps": [None, 10**15],
            "size_bytes": [10**12, None],
            "initial_rate_bps": [1e9, 2.5],
        }
    )
    assert text == (
        "from,to,start,stop,size,initial_rate\n"
        "s1,d1,0.1s,,1000000000000B,1000000000bps\n"
        "s2,r1,0.000001s,1000000000000000ps,,2.5bps\n"
    )


def test_flows_wait_for_lists_of_others(convert, tmp_path):
    columns = {"from": ["s1", "d1"], "to": ["d1", "s1"], "size": ["10kB", "20kB"], "name": ["ask", "answer"]}
    text = convert(columns | {"after": [None, ["ask + 10us"]], "elephant": [None, False]})
    assert text.splitlines()[1:] == ["s1,d1,10kB,ask,,", "d1,s1,20kB,answer,ask+10us,false"]
    (tmp_path / "flows.csv").write_text(text, encoding="utf-8")
    scenario = tmp_path / "list.toml"
    scenario.write_text(SMALL[: SMALL.index("[[flow]]")] + '[workload]\nflows = "flows.csv"\n', encoding="utf-8")
    flows = farloop.run(scenario).flows
    assert flows["start_ps"][1].as_py() == flows["received_ps"][0].as_py() + 10_000_000


def test_flows_take_lists_of_nodes(convert, tmp_path):
    path = ["s1", "left", "right", "d1"]
    columns = {"from": ["s1", "s1"], "to": ["d1", "d1"], "size": ["10kB", "10kB"], "path": [path, None]}
    text = convert(columns | {"ack_path": [path[::-1], None]})
    assert text.splitlines()[1:] == ["s1,d1,10kB,s1 left right d1,d1 right left s1", "s1,d1,10kB,,"]
    (tmp_path / "flows.csv").write_text(text, encoding="utf-8")
    scenario = tmp_path / "list.toml"
    scenario.write_text(SMALL[: SMALL.index("[[flow]]")] + '[workload]\nflows = "flows.csv"\n', encoding="utf-8")
    assert farloop.run(scenario).flows["outcome"].to_pylist() == ["finished", "finished"]


def test_the_flows_run(convert, tmp_path):
    columns = {"name": ["a", None], "size": ["100kB", None], "start_ps": [0, 2_000_000], "count": [1, 2]}
    (tmp_path / "flows.csv").write_text(convert(GOOD | columns), encoding="utf-8")
    scenario = tmp_path / "list.toml"
    scenario.write_text(SMALL[: SMALL.index("[[flow]]")] + '[workload]\nflows = "flows.csv"\n', encoding="utf-8")
    flows = farloop.run(scenario).flows
    assert flows["name"].to_pylist() == ["a", "f2-1", "f2-2"]
    assert flows["size_bytes"].to_pylist() == [100_000, None, None]
    assert flows["start_ps"].to_pylist() == [0, 2_000_000, 2_000_000]


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        ({"from": ["s1"]}, ["column to", "missing", "columns: name"]),
        (GOOD | {"sise": ["1kB", "1kB"]}, ["column sise", "unknown", "did you mean size?"]),
        (GOOD | {"size": [1000, 2000]}, ["row 0", "column size", "1000", "size_bytes"]),
        (GOOD | {"start": [0.5, 1.0]}, ["row 0", "column start", "start_ps"]),
        (GOOD | {"size_bytes": ["1", "2"]}, ["row 0", "column size_bytes", "no number"]),
        (GOOD | {"after": [["a"], [None]]}, ["row 1", "column after", "a list of texts"]),
        (GOOD | {"after": [["a,b"], []]}, ["row 0", "a comma"]),
        (GOOD | {"path": [[None], ["s1"]]}, ["row 0", "column path", "a list of texts"]),
        (GOOD | {"port": [1.5, 2.0]}, ["row 0", "column port", "whole number"]),
        (GOOD | {"elephant": ["true", "false"]}, ["row 0", "column elephant", "neither true nor false"]),
        (GOOD | {"start_s": [0.0, float("nan")]}, ["row 1", "column start_s", "nan"]),
        (GOOD | {"count": [1, 2.5]}, ["row 0", "column count", "whole number"]),
        (GOOD | {"start_s": [0.0, 1.0], "start": ["0s", "1s"]}, ["two columns", "start"]),
        ({"from": ["s1", 'a"b'], "to": ["d1", "d1"]}, ["row 1", "column from", "plain text"]),
        ({"from": ["s1", "a,b"], "to": ["d1", "d1"]}, ["row 1", "column from", "comma"]),
        ({"from": ["#1", "s1"], "to": ["d1", "d1"]}, ["row 0", "column from", "#"]),
        ({"from": [1, 2], "to": ["d1", "d1"]}, ["row 0", "column from", "no text"]),
        ({"from": ["s1", "a\0"], "to": ["d1", "d1"]}, ["row 1", "column from", "control character"]),
        (
            GOOD | {"start": pa.array([None, 1], pa.time64("ns"))},
            ["row 1", "column start", "time64[ns]", "plain numbers"],
        ),
        (GOOD | {"start": pa.array([0, 2**62], pa.duration("s"))}, ["row 0", "column start", "duration[s]"]),
        (GOOD | {"start": pa.array([0, 2**30], pa.date32())}, ["row 0", "column start", "date32"]),
        (GOOD | {"start": pa.array([0, 1000], pa.duration("ns"))}, ["row 0", "column start", "duration[ns]"]),
        (GOOD | {"start_s": pa.array([0, 1000], pa.duration("ns"))}, ["row 0", "column start_s", "duration[ns]"]),
        (GOOD | {"start": pa.array([0, 1000], pa.timestamp("ns"))}, ["row 0", "column start", "timestamp[ns]"]),
        (GOOD | {"size_bytes": pa.array([1, 2], pa.decimal128(5))}, ["row 0", "column size_bytes", "decimal128"]),
        (GOOD | {"name": pa.array([b"a", b"b"], pa.binary())}, ["row 0", "column name", "binary"]),
        (GOOD | {"after": pa.array([[1], []], pa.list_(pa.duration("ns")))}, ["row 0", "column after", "duration[ns]"]),
        (GOOD | {"count": PERIODS}, ["row 0", "column count", "extension pandas.period"]),
        (GOOD | {"x" * 100_000: ["", ""]}, ["column xxx", "(100000 characters): unknown"]),
    ],
)
def test_what_is_wrong_is_named(columns, named, convert):
    with pytest.raises(farloop.FarloopError) as caught:
        convert(columns)
    for text in ["flows.parquet", *named]:
        assert text in str(caught.value)


def test_nulls_of_any_type_are_the_default(convert):
    columns = {"start": pa.nulls(2, pa.duration("ns")), "count": pa.nulls(2, pa.timestamp("ns")), "class": pa.nulls(2)}
    assert convert(GOOD | columns).splitlines()[1:] == ["s1,d1,,,", "s2,r1,,,"]


def test_text_that_is_not_utf8_is_named(convert):
    offsets, content = pa.py_buffer(b"\0\0\0\0\2\0\0\0\4\0\0\0"), pa.py_buffer(b"s1\xff\xfe")
    latin = pa.Array.from_buffers(pa.string(), 2, [None, offsets, content])
    with pytest.raises(farloop.FarloopError, match=r"flows\.parquet: row 1, column from: is not UTF-8"):
        convert(GOOD | {"from": latin})


def test_damaged_files_and_no_paths(tmp_path):
    path = tmp_path / "flows.parquet"
    pq.write_table(pa.table(GOOD), path)
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            farloop.flows_from_parquet(path)
        except farloop.FarloopError as error:
            assert "\n" not in str(error)
            assert "flows.parquet" in str(error)
    for wrong in ("nul\0", 5.5, None):
        with pytest.raises(farloop.FarloopError, match=r"cannot be read|NUL"):
            farloop.flows_from_parquet(wrong)


def test_the_command(command):
    pq.write_table(pa.table(GOOD), command.directory / "flows.parquet")
    done = command("import-flows", "flows.parquet")
    assert (done.returncode, done.stdout) == (0, "from,to\ns1,d1\ns2,r1\n")
    (command.directory / "other.parquet").write_text("from,to\n")
    for name, named in [("other.parquet", "is not a Parquet file"), ("absent.parquet", "cannot be read")]:
        done = command("import-flows", name)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"{name}: {named}" in done.stderr


def test_a_scenario_that_names_a_parquet_file_is_told_the_way(command, small):
    small.write_text(SMALL[: SMALL.index("[[flow]]")] + '[workload]\nflows = "flows.parquet"\n', encoding="utf-8")
    done = command("run", str(small))
    assert done.returncode == 2
    for text in ("small.toml:", "workload.flows", "farloop import-flows flows.parquet"):
        assert text in done.stderr
