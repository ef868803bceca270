"""GOAL traces: what comes out is read by a scenario and runs in the order of the trace; what is wrong is named."""

import csv
from pathlib import Path

import pytest
from conftest import SMALL
from typer.testing import CliRunner

import farloop
from farloop.commands.app import app

ROOT = Path(__file__).parents[2]
NETWORK = SMALL[: SMALL.index("[[flow]]")] + '[workload]\nflows = "flows.csv"\n'
RANKS = "s1,d1,s2,r1"


@pytest.fixture
def convert(tmp_path):
    path = tmp_path / "trace.goal"

    def written(text, **options):
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return farloop.flows_from_goal(path, **options)

    return written


def flows(text):
    return {row["name"]: row for row in csv.DictReader(text.splitlines())}


def waits(row):
    return row["after"].split()


CHAIN = """
/* two lines
   of comment */
num_ranks 3   // of three
rank 0 {
  c1: calc 50
  m: send 1000b to 1 tag 7 cpu 0 nic 1
  m requires c1
  calc 100
}
rank 1 {
  got: recv 1000b from 0 tag 7
  work: calc 300
  work requires got
  idle: calc 1000
  back: send 0b to 0
  back requires work
  back requires idle
  on: send 5b to 2 cpu 3 tag 1
  on irequires back
  last: send 6b to 2 tag 2
  last requires back
}
rank 2 {
  recv 5b from 1 tag 1
  recv 6b from 1 tag 2
}
"""
CHAIN = CHAIN.replace("rank 0 {", "rank 0 {\n  end: recv 0b from 1")


def test_computations_become_delays_and_constants(convert):
    made = flows(convert(CHAIN))
    assert list(made) == ["r0-m", "r1-back", "r1-on", "r1-last"]
    assert (made["r0-m"]["from"], made["r0-m"]["to"], made["r0-m"]["size"]) == ("h1", "h2", "1000B")
    assert (made["r0-m"]["start"], made["r0-m"]["after"]) == ("50ns", "")
    # After what came, and 300 ns of work, but not before 1000 ns.
    assert (made["r1-back"]["start"], waits(made["r1-back"]), made["r1-back"]["size"]) == (
        "1000ns",
        ["r0-m+300ns"],
        "1B",
    )
    assert (made["r1-on"]["start"], waits(made["r1-on"])) == ("1000ns", ["r0-m+300ns"])
    assert (made["r1-last"]["start"], waits(made["r1-last"])) == ("", ["r1-back"])
    eager = flows(convert(CHAIN, eager=True))
    assert (eager["r1-last"]["start"], waits(eager["r1-last"])) == ("1000ns", ["r0-m+300ns"])


def test_the_longest_way_counts(convert):
    text = """num_ranks 2
rank 0 {
a: recv 8b from 1
short: calc 10
short requires a
long: calc 20
long requires a
longer: calc 5
longer requires long
m: send 8b to 1 tag 1
m requires short
m requires longer
}
rank 1 {
m: send 8b to 0
recv 8b from 0 tag 1
}
"""
    assert waits(flows(convert(text))["r0-m"]) == ["r1-m+25ns"]


def test_messages_of_one_pair_and_tag_keep_their_order(convert):
    text = """num_ranks 2
rank 1 {
first: recv 8b from 0 tag 3
second: recv 9b from 0 tag 3
m: send 1b to 0
m requires second
}
rank 0 {
x: send 8b to 1 tag 3
y: send 9b to 1 tag 3
recv 1b from 1
}
"""
    assert waits(flows(convert(text))["r1-m"]) == ["r0-y"]


def test_the_example_runs_in_the_order_of_the_trace(tmp_path):
    (tmp_path / "flows.csv").write_text(farloop.flows_from_goal(ROOT / "examples/pipeline.goal", hosts=RANKS), "utf-8")
    scenario = tmp_path / "pipeline.toml"
    scenario.write_text(NETWORK.replace('"20ms"', '"600ms"'), "utf-8")
    table = farloop.run(scenario).flows.to_pydict()
    start = dict(zip(table["name"], table["start_ps"], strict=True))
    arrived = dict(zip(table["name"], table["received_ps"], strict=True))
    microsecond = 10**6
    assert start["r0-s1"] == 200 * microsecond
    assert start["r1-s1"] == arrived["r0-s1"] + 200 * microsecond
    assert start["r3-s1"] == max(arrived["r2-s1"] + 1200 * microsecond, arrived["r2-s2"] + 600 * microsecond)
    assert start["r1-s3"] == arrived["r2-s3"] + 400 * microsecond
    assert None not in arrived.values()


