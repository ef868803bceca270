"""Networks from GraphML: what is written loads and runs; what is wrong is named."""

import tomllib

import networkx as nx
import pytest

import farloop


def two_datacenters() -> nx.Graph:
    graph = nx.Graph()
    for dc in (0, 1):
        graph.add_node(f"h{dc}", datacenter=dc)
        graph.add_node(f"leaf{dc}", kind="switch", datacenter=dc)
    graph.add_node("wan", kind="router", label="somewhere")
    graph.add_edge("h0", "leaf0", rate="25Gbps", delay="1us")
    graph.add_edge("h1", "leaf1", rate="25Gbps", delay="1us")
    graph.add_edge("leaf0", "wan", delay="2ms", loss=0.25)
    graph.add_edge("wan", "leaf1", rate="40Gbps", delay="2ms")
    return graph


@pytest.fixture
def convert(tmp_path):
    path = tmp_path / "net.graphml"

    def written(graph, **options):
        nx.write_graphml(graph, path)
        return farloop.from_graphml(path, **options)

    return written


def test_nodes_and_edges_become_nodes_and_links(convert):
    text = convert(two_datacenters())
    document = tomllib.loads(text)
    assert document["network"] == {"topology": "links"}
    nodes = {n["name"]: n for n in document["node"]}
    assert list(nodes) == ["h0", "leaf0", "h1", "leaf1", "wan"]
    assert nodes["h1"] == {"name": "h1", "kind": "host", "datacenter": 1}
    assert nodes["wan"] == {"name": "wan", "kind": "router"}
    links = {frozenset((k["a"], k["b"])): k for k in document["link"]}
    assert links[frozenset(("h0", "leaf0"))]["rate"] == "25Gbps"
    lossy = links[frozenset(("leaf0", "wan"))]
    assert (lossy["delay"], lossy["loss"]) == ("2ms", 0.25)
    assert "rate" not in lossy, "the format's default holds"
    assert "# Attributes left out: node label." in text


def test_the_network_runs(convert, tmp_path):
    graph = two_datacenters()
    graph["leaf0"]["wan"]["loss"] = 0.0
    traffic = '[run]\nduration = "10ms"\n[algorithm]\nname = "fixed"\n[[flow]]\nfrom = "h0"\nto = "h1"\nsize = "1MB"\n'
    path = tmp_path / "net.toml"
    path.write_text(convert(graph) + traffic, encoding="utf-8")
    (flow,) = farloop.run(path).summary["flows"]
    # 1 us, 2 ms, 2 ms, 1 us there and back; serialisation on top.
    assert flow["base_rtt"] == pytest.approx(8.004e-3, rel=1e-3)
    assert flow["completion"] == pytest.approx(4.002e-3 + 1e6 * 8 / 25e9 * 1538 / 1460, rel=1e-2)
    assert flow["cross_datacenter"]


def test_options_stand_in_for_missing_attributes(convert):
    graph = nx.star_graph(3)
    graph.nodes[0]["kind"] = "switch"
    graph.edges[0, 1]["delay"] = "9us"
    document = tomllib.loads(convert(graph, datacenter=7, rate="10Gbps", delay="3us", loss=0.5, corruption=0.125))
    assert {n["datacenter"] for n in document["node"]} == {7}
    assert [k["delay"] for k in document["link"]] == ["9us", "3us", "3us"]
    assert {(k["rate"], k["loss"], k["corruption"]) for k in document["link"]} == {("10Gbps", 0.5, 0.125)}


