"""htsim's connection matrices: what comes out is read by a scenario and runs in the order of the triggers; what is wrong is named."""

import csv

import pytest
from typer.testing import CliRunner

import farloop
from farloop.commands.app import app

MATRIX = """\
# a header may have comments
Nodes 4
Connections 5
Triggers 2
0->1 id 1 start 0 size 20000 send_done_trigger 1
0->2 id 2 trigger 1 size 30000 recv_done_trigger 2
2->0 id 3 start 2500000.5 size 40000 send_done_trigger 2
2->1 id 7 trigger 2 size 50000
3->1 start 1000000 size 0

trigger id 1 oneshot
trigger id 2 barrier count 2
"""


@pytest.fixture
def convert(tmp_path):
    path = tmp_path / "m.cm"

    def written(text, **options):
        path.write_text(text, "utf-8")
        return farloop.flows_from_htsim(path, **options)

    return written


def flows(text):
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return {row["name"]: row for row in rows}


def test_connections_become_flows_and_triggers_what_they_wait_for(convert):
    text = convert(MATRIX)
    made = flows(text)
    assert list(made) == ["c1", "c2", "c3", "c7", "n5"]
    assert made["c1"] == {"name": "c1", "from": "h1", "to": "h2", "start": "0ps", "size": "20000B", "after": ""}
    assert (made["c2"]["start"], made["c2"]["after"]) == ("", "c1")
    # Picoseconds, to the nearest.
    assert made["c3"]["start"] == "2.5us"
    assert made["c7"]["after"] == "c2 c3"
    assert (made["n5"]["start"], made["n5"]["size"]) == ("1us", ""), "size 0 is a flow without end"
    assert "another end" not in text


def test_starts_have_a_unit_and_nodes_names(convert):
    made = flows(convert("Nodes 2\nConnections 1\n1->0 start 3 size 9\n", start_unit="us", hosts="left,right"))
    assert (made["n1"]["from"], made["n1"]["to"], made["n1"]["start"]) == ("right", "left", "3us")
    assert flows(convert("Nodes 2\nConnections 1\n1->0 start 3 size 9\n", start_unit="ns"))["n1"]["start"] == "3ns"
    with pytest.raises(farloop.FarloopError, match=r"start_unit: s: did you mean us\? there is ps, ns, us"):
        convert("Nodes 2\nConnections 1\n1->0 start 3 size 9\n", start_unit="s")


CHAIN = """\
Nodes 4
Connections 3
Triggers 1
0->1 id 1 start 0 size 10000 send_done_trigger 5
0->2 id 2 trigger 5 size 10000 send_done_trigger 5
0->3 id 3 trigger 5 size 10000
trigger id 5 multishot
"""


def test_a_multishot_trigger_that_one_flow_after_another_activates_is_a_chain(convert):
    made = flows(convert(CHAIN))
    assert [made[name]["after"] for name in ("c1", "c2", "c3")] == ["", "c1", "c2"]


def test_a_flow_at_the_other_end_than_its_trigger_is_counted(convert):
    # Around a ring: node 1 goes on when node 0 has got the ACK, which only htsim's trigger could tell it.
    text = convert(
        "Nodes 3\nConnections 2\nTriggers 1\n0->1 id 1 start 0 size 9 send_done_trigger 1\n"
        "1->2 id 2 trigger 1 size 9\ntrigger id 1 oneshot\n"
    )
    assert "# 1 flows begin at another end than their trigger says" in text


def test_the_flows_run_in_the_order_of_the_triggers(convert, tmp_path):
    (tmp_path / "flows.csv").write_text(convert(MATRIX), "utf-8")
    (tmp_path / "s.toml").write_text(
        '[run]\nduration = "5ms"\n[network]\ntopology = "spine-leaf"\nspines = 1\nleaves = 2\nhosts_per_leaf = 2\n'
        '[workload]\nflows = "flows.csv"\n[algorithm]\nname = "hpcc"\n',
        "utf-8",
    )
    ran = {flow["name"]: flow for flow in farloop.run(tmp_path / "s.toml").summary["flows"]}
    over = {name: flow["start"] + flow["completion"] for name, flow in ran.items() if flow["completion"]}
    assert list(over) == ["c1", "c2", "c3", "c7"]
    assert ran["c2"]["start"] > over["c1"], "when its last byte is acknowledged"
    assert ran["c7"]["start"] > max(over["c2"], over["c3"]), "c2 with its last byte, c3 with its ACK"


