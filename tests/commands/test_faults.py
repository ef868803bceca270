"""What the world does to a command: signals, pipes, full devices, odd names, odd files. No traceback, the right exit code, nothing left."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import farloop
from farloop.commands.app import app
from farloop.formats import flow_list
from farloop.scenario import Scenario

FARLOOP = [sys.executable, "-m", "farloop"]


def shell(text, **environment):
    command = f'set -o pipefail; farloop() {{ {" ".join(FARLOOP)} "$@"; }}; {text}'
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=300, env=os.environ | environment, check=False
    )


def refused(arguments, *named, code=2):
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == code, done.output
    assert isinstance(done.exception, SystemExit), done.exception
    for name in named:
        assert name in done.stderr, done.stderr
    assert len(done.stderr) < 2000
    return done


@pytest.mark.parametrize("what", ["explain gear", "--help", "schema", "--version", "list algorithms"])
def test_a_reader_that_has_enough_is_no_error(what):
    done = shell(f"farloop {what} | head -c1 > /dev/null; echo ${{PIPESTATUS[0]}}")
    assert (done.stdout, done.stderr) == ("0\n", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize("what", ["schema", "explain gear", "--help"])
def test_a_full_device_is_one_line(what):
    done = shell(f"farloop {what} > /dev/full")
    assert (done.returncode, done.stderr) == (2, "farloop: standard output: No space left on device\n")


def test_a_closed_standard_output_is_no_error():
    done = shell("farloop explain gear >&-")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("what", ["list claims", "list claims --json", "schema", "explain gear"])
def test_output_that_is_ascii(what):
    done = shell(f"farloop {what}", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()


def test_an_interrupt_while_modules_are_imported(tmp_path):
    (tmp_path / "typer.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(60)\n")
    process = subprocess.Popen(
        [*FARLOOP, "--help"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout.readline() == "importing\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "farloop: interrupted\n")


def test_a_second_interrupt_does_not_wait(tmp_path):
    (tmp_path / "main.py").write_text(
        "import os, signal, sys, time\n"
        "from farloop.commands import app\n"
        "from farloop.__main__ import main\n"
        "def run():\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGINT); time.sleep(5)\n"
        "    finally:\n"
        "        os.kill(os.getpid(), signal.SIGINT); time.sleep(60)\n"
        "app.run = run\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, str(tmp_path / "main.py")], capture_output=True, text=True, timeout=40, check=False
    )
    assert (done.returncode, done.stderr) == (130, "farloop: interrupted\n")


def test_what_needs_no_tables_does_not_load_them():
    code = (
        "import sys\nfrom farloop.__main__ import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print({'matplotlib', 'pyarrow', 'plotly', 'numpy'} & set(sys.modules), file=sys.stderr)"
    )
    for arguments in (["--help"], ["explain", "gear"], ["list", "claims"], ["list", "scenarios"], ["schema"]):
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
        assert done.stderr == "set()\n", arguments


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "{small}", "--out", "r"],
        ["new-algorithm", "my-vegas"],
        ["report", "r"],
        ["compare", "s.toml", "--algorithms", "hpcc"],
    ],
)
def test_a_working_directory_that_was_deleted(arguments, small, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    words = " ".join(a.format(small=small) for a in arguments)
    done = shell(f"cd {gone} && rmdir {gone} && farloop {words}")
    assert done.returncode == 2
    assert done.stderr.startswith("farloop: ")
    assert len(done.stderr.splitlines()) == 1


LONG = "n" * 300


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", LONG],
        ["run", "/dev/zero"],
        ["run", "{small}", "--algorithm", LONG],
        ["run", "{small}", "--out", LONG],
        ["run", "{small}", "--set", LONG],
        ["compare", "{small}", "--algorithms", f"hpcc,{LONG}"],
        ["compare", "{small}", "--algorithms", f"{LONG},{LONG}"],
        ["reproduce", LONG],
        ["explain", LONG],
        ["list", LONG],
        ["report", LONG],
        ["diff", LONG, LONG],
        ["new-algorithm", LONG],
        ["import-flows", LONG],
        ["import-graphml", LONG],
        ["bench", LONG],
    ],
)
def test_long_names(arguments, small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused([a.format(small=small) for a in arguments], "farloop: ")
    assert [p.name for p in tmp_path.iterdir()] == ["small.toml"]


def test_what_has_no_end_is_not_read_to_the_end():
    with pytest.raises(farloop.ScenarioError, match="/dev/zero: has more than 16 MiB"):
        Scenario.load("/dev/zero")


@pytest.mark.parametrize(
    ("call", "error", "named"),
    [
        (lambda s: farloop.run(s.read_text()), farloop.ScenarioError, r"Scenario\.from_text"),
        (lambda s: farloop.run("a\0b"), farloop.ScenarioError, "no such file"),
        (lambda s: farloop.run(5), farloop.ScenarioError, "expected the name of a scenario file"),
        (lambda s: farloop.run(b"x"), farloop.ScenarioError, "expected the name of a scenario file"),
        (lambda s: farloop.run("\udcff.toml"), farloop.ScenarioError, "no such file|UTF-8"),
        (lambda s: farloop.run(s, set=[5]), farloop.ScenarioError, "key=value"),
        (lambda s: farloop.run(s, set=5), farloop.ScenarioError, "expected a mapping"),
        (lambda s: farloop.run(s, set={5: 1}), farloop.ScenarioError, "expected a dotted key"),
        (lambda s: farloop.run(s, set={"run.duration": "1\0ms"}), farloop.ScenarioError, r"run\.duration"),
        (lambda s: farloop.run(s, set=["title=\udcff"]), farloop.ScenarioError, "not UTF-8"),
        (lambda s: farloop.run(s, algorithm=5), farloop.ScenarioError, "expected a name"),
        (lambda s: farloop.run(s, algorithm="a\0b"), farloop.ScenarioError, "algorithm"),
        (lambda s: farloop.run(s, seed="x"), farloop.ScenarioError, "whole number"),
        (lambda s: farloop.run(s, seed=-1), farloop.ScenarioError, "seed"),
        (lambda s: farloop.run(s, progress=5), farloop.FarloopError, "expected a function"),
        (lambda s: farloop.compare(s, ["hpcc"], threads=0), farloop.FarloopError, "threads"),
        (lambda s: farloop.compare(s, 5), farloop.FarloopError, "expected names"),
        (lambda s: farloop.compare(s, [5]), farloop.FarloopError, "expected a name"),
        (lambda s: farloop.compare(s, (a for a in ())), farloop.FarloopError, "no algorithm"),
        (lambda s: farloop.load("a\0b"), farloop.FarloopError, "no such directory"),
    ],
)
def test_what_python_gives_by_mistake(call, error, named, small):
    with pytest.raises(error, match=named):
        call(small)


def test_what_python_gives_in_other_forms(small, tmp_path):
    short = {"run.duration": "1ms"}
    assert len(farloop.compare(small, (a for a in ("hpcc", "dctcp")), set="run.duration=1ms")) == 2
    assert [run.label for run in farloop.compare(small, "hpcc, dctcp", set=short)] == ["hpcc", "dctcp"]
    text = farloop.run(Scenario.from_text(small.read_text()), set=short)
    assert text.duration == pytest.approx(1e-3)
    with pytest.raises(farloop.FarloopError, match="cannot be written"):
        text.save(tmp_path / "a\0b")


@pytest.mark.parametrize(
    ("column", "named"),
    [
        (pa.array([b"\xff\xfe"], pa.binary()).cast(pa.string(), safe=False), ["row 0, column start", "UTF-8"]),
        (pa.array([2**62], pa.timestamp("us")), ["row 0, column start", "timestamp[us]"]),
        (pa.array([1_000_001], pa.time64("ns")), ["row 0, column start", "time64[ns]"]),
        (pa.array([1_000_001], pa.duration("ns")), ["row 0, column start", "duration[ns]"]),
    ],
)
def test_flow_lists_with_values_that_python_has_no_form_for(column, named, tmp_path):
    path = tmp_path / "flows.parquet"
    pq.write_table(pa.table({"from": ["s1"], "to": ["d1"], "start": column}), path)
    with pytest.raises(farloop.FarloopError) as raised:
        flow_list.flows_from_parquet(path)
    for name in named:
        assert name in str(raised.value)


def test_a_shell_completes():
    for words, word in (
        ("farloop explain gemi", "gemini"),
        ("farloop run gear/fig0", "gear/fig09"),
        ("farloop list al", "algorithms"),
    ):
        done = shell("farloop", _FARLOOP_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD="2")
        assert done.returncode == 0, done.stderr
        assert word in done.stdout.split()
    assert "_FARLOOP_COMPLETE=complete_bash" in shell("farloop --show-completion bash").stdout


def test_help_says_what_is_written():
    shown = CliRunner().invoke(app, ["import-flows", "--help"]).output
    assert "[workload]" in shown


@pytest.mark.parametrize("what", [SystemExit(0), SystemExit(None), GeneratorExit()], ids=repr)
def test_no_command_ends_as_if_all_were_done_before_it_is(what, small, tmp_path, monkeypatch):
    def ends(*_arguments, **_named):
        raise what

    monkeypatch.setattr("farloop.api.run_one", ends)
    done = CliRunner().invoke(app, ["run", str(small), "--out", str(tmp_path / "out"), "-q"])
    assert done.exit_code == 1
    assert f"farloop: ended by {type(what).__name__} before it was done; nothing was written" in done.stderr
    assert not (tmp_path / "out").exists()
