"""A rollout on a small testbed: where moved connections look worse than the others, and the whole class is better off."""

import json
import sys
import time
from pathlib import Path

import pytest
from support import live
from support.live_network import end, live_network, missing_tools, start
from support.rollout_host import rollout_host

from farloop.kernel import doctor
from farloop.kernel.rollout import run
from farloop.kernel.rollout.plan import read_plan

pytestmark = pytest.mark.live
PLAN = """\
[plan]
name = "naive"
algorithm = "vegas"
cgroup = "{cgroup}"
seed = 3
[select]
to = ["{receiver}/32"]
[steps]
shares = [0.5]
hold = "16s"
baseline = "10s"
finish = "undo"
[switchback]
blocks = 4
block = "14s"
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
import random, socket, sys, time
chance = random.Random(sys.argv[2])
latest = time.monotonic() + chance.uniform(2, 6)
while True:
    with socket.socket() as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        s.connect((sys.argv[1], 5201))
        while time.monotonic() < latest:
            s.sendall(bytes(1 << 14))
    latest += chance.uniform(4, 6)
"""
"""Connections of some seconds, one after the other."""


def test_the_naive_comparison_has_the_wrong_sign(kernel_objects, monkeypatch, tmp_path):
    """Vegas beside cubic gets less than its share of a short queue; Vegas alone uses the link better than cubic alone."""
    live.needs_programs(missing_tools())
    monkeypatch.setattr(doctor, "OBJECTS", kernel_objects)
    with (
        rollout_host(tmp_path) as host,
        live_network(rate_mbps=50, delays_us=(20_000,) * 4, control="reno", limit=18 * 1514) as made,
    ):
        group = Path(f"/proc/{host.holder}/root{host.cgroup}")
        path = tmp_path / "naive.toml"
        path.write_text(PLAN.format(cgroup=host.cgroup, receiver=made.receiver_address))
        plan = read_plan(path)
        process = host.start(plan, priority=15)
        while not any(line.get("state") == "baseline" for line in host.log(plan)):
            time.sleep(0.1)
        sinks = start(made.receiver, sys.executable, "-c", SINK)
        time.sleep(1)
        senders = [
            start(made.hosts[i], sys.executable, "-c", SENDER, made.receiver_address, i, cgroup=group) for i in range(4)
        ]
        try:
            assert host.wait(process) == 0, path.with_suffix(".jsonl").read_text()
        finally:
            end(sinks, *senders)
    log = [json.loads(line) for line in path.with_suffix(".jsonl").read_text().splitlines()]
    naive = next(line for line in log if line["event"] == "passed")["naive"]
    verdict = next(line for line in log if line["event"] == "verdict")
    rows = {row["metric"]: row for row in verdict["whole_class"]}
    print(json.dumps(naive), json.dumps(rows, indent=1), *map(run.event_text, log), sep="\n")  # noqa: T201
    assert naive["moved_over_unmoved"]["delivery"] < 0.9
    assert naive["reading"].startswith("not an effect")
    assert rows["delivery"]["on"] > 1.01 * rows["delivery"]["off"], rows
    assert rows["retransmissions"]["on"] < 0.5 * rows["retransmissions"]["off"], rows
