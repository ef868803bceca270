"""The script that an engineer runs on hosts: its algorithms, thresholds and buffers, and that shells take it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from farloop.scenario import Scenario
from farloop.studies.advice.deployment import HostAlgorithm, capped_sentences, script, split_scopes

ROOT = Path(__file__).parents[2]
SHELLCHECK = shutil.which("shellcheck", path=str(ROOT / ".venv" / "bin"))


def example(**settings):
    return Scenario.load(ROOT / "examples/my-network.toml").override(settings)


def written(inside, across, scenario=None, load=""):
    return script(
        HostAlgorithm.from_algorithm(inside, load),
        HostAlgorithm.from_algorithm(across, load),
        scenario or example(),
        "x.sh",
    )


PAIRS = [("cubic", "cubic"), ("dctcp", "bbr"), ("gemini", "gemini"), ("reno-linux", "cubic-ecn")]


@pytest.mark.parametrize(("inside", "across"), PAIRS)
def test_shells_take_the_script(inside, across, tmp_path):
    file = tmp_path / "x.sh"
    file.write_text(written(inside, across, load=".venv/bin/farloop kernel load gemini"), encoding="utf-8")
    subprocess.run(["sh", "-n", file], check=True)
    if SHELLCHECK is None:
        pytest.skip("shellcheck is not installed")
    done = subprocess.run([SHELLCHECK, file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_each_scope_has_its_algorithm_and_its_route_asks_for_ecn_itself():
    text = written("dctcp", "bbr")
    for line in (
        "inside=dctcp",
        "inside_features='features ecn'",
        "inside_load='modprobe tcp_dctcp'",
        "across=bbr",
        "across_features=''",
        "across_paced=yes",
        "buffer=20160660",
    ):
        assert f"\n{line}\n" in text
    assert "ports of 10 Gbps: WRED/ECN min 100000 bytes, max 100000 bytes, probability 100 %" in text
    assert "border routers: no ECN; buffer 200000000 bytes" in text
    assert "WRED drops packets without ECT" in text
    assert "WRED drops packets without ECT" not in written("cubic", "cubic")
    for everywhere in ("tcp_ecn", "net.ipv4.tcp_congestion_control", "default_qdisc"):
        assert everywhere not in text, "nothing changes for other connections"


def test_linux_has_other_names_for_some_and_none_for_others():
    assert HostAlgorithm.from_algorithm("cubic-ecn") == HostAlgorithm("cubic", "modprobe tcp_cubic", True, False)
    assert HostAlgorithm.from_algorithm("timely") is None
    assert HostAlgorithm.from_algorithm("gemini", "load it").load == "load it"
    assert (split_scopes("dctcp/bbr"), split_scopes("bbr")) == (("dctcp", "bbr"), ("bbr", "bbr"))


def test_a_receive_window_that_limits_is_named():
    (sentence,) = capped_sentences(example())
    assert "transport.receive_window is 3.15 MB" in sentence
    text = written("cubic", "cubic")
    assert "# The simulation had a receive window of 3.15 MB" in text
    assert "--set transport.receive_window=10080330B" in text
    free = example(**{"transport.receive_window": "20MB"})
    assert "receive window" not in written("cubic", "cubic", free)


def test_a_file_name_stays_in_its_comment():
    untitled = Scenario.from_text(example().text.replace("title = ", "source = "), "a\nreboot")
    assert "\n# cubic: a reboot\n" in written("cubic", "cubic", untitled)
