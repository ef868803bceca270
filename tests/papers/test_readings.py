"""Readings of a figure, whose statements are judged without a verdict, and figures that are judged over replicas."""

import dataclasses
import re

import pytest
from typer.testing import CliRunner

import farloop
from farloop import catalogue
from farloop.commands.app import app
from farloop.judging import schedule
from farloop.judging.claim_readings import APART, ClaimReading, worst_class
from farloop.judging.claims import Claim, Finding, Statement, add_readings, near, read_claims
from farloop.studies import reproduce
from farloop.studies.reproduce import Reading
from farloop.views.report import page as report

SHORT = ("run.duration=4ms",)


def test_a_reading_runs_what_it_names_with_its_settings():
    planned = reproduce.plan("gear/fig12", full=False, reading=Reading(SHORT, ("10 Mbps",), ("hpcc", "gear")))
    assert sorted((variant.case, variant.algorithm) for variant in planned.variants) == [
        ("10 Mbps", "gear"),
        ("10 Mbps", "hpcc"),
    ]
    assert all(variant.scenario.resolved["run"]["duration"] == "4ms" for variant in planned.variants)
    assert all(variant.scenario.resolved["flow"][0]["initial_rate"] == "10Mbps" for variant in planned.variants)
    unread = reproduce.plan("gear/fig12", full=False)
    assert len(unread.variants) > 2
    only = reproduce.plan("gear/fig12", full=False, reading=Reading(algorithms=("gear",)))
    assert {variant.case for variant in only.variants} == {variant.case for variant in unread.variants}


@pytest.mark.parametrize(
    ("reading", "said"),
    [
        (Reading(cases=("10 mbps",)), "gear/fig12: case 10 mbps: did you mean 10 Mbps?"),
        (Reading(algorithms=("gaer",)), "gear/fig12: algorithm gaer: did you mean gear?"),
        (Reading(("run.durations=4ms",)), "run.durations"),
    ],
)
def test_a_reading_that_is_none_is_refused(reading, said):
    with pytest.raises((farloop.FarloopError, farloop.ScenarioError), match=re.escape(said)):
        for variant in reproduce.plan("gear/fig12", full=False, reading=reading).variants:
            _ = variant.scenario.resolved


def test_a_reading_says_what_each_statement_does(tmp_path):
    command = [
        "reproduce",
        "gear/fig09",
        "--algorithms",
        "annulus,hpcc",
        "--set",
        "run.duration=30ms",
        "--case",
        "0 ms",
    ]
    out = tmp_path / "out"
    done = CliRunner().invoke(app, [*command, "--out", str(out), "--no-report"])
    assert done.exit_code == 0, done.output
    assert "gear/fig09: not judged: a reading, with changed keys run.duration (" in done.output
    assert re.search(r"^  (holds|does not hold): HPCC's intra flow loses \(ratio ", done.output, re.MULTILINE)
    assert "  undecided: DCTCP nearly starves the cross flow (needs dctcp at 0 ms)" in done.output
    assert "cause" not in done.output, "of a reading none is known"
    (kept,) = [c for c in farloop.load(out / "gear/fig09").claims if c["id"] == "gear/fig09"]
    assert (kept["scale"], kept["verdict"]) == ("reading", "not judged")
    assert {s["holds"] for s in kept["statements"]} >= {None}
    assert kept["judged"] == sum(s["holds"] is not None for s in kept["statements"]) > 0


def test_without_a_reading_what_departs_from_the_figure_says_nothing():
    result = farloop.compare("gear/fig09", "annulus,hpcc", set="run.duration=30ms")
    (claim,) = result.claims
    assert all(s["holds"] is None for s in claim["statements"])


def test_replicas_differ_in_seed_and_ties():
    planned = dataclasses.replace(reproduce.plan("gear/fig12", full=False), replicas=(1, 2))
    variant = planned.variants[0]
    pair = dataclasses.replace(planned, variants=[variant]).repeat_seeds((1, 2))
    assert [(v.scenario.resolved["run"]["seed"], v.scenario.resolved["run"]["jitter"]) for v in pair] == [
        (1, 1),
        (2, 2),
    ]
    assert [v.label for v in pair] == [f"{variant.label}, seed 1", f"{variant.label}, seed 2"]
    (far,) = dataclasses.replace(planned, variants=[variant]).repeat_seeds((5_000_000,))
    assert far.scenario.resolved["run"]["jitter"] <= 1_000_000
    plain = dataclasses.replace(planned, variants=[variant], replicas=()).repeat_seeds((2,))
    assert plain[0].scenario.resolved["run"]["jitter"] == 0


