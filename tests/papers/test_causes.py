"""Statements that do not hold have a cause, and a cause has commands that show it."""

import itertools
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from farloop.judging import causes, verdicts
from farloop.judging.causes import CauseError
from farloop.judging.kinds import KINDS
from farloop.scenario import PAPERS, figure_names

REPOSITORY = Path(__file__).parents[2]
FINDINGS = REPOSITORY / "docs" / "findings"

MAX_SECONDS = 10
"""Seconds of processor time below which a command is run here."""

BUDGET = float(os.environ.get("FARLOOP_STATEMENT_SECONDS", "inf"))
"""Seconds that all of these may take together. .ci/run sets it, and then the shortest ones run."""

READING = """
[[cause.reading]]
what = "another byte counter"
command = "farloop reproduce gear/fig09 --algorithms annulus"
gives = "holds: Annulus is fair"
seconds = 3
"""

COMMON = """
[[cause]]
claim = "gear/fig09"
statements = ["Annulus is fair"]
why = "The paper gives no byte counter."
page = "gear-reading.md"
"""

SETTING = """setting = "the byte counter"
searched = ["§V-A", "[12]"]
range = "10 to 15 MB"
range_source = "QCN's standard"
"""


def entry(kind, keys, *roles):
    """An entry of a kind with its keys and three readings, the first of them with roles."""
    readings = [READING + (f'role = "{role}"\n' if role else "") for role in [*roles, "", "", ""][:3]]
    return f'{COMMON}kind = "{kind}"\n{keys}{"".join(readings)}'


NOT_PUBLISHED = entry("setting not published", SETTING, "turns", "keeps")
QUOTES = entry("cannot follow from the text", 'quotes = ["§V-B: all senders", "§V-C: some senders"]\n')
BOUND = entry("cannot follow from the text", 'bound = "80 packets are 120 kB"\n')
OURS = entry("simplification of farloop", 'simplification = "No steps II and III."\nrepair = "A week of work."\n')
CLOSE = entry("too close to tell", "bound = 0.21\ninterval = [0.20, 0.22]\nseeds = 20\n")
OPEN = entry("open", "")


def written(tmp_path, text):
    path = tmp_path / "causes.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_causes(tmp_path):
    (cause,) = causes.read(written(tmp_path, f"{NOT_PUBLISHED}calibrated = true\n"))
    assert (cause.claim, cause.statements, cause.kind) == ("gear/fig09", ("Annulus is fair",), "setting not published")
    assert cause.row() == {"kind": cause.kind, "why": "The paper gives no byte counter.", "page": "gear-reading.md"}
    reading = cause.readings[2]
    assert (reading.seconds, reading.calibrated, reading.gives, reading.role) == (
        3.0, True, "holds: Annulus is fair", "shows",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "kind", "described"),
    [
        (
            NOT_PUBLISHED,
            "setting not published",
            "the byte counter: not in §V-A, [12]. Plausible: 10 to 15 MB (QCN's standard).",
        ),
        (QUOTES, "cannot follow from the text", "§V-B: all senders / §V-C: some senders"),
        (BOUND, "cannot follow from the text", "80 packets are 120 kB"),
        (OURS, "simplification of farloop", "No steps II and III. Repair: A week of work."),
        (
            CLOSE,
            "too close to tell",
            "0.2 to 0.22 over 20 seeds (95 %), accepted edge 0.21.",
        ),
        (OPEN, "open", ""),
    ],
)
def test_each_kind_says_what_it_rests_on(text, kind, described, tmp_path):
    (cause,) = causes.read(written(tmp_path, text))
    assert (cause.kind, cause.details.describe()) == (kind, described)


def refusals(good, changes):
    """(text, message) of what is refused, where each change is of a good entry."""
    for old, new, message in changes:
        assert old in good
        yield good.replace(old, new, 1), message


