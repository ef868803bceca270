"""The guard of instruction counts: what it says, and when it says nothing. It is not run here, `make guard` does that."""

import importlib.util
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "guard.py"
_spec = importlib.util.spec_from_file_location("guard", SCRIPT)
guard = importlib.util.module_from_spec(_spec)
sys.modules["guard"] = guard
_spec.loader.exec_module(guard)

HERE = {"rustc": "rustc 1.95.0 (59807616e 2026-04-14)", "machine": "Linux x86_64"}
BASELINE = guard.Count(1_000_000, 1_000, 1_000)


@pytest.mark.parametrize(
    ("instructions", "passes", "says"),
    [
        (1_000_000, True, "baseline 1000.0 (+0.00%)"),
        (1_029_000, True, "(+2.90%)"),
        (1_031_000, False, "over 3% more"),
        (971_000, True, "(-2.90%)"),
        (969_000, True, "the baseline can be lowered (make guard-accept)"),
    ],
)
def test_three_per_cent_decide(instructions, passes, says):
    passed, line = guard.verdict("D1", guard.Count(instructions, 1_000, 1_000), BASELINE)
    assert passed == passes
    assert line.startswith("D1: ")
    assert line.endswith(says)


def test_a_cost_is_per_hop():
    passed, line = guard.verdict("D1", guard.Count(2_000_000, 2_000, 2_000), BASELINE)
    assert passed
    assert "the simulation differs: 2,000 packet-hops, were 1,000" in line
    assert not guard.verdict("D1", guard.Count(1_000_000, 900, 900), BASELINE)[0]


def test_events_are_held_to_the_baseline_too():
    passed, line = guard.verdict("D1", guard.Count(1_000_000, 1_000, 1_031), BASELINE)
    assert not passed
    assert line.endswith("1.031 events per packet-hop, were 1.000: over 3% more")
    assert guard.verdict("D1", guard.Count(1_000_000, 1_000, 1_029), BASELINE)[0]


def test_rates_are_held_to_a_look():
    baseline = guard.Count(4_000_000, 1_000, 0, "look")
    passed, line = guard.verdict("D2-fluid", guard.Count(4_200_000, 1_000, 0, "look"), baseline)
    assert not passed
    assert line == "D2-fluid: 4200.0 instructions per look, baseline 4000.0 (+5.00%): over 3% more"
    # More looks that cost less each are no gain, and are said.
    _, line = guard.verdict("D2-fluid", guard.Count(4_000_000, 1_010, 0, "look"), baseline)
    assert "the simulation differs: 1,010 looks, were 1,000" in line


def test_what_fails_says_how_to_accept(capsys):
    better = {"D1": guard.Count(900_000, 1_000, 1_000)}
    worse = better | {"D2": guard.Count(1_100_000, 1_000, 1_000)}
    baselines = {"D1": BASELINE, "D2": BASELINE}
    assert guard.judge(HERE, HERE, better, baselines) == 0
    assert capsys.readouterr().err == ""
    assert guard.judge(HERE, HERE, worse, baselines) == 1
    said = capsys.readouterr()
    assert "D2: 1100.0 instructions per packet-hop, baseline 1000.0 (+10.00%): over 3% more" in said.out
    assert "`make guard-accept`" in said.err
    assert "message of the commit" in said.err
    older = HERE | {"rustc": "rustc 1.94.0 (x 2026-01-01)"}
    assert guard.judge(HERE, older, worse, baselines) == 1
    assert "The baselines are of rustc 1.94.0" in capsys.readouterr().err
    assert guard.judge(HERE, HERE, worse, {"D1": BASELINE}) == 1
    assert "Cases without a baseline" in capsys.readouterr().err