def changed(where, **attributes):
    def change(graph):
        (graph.edges[where] if isinstance(where, tuple) else graph.nodes[where]).update(attributes)

    return change


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (changed("leaf0", kind="swich"), ["node leaf0", "kind", "swich", "did you mean switch?"]),
        (changed("h1", datacenter="east"), ["node h1", "datacenter", "east", "whole number"]),
        (changed("h1", datacenter=-1), ["node h1", "datacenter", "-1"]),
        (changed("h1", datacenter=""), ["node h1", "datacenter", "missing"]),
        (changed("leaf0", kind="host"), ["node leaf0", "2 links", "exactly one"]),
        (changed(("h0", "leaf0"), rate="25"), ["edge h0–leaf0", "rate", "'25'", "100Gbps"]),
        (changed(("h0", "leaf0"), rate="0Gbps"), ["net.graphml: ", "rate", "0"]),
        (changed(("h0", "leaf0"), delay="25Gbps"), ["edge h0–leaf0", "delay", "25ms"]),
        (changed(("leaf0", "wan"), loss=1.5), ["edge leaf0–wan", "loss", "1.5", "0 to 1"]),
        (changed(("leaf0", "wan"), loss="often"), ["edge leaf0–wan", "loss", "often"]),
        (changed(("leaf0", "wan"), loss="nan"), ["edge leaf0–wan", "loss", "nan"]),
        (lambda g: g.remove_edge("leaf0", "wan"), ["1 host;", "--hosts-per-node"]),
        (lambda g: g.remove_node("h1"), ["1 host;", "flows need two", 'kind "host"']),
        (lambda g: g.remove_edges_from(list(g.edges)), ["no edges that join two nodes"]),
        (lambda g: g.clear(), ["no nodes"]),
        (lambda g: nx.relabel_nodes(g, {"wan": "New York"}, copy=False), ["node New York", "name"]),
    ],
)
def test_what_is_wrong_is_named(change, named, convert):
    graph = two_datacenters()
    change(graph)
    with pytest.raises(farloop.FarloopError) as caught:
        convert(graph)
    for text in named:
        assert text in str(caught.value)


def test_only_undirected_graphs(convert):
    with pytest.raises(farloop.FarloopError, match="directed"):
        convert(two_datacenters().to_directed())


def test_parallel_edges_become_parallel_links(convert):
    graph = nx.MultiGraph(two_datacenters())
    graph.add_edge("leaf0", "wan", delay="2ms", loss=0.25)
    graph.add_edge("leaf0", "wan", delay="3ms")
    links = [k for k in tomllib.loads(convert(graph))["link"] if {k["a"], k["b"]} == {"leaf0", "wan"}]
    assert [(k.get("links", 1), k["delay"]) for k in links] == [(2, "2ms"), (1, "3ms")]
    graph.add_edge("h0", "leaf0")
    with pytest.raises(farloop.FarloopError, match="node h0: a host with 2 links; expected exactly one"):
        convert(graph)


def test_self_loops_and_smaller_components_are_left_out_and_named(convert):
    graph = two_datacenters()
    graph.add_edge("wan", "wan")
    graph.add_node("lone", kind="router")
    graph.add_edge("x1", "x2")
    text = convert(graph)
    assert "# Left out, because a link joins two nodes: 1 self-loop, wan–wan." in text
    assert "no path leads to the 5 nodes of the largest component: nodes lone, x1, x2." in text
    document = tomllib.loads(text)
    assert {n["name"] for n in document["node"]} == {"h0", "leaf0", "h1", "leaf1", "wan"}
    assert len(document["link"]) == 4