ENTRY, SHOWN = "[[cause]] 1: ", "[[cause]] 1, [[cause.reading]] 1: "
REFUSED = [
    *refusals(
        OPEN,
        [
            ("[[cause]]", "[[causes]]", ": causes: no such key; did you mean cause?"),
            ("why =", "because =", ENTRY + "because: no such key"),
            ('"open"', '"unknown"', ENTRY + "kind: unknown: there is setting not published, cannot"),
            ('["Annulus is fair"]', "[]", ENTRY + "statements: expected the texts"),
            ('["Annulus is fair"]', '"Annulus is fair"', ENTRY + "statements: expected the texts"),
            ("farloop reproduce", "rm -r", SHOWN + "command: rm -r gear/fig09 --algorithms annulus: expected"),
            ("seconds = 3", "seconds = true", SHOWN + "seconds: expected the processor time"),
            ("seconds = 3", "seconds = 3\ncalibrated = 1", SHOWN + "calibrated: expected true or false"),
            ("seconds = 3", 'seconds = 3\nrole = "turn"', SHOWN + "role: turn: did you mean turns? there is turns, keeps"),
            ("seconds = 3", "", SHOWN + "seconds: expected"),
            ('gives = "holds: Annulus is fair"', 'gives = ""', SHOWN + "gives: expected a text"),
            ("seconds = 3", "seconds =", "expected a TOML file with [[cause]] entries"),
            (READING * 3, f"{READING * 3}{OPEN}", "[[cause]] 2: statements: Annulus is fair of gear/fig09 has a cause"),
            ("why =", 'setting = "T"\nwhy =', ENTRY + "setting: no key of open; expected it only with setting not"),
            ("why =", 'bound = 1\nwhy =', ENTRY + "bound: no key of open; expected it only with cannot follow from the "
                "text or too close to tell"),
            (READING * 3, "", ENTRY + "reading: has 0; expected 3 or more"),
        ],
    ),
    *refusals(
        NOT_PUBLISHED,
        [
            ('setting = "the byte counter"', "", ENTRY + "setting: expected a text"),
            ('searched = ["§V-A", "[12]"]', "", ENTRY + "searched: expected two or more sections, references or programs"),
            ('"§V-A", "[12]"', '"§V-A"', ENTRY + "searched: has 1; expected two or more sections"),
            ('range = "10 to 15 MB"', "", ENTRY + "range: expected a text"),
            ('range_source = "QCN\'s standard"', "", ENTRY + "range_source: expected a text"),
            ('role = "turns"', 'role = "shows"', ENTRY + 'reading: expected one with role = "turns" that is not calibrated'),
            ('role = "turns"', 'role = "turns"\ncalibrated = true', ENTRY + 'reading: expected one with role = "turns" that'),
            ('role = "keeps"', "", ENTRY + 'reading: expected one with role = "keeps": with the same value no other'),
        ],
    ),
    *refusals(
        QUOTES,
        [
            ('quotes = ["§V-B: all senders", "§V-C: some senders"]', "", ENTRY + "quotes: expected two or more passages with"),
            (', "§V-C: some senders"', "", ENTRY + "quotes: has 1; expected two or more passages, each with its section"),
            ("seconds = 3", 'seconds = 3\nrole = "turns"', ENTRY + 'reading: one has role = "turns", which refutes cannot'),
        ],
    ),
    *refusals(BOUND, [('"80 packets are 120 kB"', "80", ENTRY + "bound: expected a text that is not empty")]),
    *refusals(
        OURS,
        [
            ('simplification = "No steps II and III."', "", ENTRY + "simplification: expected a text"),
            ('repair = "A week of work."', "", ENTRY + "repair: expected a text"),
            (READING * 3, READING * 2, ENTRY + "reading: has 2; expected 3 or more"),
        ],
    ),
    *refusals(
        CLOSE,
        [
            ("bound = 0.21", 'bound = "0.21"', ENTRY + "bound: expected the accepted edge, a number"),
            ("bound = 0.21", "bound = 0.23", ENTRY + "interval: 0.2 to 0.22: expected one that contains the bound, 0.23"),
            ("[0.20, 0.22]", "[0.20]", ENTRY + "interval: expected the lower and the upper end of the 95 % interval"),
            ("[0.20, 0.22]", "[0.22, 0.20]", ENTRY + "interval: expected the lower and the upper end"),
            ("[0.20, 0.22]", "0.2", ENTRY + "interval: expected the lower and the upper end"),
            ("[0.20, 0.22]", "[true, 0.22]", ENTRY + "interval: expected the lower and the upper end"),
            ("seeds = 20", "seeds = 19", ENTRY + "seeds: expected 20 or more"),
            ("seeds = 20", "seeds = 20.0", ENTRY + "seeds: expected 20 or more"),
            ("seeds = 20", "", ENTRY + "seeds: expected 20 or more"),
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), REFUSED, ids=[message[-40:] for _, message in REFUSED])
def test_what_is_no_cause_is_refused(text, said, tmp_path):
    path = written(tmp_path, text)
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


def test_readings_are_of_statements_that_judges_make(scripts):
    tally = scripts("tally")
    published = tally.published_claims()
    stated = tally.stated_today(tally.known_claims())
    for name, claim in published.items():
        made = {text for scale in tally.SCALES for text in stated.get((name, scale), ())}
        unknown = [text for reading in claim.readings for text in reading.statements if text not in made]
        assert not unknown, f"{name}: no such statement: {unknown}"


def test_every_statement_that_does_not_hold_has_a_cause(scripts):
    tally = scripts("tally")
    stated = tally.stated_today(tally.known_claims())
    claims = tally.shown_today()
    assert not [c["id"] for c in claims if not tally.is_current(c, stated)], "judged by statements of before"
    assert not [c["id"] for c in claims if c["judged"] < len(c["statements"])], "a statement is not decided"
    failing = scripts("statements").failing(claims)
    assert not [(s["claim"], s["statement"]) for s in failing if s["kind"] not in KINDS]


def test_the_page_of_statements_is_what_the_record_and_the_causes_say(scripts):
    page = scripts("statements").page(scripts("tally").shown_today())
    assert (FINDINGS / "statements.md").read_text("utf-8") == page, "run `make accept`"


def made_up(**changes):
    statements = [
        {"text": "a holds", "holds": True, "evidence": "1", "number": False, "side": "", "reading": reading}
        for reading in ("untouched", "untouched", "untouched", "text or other figures", "this figure", "this figure")
    ]
    failing = {"text": "b | fails", "holds": False, "evidence": "2 < 3", "number": True, "side": "better"}
    statements.append(failing | {"reading": "this figure"})
    return {
        "id": "none/fig01", "scale": "full", "verdict": "differs", "held": 6, "judged": 7, "statements": statements,
    } | changes  # fmt: skip


def test_statements_are_counted_by_cause(scripts):
    statements = scripts("statements")
    assert statements.tally([made_up()]).splitlines() == [
        "| paper | scale | judged | hold, untouched | hold, reading by text or other figures | hold only by its own reading (not counted) "
        "| hold by construction (not judged) "
        "| fail: setting not published | fail: cannot follow from the text | fail: simplification of farloop | fail: too close to tell "
        "| fail: open | fail: no cause named |",
        "| --- | --- |" + " ---: |" * 11,
        "| none | full | 7 | 3 | 1 | 2 | 0 | 0 | 0 | 0 | 0 | 0 | 1 |",
    ]
    page = statements.page([made_up()])
    assert "### none/fig01: 6 of 7 hold (full scale)" in page
    assert "- **b \\| fails** (2 &lt; 3; *better*).\n    - *no cause named*" in page
    assert "a holds" not in page


def test_the_page_repeats_neither_a_statement_nor_the_papers_page(scripts, monkeypatch, tmp_path):
    statements = scripts("statements")
    text = OPEN.replace('"Annulus is fair"', '"b | fails"').replace("Annulus is fair", "b | fails (2)")
    (cause,) = causes.read(written(tmp_path, text.replace("gear-reading.md", "none.md")))
    monkeypatch.setattr(causes, "find_cause", lambda *_: cause)
    page = statements.page([made_up()])
    assert "## none ([the paper's page](none.md), [commands]" in page
    assert page.count("none.md") == 1
    assert '    - another byte counter: "holds: … (2)".' in page


def commands():
    """The commands that take little time, with all that each is said to print."""
    shown, seconds = {}, {}
    for paper in sorted(path.parent.name for path in PAPERS.glob(f"*/{causes.FILE}")):
        for reading in (reading for cause in causes.read_causes(paper) for reading in cause.readings):
            if reading.seconds < MAX_SECONDS:
                shown.setdefault(reading.command, []).append(reading.gives)
                seconds[reading.command] = max(reading.seconds, seconds.get(reading.command, 0))
    shortest = sorted(shown, key=lambda command: (seconds[command], command))
    spent = itertools.accumulate(seconds[command] for command in shortest)
    return sorted((command, shown[command]) for command, total in zip(shortest, spent, strict=True) if total <= BUDGET)


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
