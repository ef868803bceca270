import json
import math
import tomllib

import jsonschema
import pytest

import farloop
from farloop import papers, reproduce
from farloop.papers import schedule
from farloop.papers.claims import Claim, Finding, Statement, near
from farloop.scenario import PAPERS, Scenario, figure_names

CLAIM = Claim("p/f", "what", {"ratio": 1.0}, {"ratio": 0.1})


def statement(holds, *, number=False):
    return Statement("text", holds, "evidence", number)


@pytest.mark.parametrize(
    ("statements", "verdict"),
    [
        ([statement(True), statement(True, number=True)], "reproduced"),
        ([statement(True), statement(False, number=True)], "direction"),
        ([statement(False), statement(True, number=True)], "differs"),
        ([statement(False, number=True)], "differs"),
        ([], "differs"),
        ([statement(True), statement(None)], "partial"),
        ([statement(False), statement(None, number=True)], "partial"),
    ],
)
def test_verdicts(statements, verdict):
    assert Finding("p/f", statements).verdict == verdict


def test_numbers_are_near_within_their_tolerance():
    assert near(CLAIM, "ratio", 1.09, "text").holds
    assert near(CLAIM, "ratio", 0.91, "text").holds
    assert not near(CLAIM, "ratio", 1.11, "text").holds
    assert not near(CLAIM, "ratio", math.nan, "text").holds


def test_what_does_not_hold_is_in_the_note():
    row = Finding("p/f", [statement(False)], {"ratio": math.inf}, note="a remark").row(CLAIM, "full")
    assert row["note"] == "does not hold: text (evidence); a remark"
    assert row["measured"] == {"ratio": None}
    assert json.dumps(row, allow_nan=False)


@pytest.mark.parametrize("figure", figure_names())
def test_every_figure_has_a_scenario_claims_and_a_judge(figure):
    scenario = Scenario.load(figure)
    assert scenario.resolved["figure"]["id"] == figure
    claims = papers.read_claims(scenario.resolved)
    assert claims
    assert all(set(c.tolerance) <= set(c.paper) for c in claims)
    module = papers.module(figure)
    assert module is not None
    assert callable(module.judge)
    assert callable(module.draw)
    quick, full = reproduce.plan(figure, full=False), reproduce.plan(figure, full=True)
    assert quick.parts
    assert len(quick.parts) <= len(full.parts)


@pytest.mark.parametrize("figure", figure_names())
def test_every_scenario_agrees_with_the_schema(figure):
    document = tomllib.loads((PAPERS / f"{figure}.toml").read_text("utf-8"))
    jsonschema.validate(document, farloop.schema())


@pytest.mark.parametrize("figure", figure_names())
def test_cases_stand_before_claims(figure):
    """What is read as the figure's own case is what is run."""
    text = Scenario.load(figure).text
    left = tomllib.loads(schedule.CASES.sub("", text))
    assert left == {k: v for k, v in tomllib.loads(text).items() if k != "case"}
    case, algorithm, scenario = reproduce.plan(figure, full=True).parts[-1]
    assert schedule.flat(schedule.case_scenario(figure, case, algorithm).resolved) == schedule.flat(scenario.resolved)


def test_a_scenario_that_is_no_figure_has_no_judge():
    assert papers.module("nobody/fig1") is None
    assert papers.module("../x") is None


def test_selecting_figures():
    assert reproduce.select([]) == figure_names()
    assert reproduce.select(["gemini"]) == [f for f in figure_names() if f.startswith("gemini/")]
    assert reproduce.select(["gear/fig09", "gear"])[0] == "gear/fig09"
    assert reproduce.select(["gear/fig09", "gear/fig09"]) == ["gear/fig09"]
    with pytest.raises(farloop.FarloopError, match="did you mean gear"):
        reproduce.select(["gaer"])


def test_judges_decide_from_runs(tmp_path):
    """A short look at every figure: each judge and each picture copes with what its scenario records."""
    duration = {
        "gear/fig02": "100ms",
        "gear/fig10": "3.2s",
        "gear/fig11": "7s",
        "gear/fig12": "100ms",
        "gear/fig13": "100ms",
        "gear/fig06": "60ms",
        "gear/fabric": "60ms",
        "gemini/theorem1": "200ms",
    }
    slow = {"network.rate": "1Gbps", "network.bottleneck_rate": "1Gbps", "record.interval": "10ms"}
    # At 1 Gbps a second takes no time; where initial rates are above that, a tenth of a second at full rate has to do.
    slow_settings = {
        "gear/fig10": slow | {"flow.intra1.initial_rate": "500Mbps", "flow.cross.initial_rate": "500Mbps"},
        "gear/fig12": {},
        "gear/fig16": {},
        "gear/fig13": {"network.rate": "10Gbps"},
        "gear/fig17": {"network.rate": "1Gbps"},
        "gear/fig06": {"network.rate": "1Gbps", "network.wan_rate": "4Gbps"},
        "gear/fabric": {"network.rate": "1Gbps", "network.wan_rate": "4Gbps"},
    }
    for figure in figure_names():
        testbed = figure.startswith("gemini/") and figure != "gemini/theorem1"
        settings = ({} if testbed else slow_settings.get(figure, slow)) | {
            "run.duration": duration.get(figure, "300ms")
        }
        base = Scenario.load(figure).override(settings)
        names = base.resolved["figure"]["algorithms"][:1]
        scenario = base.override(algorithm=names[0])
        case = scenario.resolved["case"][0]["name"]
        (outcome,) = farloop.simulate.simulate([farloop.simulate.Job(figure, scenario)])
        run = farloop.Run.from_outcome(outcome, scenario, algorithm=names[0], case=case, label=names[0])
        judged = papers.judged(farloop.Comparison(figure, [run]), scenario)
        assert [c["id"] for c in judged.claims] == [c.id for c in papers.read_claims(scenario.resolved)]
        assert all(c["verdict"] in ("partial", "not judged") and c["statements"] for c in judged.claims)
        assert all("judge failed" not in c["told"] for c in judged.claims)
        assert judged.save(tmp_path / figure.replace("/", "-")).is_dir()
        assert list((tmp_path / figure.replace("/", "-") / "figures").glob("*.png"))
