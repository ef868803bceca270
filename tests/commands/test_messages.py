"""Users' texts in messages and tables: nothing that a terminal obeys, nothing without end, and the place where it stands."""

import ctypes
import io
import json
from pathlib import Path

import pytest
from conftest import SMALL, Command
from rich.console import Console
from typer.testing import CliRunner

from farloop import statistics
from farloop.commands.app import app
from farloop.commands.command import print_json
from farloop.kernel import libbpf
from farloop.messages import MAX_LENGTH, Stopped, printable, say, shorten
from farloop.views.report.shown import table

HOSTILE = "a\x1b[31mb\x07c\u202egnp.exe\u2066\x9b1m\u200b\r"
GOAL = "num_ranks 1\nrank 0 {\ncalc 1\n}\n"


def is_plain(text: str) -> bool:
    return all(c.isprintable() or c in "\n\t" for c in text)


def test_a_terminal_obeys_no_name(capsys: pytest.CaptureFixture[str]):
    assert printable("Zürich → 東京, 5 µs, λ ≥ 1\n\tand on") == "Zürich → 東京, 5 µs, λ ≥ 1\n\tand on"
    assert printable("1\u202f000\u00a0B") == "1\u202f000\u00a0B", "spaces of other widths are plain"
    assert printable(HOSTILE) == r"a\x1b[31mb\x07c\u202egnp.exe\u2066\x9b1m\u200b\r"
    say(f"farloop: {HOSTILE}")
    assert is_plain(capsys.readouterr().err)
    print_json({HOSTILE: HOSTILE, "µ": 1})
    shown = capsys.readouterr().out
    assert is_plain(shown)
    assert json.loads(shown) == {HOSTILE: HOSTILE, "µ": 1}
    text = io.StringIO()
    Console(file=text, width=200, color_system=None).print(table([HOSTILE], [[HOSTILE]], title=HOSTILE))
    assert is_plain(text.getvalue())


def test_a_long_message_keeps_its_end(capsys: pytest.CaptureFixture[str]):
    assert shorten("x" * MAX_LENGTH) == "x" * MAX_LENGTH
    say(f"farloop: {'x' * 70_000}: expected less")
    said = capsys.readouterr().err
    assert len(said) < MAX_LENGTH + 100
    assert said.endswith("…xxxx: expected less\n") or said.endswith("x: expected less\n")


GROUPS = json.dumps({f"<img src=x onerror=alert(1)>{HOSTILE}": [9]})


@pytest.mark.parametrize("name", [HOSTILE.replace("\r", "") + ".goal", "x" * 200 + ".goal"])
def test_names_of_files_are_plain_in_messages(command: Command, name: str):
    (command.directory / name).write_text("num_ranks 1\nrank 0 {\n" + "y" * 9000 + "\n}\n")
    done = command("import-job", name)
    assert done.returncode == 2
    assert is_plain(done.stderr) and len(done.stderr) < 2000
    assert len(done.stderr.splitlines()) == 1


def test_groups_of_traces_are_plain_in_messages(command: Command):
    from farloop.formats.job import read_job

    (command.directory / "p.toml").write_text("layers = 1\n")
    read_job([command.directory / "p.toml"], out=command.directory / "t.et", timed=False)
    (command.directory / "g.json").write_text(GROUPS)
    done = command("import-job", "t.0.et", "--groups", "g.json")
    assert done.returncode == 2
    assert is_plain(done.stderr) and "expected ranks of 0 to 0" in done.stderr
    (command.directory / "g.json").write_text(json.dumps({"y" * 70_000: [9]}))
    done = command("import-job", "t.0.et", "--groups", "g.json")
    assert done.returncode == 2
    assert len(done.stderr) < 3000 and "expected ranks of 0 to 0" in done.stderr


@pytest.mark.parametrize("number", ["99999999999999", "4294967296", "16777217", "0", "-1"])
@pytest.mark.parametrize("option", ["--ranks", "--ranks-per-host", "--ranks-per-site"])
def test_numbers_of_ranks_have_an_end(tmp_path: Path, option: str, number: str):
    (tmp_path / "j.goal").write_text(GOAL)
    more = ["--site-latency", "1ms"] if option == "--ranks-per-site" else []
    done = CliRunner().invoke(app, ["import-job", str(tmp_path / "j.goal"), option, number, *more])
    assert done.exit_code == 2, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)


@pytest.mark.parametrize("text", ["set = " + "[" * 50_000, "set = " + "{a=" * 50_000, "a" + ".a" * 50_000 + " = 1"])
def test_a_question_that_nests_without_end_is_refused_with_its_line(tmp_path: Path, text: str):
    file = tmp_path / "q.toml"
    file.write_text(f'scenario = "s.toml"\n{text}\n')
    done = CliRunner().invoke(app, ["advise", str(file)])
    assert done.exit_code == 2, done.output
    assert isinstance(done.exception, SystemExit)
    assert "q.toml:2: " in done.output.replace("\n", "")


CASES = """
[figure]
id = "own/figure"
title = "t"
[[case]]
name = "plain"
[[case]]
name = "wrong"
set = { "record.flows" = ["nobody-*"] }
"""


def test_what_a_case_sets_is_at_the_case(small: Path):
    small.write_text(SMALL + CASES)
    line = 1 + (SMALL + CASES)[: (SMALL + CASES).index('[[case]]\nname = "wrong"')].count("\n")
    done = CliRunner().invoke(app, ["explain", str(small)])
    assert done.exit_code == 2, done.output
    assert "--set" not in done.output
    message = " ".join(done.output.split())
    assert f"small.toml:{line}: record.flows: " in message or "record.flows" in message
    assert 'case "wrong"' in message
    # What the user sets is called so.
    done = CliRunner().invoke(app, ["explain", str(small), "--set", "run.seed=x"])
    assert done.exit_code == 2
    assert "--set: run.seed" in done.output


def test_what_is_raised_in_a_function_of_c_is_raised_behind_it():
    calls: list[int] = []

    def stopped(number: int) -> int:
        calls.append(number)
        raise Stopped(number)

    kept = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(libbpf._keep_exceptions(stopped, -4))
    assert kept(15) == -4, "C sees a number"
    with pytest.raises(Stopped) as raised:
        libbpf._raise_kept(0, None, None)
    assert raised.value.number == 15
    assert calls == [15]
    assert libbpf._raise_kept(7, None, None) == 7, "once"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [float("inf"), float("nan"), 0.0, -1.0])
def test_ratios_of_numbers_that_are_none_warn_nobody(value: float):
    empty = statistics.paired_ratio([value, 1.0], [value, 2.0])
    assert empty.estimate is None
