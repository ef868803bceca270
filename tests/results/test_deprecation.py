"""Names of the version before: still read and found, each with a warning that says the new one."""

import json
from pathlib import Path

import pytest

import farloop
from farloop import metrics
from farloop.deprecation import rename_keys
from farloop.results.run import ClaimRow, Comparison
from farloop.statistics import Interval
from farloop.studies.arena.table import Result
from farloop.studies.sweep.study import Study

EXAMPLE = Path(__file__).parents[2] / "examples" / "two-sites.toml"
CLAIM = {"id": "gear/fig09", "verdict": "differs", "verdict_text": "differs (calibrated: x)", "statements": []}


def test_old_attributes_give_what_the_new_ones_give(tmp_path):
    with pytest.warns(DeprecationWarning, match=r"Interval\.told is called Interval\.format now"):
        assert Interval(7.42, 6.9, 9.1, 5).told("{:.3g}".format) == "7.42 [6.9, 9.1]"
    with pytest.warns(DeprecationWarning, match=r"Interval\.within is called Interval\.clamp_ends now"):
        assert Interval(0.5, 0.2, 0.8, 5).within(0.3).low == 0.3
    scenario = farloop.Scenario.load(EXAMPLE)
    with pytest.warns(DeprecationWarning, match=r"Scenario\.prepared is called Scenario\.prepare_handle now"):
        assert scenario.prepared() is scenario.prepare_handle()
    study = Study(tmp_path, "s", None, None, notes=["a run failed"])
    with pytest.warns(DeprecationWarning, match=r"Study\.told is called Study\.notes now"):
        assert study.told == ["a run failed"]
    result = Result("s", {}, [], [], perturbed={"dctcp": [1.0]})
    with pytest.warns(DeprecationWarning, match=r"Result\.shaken is called Result\.perturbed now"):
        assert result.shaken == {"dctcp": [1.0]}


def test_old_functions_of_metrics_are_found():
    with pytest.warns(
        DeprecationWarning, match=r"farloop\.metrics\.smoothed is called farloop\.metrics\.smooth_values now"
    ):
        assert metrics.smoothed is metrics.smooth_values
    with pytest.warns(DeprecationWarning, match="thin_values"):
        assert metrics.thinned is metrics.thin_values
    with pytest.raises(AttributeError, match="has no attribute 'flattened'"):
        metrics.flattened  # noqa: B018


def test_warnings_lead_to_the_code_that_has_to_change():
    with pytest.warns(DeprecationWarning) as seen:
        Interval(1.0, None, None, 1).told(str)
        Comparison("c", [], claims=[CLAIM]).claims[0]["told"]
        Comparison("c", [], claims=[CLAIM]).claims[0].get("told")
        metrics.thinned  # noqa: B018
    assert [warning.filename for warning in seen] == [__file__] * 4


def test_claims_have_the_new_key_and_find_the_old_one():
    (claim,) = Comparison("c", [], claims=[CLAIM]).claims
    assert claim == CLAIM and "told" not in claim and json.loads(json.dumps(claim)) == CLAIM
    with pytest.warns(DeprecationWarning, match='"told" is called "verdict_text" now'):
        assert claim["told"] == CLAIM["verdict_text"]
    with pytest.warns(DeprecationWarning):
        assert claim.get("told") == CLAIM["verdict_text"]
    assert claim.get("absent", 5) == 5
    with pytest.raises(KeyError, match="absent"):
        claim["absent"]


def test_keys_of_an_older_file_become_the_new_ones_in_their_place():
    with pytest.warns(DeprecationWarning, match='"told" in claims.json is called "verdict_text" now'):
        row = rename_keys({"id": 1, "told": "x", "note": ""}, ClaimRow.RENAMED, "claims.json")
    assert list(row.items()) == [("id", 1), ("verdict_text", "x"), ("note", "")]


def test_an_older_output_is_read(tmp_path):
    compared = farloop.compare(EXAMPLE, ["cubic"], set={"run.duration": "1ms"})
    path = Comparison(**(vars(compared) | {"claims": [CLAIM]})).save(tmp_path / "c", report=False) / "claims.json"
    assert json.loads(path.read_text("utf-8")) == [CLAIM]
    path.write_text(path.read_text("utf-8").replace("verdict_text", "told"), encoding="utf-8")
    with pytest.warns(DeprecationWarning, match="told"):
        assert farloop.load(tmp_path / "c").claims == [CLAIM]
