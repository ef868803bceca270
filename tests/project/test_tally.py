"""The verdicts in README and findings are what scripts/tally.py writes."""

import dataclasses
import datetime
import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

from farloop.judging.claim_readings import APART, ClaimReading
from farloop.judging.claims import VERDICTS, Claim, read_claims
from farloop.judging.schedule import own_scenario
from farloop.scenario import figure_names

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))  # what the script imports beside it
_spec = importlib.util.spec_from_file_location("tally", ROOT / "scripts" / "tally.py")
tally = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(tally)


def claim(name, verdict, text, paper=None, measured=None, *, calibrated=False, scale="full"):
    numbers = {"paper": paper or {}, "measured": measured or {}}
    statements = [
        {"text": "it is so", "holds": True, "evidence": "7", "number": False, "side": "", "cause": {"kind": "open"}},
        {"text": "it is 3", "holds": False, "evidence": "4", "number": True, "side": "worse"},
    ]
    statements = [statement | {"reading": "this figure" if calibrated else "untouched"} for statement in statements]
    row = {"id": name, "verdict": verdict, "verdict_text": text, "calibrated": calibrated, "scale": scale}
    return row | numbers | {"held": 1, "judged": 2, "statements": statements}


CLAIMS = [
    claim(
        "a/fig1",
        "reproduced",
        "reproduced (calibrated: W by this figure)",
        {"ratio": 1.02},
        {"ratio": 1.04},
        calibrated=True,
    ),
    claim("a/fig2", "differs", "differs", {"x": 3}, {"x": None}),
    claim("b/fig1", "partial", "partial: 2 of 8 statements", calibrated=True),
    claim("b/fig2", "direction", "direction", scale="quick"),
]


def test_the_tally_counts():
    assert tally.tally(CLAIMS).splitlines() == [
        "| paper | scale | statements that hold, of judged | claims | reproduced | direction | differs | partial | of these calibrated "
        "| by construction, apart |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| a | full | 1 of 4 | 2 | 1 | 0 | 1 | 0 | 1 | 0 |",
        "| b | full, quick | 1 of 4 | 2 | 0 | 1 | 0 | 1 | 0 | 0 |",
    ]


def test_statements_by_construction_are_counted_apart():
    apart = claim("a/fig1", "differs", "differs")
    for statement in apart["statements"]:
        statement["reading"] = APART
    rows = tally.tally([apart, claim("a/fig2", "differs", "differs")]).splitlines()
    assert rows[2] == "| a | full | 1 of 2 | 2 | 2 | 0 | 2 |", "neither what holds nor what fails is judged"
    assert tally.statements.count_classes([apart]) == {APART: 1}
    (row,) = tally.statements.tally([apart]).splitlines()[2:]
    assert row.startswith("| a | full | 0 | 0 | 0 | 0 | 1 |")
    published = {"a/fig1": dataclasses.replace(PUBLISHED["a/fig1"], by_construction=True)}
    (now,) = tally.shown([claim("a/fig1", "reproduced", "reproduced")], {"a/fig1": KNOWN["a/fig1"]}, STATED, published)
    assert now["verdict_text"] == "reproduced (by construction)"
    assert [s["reading"] for s in now["statements"]] == [APART, APART]


def test_the_table_has_the_papers_numbers_beside_ours():
    assert tally.table(CLAIMS).splitlines()[2:] == [
        "| a/fig1 | full | reproduced (calibrated: W by this figure) | 1 of 2 | ratio 1.02, 1.04 |  |",
        "| a/fig2 | full | differs | 1 of 2 | x 3, – |  |",
        "| b/fig1 | full | partial: 2 of 8 statements | 1 of 2 |  |  |",
        "| b/fig2 | quick | direction | 1 of 2 |  |  |",
    ]


PUBLISHED = {name: Claim(name, "x", {"ratio": 1.02}, {}) for name in ("a/fig1", "a/fig2", "a/fig3")}


