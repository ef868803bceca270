"""Maps of networks in GraphML, without kinds and hosts, as the Internet Topology Zoo has them."""

import math
import re
import tomllib

import networkx as nx
import pytest

import farloop

SPEED = 204_190e3
RADIUS = 6_371_008.8


def city(latitude, longitude, **others):
    return {"Latitude": latitude, "Longitude": longitude, **others}


def square() -> nx.MultiGraph:
    """Four nodes in a ring with two links between 0 and 1; a degree is 111.2 km."""
    graph = nx.MultiGraph()
    for node, place in enumerate([(0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.0)]):
        graph.add_node(str(node), **city(*place, label=f"City {node}"))
    for a, b in ("01", "01", "12", "23", "30"):
        graph.add_edge(a, b, LinkSpeedRaw=10e9)
    return graph


@pytest.fixture
def convert(tmp_path):
    path = tmp_path / "map.graphml"

    def written(graph, **options):
        nx.write_graphml(graph, path)
        return farloop.from_graphml(path, **options)

    return written


def links(text):
    return {f"{k['a']}-{k['b']}": k for k in tomllib.loads(text)["link"]}


def seconds(delay):
    return float(delay.removesuffix("us")) * 1e-6


def test_a_map_gets_routers_and_hosts(convert):
    text = convert(square())
    document = tomllib.loads(text)
    kinds = {n["name"]: (n["kind"], n.get("datacenter")) for n in document["node"]}
    assert kinds == {str(i): ("router", None) for i in range(4)} | {f"host-{i}": ("host", i) for i in range(4)}
    own = links(text)
    assert own["0-1"]["links"] == 2
    assert {k["rate"] for name, k in own.items() if "host" not in name} == {"10Gbps"}
    assert own["host-2-2"]["delay"] == "1us"
    for assumed in ["all nodes are routers", "4 hosts attached, 1 at each node", "datacenter of their own"]:
        assert f"# Assumed: {assumed}" in text or assumed in text
    several = tomllib.loads(convert(square(), hosts_per_node=3, datacenter=7))
    assert [n["name"] for n in several["node"]][4:8] == ["host-0-1", "host-0-2", "host-0-3", "host-1-1"]
    assert {n["datacenter"] for n in several["node"]} == {7}


def test_hosts_at_some_nodes(convert):
    document = tomllib.loads(convert(square(), hosts_at=["2", "City 0"], hosts_per_node=2))
    hosts = [n["name"] for n in document["node"] if n["kind"] == "host"]
    assert hosts == ["host-2-1", "host-2-2", "host-0-1", "host-0-2"]
    graph = square()
    graph.add_node("host-0", label="host-0")
    graph.add_edge("host-0", "1")
    names = [n["name"] for n in tomllib.loads(convert(graph))["node"]]
    assert len(names) == len(set(names)) == 10


def test_hosts_beside_those_of_the_file(convert):
    graph = nx.Graph()
    graph.add_node("h", kind="host", datacenter=0)
    graph.add_node("s", kind="switch", datacenter=0)
    graph.add_edge("h", "s")
    with pytest.raises(farloop.FarloopError, match="the network has 1 host; flows need two"):
        convert(graph)
    document = tomllib.loads(convert(graph, hosts_per_node=1))
    assert [(n["name"], n["datacenter"]) for n in document["node"]] == [("h", 0), ("s", 0), ("host-s", 0)]


def test_delays_are_great_circles(convert):
    degree = math.radians(1) * RADIUS / SPEED
    own = links(convert(square(), delay="9ms"))
    assert seconds(own["0-1"]["delay"]) == pytest.approx(degree, rel=1e-5)
    assert seconds(own["2-3"]["delay"]) == pytest.approx(degree * math.cos(math.radians(1)), rel=1e-4)
    assert seconds(links(convert(square(), route_factor=1.5))["0-1"]["delay"]) == pytest.approx(1.5 * degree, rel=1e-5)
    graph = square()
    graph.nodes["1"].update(city(0.0, 0.0))
    graph.edges["1", "2", 0]["delay"] = "4ms"
    own = links(convert(graph))
    assert (own["0-1"]["delay"], own["1-2"]["delay"]) == ("1us", "4ms")


