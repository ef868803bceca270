"""The commands of docs/questions.md: short ones run, long ones are parsed by the command line and name files that are there."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from farloop.commands.app import app

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "docs" / "questions.md"

LONG = {"advise", "arena", "interference", "new-algorithm", "plan", "reproduce", "sweep", "testbed", "validate"}
"""Commands that take minutes, root or a checkout."""

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def questions() -> dict[str, str]:
    """The answer of each question."""
    parts = re.split(r"^### (.+)$", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], (re.split(r"^## ", text, flags=re.MULTILINE)[0] for text in parts[2::2]), strict=True))


def lines(kind: str) -> list[str]:
    """The lines of all blocks of this kind."""
    return [line for of, text in BLOCK.findall(PAGE.read_text("utf-8")) if of == kind for line in text.splitlines()]


def words(line: str) -> tuple[list[str], str | None]:
    """The words after `farloop`, and the file that takes what the command prints."""
    line_words = shlex.split(line)[1:]
    return (line_words[:-2], line_words[-1]) if ">" in line_words else (line_words, None)


def is_long(line: str) -> bool:
    return words(line)[0][0] in LONG or "--seeds 1-10" in line


COMMANDS = [line for line in lines("") if line.startswith("farloop ")]
IN_TEXT = re.findall(r"`(farloop [^`]+)`", PAGE.read_text("utf-8"))


def test_each_question_has_something_to_type_and_a_page_that_explains_it():
    asked = questions()
    assert len(asked) >= 30
    for question, answer in asked.items():
        assert question.endswith("?"), question
        assert BLOCK.search(answer), question
        assert re.search(r"\]\([^)]+\.(md|ipynb)(#[^)]+)?\)", answer), question


def test_the_page_is_near_the_top_of_the_lists_of_pages(scripts):
    assert "docs/questions.md" in scripts("build_site").mapped()["Guide", "Start"]
    assert "(docs/questions.md)" in (REPOSITORY / "README.md").read_text("utf-8")
    assert "(questions.md)" in (REPOSITORY / "docs" / "README.md").read_text("utf-8")


@pytest.mark.parametrize("line", [*COMMANDS, *IN_TEXT])
def test_the_command_line_accepts(line):
    arguments, _ = words(line)
    group = get_command(app)
    if arguments[0].startswith("-"):
        assert any(arguments[0] in parameter.opts for parameter in group.params)
        return
    name = arguments.pop(0)
    while hasattr(group.commands[name], "commands"):
        group, name = group.commands[name], arguments.pop(0)
    group.commands[name].make_context(name, list(arguments))
    for word in arguments:
        if word.startswith("examples/"):
            assert (REPOSITORY / word).is_file(), word


@pytest.mark.site
def test_the_commands_run_one_after_the_other(command, tmp_path):
    """In a copy of the examples; the scenario that the first line copies is made short."""
    shutil.copytree(REPOSITORY / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("target"))
    ran = 0
    for kind, text in BLOCK.findall(PAGE.read_text("utf-8")):
        if kind == "python":
            code = [sys.executable, "-c", text]
            done = subprocess.run(code, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
            assert done.returncode == 0, done.stderr
        for line in text.splitlines() if not kind else ():
            if line.startswith("cp "):
                _, source, target = shlex.split(line)
                short = (tmp_path / source).read_text("utf-8").replace('"400ms"', '"40ms"').replace('"100ms"', '"10ms"')
                (tmp_path / target).write_text(short, encoding="utf-8")
            elif not is_long(line):
                arguments, target = words(line)
                done = command(*arguments)
                assert done.returncode == 0, f"{line}\n{done.stderr}"
                if target:
                    (tmp_path / target).write_text(done.stdout, encoding="utf-8")
                ran += 1
    assert ran >= 20
    for name in ("flows-of-all.csv", "slowdown.pdf", "fct.svg", "mine.tar.gz", "out/trace/trace.perfetto-trace"):
        assert (tmp_path / name).stat().st_size > 0, name


def test_the_lines_for_hosts_are_those_of_the_pages_that_explain_them():
    advise = (REPOSITORY / "docs" / "advise.md").read_text("utf-8")
    install = (REPOSITORY / "docs" / "install.md").read_text("utf-8")
    for line in lines("text"):
        if line.startswith("sudo "):
            assert line.replace("out/advice/", "") in advise
        else:
            assert " ".join(line.split()[:2]) in install
