"""`farloop why` and `report --why` of algorithms in Python: outputs remember the file, and run it again only where it is the same."""

import json
import shutil
from pathlib import Path

import pytest

import farloop

EXAMPLE = Path(__file__).parents[2] / "examples" / "python-algorithm"


@pytest.fixture
def written(command):
    """An output of the example's algorithm, and its file beside it."""
    for name in ("hpcc.py", "scenario.toml"):
        shutil.copy(EXAMPLE / name, command.directory)
    words = ["--algorithm-file", "hpcc.py", "--algorithm", "hpcc-python", "--out", "own", "--no-report", "-q"]
    assert command("run", "scenario.toml", *words).returncode == 0
    return command.directory / "own"


def test_the_output_has_the_files_text_and_the_parts_are_those_of_the_built_in_algorithm(written, command):
    manifest = json.loads((written / "manifest.json").read_text("utf-8"))
    (kept,) = manifest["algorithm_files"]
    assert (kept["file"], kept["algorithms"], kept["text"]) == (
        "hpcc.py",
        ["hpcc-python"],
        (EXAMPLE / "hpcc.py").read_text(),
    )
    done = command("why", "own", "0", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == farloop.why(EXAMPLE / "scenario.toml", "0").as_json
    scenario = command("why", "scenario.toml", "0", "--json", "--algorithm-file", "hpcc.py")
    assert json.loads(scenario.stdout) == json.loads(done.stdout)
    assert command("report", "own", "--why", "-q").returncode == 0
    assert "Where the time went" in (written / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("change", "said"), [("remove", "is not there any more"), ("write", "has changed since the run")]
)
def test_another_file_is_not_executed_unless_the_user_names_it(written, command, change, said):
    file = command.directory / "hpcc.py"
    file.rename(command.directory / "kept.py")
    if change == "write":
        file.write_text("import pathlib\npathlib.Path('executed').touch()\n")
    for words in (["why", "own", "0"], ["report", "own", "--why", "-q"]):
        done = command(*words)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert f"hpcc.py: {said}; name the file with hpcc-python by --algorithm-file" in done.stderr
        assert not (command.directory / "executed").exists()
        assert command(*words, "--algorithm-file", "kept.py").returncode == 0


def test_a_file_that_is_none_of_algorithms_is_not_executed(written, command):
    """A manifest of somebody else may name any file with its hash."""
    import hashlib

    other = command.directory / "other.py"
    other.write_text("import pathlib\npathlib.Path('executed').touch()\n")
    manifest = json.loads((written / "manifest.json").read_text("utf-8"))
    kept = manifest["algorithm_files"][0]
    kept["file"], kept["sha256"] = "other.py", hashlib.sha256(other.read_bytes()).hexdigest()
    (written / "manifest.json").write_text(json.dumps(manifest))
    done = command("why", "own", "0")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert not (command.directory / "executed").exists()


def test_a_fault_of_a_handler_is_a_line(command):
    shutil.copy(EXAMPLE / "scenario.toml", command.directory)
    text = (
        (EXAMPLE / "hpcc.py")
        .read_text()
        .replace("def on_ack(self, ctx, ack):", "def on_ack(self, ctx, ack):\n        1 / 0")
    )
    (command.directory / "faulty.py").write_text(text)
    words = ["--algorithm-file", "faulty.py"]
    scenario = (command.directory / "scenario.toml").read_text().replace('name = "hpcc"', 'name = "hpcc-python"')
    (command.directory / "scenario.toml").write_text(scenario)
    done = command("why", "scenario.toml", "0", *words)
    assert done.returncode == 2
    assert "faulty.py:" in done.stderr
    assert "ZeroDivisionError" in done.stderr
    assert "Traceback" not in done.stderr


def test_report_takes_the_option_with_why_alone(written, command):
    done = command("report", "own", "--algorithm-file", "hpcc.py")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--algorithm-file: expected --why beside it" in done.stderr
