"""A rollout on a small testbed, whose switchback judges the whole class."""

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from support import live
from support.live_network import live_network, missing_tools
from support.rollout_host import rollout_host

from farloop.kernel import doctor
from farloop.kernel.rollout.rollout_plan import read_plan

pytestmark = pytest.mark.live
PLAN = """\
[plan]
name = "naive"
algorithm = "vegas"
cgroup = "{cgroup}"
seed = 3
[select]
to = ["{receiver}/32"]
live = true
[steps]
shares = [0.5]
hold = "6s"
baseline = "4s"
finish = "undo"
[switchback]
blocks = 4
block = "3s"
"""
SINK = """
import socket, threading
server = socket.create_server(("0.0.0.0", 5201))
def drain(c):
    while c.recv(1 << 20):
        pass
while True:
    threading.Thread(target=drain, args=(server.accept()[0],), daemon=True).start()
"""
SENDER = """
import socket, sys
with socket.create_connection((sys.argv[1], 5201)) as s:
    while True:
        s.sendall(bytes(1 << 14))
"""


def start(stack, host, code, *words, group=None):
    """A program of a host at ordinary priority, until the stack ends."""
    join = f"echo $$ > {group}/cgroup.procs && " if group else ""
    words = ["sh", "-c", f'{join}exec "$@"', "sh", sys.executable, "-c", code, *words]
    with host.enter_namespace():
        program = stack.enter_context(subprocess.Popen(words))
    stack.callback(program.kill)


def test_a_switchback_judges_the_whole_class(kernel_objects, monkeypatch, tmp_path):
    """Four flows through a short queue. With blocks this short it is chance which way numbers go, so only their kinds are held."""
    live.needs_programs(missing_tools())
    monkeypatch.setattr(doctor, "OBJECTS", kernel_objects)
    with (
        rollout_host(tmp_path) as host,
        live_network(rate_mbps=50, delays_us=(20_000,) * 4, control="reno", limit=40 * 1514) as made,
    ):
        group = Path(f"/proc/{host.holder}/root{host.cgroup}")
        path = tmp_path / "naive.toml"
        path.write_text(PLAN.format(cgroup=host.cgroup, receiver=made.receiver_address))
        plan = read_plan(path)
        process = host.start(plan)
        with contextlib.ExitStack() as stack:
            start(stack, made.receiver, SINK)
            for i in range(4):
                start(stack, made.hosts[i], SENDER, made.receiver_address, group=group)
            assert host.wait(process) == 0, path.with_suffix(".jsonl").read_text()
    log = [json.loads(line) for line in path.with_suffix(".jsonl").read_text().splitlines()]
    naive = next(line for line in log if line["event"] == "passed")["naive"]
    verdict = next(line for line in log if line["event"] == "verdict")
    rows = {row["metric"]: row for row in verdict["whole_class"]}
    assert naive["reading"].startswith("not an effect")
    # The hash of four ports may choose all flows or none.
    ratio = naive["moved_over_unmoved"]["delivery"]
    assert ratio is None or ratio > 0
    assert {row["pairs"] for row in rows.values()} == {2} and rows["delivery"]["ratio"] > 0
    assert "retransmissions" in rows
    # What was not moved is judged apart: the other ends, and whatever else the host does.
    assert any(row["metric"] == "delivery" for row in verdict["not_moved"])
