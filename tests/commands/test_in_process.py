"""A command in the process of the tests does what one in a process of its own does, and leaves nothing there."""

import gc
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest
from conftest import SMALL, Command
from support import in_process

LOOKS = """\
import gc, logging, os, signal, sys, warnings
from farloop.algorithm import Algorithm

modules = [name for name in sys.modules if name.startswith("farloop_algorithm_")]
print("sees", os.getcwd() == os.path.realpath(os.environ["PWD_OF_TEST"]), gc.isenabled(), os.environ.get("LEFT"), end=" ")
print(signal.getsignal(signal.SIGTERM).__name__, "error" in [entry[0] for entry in warnings.filters], end=" ")
print(logging.getLogger().handlers, sys.stdin.read() == "", modules == [__name__], flush=True)
print("and on standard error", file=sys.stderr)
os.system("echo child")


class Mine(Algorithm):
    "Keeps its window."

    def start(self, flow):
        self.cwnd = flow.bdp

    def on_ack(self, ctx, ack):
        pass
"""

LEAVES = """
gc.disable()
os.environ["LEFT"] = "1"
os.environ.pop("HOME", None)
os.chdir("/")
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
warnings.simplefilter("error")
logging.getLogger().addHandler(logging.NullHandler())
sys.path.insert(0, "/")
sys.argv.append("left")
import io
sys.stdin = sys.stdout = sys.stderr = io.StringIO()
with open(os.devnull, "w") as nothing:
    os.dup2(nothing.fileno(), 1)
"""

COMMANDS = {
    "help": ["--help"],
    "version": ["--version"],
    "list as JSON": ["list", "algorithms", "--json"],
    "no argument": [],
    "no such command": ["simulate"],
    "no such option": ["run", "small.toml", "--sed", "1"],
    "no such file": ["run", "absent.toml"],
    "no such key": ["run", "small.toml", "--set", "run.duraton=1ms"],
    "run": ["run", "small.toml", "--out", "r"],
    "comparison": [
        "compare",
        "small.toml",
        "--algorithms",
        "hpcc,dctcp",
        "--seeds",
        "1-2",
        "--threads",
        "1",
        "--no-report",
    ],
    "error of Python": ["run", "small.toml", "--algorithm", "mine", "--algorithm-file", "mine.py", "--out", "r"],
    "warning": ["explain", "warns.py"],
}


def place(directory):
    directory.mkdir(exist_ok=True)
    (directory / "small.toml").write_text(SMALL, encoding="utf-8")
    (directory / "mine.py").write_text(LOOKS.replace("flow.bdp", "flow.dbp"), encoding="utf-8")
    warns = "import warnings\nwarnings.warn('seen', UserWarning)\nwarnings.warn('unseen', DeprecationWarning)\n"
    (directory / "warns.py").write_text(warns + LOOKS, encoding="utf-8")
    return Command(directory)


@pytest.mark.parametrize("what", COMMANDS)
def test_exit_code_and_output_are_those_of_a_process(what, tmp_path, monkeypatch):
    done = []
    for name in ("here", "apart"):
        command = place(tmp_path / name)
        monkeypatch.setenv("PWD_OF_TEST", str(command.directory))
        run = command if name == "here" else command.process
        done.append(run(*COMMANDS[what]))
    here, apart = done
    assert here.args == apart.args
    assert here.returncode == apart.returncode
    assert written(here.stdout) == written(apart.stdout)
    assert written(here.stderr) == written(apart.stderr)
    assert here.stdout + here.stderr


def written(text):
    """A text without the time that a run takes and the test's directory."""
    text = re.sub(r"\d[\d.,]* (µs|ms|s|M packet-hops/s)\b", "time", text)
    # The last column of a comparison is the time it took; its width is that of the times.
    text = re.sub(r"[^│]*│$", "", re.sub(r"/[^ ]*/(here|apart)/", "", text), flags=re.MULTILINE)
    return re.sub(r"[━─]+|[ ]+", " ", text)


def state():
    """Everything that a command could leave in its process."""
    return {
        "signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)],
        "directory": Path.cwd(),
        "environment": dict(os.environ),
        "collector": (gc.isenabled(), gc.get_threshold()),
        "descriptors": {path.name: path.readlink() for path in Path("/proc/self/fd").iterdir() if path.exists()},
        "threads": threading.enumerate(),
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "imports": (list(sys.path), list(sys.meta_path), list(sys.argv)),
        "algorithms": [name for name in sys.modules if name.startswith("farloop_algorithm_")],
        "warnings": (list(warnings.filters), warnings.showwarning),
        "loggers": (list(logging.getLogger().handlers), logging.getLogger().level),
        "exits": os._exit,
    }


@pytest.mark.skipif(sys.platform != "linux", reason="looks for open files in /proc")
def test_nothing_is_left_for_the_next_command(tmp_path, monkeypatch):
    command = place(tmp_path / "here")
    # As a test before may have left it.
    monkeypatch.setitem(sys.modules, "farloop_algorithm_of_a_test_before", sys)
    monkeypatch.setenv("PWD_OF_TEST", str(command.directory))
    run = ["run", "small.toml", "--set", "run.duration=2ms", "--out", "r", "--algorithm-file", "mine.py"]
    # What is loaded once stays: fonts, for example.
    (command.directory / "mine.py").write_text(LOOKS, encoding="utf-8")
    first = command(*run, "--algorithm", "mine", "--threads", "2")
    assert first.returncode == 0, first.stderr
    before = state()
    (command.directory / "mine.py").write_text(LOOKS + LEAVES, encoding="utf-8")
    left = command(*run, "--algorithm", "mine", "--no-report")
    assert "sees" in left.stdout and "small" not in left.stdout, "its standard output is gone"
    after = state()
    for name, was in before.items():
        assert after[name] == was, name
    (command.directory / "mine.py").write_text(LOOKS, encoding="utf-8")
    again = command(*run, "--algorithm", "mine", "--threads", "2")
    assert (again.returncode, written(again.stdout)) == (0, written(first.stdout))
    assert "sees True True None _stop False [] True True" in again.stdout
    assert "child\n" in again.stdout, "children write to the same descriptor"
    assert "and on standard error\n" in again.stderr
    for arguments in (["run", "absent.toml"], ["--no-such-option"], ["run", "small.toml", "--out", "q", "-q"]):
        command(*arguments)
        assert state() == before, arguments


def test_a_command_that_ends_at_once_ends_no_test(command, monkeypatch):
    monkeypatch.setattr("farloop.commands.app.run", lambda: os._exit(7))
    assert command("--version").returncode == 7
    monkeypatch.setattr("farloop.commands.app.run", lambda: 1 // 0)
    done = command("--version")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        1,
        "ZeroDivisionError: integer division or modulo by zero",
    )


def test_a_command_that_never_ends_is_an_error(command, monkeypatch):
    monkeypatch.setattr(in_process, "TIMEOUT", 1)
    monkeypatch.setattr("farloop.commands.app.run", lambda: time.sleep(60))
    with pytest.raises(subprocess.TimeoutExpired):
        command("--version")


def test_an_error_of_the_runner_itself_puts_everything_back(tmp_path):
    before = Path.cwd(), sys.stdout, os._exit
    with pytest.raises(FileNotFoundError):
        in_process.run(("--version",), tmp_path / "absent")
    assert before == (Path.cwd(), sys.stdout, os._exit)
