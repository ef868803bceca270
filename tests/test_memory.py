"""A run whose packets do not fit into memory ends with an error: no abort, no directory."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

FLOOD = """\
switch.pfc = false
run.duration = "2s"
algorithm.name = "fixed"
algorithm.fixed.cwnd = "1000GB"
network.topology = "dumbbell"
network.intra_pairs = 0
network.cross_pairs = 1
network.rate = "400Gbps"
network.wan_delay = "1s"

[[flow]]
from = "s1"
to = "r1"
"""

ADDRESS_SPACE = 1_200_000_000
"""Bytes: the interpreter and its packages take about half of it."""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how much memory there is")
def test_out_of_memory_is_an_error_that_names_packets_and_keys(tmp_path: Path) -> None:
    (tmp_path / "flood.toml").write_text(FLOOD)
    done = subprocess.run(
        [sys.executable, "-m", "farloop", "run", "flood.toml", "-q", "--out", "out"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE)),
    )
    assert done.returncode == 2, done.stderr
    assert "out of memory after" in done.stderr
    assert "packets in queues and on links take" in done.stderr
    for key in ("[network]", "transport.receive_window", "[switch]"):
        assert key in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["flood.toml"]
