"""The map of the network: every link is on it, nothing covers anything, its figures are those of the tables."""

import base64
import itertools
import json
import math
import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import farloop
from farloop.results.network_map import LARGE, MAX_FORCED, MAX_HOSTS, build_map
from farloop.views.figures import draw as figures
from farloop.views.figures.network_map import network_maps
from farloop.views.report import page as report
from farloop.views.report.network_map import drawing

TRAFFIC = """
[run]
duration = "{duration}"
[record]
interval = "20us"
ports = "all"
[algorithm]
name = "fixed"
[[workload]]
name = "web"
sizes = "websearch"
load = 0.4
"""

EXAMPLES = tomllib.loads(
    (Path(__file__).parents[2] / "crates/scenario/tests/stored/topologies.toml").read_text(encoding="utf-8")
)
"""The networks that the topologies declare as examples (crates/scenario/src/topology)."""

NETWORKS = {
    **{name: example["network"] for name, example in EXAMPLES.items()},
    "six-datacenters": '[network]\ntopology = "datacenters"\ndatacenters = 6\nfabric = "spine-leaf"\nspines = 2\nleaves = 2\n'
    'hosts_per_leaf = 1\nwan_delay = "50us"\n',
    "many-hosts": '[network]\ntopology = "spine-leaf"\nspines = 4\nleaves = 64\nhosts_per_leaf = 16\n',
}

RING = """
[network]
topology = "links"
[[node]]
name = "odd"
kind = "router"
""" + "".join(
    f'[[node]]\nname = "s{i}"\nkind = "switch"\ndatacenter = 0\n[[node]]\nname = "h{i}"\nkind = "host"\ndatacenter = 0\n'
    f'[[link]]\na = "h{i}"\nb = "s{i}"\nrate = "10Gbps"\ndelay = "1us"\n'
    f'[[link]]\na = "s{i}"\nb = "{f"s{i + 1}" if i < 7 else "odd"}"\nrate = "10Gbps"\ndelay = "2us"\n'
    for i in range(8)
)


def simulate(directory: Path, network: str, duration: str = "200us") -> farloop.Run:
    path = directory / "network.toml"
    path.write_text(TRAFFIC.format(duration=duration) + network, encoding="utf-8")
    return farloop.run(path)


@pytest.fixture(scope="module", params=[*NETWORKS, "links", "graphml"])
def drawn_run(request, tmp_path_factory):
    name = request.param
    if name == "links":
        network = RING
    elif name == "graphml":
        network = farloop.from_graphml(Path(__file__).parents[2] / "examples" / "net.graphml")
    else:
        network = NETWORKS[name]
    return name, simulate(tmp_path_factory.mktemp("map"), network, "60us" if name == "many-hosts" else "200us")


def test_every_port_is_on_the_map_once(drawn_run):
    _, run = drawn_run
    drawn = build_map(run.ports)
    rows = sorted(itertools.chain.from_iterable(drawn.directions))
    assert rows == list(range(run.ports.num_rows))


def test_no_two_nodes_are_on_one_spot(drawn_run):
    _, run = drawn_run
    drawn = build_map(run.ports)
    spots = np.array([(p.x, p.y) for p in drawn.places])
    distances = np.hypot(*(spots[:, None] - spots[None, :]).transpose(2, 0, 1)) + 9 * np.eye(len(spots))
    assert distances.min() > 0.3
    assert (spots > 0).all()
    assert (spots < (drawn.width, drawn.height)).all()


def test_parallel_links_are_one_line_that_says_what_they_are(tmp_path):
    second = '[[link]]\na = "s1"\nb = "s0"\nrate = "40Gbps"\ndelay = "2us"\nlinks = 2\n'
    (network,) = drawing(farloop.Comparison("", [simulate(tmp_path, RING + second)]))["networks"]
    edges = {frozenset((network["places"][e[0]][0], network["places"][e[1]][0])): e[2:5] for e in network["edges"]}
    assert edges[frozenset(("s0", "s1"))] == ["10 Gbps to 40 Gbps", "2 µs", 3]
    assert edges[frozenset(("s1", "s2"))] == ["10 Gbps", "2 µs", 1]


def test_many_hosts_become_one_place_per_switch(drawn_run):
    name, run = drawn_run
    drawn = build_map(run.ports)
    hosts = [p.hosts for p in drawn.places if p.kind == "host"]
    count = len({n for n, k in zip(*(run.ports[c].to_pylist() for c in ("node", "kind")), strict=True) if k == "host"})
    assert sum(hosts) == count
    if name == "many-hosts":
        assert count > MAX_HOSTS
        assert hosts == [16] * 64
    else:
        assert (set(hosts) == {1}) == (count <= MAX_HOSTS)


