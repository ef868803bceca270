"""What `--help` says, and how it reads in 80 columns."""

import pkgutil
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from typer import Typer
from typer.main import get_command
from typer.testing import CliRunner

from farloop import commands as folder
from farloop.commands import declarations
from farloop.commands.app import app
from farloop.commands.declarations import group_summaries
from farloop.experiments import clusters
from farloop.results.size_classes import GEMINI
from farloop.studies.sweep import measures

ROOT = Path(__file__).parents[2]

COLUMNS = 80


def shown(*words):
    done = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": str(COLUMNS), "NO_COLOR": "1"})
    assert done.exit_code == 0, done.output
    return done.stdout


def commands(command=None, words=()):
    command = command or get_command(app)
    yield words
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*words, name))


def test_every_command_stands_in_one_group_with_its_whole_line():
    groups = group_summaries()
    assert all(groups.values()), "a group without commands"
    lines = {name: text for group in groups.values() for name, text in group.items()}
    assert set(lines) == set(get_command(app).commands)
    text = shown()
    for title, group in groups.items():
        assert f"\n{title}:\n" in text
        for name, line in group.items():
            assert re.search(rf"^  {name} +{re.escape(line)}$", text, re.MULTILINE), name


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_help_fits_into_80_columns_and_cuts_nothing_short(words):
    text = shown(*words)
    assert [line for line in text.splitlines() if len(line) > COLUMNS] == []
    # What is cut short ends so; lists of values that go on have a comma before it.
    assert re.findall(r"\w\.\.\.$", text, re.MULTILINE) == []
    assert "\n  " in text.partition("Options:")[0], "no sentence says what it does"


def test_texts_have_an_actor_and_a_verb():
    """Texts that readers stumbled over, as they are now."""
    run, sweep = " ".join(shown("run").split()), " ".join(shown("sweep").split())
    assert "Simulate everything again. Otherwise runs that DIR already has" in run
    assert "Use at most N threads (default: auto, as many as pay). Results do not depend on it." in run
    assert "Finished runs are never repeated." in sweep
    assert measures.measure("intra_small_p99_slowdown", GEMINI).meaning == (
        "99th percentile of the FCT slowdown (completion time over that of the same flow alone in the empty network); flows inside a "
        "datacenter of up to 100 kB, finished flows alone"
    )


def test_clusters_ask_for_what_pip_finds():
    """farloop is on no index: an extra of a bare name would find nothing."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert extras.pop("advise") == ["optuna>=4.5"], "docs/install.md says it, too"
    assert sorted(clusters._REQUIREMENTS.values()) == sorted(
        requirement for some in extras.values() for requirement in some
    )
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    wrong = [page for page in pages if re.search(r"^pip install '?farloop\[", page.read_text("utf-8"), re.MULTILINE)]
    assert wrong == []


def commands_of(group, above=()):
    """All commands below a group with their names, such as "kernel load"."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands_of(command, (*above, name))
        else:
            yield " ".join((*above, name)), command


@pytest.mark.long
def test_examples_stand_at_the_end_and_are_parsed():
    """Each is a line that the command line takes; every command has one, those of groups as well."""
    root = get_command(app)
    for name, command in commands_of(root):
        lines = (command.epilog or "").splitlines()
        assert lines, name
        text = shown(*name.split())
        assert text.endswith("\nExamples:\n" + "".join(f"  {line}\n" for line in lines)), name
        for line in lines:
            words = shlex.split(line.partition(" > ")[0])
            assert words[: 1 + len(name.split())] == ["farloop", *name.split()], line
            with command.make_context(name, words[1 + len(name.split()) :]):
                pass


def test_a_wrong_example_would_be_seen():
    command = get_command(app).commands["run"]
    with pytest.raises(Exception, match="No such option"):
        command.make_context("run", ["scenario.toml", "--durtaion", "5ms"])


def test_every_file_of_a_command_declares_one():
    """What another file needs of a command stands in `SHARED`, and nothing else does."""
    declaring = {
        command.run.__module__ for command in declarations.find_commands() if not isinstance(command.run, Typer)
    }
    declaring |= {"farloop.commands.kernel", "farloop.commands.testbed"}
    files = {module.name for module in pkgutil.iter_modules(folder.__path__)}
    assert files > declarations.SHARED
    assert {f"farloop.commands.{name}" for name in files - declarations.SHARED} == declaring


def test_a_command_of_an_unknown_group_is_refused():
    with pytest.raises(ValueError, match="there is no group 'Simulation'; expected one of Simulate, "):
        declarations.Declaration("x", "Simulation", "X.", print)


def test_the_table_of_commands_on_the_page_is_current():
    page = (ROOT / "docs" / "how-to.md").read_text("utf-8")
    assert page == declarations.write_command_table(page), "`make accept` writes it"
    assert "| Simulate | `farloop scale` | " in page
    with pytest.raises(ValueError, match="<!-- commands -->"):
        declarations.write_command_table("# A page\n")
