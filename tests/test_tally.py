"""The verdicts in README and findings are what scripts/tally.py writes."""

import importlib.util
import re
from pathlib import Path

import pytest

from farloop.judging.claims import VERDICTS, read_claims
from farloop.judging.schedule import own_scenario
from farloop.scenario import figure_names

ROOT = Path(__file__).resolve().parent.parent
_spec = importlib.util.spec_from_file_location("tally", ROOT / "scripts" / "tally.py")
tally = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(tally)


def claim(name, verdict, told, paper=None, measured=None, *, calibrated=False, scale="full"):
    numbers = {"paper": paper or {}, "measured": measured or {}}
    return {"id": name, "verdict": verdict, "told": told, "calibrated": calibrated, "scale": scale} | numbers


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
        "| paper | scale | claims | reproduced | direction | differs | partial | of these calibrated |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| a | full | 2 | 1 | 0 | 1 | 0 | 1 |",
        "| b | full | 1 | 0 | 0 | 0 | 1 | 0 |",
        "| b | quick | 1 | 0 | 1 | 0 | 0 | 0 |",
    ]


def test_the_table_has_the_papers_numbers_beside_ours():
    assert tally.table(CLAIMS).splitlines()[2:] == [
        "| a/fig1 | full | reproduced (calibrated: W by this figure) | ratio 1.02, 1.04 |  |",
        "| a/fig2 | full | differs | x 3, – |  |",
        "| b/fig1 | full | partial: 2 of 8 statements |  |  |",
        "| b/fig2 | quick | direction |  |  |",
    ]


def test_the_last_file_counts_and_no_claim_is_missing():
    quick = [claim("a/fig1", "differs", "differs", scale="quick"), claim("a/fig2", "differs", "differs", scale="quick")]
    found = tally.merged([quick, CLAIMS[:1]], ["a/fig1", "a/fig2", "a/fig3"])
    assert [(c["id"], c["scale"]) for c in found] == [("a/fig1", "full"), ("a/fig2", "quick"), ("a/fig3", "–")]
    assert found[2]["told"] == "not judged: not run"


def test_only_what_is_between_the_markers_is_replaced():
    text = f"before\n{tally.BEGIN}\nold\n{tally.END}\nafter"
    assert tally.between(text, "new") == f"before\n{tally.BEGIN}\n\nnew\n\n{tally.END}\nafter"
    assert tally.inside(tally.between(text, "new")) == "new"
    with pytest.raises(ValueError, match="no markers"):
        tally.between("none", "new")


def test_readme_and_findings_agree_and_name_every_claim():
    rows = [
        re.split(r" \| ?", line.strip("| "))
        for line in tally.inside((tally.FINDINGS / "README.md").read_text()).splitlines()[2:]
    ]
    found = [
        {"id": r[0], "scale": r[1], "verdict": re.split(r" \(|: ", r[2])[0], "calibrated": "(calibrated" in r[2]}
        for r in rows
    ]
    claims = {c.id: c for f in figure_names() for c in read_claims(own_scenario(f).resolved)}
    assert {c["id"] for c in found} == set(claims)
    assert all(c["verdict"] in tally.VERDICTS for c in found)
    assert tally.VERDICTS == VERDICTS
    assert tally.inside((ROOT / "README.md").read_text()) == tally.tally(found)
    # A verdict never stands without what it owes to calibration.
    judged = [c for c in found if c["verdict"] in ("reproduced", "direction", "differs")]
    assert all(c["calibrated"] == bool(claims[c["id"]].calibrated) for c in judged)