HEAD = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n<graph edgedefault="undirected">\n'
TAIL = "</graph>\n</graphml>\n"
NODES = '<node id="h0"/>\n<node id="h1"/>\n<node id="leaf"/>\n'


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (HEAD + NODES + '<edge source="h0" target="laef"/>\n' + TAIL, ":6: edge h0–laef: there is no node laef; .*leaf"),
        (HEAD + NODES + '<edge source="h0"/>\n' + TAIL, ":6: an edge has no target"),
        (HEAD + NODES + 2 * '<edge id="e" source="h0" target="leaf"/>\n' + TAIL,
         ":7: edge h0–leaf: the id e is used twice, first in line 6"),
        (HEAD + NODES + '<node id="h0"/>\n' + TAIL, ":6: node h0: the id is used twice, first in line 3"),
        (HEAD + NODES + "<node/>\n" + TAIL, ":6: a node has no id"),
        (HEAD + '<node id="a"><graph><node id="b"/></graph></node>' + TAIL, ":3: the graph is part of another one"),
        (HEAD + "</graph>\n<graph>" + TAIL, ":4: the file has several graphs"),
        (HEAD + '<node id="a"><data key="k">1</data>\n<data key="k">2</data></node>' + TAIL, ":4: .* two values"),
        ('<?xml version="1.0" encoding="klingon"?>\n' + HEAD + TAIL, ":1: is not valid GraphML: unknown encoding"),
        (HEAD + "<node id='a'>\n" + TAIL, ":4: is not valid GraphML: mismatched tag"),
        ("<a>" * 200, "nested more than 100 deep"),
        ("<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'>" + "".join(
            f"<!ENTITY {chr(98 + i)} '{f'&{chr(97 + i)};' * 10}'>" for i in range(9)
        ) + "]><graphml>&j;</graphml>", "not valid GraphML"),
    ],
)  # fmt: skip
def test_what_a_reader_would_pass_over_is_refused_with_its_line(content, named, tmp_path):
    path = tmp_path / "net.graphml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(farloop.FarloopError, match=rf"net\.graphml.*{named}"):
        farloop.from_graphml(path, kind="router")


def test_packed_files(tmp_path):
    path = tmp_path / "net.graphml.gz"
    nx.write_graphml(two_datacenters(), path)
    whole = path.read_bytes()
    assert tomllib.loads(farloop.from_graphml(path))["network"] == {"topology": "links"}
    for damaged in (whole[:40], b"\x1f\x8b" + bytes(50), whole[:30] + bytes(20) + whole[50:], b"<graphml/>"):
        path.write_bytes(damaged)
        with pytest.raises(farloop.FarloopError, match=r"net\.graphml\.gz: cannot be read"):
            farloop.from_graphml(path)


@pytest.mark.parametrize("datacenter", [65_536, 10**20, "9" * 5000])
def test_a_datacenter_beyond_all_is_named(datacenter, convert):
    with pytest.raises(farloop.FarloopError, match=r"node h0: datacenter: \d+.* is too large; expected 0 to 65535"):
        convert(two_datacenters_without_numbers(), datacenter=datacenter)


def two_datacenters_without_numbers() -> nx.Graph:
    graph = two_datacenters()
    for node in graph.nodes.values():
        node.pop("datacenter", None)
    return graph


@pytest.mark.parametrize("path", ["nul\0.graphml", 5.5, None])
def test_what_is_no_path(path):
    with pytest.raises(farloop.FarloopError, match="cannot be read"):
        farloop.from_graphml(path)


def test_what_is_echoed_is_cut(convert):
    graph = two_datacenters()
    graph.nodes["leaf0"]["kind"] = "x" * 1_000_000
    with pytest.raises(farloop.FarloopError) as caught:
        convert(graph)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "content", ["", "no XML", "<a/>", "<graphml><graph/>", '<graphml xmlns="x"><graph/></graphml>']
)
def test_other_files_are_refused(content, tmp_path):
    path = tmp_path / "net.graphml"
    path.write_text(content)
    with pytest.raises(farloop.FarloopError, match=r"net\.graphml(:\d+)?: is not valid GraphML"):
        farloop.from_graphml(path)


def test_the_command(command):
    nx.write_graphml(two_datacenters(), command.directory / "net.graphml")
    done = command("import-graphml", "net.graphml", "--rate", "400Gbps")
    assert done.returncode == 0, done.stderr
    assert tomllib.loads(done.stdout)["link"][1]["rate"] == "400Gbps"
    for arguments, named in [
        (["absent.graphml"], "absent.graphml"),
        (["net.graphml", "--rate", "fast"], "rate"),
        (["."], "cannot be read"),
    ]:
        done = command("import-graphml", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert named in done.stderr
        assert "Traceback" not in done.stderr