def test_tiers_are_rows(tmp_path):
    run = simulate(tmp_path, NETWORKS["datacenters"])
    places = {p.name: p for p in build_map(run.ports).places}
    rows = [places[n].y for n in ("dc0-border1", "dc0-spine2", "dc0-leaf1", "dc0-h1")]
    assert rows == sorted(rows)
    assert len(set(rows)) == 4
    assert places["dc0-border1"].datacenter == 0, "a border router stands beside its datacenter"
    assert max(p.x for p in places.values() if p.datacenter == 0) < min(
        p.x for p in places.values() if p.datacenter == 1
    )


def test_totals_are_those_of_the_tables(drawn_run):
    _, run = drawn_run
    drawn = build_map(run.ports)
    totals = drawn.totals(run)
    assert totals["queue"].max() == max(run.ports["max_queue_bytes"].to_pylist())
    assert totals["dropped"].sum() == run.summary["dropped"]
    busiest = max(8 * p["tx_bytes"] / p["rate_bps"] / run.duration for p in run.ports.to_pylist())
    assert totals["load"].max() <= busiest * (1 + 1e-9)
    # More than all of the time only by the packet that is being sent at the end.
    assert 0 < totals["load"].max() < 1.1


def test_frames_keep_the_peaks_of_the_series(drawn_run):
    _, run = drawn_run
    drawn = build_map(run.ports)
    known, times, frames = drawn.frames(run, 4)
    assert known == list(range(2 * len(drawn.edges))), "all ports are recorded"
    assert times.size <= 4
    assert times[-1] == pytest.approx(run.duration)
    peaks = [run.samples.get(f"port/{name}", "max_queue")[1].max() for name in run.samples.objects("port")]
    assert frames["queue"].max() == max(peaks)


def embedded(page: str):
    (data,) = re.findall(r'<script type="application/json" id="map-data">(.*?)</script>', page, re.DOTALL)
    return json.loads(data.replace("<\\/", "</"))


def test_the_report_has_the_map_where_it_queues(tmp_path):
    run = simulate(tmp_path, NETWORKS["fat-tree"])
    page = report.page(farloop.Comparison("", [run]))
    assert page.index('<h2 id="queues">') < page.index('<h3 id="network">') < page.index('<h2 id="setup">')
    data = embedded(page)
    (of_run,), (network,) = data["runs"], data["networks"]
    values = np.frombuffer(base64.b64decode(of_run["frames"]["queue"]), "<f4")
    assert values.size == len(of_run["recorded"]) * len(of_run["times"])
    assert len(of_run["totals"]["load"]) == 2 * len(network["edges"])


def test_runs_on_one_network_share_its_drawing(comparison):
    data = embedded(report.page(comparison))
    assert len(data["networks"]) == 1
    assert [run["network"] for run in data["runs"]] == [0, 0]
    assert [run["label"] for run in data["runs"]] == ["hpcc", "dctcp"]


def test_there_is_a_picture_of_it(comparison, tmp_path):
    names = {path.name for path in figures.draw(comparison, tmp_path)}
    assert "network.png" in names


def test_the_worst_port_is_the_worst_of_all_recorded_or_not(tmp_path):
    incast = "\n".join(f'[[flow]]\nfrom = "h{i}"\nto = "h1"\nsize = "1MB"' for i in range(2, 9))
    text = f"""
[run]
duration = "2ms"
[record]
ports = ["leaf2->spine1"]
[network]
topology = "spine-leaf"
spines = 2
leaves = 2
hosts_per_leaf = 4
rate = "10Gbps"
[switch]
buffer = "300kB"
pfc = false
[algorithm]
name = "fixed"
{incast}
"""
    path = tmp_path / "incast.toml"
    path.write_text(text, encoding="utf-8")
    run = farloop.run(path)
    worst = run.summary["worst"]
    assert worst["max_queue"]["port"] == "leaf1->h1"
    assert worst["drops"]["port"] == "leaf1->h1"
    assert worst["drops"]["drops"] == max(p["dropped_buffer"] for p in run.ports.to_pylist()) > 0
    assert worst["paused"] is None
    assert worst["mean_queue"]["p99_queue"] is None, "no series, no percentile"
    page = report.page(farloop.Comparison("", [run]))
    assert re.search(r"<td>mean queue, longest queue, drops</td><td>leaf1-&gt;h1</td>", page)


