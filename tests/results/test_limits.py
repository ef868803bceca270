"""What limited flows: shares that add up, and the same first limit as `farloop why` finds packet by packet."""

import random
from collections import Counter

import pytest
from support.cases import cases

import farloop
from farloop.results import limits
from farloop.scenario import Scenario

KINDS = [
    ("tcp", "cubic"),
    ("tcp", "reno"),
    ("tcp", "bbr"),
    ("tcp", "dctcp"),
    ("tcp", "fixed"),
    ("rdma", "dcqcn"),
    ("rdma", "hpcc"),
    ("rdma", "fixed"),
    ("multipath", "nscc"),
]

MERGED = {
    "": "path",
    "rate": "pacing",
    "window": "window",
    "window after losses": "window",
    "slow start": "window",
    "congestion window": "window",
    "host link": "path",
    "last packets": "path",
}
"""Limits that only one of the two tells apart."""

TIE = 0.05
"""Two limits whose shares are closer than this are both first."""

MIN_EQUAL = 0.85
"""The part of the flows with the same first limit; docs/why.md says where the others differ."""


def scenario_of(seed):
    """A random scenario, and one of its flows."""
    rng = random.Random(seed)
    transport, algorithm = KINDS[seed % len(KINDS)]
    buffers = ["200kB", "1MB", "16MB"] if transport == "tcp" else ["16MB", "64MB"]
    lines = [
        'run.duration = "20s"',
        f"run.seed = {seed}",
        'network.topology = "dumbbell"',
        f'network.wan_delay = "{rng.choice([50, 500, 2000])}us"',
        f'network.rate = "{rng.choice([10, 25, 100])}Gbps"',
        f'network.bottleneck_rate = "{rng.choice([5, 10, 25])}Gbps"',
        f'network.link_delay = "{rng.choice([1, 10, 100])}us"',
        f'transport.kind = "{transport}"',
        f'switch.buffer = "{rng.choice(buffers)}"',
        f'algorithm.name = "{algorithm}"',
    ]
    if algorithm == "fixed":
        lines.append(f'algorithm.fixed.cwnd = "{rng.choice([10, 60, 300, 1000])}kB"')
    if rng.random() < 0.25:
        lines.append(f"network.bottleneck_loss = {rng.choice([1e-4, 1e-3])}")
    if transport == "tcp":
        keys = [
            f'receive_window = "{rng.choice([64, 256, 1024])}kB"',
            "segmentation_offload = true",
            "handshake = true",
            'pacing = "linux"',
            'min_rto = "1ms"',
        ]
        lines += [f"transport.{key}" for key in keys if rng.random() < 0.3]
        lines.append("switch.pfc = false")
    count = rng.randint(1, 5)
    for i in range(count):
        size, start = rng.choice([20, 100, 300, 1000, 3000, 10000]), rng.randint(0, 200)
        source, destination = rng.choice(["s1", "s1", "s2"]) if i else "s1", rng.choice(["d1", "r1"])
        lines += [
            "[[flow]]",
            f'name = "f{i}"',
            f'from = "{source}"',
            f'to = "{destination}"',
            f'size = "{size}kB"',
            f'start = "{start}us"',
        ]
    return Scenario.from_text("\n".join(lines)), f"f{rng.randrange(count)}"


def test_the_first_limit_is_that_of_why():
    seeds, other = range(cases(100)), []
    for seed in seeds:
        scenario, flow = scenario_of(seed)
        run = farloop.run(scenario, threads=1)
        (own,) = [row["first_limit"] for row in run.flows.to_pylist() if row["name"] == flow]
        explanation, parts = farloop.why(scenario, flow), Counter()
        for part in explanation.parts:
            is_repair = not part["limit"] and part["cause"] == "recovery"
            parts["recovery" if is_repair else MERGED.get(part["limit"], part["limit"])] += part["time_ps"]
        own = MERGED.get(own, own)
        if parts[own] < max(parts.values()) - TIE * explanation.time_ps:
            other.append((seed, flow, own, parts.most_common(2)))
    assert len(other) <= (1 - MIN_EQUAL) * len(seeds), other


@pytest.fixture(scope="module")
def run():
    flows = "".join(f'[[flow]]\nname = "{to}"\nfrom = "s1"\nto = "{to}"\nsize = "2MB"\n' for to in ("d1", "r1"))
    keys = 'run.duration = "9s"\nnetwork.wan_delay = "500us"\nnetwork.topology = "dumbbell"\nalgorithm.name = "fixed"\n'
    text = f'{keys}algorithm.fixed.cwnd = "60kB"\n{flows}'
    return farloop.run(Scenario.from_text(text))


def test_times_add_up_to_the_lives_of_flows(run):
    lives = sum(row["finish_ps"] - row["start_ps"] for row in run.flows.to_pylist())
    assert sum(time for entry in limits.entries(run) for time in entry["time_ps"].values()) == lives
    for kind in ("intra", "cross", ""):
        assert sum(limits.shares(run, kind).values()) == pytest.approx(1, abs=1e-12)
    assert limits.main_limit(run, "cross") == next(iter(limits.shares(run, "cross").items()))


def test_the_summary_and_the_table_have_a_row_for_each_kind(run):
    rows = run.numbers["limits"]
    assert [(row["name"], row["flows"]) for row in rows] == [("fixed intra", 1), ("fixed cross", 1)]
    assert rows[1]["shares"] == limits.shares(run, "cross")
    (intra, cross) = limits.rows([("it", [run])])
    assert (intra[:2], cross[:2]) == (["it", "intra"], ["it", "cross"])
    assert str(cross[2]).startswith("congestion window 9")


def test_old_outputs_have_none():
    assert (limits.shares_of([]), limits.summary_rows([]), limits.rows([("old", [])])) == ({}, [], [])


def test_threads_change_nothing(run):
    other = farloop.run(Scenario.load(run.scenario), threads=2)
    assert limits.entries(other) == limits.entries(run)