def test_a_row_has_few_numbers():
    names = [f"n{i}" for i in range(tally.MAX_NUMBERS + 2)]
    (row,) = tally.table([claim("a/fig1", "differs", "differs", dict.fromkeys(names, 1), {})]).splitlines()[2:]
    assert f"n{tally.MAX_NUMBERS - 1} 1, –; and 2 more |" in row
    assert f"n{tally.MAX_NUMBERS} " not in row


KNOWN = {name: {"id": name, "paper": {"ratio": 1.02}} for name in ("a/fig1", "a/fig2", "a/fig3")}
STATED = {(name, scale): ["it is so", "it is 3"] for name in KNOWN for scale in ("quick", "full")}


def test_a_partial_reproduction_replaces_what_it_ran():
    quick = claim("a/fig1", "differs", "differs", scale="quick")
    again = claim("a/fig1", "partial", "partial: 1 of 2 statements", scale="quick")
    full = claim("a/fig1", "reproduced", "reproduced")
    other = claim("a/fig2", "direction", "direction", scale="quick")
    gone = claim("a/fig0", "differs", "differs", scale="quick")
    record = tally.updated([], [other, quick, gone], KNOWN)
    assert record == [quick, other], "in the order of the claims; what is no claim any more goes"
    assert tally.updated(record, [again], KNOWN) == [again, other]
    assert tally.updated(record, [full], KNOWN) == [quick, full, other], "each scale has its own entry"
    shown = tally.shown(tally.updated(record, [full], KNOWN), KNOWN, STATED, PUBLISHED)
    assert [(c["id"], c["scale"], c["verdict"]) for c in shown] == [
        ("a/fig1", "full", "reproduced"), ("a/fig2", "quick", "direction"), ("a/fig3", "–", "not judged"),
    ]  # fmt: skip
    assert shown[2]["verdict_text"] == "not judged: not run"
    assert shown[0]["paper"] == {"ratio": 1.02}


def test_full_scale_under_an_earlier_judge_stands_behind_quick_scale_under_todays():
    quick, full = claim("a/fig1", "differs", "differs", scale="quick"), claim("a/fig1", "reproduced", "reproduced")
    other = STATED | {("a/fig1", "full"): ["it is so", "it is 4"]}
    assert tally.shown([quick, full], KNOWN, STATED, PUBLISHED)[0]["scale"] == "full"
    assert tally.shown([quick, full], KNOWN, other, PUBLISHED)[0]["scale"] == "quick"
    (old, *_) = tally.shown([full], KNOWN, other, PUBLISHED)
    assert (old["scale"], old["verdict_text"]) == ("full", "reproduced, by an earlier judge"), "better than nothing"
    assert [tally.is_current(full, stated) for stated in (STATED, other, {})] == [True, False, False]


def test_readings_of_today_are_shown_beside_verdicts_of_before():
    reading = ClaimReading("W", "this figure", "Fig. 1", ("it is so",))
    by_figure = PUBLISHED | {"a/fig1": dataclasses.replace(PUBLISHED["a/fig1"], readings=(reading,))}
    entry = claim("a/fig1", "reproduced", "reproduced")
    (now, *_) = tally.shown([entry], KNOWN, STATED, by_figure)
    assert (now["calibrated"], now["verdict_text"]) == (True, "reproduced (calibrated: W)")
    assert [s["reading"] for s in now["statements"]] == ["this figure", "untouched"]
    before = claim("a/fig1", "reproduced", "reproduced (calibrated: W)", calibrated=True)
    (now, *_) = tally.shown([before], KNOWN, STATED, PUBLISHED)
    assert (now["calibrated"], now["verdict_text"]) == (False, "reproduced")
    partial = claim("a/fig1", "partial", "partial: 1 of 2 statements")
    assert tally.shown([partial], KNOWN, STATED, by_figure)[0]["verdict_text"] == "partial: 1 of 2 statements"


