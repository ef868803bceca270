"""All flows in one table, data frames of other libraries, and what notebooks show."""

import importlib.util
import re

import pytest

import farloop
from farloop.errors import FarloopError
from farloop.studies.advice.asking import Advice


def test_all_flows_are_one_tidy_table(comparison):
    table = comparison.flows
    rows = table.to_pylist()
    assert len(rows) == sum(run.flows.num_rows for run in comparison) == 6
    assert [row["run"] for row in rows] == ["hpcc"] * 3 + ["dctcp"] * 3
    assert {(row["name"], row["group"]) for row in rows} == {
        ("intra", "intra"),
        ("cross", "cross"),
        ("cross-short", "cross"),
    }
    assert {(row["run"], row["algorithm"], row["seed"]) for row in rows} == {("hpcc", "hpcc", 3), ("dctcp", "dctcp", 3)}
    finished = [row["slowdown"] for row in rows if row["slowdown"] is not None]
    assert finished == pytest.approx([run.slowdown[0] for run in comparison])
    assert [row["slowdown"] for row in rows if row["name"] == "intra"] == [None, None]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_missing_library_is_a_line_that_says_what_to_install(comparison, library, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == library else find(name, *more))
    for result in (comparison, comparison.runs[0]):
        with pytest.raises(
            FarloopError, match=rf"^{library}: is not installed; `pip install {library}` adds it"
        ) as raised:
            getattr(result, f"to_{library}")()
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_an_installed_library_gets_all_rows(comparison, library):
    pytest.importorskip(library)
    assert len(getattr(comparison, f"to_{library}")()) == comparison.flows.num_rows


def test_an_unknown_table_is_named(comparison):
    with pytest.raises(farloop.UnknownNameError, match="prots: no such table; did you mean ports"):
        comparison.runs[0].to_pandas("prots")


def test_notebooks_show_explanations_and_answers(comparison, tmp_path):
    explanation = farloop.why(comparison.runs[0], "cross-short")
    html = explanation._repr_html_()
    assert f"<h3>{explanation.answer}</h3>" in html
    assert len(re.findall("<tr", html)) == len(explanation.rows) + 1
    candidates = [{"name": "a<b", "state": "leads", "because": "", "quantities": {"goodput": 2e9}}]
    html = Advice(tmp_path, "a<b it is", (), (), {"title": "t", "candidates": candidates, "runs": []})._repr_html_()
    assert "<h3>a&lt;b it is</h3>" in html
    assert "2 Gbps" in html
