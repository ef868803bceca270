"""Statements that do not hold have a cause, and a cause has commands that show it."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from farloop.judging import causes, verdicts
from farloop.judging.causes import MIN_READINGS, CauseError
from farloop.scenario import PAPERS, figure_names

REPOSITORY = Path(__file__).parents[2]
FINDINGS = REPOSITORY / "docs" / "findings"

MAX_SECONDS = float(os.environ.get("FARLOOP_STATEMENT_SECONDS", "10"))
"""Seconds of processor time below which a command is run here; .ci/run sets fewer."""

GOOD = """
[[cause]]
claim = "gear/fig09"
statements = ["Annulus is fair"]
kind = "setting not published"
why = "The paper gives no byte counter."
page = "gear-reading.md"
[[cause.reading]]
what = "another byte counter"
command = "farloop reproduce gear/fig09 --algorithms annulus"
gives = "holds: Annulus is fair"
seconds = 3
"""


def written(tmp_path, text):
    path = tmp_path / "causes.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_causes(tmp_path):
    (cause,) = causes.read(written(tmp_path, GOOD))
    assert (cause.claim, cause.statements, cause.kind) == ("gear/fig09", ("Annulus is fair",), "setting not published")
    assert cause.row() == {"kind": cause.kind, "why": "The paper gives no byte counter.", "page": "gear-reading.md"}
    (reading,) = cause.readings
    assert (reading.seconds, reading.calibrated, reading.gives) == (3.0, False, "holds: Annulus is fair")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[[cause]]", "[[causes]]", "causes: no such key; did you mean cause?"),
        ("why =", "because =", "[[cause]] 1: because: no such key"),
        ("setting not published", "unknown", "[[cause]] 1: kind: unknown: there is setting not published, cannot"),
        ('["Annulus is fair"]', "[]", "[[cause]] 1: statements: expected the texts"),
        ('["Annulus is fair"]', '"Annulus is fair"', "[[cause]] 1: statements: expected the texts"),
        ('"setting not published"', '"open"', "[[cause]] 1: reading: has 1; expected 3 or more for open"),
        ("farloop reproduce", "rm -r", "[[cause.reading]] 1: command: rm -r gear/fig09 --algorithms annulus: expected"),
        ("seconds = 3", "seconds = true", "[[cause.reading]] 1: seconds: expected the processor time"),
        ("seconds = 3", "seconds = 3\ncalibrated = 1", "[[cause.reading]] 1: calibrated: expected true or false"),
        ("seconds = 3", "", "[[cause.reading]] 1: seconds: expected"),
        ('gives = "holds: Annulus is fair"', 'gives = ""', "[[cause.reading]] 1: gives: expected a text"),
        ("seconds = 3", "seconds =", "expected a TOML file with [[cause]] entries"),
        ("seconds = 3", f"seconds = 3\n{GOOD}", "[[cause]] 2: statements: Annulus is fair of gear/fig09 has a cause"),
    ],
)
def test_what_is_no_cause_is_refused(old, new, said, tmp_path):
    path = written(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(CauseError) as raised:
        causes.read(path)
    assert str(raised.value).startswith(str(path))
    assert said in str(raised.value)


def test_an_absent_file_means_no_causes():
    assert causes.read_causes("none") == ()
    assert causes.find_cause("none/fig01", "anything") is None


def test_causes_are_about_statements_that_judges_make():
    stated = {
        name: {text for scale in ("quick", "full") for text in verdicts.statements(figure, scale).get(name, [])}
        for figure in figure_names()
        for name in verdicts.statements(figure)
    }
    for paper in sorted(path.parent.name for path in PAPERS.glob(f"*/{causes.FILE}")):
        for cause in causes.read_causes(paper):
            assert cause.claim.startswith(f"{paper}/")
            unknown = [text for text in cause.statements if text not in stated.get(cause.claim, ())]
            assert not unknown, f"{paper}/{causes.FILE}: {cause.claim}: no such statement: {unknown}"
            assert not cause.page or (FINDINGS / cause.page).is_file(), f"{cause.claim}: {cause.page}"


def test_every_statement_that_does_not_hold_has_a_cause(scripts):
    tally = scripts("tally")
    stated = tally.stated_today(tally.known_claims())
    claims = tally.shown_today()
    assert not [c["id"] for c in claims if not tally.is_current(c, stated)], "judged by statements of before"
    assert not [c["id"] for c in claims if c["judged"] < len(c["statements"])], "a statement is not decided"
    failing = scripts("statements").failing(claims)
    assert not [(s["claim"], s["statement"]) for s in failing if s["kind"] not in MIN_READINGS]


def test_the_page_of_statements_is_what_the_record_and_the_causes_say(scripts):
    page = scripts("statements").page(scripts("tally").shown_today())
    assert (FINDINGS / "statements.md").read_text("utf-8") == page, "run `make accept`"


def made_up(**changes):
    statements = [
        {"text": "a holds", "holds": True, "evidence": "1", "number": False, "side": ""},
        {"text": "b | fails", "holds": False, "evidence": "2 < 3", "number": True, "side": "better"},
    ]
    return {
        "id": "none/fig01", "scale": "full", "verdict": "differs", "held": 1, "judged": 2, "statements": statements,
    } | changes  # fmt: skip


def test_statements_are_counted_by_cause(scripts):
    statements = scripts("statements")
    assert statements.tally([made_up()]).splitlines() == [
        "| paper | scale | hold | judged | fail | of these better than published | setting not published | cannot follow from the text "
        "| open | no cause named |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| none | full | 1 | 2 | 1 | 1 | 0 | 0 | 0 | 1 |",
    ]
    page = statements.page([made_up()])
    assert "1 of 2 statements hold (full scale)" in page
    assert "- **b \\| fails** (2 &lt; 3; *better than published*).\n    - *no cause named*" in page
    assert "a holds" not in page


def commands():
    """Every command that takes little time, with all that it is said to print."""
    shown = {}
    for paper in sorted(path.parent.name for path in PAPERS.glob(f"*/{causes.FILE}")):
        for reading in (reading for cause in causes.read_causes(paper) for reading in cause.readings):
            if reading.seconds < MAX_SECONDS:
                shown.setdefault(reading.command, []).append(reading.gives)
    return sorted(shown.items())


@pytest.mark.record
@pytest.mark.parametrize(("command", "gives"), commands(), ids=lambda value: re.sub(r"\W+", "-", str(value))[:80])
def test_commands_show_what_they_are_said_to(command, gives, tmp_path):
    words = shlex.split(command)
    program = [sys.executable, "-m", "farloop"] if words[0] == "farloop" else [sys.executable]
    writes = words[0] == "farloop" and words[1] in ("reproduce", "run", "compare")
    into = ["--out", str(tmp_path / "out"), "--no-report"] if writes else []
    done = subprocess.run([*program, *words[1:], *into], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert all(text in done.stdout for text in gives), done.stdout[-3000:]


def test_causes_are_no_figure():
    beside = list(PAPERS.glob(f"*/{causes.FILE}"))
    assert beside and not [name for name in figure_names() if name.endswith("/causes")]