FAILING = """
[run]
duration = "4ms"
[network]
topology = "spine-leaf"
spines = 2
leaves = 2
hosts_per_leaf = 2
rate = "10Gbps"
detection_time = "100us"
[algorithm]
name = "dctcp"
[[flow]]
name = "f1"
from = "h1"
to = "h3"
[[flow]]
name = "f2"
from = "h2"
to = "h4"
[[event]]
at = "1ms"
link = "leaf1<->spine1"
state = "down"
[[event]]
at = "2ms"
link = "leaf1<->spine1"
state = "up"
[[event]]
at = "3ms"
link = "spine2<->leaf2"
state = "down"
"""


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    path = tmp_path_factory.mktemp("failing") / "failing.toml"
    path.write_text(FAILING, encoding="utf-8")
    return farloop.compare(path, algorithms=["dctcp", "cubic"], seeds="1-3")


def test_several_seeds_are_one_map_with_mean_and_spread(failing):
    data = embedded(report.page(failing))
    assert [run["label"] for run in data["runs"]] == ["dctcp (n = 3 seeds)", "cubic (n = 3 seeds)"]
    drawn = build_map(failing.runs[0].ports)
    loads = np.array([drawn.totals(run)["load"] for run in failing.runs[:3]])
    assert (np.ptp(loads, axis=0) > 0.01).any(), "paths are drawn by the seed"
    of_run = data["runs"][0]
    assert np.allclose(of_run["totals"]["load"], loads.mean(axis=0), rtol=1e-3)
    assert np.allclose(of_run["spread"]["load"], [loads.min(axis=0), loads.max(axis=0)], rtol=1e-3)
    assert "Of several seeds there is one map" in report.page(failing)
    alone = report.page(failing.runs[0].alone)
    assert embedded(alone)["runs"][0]["spread"] is None
    assert "Of several seeds" not in alone
    frames = np.frombuffer(base64.b64decode(of_run["frames"]["load"]), "<f4")
    assert frames.size == len(of_run["recorded"]) * len(of_run["times"])


def test_the_picture_has_one_map_of_several_seeds(failing):
    figure = network_maps(failing.runs, "")
    titles = [axis.get_title() for axis in figure.axes]
    assert sum(title.startswith("dctcp (n = 3 seeds): load, mean\nworst link ") for title in titles) == 1
    assert not any("seed 1" in title for title in titles)
    (single,) = [a.get_title() for a in network_maps(failing.runs[:1], "").axes if "load" in a.get_title()]
    assert "mean" not in single


def test_links_that_were_down_are_marked(failing, result):
    data = embedded(report.page(failing))
    (network,) = data["networks"]
    names = [place[0] for place in network["places"]]
    down = {
        frozenset((names[network["edges"][edge][0]], names[network["edges"][edge][1]])): spans
        for edge, spans in data["runs"][0]["failed"]
    }
    assert down == {frozenset(("leaf1", "spine1")): [[0.001, 0.002]], frozenset(("leaf2", "spine2")): [[0.003, 0.004]]}
    assert "A cross marks a link that was down." in report.page(failing)
    for axis in network_maps(failing.runs, "").axes:
        assert sum(mark.get_gid() == "failed" for mark in axis.collections) == 2
    whole = report.page(farloop.Comparison("", [result]))
    assert embedded(whole)["runs"][0]["failed"] == []
    assert "A cross marks" not in whole


@pytest.mark.parametrize("count", [LARGE, MAX_FORCED + 1])
def test_large_networks_are_laid_out_with_what_is_required(count, tmp_path, monkeypatch):
    """From 500 nodes on networkx would load scipy, which not everybody has."""
    monkeypatch.setitem(sys.modules, "scipy", None)
    names = [f"s{i}" for i in range(count)]
    switches = "".join(f'[[node]]\nname = "{s}"\nkind = "switch"\ndatacenter = 0\n' for s in names)
    hosts = "".join(f'[[node]]\nname = "h{i}"\nkind = "host"\ndatacenter = 0\n' for i in range(2))
    pairs = [("h0", "s0"), ("h1", names[-1]), *itertools.pairwise(names)]
    links = "".join(f'[[link]]\na = "{a}"\nb = "{b}"\ndelay = "1us"\n' for a, b in pairs)
    run = simulate(tmp_path, f'[network]\ntopology = "links"\n{switches}{hosts}{links}', "1us")
    drawn = build_map(run.ports)
    again = build_map(run.ports)
    assert [(node.x, node.y) for node in drawn.places] == [(node.x, node.y) for node in again.places]
    assert len({(round(node.x, 6), round(node.y, 6)) for node in drawn.places}) == len(drawn.places) == count + 2
    places = {node.name: (node.x, node.y) for node in drawn.places}
    lengths = np.array([math.dist(places[a], places[b]) for a, b in itertools.pairwise(names)])
    assert np.median(lengths) < 0.1 * max(math.dist(places["s0"], place) for place in places.values())