def test_replicas_are_the_figures_own_runs():
    document = {"run": {"seed": 3, "jitter": 3, "duration": "2s"}, "figure": {"replicas": 5}}
    assert schedule.flatten_scenario(document) == {"run.duration": "2s"}
    # A reading that is named after a run changes nothing in it.
    claims = [{"id": "a/fig1", "reading": [{"what": "W", "by": "text", "source": "§3"}]}]
    assert schedule.flatten_scenario(document | {"claim": claims}) == {"run.duration": "2s"}
    assert schedule.flatten_scenario(document | {"figure": {"replicas": 1}}) == {"run.duration": "2s", "run.jitter": 3}


@pytest.mark.parametrize(
    ("value", "better", "side"),
    [
        (1.0, "lower", ""),
        (0.5, "lower", "better"),
        (2.0, "lower", "worse"),
        (0.5, "higher", "worse"),
        (2.0, "higher", "better"),
        (2.0, None, ""),
        (float("nan"), "lower", ""),
    ],
)
def test_a_number_can_be_better_than_the_published_one(value, better, side):
    claim = Claim("a/fig1", "x", {"x": 1.0}, {"x": 0.1})
    statement = dataclasses.replace(near(claim, "x", value, "x is 1"), better=better)
    assert statement.side == side
    assert statement.row()["side"] == side
    note = Finding("a/fig1", [statement]).row(claim, "full")["note"]
    assert (f"does not hold, {side} than published: x is 1" in note) == bool(side)


def test_a_statement_rests_on_the_worst_of_its_readings():
    readings = (
        ClaimReading("W", "text", "§3"),
        ClaimReading("T", "other figures", "Fig. 2", ("a", "b")),
        ClaimReading("N", "this figure", "Fig. 1", ("b",)),
    )
    claim = Claim("a/fig1", "x", {}, {}, readings)
    assert [claim.classify_reading(text) for text in "abc"] == [
        "text or other figures", "this figure", "text or other figures",
    ]  # fmt: skip
    assert (claim.calibrated, worst_class(claim.readings)) == ("N", "this figure")
    row = Finding("a/fig1", [Statement(text, True, "") for text in "abc"]).row(claim, "quick")
    assert [s["reading"] for s in add_readings(row, claim)["statements"]] == [
        claim.classify_reading(text) for text in "abc"
    ]
    assert (row["verdict_text"], row["calibrated"]) == ("reproduced (calibrated: N)", True)
    plain = Claim("a/fig1", "x", {}, {})
    assert (plain.classify_reading("a"), plain.calibrated, worst_class(plain.readings)) == (
        "untouched",
        "",
        "untouched",
    )


def test_what_chose_a_reading_stands_in_reports_and_on_the_site(scripts):
    claim = Claim("a/fig1", "x", {}, {}, (ClaimReading("N", "this figure", "Fig. 1", ("b",)),))
    statements = [Statement("a", True, ""), Statement("b", True, "")]
    row = add_readings(Finding("a/fig1", statements).row(claim, "quick"), claim)
    page = report.page(farloop.Comparison("", [], claims=[row]))
    assert page.count("reading by this figure") == 1
    assert scripts("build_site").verdict(row) == "**reproduced** (1 of 2 hold only by their own reading)"
    plain = add_readings(row, Claim("a/fig1", "x", {}, {}))
    assert "reading by" not in report.page(farloop.Comparison("", [], claims=[plain]))
    assert scripts("build_site").verdict(plain) == "**reproduced**"


def test_claims_are_listed_with_the_class_of_their_readings(scripts):
    rows = {row["id"]: row["reading"] for row in catalogue.entries("claims")}
    claims = scripts("tally").published_claims()
    assert rows == {name: APART if c.by_construction else worst_class(c.readings) for name, c in claims.items()}
    assert rows["mrc/ports"] == APART
    assert len(set(rows.values())) > 1


def test_a_claim_by_construction_says_so_of_all_its_statements():
    (claim,) = read_claims({"claim": [{"id": "a/fig1", "what": "x", "by_construction": True}]})
    row = Finding("a/fig1", [Statement("a", True, "")]).row(claim, "quick")
    apart = add_readings(row, claim)
    assert [s["reading"] for s in apart["statements"]] == [APART]
    assert apart["verdict_text"] == add_readings(apart, claim)["verdict_text"] == "reproduced (by construction)"


def test_readings_are_read_from_a_figures_file():
    written = {"what": "W", "by": "text", "source": "§3"}
    for statements, expected in [({}, ()), ({"statements": "none"}, ()), ({"statements": ["a"]}, ("a",))]:
        (claim,) = read_claims({"claim": [{"id": "a/fig1", "what": "x", "reading": [written | statements]}]})
        assert claim.readings == (ClaimReading("W", "text", "§3", expected),)


def test_held_and_judged_are_counted():
    statements = [Statement("a", True, ""), Statement("b", False, ""), Statement("c", None, "needs d")]
    row = Finding("a/fig1", statements).row(Claim("a/fig1", "x", {}, {}), "quick")
    assert (row["held"], row["judged"]) == (1, 2)