def test_missing_coordinates_settle_between_their_neighbours(convert):
    # 0 – a – b – 3 on the equator, of which only the ends are known: thirds. Across 180 degrees as well.
    for west, east in ((0.0, 3.0), (178.5, -178.5)):
        graph = nx.path_graph(["0", "a", "b", "3"])
        graph.nodes["0"].update(city(0.0, west))
        graph.nodes["3"].update(city(0.0, east))
        text = convert(graph)
        for name in ("0-a", "a-b", "b-3"):
            assert seconds(links(text)[name]["delay"]) == pytest.approx(math.radians(1) * RADIUS / SPEED, rel=1e-5)
        assert "# Assumed: the coordinates of nodes a, b, the means of their neighbours'." in text


def test_without_coordinates_the_option_holds(convert):
    graph = nx.path_graph(["0", "1", "2"])
    text = convert(graph, delay="3ms")
    assert {k["delay"] for name, k in links(text).items() if "host" not in name} == {"3ms"}
    assert "the delay of 2 edges without coordinates, 3ms." in text
    text = convert(graph)
    assert "delay" not in links(text)["0-1"]
    assert "the delay of 2 edges without coordinates, 5.25us, the scenario format's default (--delay)." in text


def test_rates_come_from_the_file_then_the_option_then_the_others(convert):
    graph = square()
    for edge, speed in zip(list(graph.edges), [45e6, 155.52e6, 64e3, 2.4e9, None], strict=True):
        graph.edges[edge].pop("LinkSpeedRaw")
        if speed:
            graph.edges[edge]["LinkSpeedRaw"] = speed

    def rates(text):
        return [k["rate"] for k in tomllib.loads(text)["link"] if not k["a"].startswith("host")]

    assert set(rates(convert(graph, rate="1Gbps"))) == {"45Mbps", "155.52Mbps", "1Gbps", "64kbps", "2.4Gbps"}
    text = convert(graph)
    assert rates(text).count("45Mbps") == 2
    assert "the rate of 1 edge, 45Mbps, the median of the others (--rate)." in text
    assert set(rates(convert(nx.path_graph(["0", "1"])))) == {"10Gbps"}


def test_hosts_links_fit_what_the_network_carries(convert):
    # Of n hosts at the ends of one link each half sends n/4 of its rate across: with 2 and 2 that is 2/3 + 2/3 of a host's rate.
    graph = nx.path_graph(["0", "1"])
    assert links(convert(graph, rate="3Gbps", hosts_per_node=2))["host-0-1-0"]["rate"] == "2.25Gbps"
    assert links(convert(graph, rate="3Gbps", hosts_per_node=2, host_rate="5Gbps"))["host-0-1-0"]["rate"] == "5Gbps"
    # Along a line of four the middle link carries 4 of 12 pairs in each direction; of two parallel ones there each has half.
    line = nx.MultiGraph(nx.path_graph(["0", "1", "2", "3"]))
    assert links(convert(line, rate="4Gbps"))["host-0-0"]["rate"] == "3Gbps"
    line.add_edge("1", "2")
    text = convert(line, rate="4Gbps")
    # 3 of 12 pairs pass the first one, in each direction.
    assert links(text)["host-0-0"]["rate"] == "4Gbps"
    assert re.search(
        r"4Gbps \(--host-rate\) and 1us. Uniform traffic of load 1 then fills the busiest link, \d->\d.", text
    )


def test_the_map_runs(convert, tmp_path):
    path = tmp_path / "map.toml"
    traffic = (
        '[run]\nduration = "20ms"\n[transport]\nkind = "tcp"\n[algorithm]\nname = "cubic"\n'
        '[[workload]]\npattern = "poisson"\nload = 0.1\nsizes = "20kB"\n'
    )
    path.write_text(convert(square()) + traffic, encoding="utf-8")
    run = farloop.run(path)
    ports = run.ports.to_pylist()
    assert {p["link"] for p in ports if (p["node"], p["peer"]) == ("0", "1")} == {1, 2}
    assert all(p["tx_bytes"] > 0 for p in ports if (p["node"], p["peer"]) == ("0", "1"))
    most = max(p["offered_bytes"] * 8 / (p["rate_bps"] * 0.02) for p in ports)
    assert 0.1 < most < 0.2