PAIR = "num_ranks 2\nrank 0 {\na: send 8b to 1\n}\nrank 1 {\nb: recv 8b from 0\n}\n"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", ["num_ranks"]),
        (b"\x00\x01", [":1", "text form"]),
        (b"num_ranks 2\n\xff\n", [":2", "UTF-8"]),
        ("num_ranks 2\n" + "x" * 20_000, [":2", "10000 bytes"]),
        ("rank 0 {\n}\n", [":1", "num_ranks"]),
        ("num_ranks 2\nnum_ranks 2\n", [":2", "second time"]),
        ("num_ranks 2\nrank 2 {\n}\n", [":2", "rank 2", "0 to 1"]),
        ("num_ranks 2\nrank 0 {\n}\nrank 0 {\n}\n", [":4", "rank 0", "second time"]),
        ("num_ranks 2\nrank 0 {\n", [":2", "}"]),
        ("num_ranks 2\n/* never\n", [":2", "*/"]),
        ("num_ranks 2\nrank 0 {\n}\n", ["no message"]),
        (PAIR.replace("send 8b to 1", "send 8 to 1"), [":3", "send SIZEb"]),
        (PAIR.replace("send 8b to", "send 8b from"), [":3", "send SIZEb"]),
        (PAIR.replace("to 1", "to 2"), [":3", "rank 2", "0 to 1"]),
        (PAIR.replace("to 1", "to 1 prio 4"), [":3", "prio", "tag, cpu, nic"]),
        (PAIR.replace("to 1", "to 1 tag 4 tag 4"), [":3", "tag", "second time"]),
        (PAIR.replace("from 0", "from -1"), [":6", "-1", "a rank and a tag"]),
        (PAIR.replace("from 0", "from 0 tag -1"), [":6", "-1"]),
        (PAIR.replace("from 0", "from 0 tag 1"), [":6", "rank 0 sends no such message", "tag 1"]),
        (PAIR.replace("b: recv 8b from 0\n", ""), [":3", "rank 1 receives no such message"]),
        (PAIR.replace("b: recv 8b", "b: recv 7b"), [":6", "7 bytes", "8", "line 3"]),
        (PAIR.replace("send 8b to 1", "send 8b to 1\na: calc 1"), [":4", "label a", "second time"]),
        (PAIR.replace("send 8b to 1", "send 8b to 1\na requires c"), [":4", "operation c"]),
        (PAIR.replace("send 8b to 1", "send 8b to 1\na requires a"), [":3", "waits for itself"]),
        (PAIR.replace("8b to", "9" * 30 + "b to"), [":3", "too large"]),
        ("num_ranks 1\nrank 0 {\na: send 1b to 0\nb: recv 1b from 0\n}\n", [":3", "both at h1"]),
    ],
)
def test_what_is_wrong_is_named(convert, text, named):
    with pytest.raises(farloop.FarloopError) as caught:
        convert(text)
    assert all(word in str(caught.value) for word in ["trace.goal", *named]), str(caught.value)


@pytest.mark.parametrize(
    ("hosts", "named"),
    [("a", ["1 names", "expected 2"]), ("a,,b", ["names"]), ("h{x}", ["h{1}"]), ("h{1},b", ["h{1}"])],
)
def test_hosts_that_do_not_fit_are_named(convert, hosts, named):
    with pytest.raises(farloop.FarloopError) as caught:
        convert(PAIR, hosts=hosts)
    assert all(word in str(caught.value) for word in ["hosts", *named]), str(caught.value)


def test_hosts_are_counted(convert):
    row = flows(convert(PAIR, hosts="dc1-{0}"))["r0-a"]
    assert (row["from"], row["to"]) == ("dc1-0", "dc1-1")


def test_the_command_prints_the_same(tmp_path):
    example = ROOT / "examples/pipeline.goal"
    done = CliRunner().invoke(app, ["import-goal", str(example), "--hosts", RANKS])
    assert (done.exit_code, done.stdout) == (0, farloop.flows_from_goal(example, hosts=RANKS))
    for wrong in (tmp_path, tmp_path / "none.goal", "/dev/zero"):
        done = CliRunner().invoke(app, ["import-goal", str(wrong)])
        assert done.exit_code == 2 and "farloop: " in done.output, done.output
