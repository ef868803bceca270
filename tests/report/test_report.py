import dataclasses
import json
import re

import pytest
from support.pages import parsed

from farloop.judging.claims import remark
from farloop.results.run import FigureVerdicts
from farloop.views.report import network_map, plots, tables
from farloop.views.report import page as report
from farloop.views.report.index import index_page
from farloop.views.tabular import Table


@pytest.fixture(scope="module")
def page(comparison):
    return report.page(comparison)


def test_a_report_loads_nothing(page):
    assert parsed(page).found == []
    style = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert not any("url(" in s or "@import" in s for s in style)


def test_its_links_lead_somewhere(page):
    html = parsed(page)
    assert html.links
    assert all(link.startswith("#") and link[1:] in html.ids for link in html.links)


def test_it_shows_every_chart_and_table(page):
    for title in ("Throughput per flow", "Congestion window", ">Queues</h3>", "Parameters used"):
        assert title in page
    assert page.count('{"id":"chart-') >= 3
    assert "cross-short" in page


def test_parameters_of_other_runs_are_those_that_differ(comparison):
    first, second = comparison.runs[:2]
    changed = dataclasses.replace(second, scenario=second.scenario | {"run": second.scenario["run"] | {"seed": 77}})
    page = report.page(dataclasses.replace(comparison, runs=[first, changed]))
    parameters = page.partition('id="parameters"')[2]
    assert "run.seed = 77" in parameters
    assert parameters.count("&#34;duration&#34;") == 1, "the whole scenario once"
    assert "the same" in report.page(dataclasses.replace(comparison, runs=[first, first]))


def test_bars_show_what_limits_the_flows(comparison):
    page = report.page(comparison)
    bars = page.partition('id="limits"')[2].partition("</ul>")[0]
    assert bars.count('class="bar"') >= len(comparison)
    assert "path" in bars


def test_of_many_runs_fewer_flows_are_listed(comparison):
    many = dataclasses.replace(comparison, runs=comparison.runs * 40)
    assert tables.count_listed(comparison) == 64
    assert tables.count_listed(many) == 1000 // len(many.runs)


def test_it_is_readable_in_light_and_dark(page):
    assert "color-scheme: light dark" in page
    assert "prefers-color-scheme: dark" in page


def test_texts_are_escaped(comparison):
    sly = dataclasses.replace(comparison, title="<script>alert(1)</script>")
    assert "<script>alert(1)" not in report.page(sly)
    runs = [dataclasses.replace(run, label=f"{run.label} <i>") for run in comparison]
    assert "<i>" not in report.fragment(dataclasses.replace(comparison, runs=runs))
    assert "<td>&lt;i&gt;</td><td>–</td>" in Table.from_rows(["<b>", ""], [["<i>", None]]).html()
    assert "<th>&lt;b&gt;</th>" in Table.from_rows(["<b>", ""], [["<i>", None]]).html()


@pytest.mark.parametrize("name", ["<!--<script>", "</script><b>", "a\u2028b-->", "<![CDATA["])
def test_no_name_ends_or_swallows_a_script(name, comparison):
    """After "<!--<script>" a browser takes "</script>" for a part of the script, up to the next one."""
    runs = [dataclasses.replace(run, label=f"{run.label} {name}") for run in comparison]
    section = network_map.section(dataclasses.replace(comparison, runs=runs))
    data = re.search('<script type="application/json" id="map-data">(.*?)</script><script>', section, re.DOTALL)[1]
    assert not re.search("[<>\u2028]", data)
    assert [run["label"] for run in json.loads(data)["runs"]] == [run.label for run in runs]
    drawn = plots.Panels([name], columns=1, panel_height=100, between_rows=10, between_columns=0.1).html("chart")
    assert not re.search("[<>\u2028]", drawn.partition("<script>")[2].partition("</script>")[0].replace("=>", ""))


def test_claims_have_verdicts(comparison):
    claim = {
        "id": "paper/figure",
        "verdict": "direction",
        "paper": {"ratio": 1.0},
        "measured": {"ratio": 1.5},
        "unit": "",
        "note": "a note",
        "scale": "quick",
        "what": "the ratio is one",
        "statements": [{"text": "about 1", "holds": False, "evidence": "1.5", "number": True}],
    }
    page = report.page(dataclasses.replace(comparison, claims=[claim]))
    for text in ("paper/figure", "direction", "a note", "does not hold", "1.5"):
        assert text in page


def test_the_page_of_a_reproduction_names_claims_and_folds_long_notes():
    def claim(name, note):
        return {"id": name, "verdict": "differs", "verdict_text": "differs", "what": "a <claim>", "note": note}

    verdicts = FigureVerdicts(
        "gear/fabric", "title", [claim("gear/fabric", "short"), claim("gear/table1", "long " * 50)], []
    )
    html = index_page([verdicts], "quick")
    assert html.count('<a href="gear/fabric/report.html">gear/fabric</a>') == 2
    assert html.count("gear/table1") == 1
    assert html.count("<details>") == 1
    assert html.index("short") < html.index("<details>") < html.index("long long")
    assert "a &lt;claim&gt;" in html


def test_a_card_says_nothing_twice():
    statements = [
        {"text": "it falls", "holds": False, "evidence": "it rises", "number": False},
        {"text": "it is red", "holds": None, "evidence": "needs gear at night", "number": False},
    ]
    said = "does not hold: it falls (it rises); not decided: it is red (needs gear at night)"
    row = {"statements": statements, "note": f"{said}; seen from afar"}
    assert remark(row) == "seen from afar"
    assert remark(row | {"note": said}) == ""
    assert remark(row | {"note": "seen from afar"}) == "seen from afar"