@pytest.mark.parametrize(
    ("change", "options", "named"),
    [
        (
            {},
            {"hosts_at": ["9"]},
            r"--hosts-at: 9: there is no such node in the largest component; .*there is 0, 1, 2, 3",
        ),
        ({}, {"hosts_at": ["City 9"]}, "--hosts-at: City 9: there is no such node"),
        ({}, {"hosts_at": ["0", "City 0"]}, "--hosts-at: City 0: is named twice"),
        ({}, {"hosts_at": [""]}, "--hosts-at: : there is no such node"),
        ({}, {"hosts_at": ["0"]}, "the network has 1 host; flows need two"),
        ({}, {"hosts_per_node": 0}, "--hosts-per-node: 0 is not accepted; expected 1 to 1000"),
        ({}, {"host_rate": "fast"}, "--host-rate: rate: 'fast' is not accepted"),
        ({}, {"rate": "fast"}, "--rate: rate: 'fast' is not accepted"),
        ({}, {"route_factor": 0.0}, "--route-factor: 0.0 is not accepted; expected more than 0"),
        ({}, {"route_factor": math.nan}, "--route-factor: nan"),
        ({}, {"kind": "host"}, "node 0: "),
        ({"Latitude": math.nan}, {}, "node 0: Latitude: nan is not accepted; expected degrees from -90 to 90"),
        ({"Latitude": 90.1}, {}, "node 0: Latitude: 90.1 is not accepted"),
        ({"Longitude": -181.0}, {}, "node 0: Longitude: -181.0 is not accepted; expected degrees from -180 to 180"),
        ({"Longitude": "east"}, {}, "node 0: Longitude: 'east' is not accepted"),
        ({"Longitude": ""}, {}, "node 0: Longitude: missing beside Latitude; expected both or none"),
        (
            {"label": "City 1"},
            {"hosts_at": ["City 1"]},
            "--hosts-at: City 1: is the label of nodes 0, 1; expected an id",
        ),
    ],
)
def test_what_is_wrong_is_named(change, options, named, convert):
    graph = square()
    graph.nodes["0"].update(change)
    if any(isinstance(value, str) for value in change.values()):
        # One type of value for all nodes, as GraphML has it.
        for data in graph.nodes.values():
            data.update({key: str(value) for key, value in data.items()})
    with pytest.raises(farloop.FarloopError, match=named):
        convert(graph, **options)


@pytest.mark.parametrize("speed", [0.0, -1.0, math.nan, math.inf, 999.0, 1e14])
def test_speeds_that_no_link_has(speed, convert):
    graph = square()
    graph.edges["1", "2", 0]["LinkSpeedRaw"] = speed
    with pytest.raises(
        farloop.FarloopError, match=r"edge 1–2: LinkSpeedRaw: .* is not accepted; expected bit/s, from 1000"
    ):
        convert(graph)


def test_defaults_that_the_file_declares(tmp_path):
    path = tmp_path / "map.graphml"
    path.write_text(
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
        '<key id="r" for="edge" attr.name="LinkSpeedRaw" attr.type="double"><default>2e9</default></key>\n'
        '<graph edgedefault="undirected"><node id="a"/><node id="b"/><edge source="a" target="b"/></graph></graphml>\n',
        encoding="utf-8",
    )
    assert links(farloop.from_graphml(path))["a-b"]["rate"] == "2Gbps"


def test_the_command(command):
    nx.write_graphml(square(), command.directory / "map.graphml")
    done = command(
        "import-graphml", "map.graphml", "--hosts-at", "0, City 2", "--hosts-per-node", "2", "--route-factor", "1.5"
    )
    assert done.returncode == 0, done.stderr
    assert sum(n["kind"] == "host" for n in tomllib.loads(done.stdout)["node"]) == 4
    for arguments, named in [
        (["--hosts-at", "0,Atlantis"], "Atlantis"),
        (["--hosts-per-node", "0"], "hosts-per-node"),
        (["--route-factor", "-1"], "route-factor"),
        (["--host-rate", "1"], "host-rate"),
    ]:
        done = command("import-graphml", "map.graphml", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert named in done.stderr
        assert "Traceback" not in done.stderr