def test_another_compiler_or_machine_gives_no_verdict():
    assert guard.obstacle(HERE, "1.95.0", HERE) is None
    assert guard.obstacle(HERE, "1.95.0", None) is None
    assert "the pinned toolchain 1.96.0" in guard.obstacle(HERE, "1.96.0", HERE)
    assert "the baselines are of Darwin arm64" in guard.obstacle(HERE, "1.95.0", HERE | {"machine": "Darwin arm64"})


def test_nothing_counted_is_an_error():
    assert guard.counted("D1", "events: Ir\nsummary: 42\n\ntotals: 42\n") == 42
    for profile in ("events: Ir\n", "events: Ir\nsummary: 0\ntotals: 0\n"):
        with pytest.raises(guard.GuardError, match=r"D1: no instruction was counted in .*Simulation::run"):
            guard.counted("D1", profile)
    assert guard.work("D1", "7 packet-hops, 8 events\n") == (7, 8, "packet-hop")
    assert guard.work("D2-fluid", "9 looks\n") == (9, 0, "look")
    for nothing in ("nothing\n", "0 looks\n"):
        with pytest.raises(guard.GuardError, match="D1: the program reported no packet-hops or looks"):
            guard.work("D1", nothing)


def test_the_compiler_is_not_told_otherwise(monkeypatch):
    for name in ("RUSTFLAGS", "CARGO_PROFILE_RELEASE_LTO", "CARGO_ENCODED_RUSTFLAGS"):
        monkeypatch.setenv(name, "off")
    monkeypatch.setenv("CARGO_TARGET_DIR", "elsewhere")
    environment = guard.environment()
    assert environment["CARGO_TARGET_DIR"] == "elsewhere"
    assert not {"RUSTFLAGS", "CARGO_PROFILE_RELEASE_LTO", "CARGO_ENCODED_RUSTFLAGS"} & set(environment)


def test_baselines_are_kept_as_they_were_measured():
    counts = {"D1": BASELINE, "D2": guard.Count(7, 3, 4), "D2-fluid": guard.Count(9, 2, 0, "look")}
    text = guard.dump(HERE, counts)
    assert guard.load(text) == (HERE, counts)
    cases = json.loads(text)["cases"]
    assert cases["D2"]["instructions_per_packet_hop"] == 2.3
    assert cases["D2-fluid"] == {"instructions": 9, "looks": 2, "instructions_per_look": 4.5}


@pytest.mark.parametrize("profile", guard.BASELINES)
def test_every_case_has_a_baseline_of_the_pinned_toolchain(profile):
    measured_with, baselines = guard.load(guard.BASELINES[profile].read_text("utf-8"))
    assert set(baselines) == set(guard.CASES)
    pinned = tomllib.loads((ROOT / "rust-toolchain.toml").read_text("utf-8"))["toolchain"]["channel"]
    assert measured_with["rustc"].split()[1] == pinned
    for scenario, _ in guard.CASES.values():
        assert (ROOT / "benches" / f"{scenario}.toml").exists()


def run(*arguments, **environment):
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)


def test_without_valgrind_it_says_so_and_passes(tmp_path):
    done = run(PATH=str(tmp_path))
    assert done.returncode == 0
    assert done.stdout.startswith("guard skipped: valgrind is missing; install it")


def test_a_wrong_command_line_is_refused():
    for arguments, part in [
        (
            ["d1"],
            "there is no case d1; cases: D1, D2, D2-tcp, D2-multipath, D2-multipath-departure, hybrid, D3, gear-fabric",
        ),
        (["--accept", "D1"], "--accept stores all cases"),
        (["--runs", "0"], "--runs is 1 or more"),
    ]:
        done = run(*arguments)
        assert done.returncode == 2
        assert part in done.stderr


def test_a_tolerance_replaces_the_usual_one():
    count = guard.Count(1_015_000, 1_000, 1_000)
    assert guard.verdict("D1", count, BASELINE)[0]
    passed, line = guard.verdict("D1", count, BASELINE, 0.01)
    assert not passed and line.endswith("(+1.50%): over 1% more")
