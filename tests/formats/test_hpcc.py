"""HPCC's topologies and flows: what is written loads and runs; what is wrong is named with its line."""

import csv
import tomllib

import pytest
from typer.testing import CliRunner

import farloop
from farloop.commands.app import app

TOPOLOGY = """\
5 2 4
3
4
0 3 25Gbps 1000ns 0.000000
1 4 100Gb/s 0.001ms 0

2 4 12.5MB/s 1us 0.01
3 4 100Gbps 5us 0

First line: total node #, switch node #, link #
src0 dst0 rate delay error_rate
"""
FLOWS = """\
2
0 1 3 100 200000 0.001
1 2 3 2000 0.0010000005
First line: # of flows
"""
BOTH = """\
4 2 5
2 3
0 2 25Gbps 1us 0
0 3 25Gbps 1us 0
1 2 25Gbps 1us 0
1 3 25Gbps 1us 0
2 3 25Gbps 1us 0
"""


@pytest.fixture
def write(tmp_path):
    def written(text, name="topology.txt"):
        path = tmp_path / name
        path.write_text(text, "utf-8")
        return path

    return written


def flows(text):
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))


def test_a_topology_becomes_nodes_and_links(write):
    document = tomllib.loads(farloop.from_hpcc(write(TOPOLOGY)))
    assert document["network"] == {"topology": "links"}
    assert [(node["name"], node["kind"]) for node in document["node"]] == [
        ("h0", "host"), ("h1", "host"), ("h2", "host"), ("s3", "switch"), ("s4", "switch")
    ]  # fmt: skip
    assert document["link"] == [
        {"a": "h0", "b": "s3", "rate": "25Gbps", "delay": "1us"},
        {"a": "h1", "b": "s4", "rate": "100Gbps", "delay": "1us"},
        {"a": "h2", "b": "s4", "rate": "100Mbps", "delay": "1us", "loss": 0.01},
        {"a": "s3", "b": "s4", "rate": "100Gbps", "delay": "5us"},
    ]


def test_flows_have_bytes_and_seconds(write):
    made = flows(farloop.flows_from_hpcc(write(TOPOLOGY), write(FLOWS, "flow.txt")))
    assert made == [
        {"name": "f1", "from": "h0", "to": "h1", "start": "1ms", "size": "200000B"},
        {"name": "f2", "from": "h1", "to": "h2", "start": "1000000.5ns", "size": "2000B"},
    ]


def test_hosts_with_several_links_are_one_host_for_each(write):
    text = farloop.from_hpcc(write(BOTH))
    assert "# 2 hosts have several links" in text
    document = tomllib.loads(text)
    assert [node["name"] for node in document["node"]] == ["h0-1", "h0-2", "h1-1", "h1-2", "s2", "s3"]
    assert {(link["a"], link["b"]) for link in document["link"]} >= {("h0-1", "s2"), ("h0-2", "s3"), ("h1-2", "s3")}
    listed = "3\n0 1 3 100 1000 0\n0 1 3 100 1000 0\n1 0 3 100 1000 0\n"
    made = flows(farloop.flows_from_hpcc(write(BOTH), write(listed, "flow.txt")))
    assert [(flow["from"], flow["to"]) for flow in made] == [("h0-1", "h1-1"), ("h0-2", "h1-2"), ("h1-1", "h0-1")]


def test_both_together_run(write, tmp_path):
    topology = write(TOPOLOGY.replace("0.01\n", "0\n"))
    write(farloop.flows_from_hpcc(topology, write(FLOWS, "flow.txt")), "flows.csv")
    rest = '[run]\nduration = "20ms"\n[workload]\nflows = "flows.csv"\n[algorithm]\nname = "hpcc"\n'
    first, second = farloop.run(write(farloop.from_hpcc(topology) + rest, "s.toml")).summary["flows"]
    # 1 + 5 + 1 us there and back; serialisation on top.
    assert first["base_rtt"] == pytest.approx(14e-6, rel=0.1)
    assert first["completion"] is not None
    assert second["completion"] is not None


def test_lines_behind_the_announced_ones_are_counted_and_not_read(write):
    # As the files in HPCC's repository have them.
    text = farloop.from_hpcc(write(TOPOLOGY.replace("First", "4 9 1Gbps 1us 0\nFirst")))
    assert "# Not read: 1 links more than line 1 says" in text
    assert len(tomllib.loads(text)["link"]) == 4
    text = farloop.flows_from_hpcc(write(TOPOLOGY), write(FLOWS.replace("First", "7 8 3 100 5 0\nFirst"), "flow.txt"))
    assert "# Not read: 1 flows more than line 1 says" in text
    assert len(flows(text)) == 2


