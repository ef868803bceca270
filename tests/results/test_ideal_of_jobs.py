"""The time of a job on an ideal network: exact for a message alone, in-order NICs reach it, and a scale tells of all bytes."""

import pytest

import farloop
from farloop.views.report.tables import job_rows

SCENARIO = """\
title = "Jobs"
[run]
duration = "1s"
[network]
topology = "spine-leaf"
spines = 1
leaves = {leaves}
hosts_per_leaf = {hosts}
rate = "8Gbps"
link_delay = "2.5us"
[switch]
buffer = "100MB"
[transport]
kind = "{kind}"
mtu = "1500B"
[algorithm]
name = "fixed"
[[job]]
name = "j"
file = "job.goal"
[record]
interval = "none"
"""


def simulated(folder, goal, *, kind="rdma", leaves=1, hosts=16, settings=None):
    (folder / "job.goal").write_text(goal)
    (folder / "s.toml").write_text(SCENARIO.format(kind=kind, leaves=leaves, hosts=hosts))
    return farloop.run(folder / "s.toml", set=settings)


def message(size):
    return f"num_ranks 2\nrank 0 {{\nsend {size}b to 1\n}}\nrank 1 {{\nrecv {size}b from 0\n}}\n"


@pytest.mark.parametrize("kind", ["rdma", "multipath"])
@pytest.mark.parametrize("size", [0, 1, 999, 1436, 1437, 100_000])
def test_a_message_alone_takes_its_ideal_time(tmp_path, kind, size):
    # In one rack, and over the spine.
    for leaves, hosts in ((1, 2), (2, 1)):
        run = simulated(tmp_path, message(size), kind=kind, leaves=leaves, hosts=hosts)
        (row,) = run.iterations.to_pylist()
        assert row["time_ps"] == row["ideal_ps"], (size, kind, leaves)
        assert (row["scale"], row["ideal_unscaled_ps"]) == (1, row["ideal_ps"])


def test_slower_links_inside_make_an_ideal_time_longer_where_packets_have_one_path(tmp_path):
    run = simulated(tmp_path, message(1_000_000), leaves=2, hosts=1, settings={"network.fabric_rate": "1Gbps"})
    (row,) = run.iterations.to_pylist()
    assert row["time_ps"] == row["ideal_ps"] > 8e9


def test_messages_in_order_take_the_ideal_time_of_a_broadcast(tmp_path):
    goal = "num_ranks 4\n" + "".join(
        [
            "rank 0 {\na: send 262144b to 1 tag 0\nb: send 262144b to 2 tag 1\nb requires a\n}\n",
            "rank 1 {\nr: recv 262144b from 0 tag 0\na: send 262144b to 3 tag 1\na requires r\n}\n",
            "rank 2 {\nrecv 262144b from 0 tag 1\n}\n",
            "rank 3 {\nrecv 262144b from 1 tag 1\n}\n",
        ]
    )
    slowdowns = {}
    for order in ("ready", "cycle", "in-order"):
        run = simulated(tmp_path, goal, hosts=4, settings={"hosts.order": order})
        (row,) = run.iterations.to_pylist()
        slowdowns[order] = row["slowdown"]
    # Taking turns, the first message ends with the second one, and is passed on then: three messages in a row, not two.
    assert slowdowns["in-order"] == pytest.approx(1.0, abs=1e-3)
    assert slowdowns["ready"] == pytest.approx(1.5, rel=0.02)
    assert slowdowns["cycle"] == pytest.approx(1.5, rel=0.02)


def test_a_scale_has_the_ideal_time_of_all_bytes_beside_it(tmp_path):
    plan = 'model = "llama3-8b"\nlayers = 2\ndata = 2\nmicrobatches = 1\ntokens = 128\n'
    text = SCENARIO.format(kind="rdma", leaves=1, hosts=2).replace('file = "job.goal"\n', f"{plan}scale = 256\n")
    (tmp_path / "s.toml").write_text(text.replace('duration = "1s"', 'duration = "10s"').replace("8Gbps", "400Gbps"))
    run = farloop.run(tmp_path / "s.toml")
    (row,) = run.iterations.to_pylist()
    job = run.summary["jobs"]["j"]
    assert (job["scale"], job["ideal_unscaled_s"]) == (256, row["ideal_unscaled_ps"] / 1e12)
    header, rows = job_rows(farloop.Comparison("", [run]))
    assert header[-3:] == ["ideal network", "bytes", "ideal network, all bytes"]
    assert rows[0][-2] == "1/256"
    # Gradients of 1.9 GB at 400 Gbps take 39 ms at least, of which a scale of 256 leaves 0.2 ms.
    assert row["ideal_unscaled_ps"] > row["ideal_ps"] + 30e9
