import json
import signal
import time
import tomllib
from pathlib import Path

import jsonschema
import pytest

import farloop


def test_run_writes_everything(command, small):
    done = command("run", str(small), "--out", "result")
    assert done.returncode == 0, done.stderr
    assert "hpcc" in done.stdout
    assert "report: result/report.html" in done.stdout
    result = command.directory / "result"
    names = {p.name for p in result.iterdir()}
    assert {
        "manifest.json",
        "flows.parquet",
        "series.parquet",
        "ports.parquet",
        "pauses.parquet",
        "circuits.parquet",
        "queues.parquet",
        "iterations.parquet",
        "ranks.parquet",
        "summary.json",
        "report.html",
    } <= names
    assert list((result / "figures").glob("*.png"))
    manifest = json.loads((result / "manifest.json").read_text())
    assert manifest["farloop"] == farloop.__version__
    assert manifest["seed"] == 3
    assert manifest["packet_hops"] > 1000
    assert manifest["scenario"]["transport"]["mtu"], "defaults are in the manifest"
    assert manifest["invariants"]
    assert all(i["ok"] for i in manifest["invariants"])


def test_a_pipe_gets_plain_lines_and_quiet_gets_nothing(command, small):
    loud = command("run", str(small), "--out", "a", "--no-report")
    assert "hpcc: started" in loud.stderr
    assert "hpcc: done" in loud.stderr
    assert "\x1b" not in loud.stdout + loud.stderr
    quiet = command("run", str(small), "--out", "a", "--quiet")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")


def test_without_out_the_result_goes_under_out(command, small):
    assert command("run", str(small), "--quiet", "--no-report").returncode == 0
    assert (command.directory / "out" / "small" / "manifest.json").is_file()


def test_compare_puts_algorithms_side_by_side(command, small):
    done = command(
        "compare",
        str(small),
        "--algorithms",
        "hpcc,dctcp",
        "--out",
        "result",
        "--set",
        "run.duration=5ms",
        "--no-report",
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads((command.directory / "result" / "summary.json").read_text())
    assert list(summary) == ["hpcc", "dctcp"]
    assert (command.directory / "result" / "runs" / "dctcp" / "flows.parquet").is_file()


def test_compare_judges_the_claims_of_a_figure(command):
    done = command(
        "compare",
        "gear/fig09",
        "--algorithms",
        "gear,hpcc",
        "--set",
        "run.duration=2ms",
        "--out",
        "r",
        "--threads",
        "2",
        "--no-report",
    )
    assert done.returncode == 0, done.stderr
    claims = json.loads((command.directory / "r" / "claims.json").read_text())
    assert [c["id"] for c in claims] == ["gear/fig09"]
    assert set(claims[0]) >= {"id", "verdict", "paper", "measured", "unit", "note", "scale"}
    assert "gear/fig09: not judged: changed keys run.duration" in done.stdout


@pytest.mark.dear
def test_reproduce_a_small_figure(command):
    done = command("reproduce", "mlcc/fig03", "--out", "r", "--quiet")
    assert done.returncode == 0, done.stderr
    claims = json.loads((command.directory / "r" / "claims.json").read_text())
    assert [c["id"] for c in claims] == ["mlcc/fig03"]
    assert claims[0]["scale"] == "quick"
    assert claims[0]["verdict"] in ("reproduced", "direction", "differs")
    assert (command.directory / "r" / "report.html").is_file()
    assert (command.directory / "r" / "mlcc" / "fig03" / "figures" / "fig03.png").is_file()
    again = command("report", "r")
    assert again.returncode == 0, again.stderr


@pytest.mark.parametrize("what", ["algorithms", "paths", "agents", "scenarios", "workloads", "claims"])
def test_lists(command, what):
    done = command("list", what)
    assert done.returncode == 0, done.stderr
    rows = json.loads(command("list", what, "--json").stdout)
    assert rows
    first = rows[0].get("name") or rows[0]["id"]
    assert first in done.stdout


def test_schema_accepts_the_papers_scenarios_and_refuses_a_misspelt_key(command):
    done = command("schema")
    assert done.returncode == 0, done.stderr
    validator = jsonschema.Draft202012Validator(json.loads(done.stdout))
    papers = (Path(__file__).parents[2] / "papers").glob("*/*.toml")
    scenarios = sorted(path for path in papers if path.name != "causes.toml")
    assert scenarios
    for path in scenarios:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        validator.validate(document)
        document["network"]["bottelneck_rate"] = "1Gbps"
        assert not validator.is_valid(document)


def test_explain_shows_parameters(command):
    done = command("explain", "hpcc")
    assert done.returncode == 0
    entry = json.loads(command("explain", "hpcc", "--json").stdout)
    assert entry["source"] in done.stdout.replace("\n", " ")
    assert all(p["name"] in done.stdout for p in entry["params"])


@pytest.mark.parametrize(
    ("name", "needs", "line"),
    [
        ("bbr", {"delivery_rate"}, "needs: delivery rate (TCP and multipath)"),
        ("dctcp", {"ecn", "accurate_ecn"}, "needs: ecn, accurate ECN echo (every mark as it came)"),
        (
            "gemini",
            {"ecn", "accurate_ecn", "even_pacing"},
            "needs: ecn, accurate ECN echo (every mark as it came), pacing packet by packet",
        ),
        ("vegas", set(), "needs: nothing special"),
    ],
)
def test_explain_says_what_an_algorithm_needs(command, name, needs, line):
    entry = json.loads(command("explain", name, "--json").stdout)
    assert {need for need, needed in entry["needs"].items() if needed} == needs
    assert line in command("explain", name).stdout.splitlines()


def test_report_draws_again(command, small):
    assert command("run", str(small), "--out", "r", "--quiet").returncode == 0
    page = command.directory / "r" / "report.html"
    before = page.read_text()
    page.unlink()
    assert command("report", "r").returncode == 0
    assert page.read_text() == before


def test_version_and_help(command):
    assert command("--version").stdout.splitlines()[0] == f"farloop {farloop.__version__}"
    done = command("--help")
    for name in ("run", "compare", "reproduce", "list", "explain", "report", "bench", "new-algorithm"):
        assert name in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_leaves_nothing(command, small, number):
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("ignored here, as below nohup, and so by whatever is started")
    process = command.start("run", str(small), "--set", "run.duration=1000s", "--out", "result")
    assert process.stderr is not None
    while "started" not in process.stderr.readline():
        assert process.poll() is None
    time.sleep(0.3)
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert "Traceback" not in err
    assert [p.name for p in command.directory.iterdir()] == ["small.toml"]


def test_a_killed_run_leaves_nothing_that_looks_complete(command, small):
    process = command.start("run", str(small), "--set", "run.duration=1000s", "--out", "result")
    assert process.stderr is not None
    while "started" not in process.stderr.readline():
        assert process.poll() is None
    process.kill()
    process.communicate(timeout=30)
    assert not (command.directory / "result").exists()
    assert not list(command.directory.glob("**/manifest.json"))
    assert command("run", str(small), "--out", "result", "--quiet", "--no-report").returncode == 0
    left = {p.name for p in command.directory.iterdir()}
    assert left == {"small.toml", "result"}, "the next run sweeps up what the killed one left"


def test_a_reader_that_goes_away_is_no_error(command):
    with command.start("list", "algorithms") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()
