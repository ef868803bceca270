"""Tables of pages that scripts write, and those of studies among them."""

import re
import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "examples").glob("*/tables.toml"))

KEYS = {
    "head": "mean",
    "rows": "algorithm",
    "columns": "network.wan_delay * 2e5",
    "column": "{:,.0f} km",
    "cell": "{half:.2f} ({slowdown:.1f})",
    "values": {"half": "slowdown / 2"},
    "instead": [["unfinished", "{unfinished:.2g} unfinished"]],
    "star": "dropped",
}


def point(algorithm, delay, slowdown, unfinished=0.0, dropped=0.0):
    return {
        "algorithm": algorithm,
        "network.wan_delay": delay,
        "slowdown": slowdown,
        "unfinished": unfinished,
        "dropped": dropped,
    }


ROWS = [point("hpcc", 5e-3, 3.0, dropped=2.0), point("hpcc", 5e-5, 2.5), point("uno", 5e-3, 9.0, unfinished=1.5)]


def test_a_table_has_algorithms_down_and_columns_in_order(scripts):
    assert scripts("study_tables").content(KEYS, ROWS).splitlines() == [
        "| mean | 10 km | 1,000 km |",
        "| --- | ---: | ---: |",
        "| `hpcc` | 1.25 (2.5) | 1.50 (3.0)* |",
        "| `uno` |  | 1.5 unfinished |",
    ]


def test_the_last_row_is_of_what_all_share(scripts):
    keys = KEYS | {"last": {"name": "ideal", "cell": "{half:.1f}"}}
    assert scripts("study_tables").content(keys, ROWS[:2]).splitlines()[-1] == "| ideal | 1.2 | 1.5 |"


def test_studies_without_output_are_left_out(scripts, tmp_path):
    writer = scripts("study_tables")
    (tmp_path / "near").mkdir()
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "near" / "points.parquet")
    assert len(writer.points(tmp_path, ["near"])) == 3
    assert writer.points(tmp_path, ["near", "far"]) == []


def test_curves_are_the_numbers_of_a_table_and_have_a_gap_where_runs_did_not_finish(scripts):
    writer, tables = scripts("study_tables"), scripts("page_tables")
    begin, end = tables.markers("own", writer.SCRIPT)
    page = tables.place(f"{begin}\nold\n{end}", "own", writer.SCRIPT, writer.content(KEYS, ROWS))
    assert writer.curves(page, "own", 0)["hpcc"] == ([10.0, 1000.0], [1.25, 1.5])
    assert writer.curves(page, "own", 1)["hpcc"] == ([10.0, 1000.0], [2.5, 3.0])
    assert [y == y for y in writer.curves(page, "own", 0)["uno"][1]] == [False, False]


def test_a_page_without_markers_is_refused(scripts):
    with pytest.raises(ValueError, match=re.escape("markers <!-- own: written by scripts/study_tables.py -->")):
        scripts("page_tables").place("no markers", "own", "study_tables.py", "new")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_pages_have_the_tables_of_the_studies(file, scripts):
    settings = tomllib.loads(file.read_text("utf-8"))
    page = (ROOT / settings["page"]).read_text("utf-8")
    names = [table["name"] for table in settings["table"]]
    tables = scripts("page_tables")
    for table in settings["table"]:
        keys = settings["defaults"] | table
        assert tables.read(page, keys["name"])[0][0] == keys["head"]
        for study in [keys["study"]] if isinstance(keys["study"], str) else keys["study"]:
            assert (file.parent / f"{study}.toml").is_file()
    assert page.count(f"written by scripts/{scripts('study_tables').SCRIPT} -->") == len(names) == len(set(names))
    drawn = [name for line in settings["picture"]["panels"] for _, name in line]
    assert set(drawn) <= set(names) and (ROOT / settings["picture"]["file"]).is_file()