WRONG = {
    "": ': expected "Nodes N" on its first line',
    "Connections 1\n0->1 start 0 size 1\n": ':2: expected "Nodes N" before the first connection',
    "Nodes 4\nConnections 0\n": ": no connection",
    "Nodes 4\nNodes 4\n": ":2: Nodes 4: expected Nodes once",
    "Nodes four\n": ":1: Nodes: four: expected a whole number",
    "Nodes 4\nConnections 2\n0->1 start 0 size 1\n": ":3: Connections 2, but the file has 1",
    "Nodes 4\nConnections 1\nTriggers 1\n0->1 start 0 size 1\n": ":4: Triggers 1, but the file has 0",
    "Nodes 4\nConnections 1\n0->4 start 0 size 1\n": ":3: node: 4: expected a whole number from 0 to 3",
    "Nodes 4\nConnections 1\n1->1 start 0 size 1\n": ":3: the flow goes from node 1 to itself",
    "Nodes 4\nConnections 1\n0->1 start 0\n": ":3: size: missing",
    "Nodes 4\nConnections 1\n0->1 size 1\n": ":3: expected one of start and trigger",
    "Nodes 4\nConnections 1\n0->1 start 0 trigger 1 size 1\n": ":3: expected one of start and trigger",
    "Nodes 4\nConnections 1\n0->1 start 0 size 1 sise 2\n": ":3: sise: unknown; did you mean size?",
    "Nodes 4\nConnections 1\n0->1 start 0 size\n": ":3: size: has no value",
    "Nodes 4\nConnections 1\n0->1 start 0 size 1 size 1\n": ":3: size: a second time",
    "Nodes 4\nConnections 1\n0->1 start soon size 1\n": ":3: start: soon: expected a number",
    "Nodes 4\nConnections 1\n0->1 start 0 size -1\n": ":3: size: -1: expected a whole number",
    "Nodes 4\nConnections 1\n0->1 id 0 start 0 size 1\n": ":3: id: 0: expected a whole number from 1",
    "Nodes 4\nConnections 1\n0->1 id 1 start 0 size 1 prio 3\n": ":3: prio: is the order in which NDP's receiver pulls",
    "Nodes 4\nConnections 1\n0->1 id 1 msg 2 start 0 size 1\n": ":3: msg: joins messages to one connection",
    "Nodes 4\nConnections 2\n0->1 id 1 start 0 size 1\n0->2 id 1 start 0 size 1\n": ":4: id: the flow of line 3 has it",
    "Nodes 4\nFailures 1\n": ":2: failures belong to a topology of htsim; expected [[event]]",
    "Nodes 4\nfailure switch_type TOR switch_id 1 link_id 2\n": ":2: failures belong to a topology",
    "Nodes 4\nGrp 0 1 2\n": ":2: Grp 0 1 2: expected",
    "Nodes 4\ntrigger id 1\n": ":2: expected an id and one of oneshot, multishot, barrier",
    "Nodes 4\ntrigger id 1 barrier\n": ":2: count: expected it with barrier, and only there",
    "Nodes 4\ntrigger id 1 oneshot\ntrigger id 1 oneshot\n": ":3: the trigger 1 is in line 2 already",
    MATRIX.replace("trigger id 1 oneshot", "trigger id 9 oneshot"): ":5: send_done_trigger: there is no trigger 1",
    MATRIX.replace("size 20000 send_done_trigger 1", "size 20000"): ":6: trigger: no flow activates 1",
    MATRIX.replace("count 2", "count 3"): ":12: 2 flows activate the barrier 2; expected 3",
    MATRIX.replace("barrier count 2", "oneshot"): ":12: 2 flows activate the oneshot 2; expected 1",
    MATRIX.replace("2->1 id 7", "3->1 id 7"): ":8: trigger: node 3 cannot know of the end of the flow of line 6",
    MATRIX.replace("size 20000", "size 0"): ":5: size: a flow without end never activates its trigger",
    CHAIN.replace("0->2 id 2 trigger 5", "0->2 id 2 start 0"): ":7: multishot 5: 2 flows that it does not start",
    CHAIN.replace(
        "size 10000 send_done_trigger 5\n0->3", "size 10000\n0->3"
    ): ":6: trigger: 5 does not fire again after",
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_matrices_are_refused_with_their_line(tmp_path, text):
    path = tmp_path / "m.cm"
    path.write_text(text, "utf-8")
    done = CliRunner().invoke(app, ["import-htsim", str(path)])
    assert done.exit_code == 2, done.output
    assert f"{path}{WRONG[text]}" in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def test_two_nodes_at_one_host_are_refused(convert):
    with pytest.raises(farloop.FarloopError, match=":3: both nodes are at h; expected two hosts"):
        convert("Nodes 2\nConnections 1\n0->1 start 0 size 1\n", hosts="h,h")