def reproduced(directory, **change):
    """What a reproduction leaves of one claim."""
    row = claim("a/fig1", "direction", "direction", {"ratio": 1.02}, {"ratio": 1.5, "other": 7}, scale="quick")
    (directory / "claims.json").write_text(json.dumps([row | change]))
    (directory / "manifest.json").write_text(json.dumps({"farloop": "0.1.0"}))
    return directory / "claims.json"


def test_entries_of_a_reproduction(tmp_path):
    (entry,) = tally.entries(reproduced(tmp_path), KNOWN)
    assert entry.pop("date") == datetime.datetime.now(datetime.UTC).date().isoformat()
    assert entry == {
        "id": "a/fig1",
        "scale": "quick",
        "verdict": "direction",
        "verdict_text": "direction",
        "calibrated": False,
        "measured": {"ratio": 1.5},
        "held": 1,
        "judged": 2,
        "statements": [
            {"text": "it is so", "holds": True, "evidence": "7", "number": False, "side": ""},
            {"text": "it is 3", "holds": False, "evidence": "4", "number": True, "side": "worse"},
        ],
        "version": "0.1.0",
    }


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": "a/fig9"}, "a/fig9: no claim of a paper"),
        ({"scale": "custom"}, "a/fig1: direction at custom scale; expected"),
        ({"verdict": "fine"}, "a/fig1: fine at quick scale; expected"),
        ({"paper": 5}, "expected claims.json"),
    ],
)
def test_what_is_no_reproduction_is_refused(change, said, tmp_path):
    with pytest.raises(tally.RefusedError, match=re.escape(said)):
        tally.entries(reproduced(tmp_path, **change), KNOWN)


def test_claims_of_the_version_before_are_read(tmp_path):
    path = reproduced(tmp_path)
    path.write_text(path.read_text().replace("verdict_text", "told"))
    with pytest.warns(DeprecationWarning, match="told"):
        (entry,) = tally.entries(path, KNOWN)
    assert entry["verdict_text"] == "direction"


def test_files_that_are_none_change_nothing(tmp_path, capsys):
    before = tally.RECORD.read_bytes()
    (tmp_path / "claims.json").write_text("{")
    assert tally.main([str(tmp_path / "absent.json")]) == 2
    assert tally.main([str(tmp_path / "claims.json")]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert "absent.json: No such file" in errors[0]
    assert "expected claims.json of `farloop reproduce`" in errors[1]
    assert tally.RECORD.read_bytes() == before


def test_only_what_is_between_the_markers_is_replaced():
    text = f"before\n{tally.BEGIN}\nold\n{tally.END}\nafter"
    assert tally.between(text, "new") == f"before\n{tally.BEGIN}\n\nnew\n\n{tally.END}\nafter"
    assert tally.inside(tally.between(text, "new")) == "new"
    with pytest.raises(ValueError, match="no markers"):
        tally.between("none", "new")


def test_the_pages_are_what_the_record_says():
    record, known = tally.read_record(), tally.known_claims()
    assert tally.updated(record, [], known) == record
    claims = tally.shown_today()
    assert tally.inside((ROOT / "README.md").read_text()) == tally.tally(claims)
    assert tally.inside((tally.FINDINGS / "README.md").read_text()) == tally.led(claims)
    assert [c["id"] for c in claims] == [c.id for f in figure_names() for c in read_claims(own_scenario(f).resolved)]


def test_a_verdict_never_stands_without_what_it_owes_to_calibration():
    claims = {c.id: c for f in figure_names() for c in read_claims(own_scenario(f).resolved)}
    assert tally.VERDICTS == VERDICTS
    judged = [e for e in tally.shown_today() if e["verdict"] in VERDICTS[:3]]
    assert judged
    assert all(e["calibrated"] == bool(claims[e["id"]].calibrated) for e in judged)
    assert all(("(calibrated" in e["verdict_text"]) == e["calibrated"] for e in judged)