TOPOLOGIES = {
    "5 2\n": ":1: 5 2: expected",
    "10 8 0 2 9 H100\n": ":1: 10 8 0 2 9 H100: expected",
    "5 two 4\n": ":1: switches: two: expected a whole number",
    "5 2 4\n3 9\n": ":2: switch: 9: expected a whole number from 0 to 4",
    "5 2 4\n3 3\n": ":2: the switch 3 a second time",
    "5 1 4\n3 4\n": ":2: 2 switches; expected 1",
    "5 2 4\n3 4\n0 3 25Gbps 1us\n": ":3: 0 3 25Gbps 1us: 4 columns; expected links",
    "5 2 4\n3 4\n0 5 25Gbps 1us 0\n": ":3: node: 5: expected",
    "5 2 4\n3 4\n0 0 25Gbps 1us 0\n": ":3: the link connects node 0 with itself",
    "5 2 4\n3 4\n0 3 25 1us 0\n": ":3: rate: 25: expected a rate of ns-3",
    "5 2 4\n3 4\n0 3 25Gbs 1us 0\n": ":3: rate: 25Gbs",
    "5 2 4\n3 4\n0 3 25Gbps 1lightyear 0\n": ":3: delay: 1lightyear: expected a time of ns-3",
    "5 2 4\n3 4\n0 3 25Gbps 1us 2\n": ":3: error rate: 2: expected a number from 0 to 1",
    "5 2 4\n3 4\n0 3 25Gbps 1us nan\n": ":3: error rate: nan",
    "5 2 4\n3 4\n0 3 25Gbps 1us 0\n3 0 25Gbps 1us 0\n": ":4: the nodes 3 and 0 have a link already, in line 3",
    "5 2 4\n3 4\n0 3 25Gbps 1us 0\n": ":3: the file ends after 1 links; expected 4",
    TOPOLOGY.replace("5 2 4", "5 2 3"): ": no path leads from node h0 to node h1",
    TOPOLOGY.replace("5 2 4", "6 2 4"): ": the host h5 has 0 links",
    TOPOLOGY.replace("100Gbps 5us", "100Tbps 5us"): ":8: link.s3->s4.rate: ",
    TOPOLOGY.replace("100Gbps 5us", "100Gbps 5h"): ":8: link.s3->s4.delay: ",
    "4 2 2\n2 3\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n": "no path leads from node h0 to node h1",
    "": ":1: : expected",
}


@pytest.mark.parametrize("text", TOPOLOGIES)
def test_wrong_topologies_are_refused_with_their_line(write, text):
    path = write(text)
    done = CliRunner().invoke(app, ["import-hpcc", str(path)])
    assert done.exit_code == 2, done.output
    assert (
        f"{path}{TOPOLOGIES[text]}" in done.stderr
        if TOPOLOGIES[text].startswith(":")
        else TOPOLOGIES[text] in done.stderr
    )
    assert done.stderr.count("\n") == 1, done.stderr


LISTS = {
    "": ":1: the file ends after 0 flows",
    "1 2\n": ":1: 1 2: expected the number of flows",
    "1\n0 1 3 100\n": ":2: 0 1 3 100: 4 columns; expected flows",
    "1\n0 3 3 100 1000 0\n": ":2: node 3 is a switch",
    "1\n0 7 3 100 1000 0\n": ":2: node 7 is not among the 5 nodes",
    "1\n0 0 3 100 1000 0\n": ":2: the flow goes from node 0 to itself",
    "1\n0 1 3 100 0 0\n": ":2: size: 0: expected a whole number from 1",
    "1\n0 1 3 100 1000 -1\n": ":2: start: -1: expected a number from 0",
    "1\n0 1 high 100 1000 0\n": ":2: priority group: high",
    "2\n0 1 3 100 1000 0\n": ":2: the file ends after 1 flows; expected 2",
    "0\n": ": no flow",
}


@pytest.mark.parametrize("text", LISTS)
def test_wrong_flows_are_refused_with_their_line(write, text):
    path = write(text, "flow.txt")
    done = CliRunner().invoke(app, ["import-hpcc", str(write(TOPOLOGY)), "--flows", str(path)])
    assert done.exit_code == 2, done.output
    assert f"{path}{LISTS[text]}" in done.stderr
