"""The prose rules of `make lint`: bad sentences are found with their lines, good pages pass."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("prose", REPOSITORY / "scripts" / "prose.py")
assert SPEC and SPEC.loader
prose = importlib.util.module_from_spec(SPEC)
sys.modules["prose"] = prose
SPEC.loader.exec_module(prose)

GOOD = "A port fed by one link of equal or lower rate never queues; we shape it to 102 %."
LONG = "The port " + "which the flow of the host passes " * 5 + "drops it."
"""39 words."""


def test_a_good_page_passes():
    assert prose.check_page(f"# Ports\n\n{GOOD}\n\n- one item\n- another: `of its own`\n") == []


@pytest.mark.parametrize(
    "sentence",
    [
        "A new algorithm is a new row by itself.",
        "It reads what it is, which is what the reader gets.",
        "The two cases are told apart by the mark.",
        "Neither the port nor the host drops it.",
        "The default stands in the table.",
        "It runs the figure anew.",
    ],
)
def test_phrases_are_found_with_line_and_advice(sentence):
    (finding,) = prose.check_page(f"# Title\n\n{GOOD}\n{sentence} {GOOD}\n")
    assert finding.line == 4
    assert finding.text == sentence
    assert finding.advice


def test_long_sentences_are_found_above_the_share_of_a_page():
    assert prose.check_page(f"{GOOD}\n{LONG}\n") == [], "every page may have one"
    assert [f.line for f in prose.check_page(f"{GOOD}\n{LONG}\n", everything=True)] == [2]
    findings = prose.check_page(f"{GOOD}\n\n{LONG}\n\n{LONG}\n")
    assert [(f.line, f.text) for f in findings] == [(3, LONG), (5, LONG)]
    assert "39 words" in findings[0].advice
    assert prose.check_page(f"{GOOD}\n" * 38 + f"{LONG}\n" * 2) == []


def test_the_longest_sentences_are_found_on_every_page():
    sentence = "The port " + "which the flow of the host passes " * 9 + "drops it."
    assert [f.line for f in prose.check_page(f"{GOOD}\n" * 100 + sentence)] == [101]


def test_code_links_formulas_and_generated_parts_are_not_prose():
    code = "```\nrun anew by itself " + "word " * 80 + "\n```\n"
    generated = "<!-- table: written by scripts/x.py -->\n" + "anew " * 80 + "\n<!-- end of table -->\n"
    assert prose.check_page(f"{code}\n{generated}\nSee [the page](by/itself/anew.md) and `anew`.\n") == []
    (sentence,) = prose.sentences("Run `farloop run a b c` ([how](x.md)), e.g. for Fig. 3.")
    assert sentence.words == 7


def test_table_cells_are_sentences():
    assert [f.line for f in prose.check_page("| key | text |\n| --- | --- |\n| a | set anew |\n")] == [3]


def test_wide_comments_of_rust_are_found():
    source = 'let text = "' + "x" * 150 + '";\n    /// ' + "word " * 28 + "\n//! | " + "x" * 150 + " |\n// short\n"
    (finding,) = prose.check_rust(source)
    assert finding.line == 2
    assert str(prose.COLUMNS) in finding.advice


def test_the_command_prints_places_and_fails(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "-q"], check=True)
    Path("a.md").write_text("Fine.\n\nIt starts anew.\n", "utf-8")
    Path("b.rs").write_text("// fine\n", "utf-8")
    subprocess.run(["git", "add", "."], check=True)
    assert prose.main([]) == 1
    assert capsys.readouterr().out.startswith("a.md:3: 'anew'")
    assert prose.main(["b.rs"]) == 0
