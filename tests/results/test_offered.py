"""What the traffic asks of the network: loads of layers, overload, and bounds that count unfinished flows."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import farloop
from farloop.results import flow_completion, offered
from farloop.views.report.tables import load_rows, slowdown_rows

EXAMPLES = Path(__file__).parents[2] / "examples"

SHORT = ["run.duration=3ms", "workload.stop=1ms"]


@pytest.fixture(scope="module")
def overload():
    """The example, shorter: many times what the long haul carries."""
    return farloop.run(EXAMPLES / "overload.toml", set=[*SHORT, "network.wan_delay=100us"])


def test_a_listed_flow_offers_its_bytes_framing_and_acks_over_the_run():
    text = """
run.duration = "10ms"
algorithm.name = "fixed"
[network]
topology = "dumbbell"
rate = "1Gbps"
[[flow]]
from = "s1"
to = "d1"
size = "146kB"
"""
    run = farloop.run(farloop.Scenario.from_text(text))
    layers = run.summary["network"]["layers"]
    own = {layer: facts for layer, facts in layers.items() if facts["load"]}
    # 100 packets of 1538 B and as many ACKs of 102 B, in 10 ms.
    assert layers["host->" + next(iter(layers)).split("->")[1]]["load"] > 0
    sizes = sorted({round(facts["port_load"] * 1e9 * 0.01 / 8) for facts in own.values()})
    assert 100 * 1538 in sizes
    assert run.summary["network"]["arrivals"] == [0, 0.01]


def test_all_links_between_two_sites_count():
    """Two border routers at each site have a link each: the layer is both, not the most loaded pair."""
    run = farloop.run(EXAMPLES / "two-sites.toml", set=[*SHORT, "network.wan_links=2"])
    haul = run.summary["network"]["layers"]["border->border"]
    assert (haul["links"], haul["capacity_bps"]) == (2, 2 * 200e9)
    assert haul["load"] < haul["port_load"]


def test_loads_are_of_the_time_of_arrivals_and_by_direction(overload):
    network = overload.summary["network"]
    assert network["arrivals"] == [0, 0.001]
    layers = network["layers"]
    assert list(layers)[:2] == ["host->leaf", "leaf->host"]
    haul = layers["border->border"]
    ports = {f"{row['node']}->{row['peer']}": row for row in overload.ports.to_pylist()}
    worst = max(ports[name]["offered_bytes"] for name in ("dc0-border1->dc1-border1", "dc1-border1->dc0-border1"))
    assert haul["load"] == pytest.approx(worst * 8 / 1e-3 / 100e9)
    assert (haul["links"], haul["capacity_bps"]) == (1, 100e9)
    hosts = [row["offered_bytes"] for name, row in ports.items() if row["kind"] == "host" and name.startswith("dc0")]
    assert layers["host->leaf"]["load"] >= sum(hosts) * 8 / 1e-3 / (128 * 100e9) - 1e-9


def test_an_overload_is_a_caution_everywhere(overload, tmp_path):
    from farloop.views.report.page import page

    texts = [c.text for c in farloop.results.cautions.of_run(overload) if c.code == "overload"]
    assert len(texts) == 1
    assert "border->border" in texts[0] and "offered to 100 Gbps" in texts[0]
    assert "the traffic asks for more than the network carries" in page(overload.alone)
    overload.save(tmp_path / "r", report=False)
    assert "overload" in [c["code"] for c in json.loads((tmp_path / "r" / "summary.json").read_text())["cautions"]]


def test_a_network_that_carries_its_traffic_has_no_caution():
    run = farloop.run(EXAMPLES / "two-sites.toml", set=SHORT)
    assert not [c for c in farloop.results.cautions.of_run(run) if c.code == "overload"]
    loads = [layer["load"] for layer in run.summary["network"]["layers"].values()]
    assert 0 < max(loads) < 0.95


def test_the_threshold_of_the_caution():
    layer = {"load": 0.95, "offered_bps": 95e9, "capacity_bps": 100e9}
    assert offered.overloads({"a->b": layer}, 0.01) == []
    assert (
        "a->b: 96 Gbps offered to 100 Gbps (96 %)"
        in offered.overloads({"a->b": layer | {"load": 0.96, "offered_bps": 96e9}}, 0.01)[0]
    )
    assert offered.overloads({"a->b": layer | {"load": None, "offered_bps": None}}, 0.01) == []


def test_flows_without_a_size_have_no_load(result):
    layers = result.summary["network"]["layers"]
    assert all(layer["load"] is None for layer in layers.values() if layer["offered_bps"] is None)
    assert any(layer["load"] is None for layer in layers.values())
    assert "as much as they get" in [row[4] for row in offered.rows(layers)]


def test_a_forecast_is_what_the_run_then_says(overload):
    scenario = farloop.Scenario.load(EXAMPLES / "overload.toml").override([*SHORT, "network.wan_delay=100us"])
    forecast = scenario.forecast
    assert forecast["network"] == overload.summary["network"]
    assert forecast["cautions"] == [c.text for c in farloop.results.cautions.of_run(overload) if c.code == "overload"]
    assert forecast["memory_bytes"] > 0
    assert math.isclose(forecast["packet_hops"], overload.summary["packet_hops"], rel_tol=0.7)


def test_buffers_and_thresholds_are_told_at_the_rate_of_the_port(overload):
    network = overload.summary["network"]
    # 100 Gbps: 900 kB drain in 72 us.
    assert network["switch"]["ecn"] == [
        {"rate_bps": 100e9, "kmin_s": pytest.approx(72e-6), "kmax_s": pytest.approx(72e-6)}
    ]
    assert network["switch"]["buffer_bytes"] == 10e6
    assert 0 < network["switch"]["headroom_bytes"] < 10e6
    assert network["wan_switch"]["ecn"] is None
    intra, cross = network["bdp_bytes"]["intra"], network["bdp_bytes"]["cross"]
    assert intra == pytest.approx(100e9 / 8 * network["base_rtt"]["intra"][1])
    assert cross > intra
    assert any("ECN marks from 72 µs at 100 Gbps" in line for line in offered.sentences(network))


def test_explain_says_it(command):
    done = command("explain", str(EXAMPLES / "overload.toml"))
    assert done.returncode == 0, done.stderr
    for words in ("border->border", "base RTT:", "of memory", "the traffic asks for more than the network carries"):
        assert words in done.stdout


def test_unfinished_flows_count_with_their_age(overload):
    flows, end = overload.flows, overload.duration
    bounds, measured = flow_completion.bound_slowdowns(flows, end), flow_completion.slowdowns(flows)
    waiting = np.isnan(measured)
    assert waiting.any()
    start, ideal = (flow_completion.column(flows, name) / 1e12 for name in ("start_ps", "ideal_fct_ps"))
    assert np.allclose(bounds[waiting], np.maximum((end - start) / ideal, 1)[waiting])
    assert np.array_equal(bounds[~waiting], measured[~waiting])
    longer = farloop.run(EXAMPLES / "overload.toml", set=[*SHORT, "run.duration=6ms", "network.wan_delay=100us"])
    later = flow_completion.bound_slowdowns(longer.flows, longer.duration)
    assert (later >= bounds - 1e-9).all(), "what a longer run finds is no less than the bound"


def test_percentiles_of_finished_flows_stand_beside_the_bound(overload):
    _, rows = slowdown_rows(overload.alone)
    names = [row[1] for row in rows]
    assert "cross, finished only" in names and "cross, all, at least" in names
    summary = overload.summary
    assert summary["unfinished"]["cross"] > 0
    flows = summary["slowdown_at_least"]["cross"]["flows"]
    assert flows == summary["slowdown"]["cross"]["flows"] + summary["unfinished"]["cross"]
    done = farloop.run(EXAMPLES / "two-sites.toml", set=["run.duration=40ms", "workload.stop=2ms"], algorithm="gemini")
    assert set(done.summary["slowdown_at_least"].values()) == {None}
    assert {row[1] for row in slowdown_rows(done.alone)[1]} <= {"intra", "cross"}


def test_seeds_say_it_once():
    compared = farloop.compare(
        EXAMPLES / "overload.toml", "dctcp", set=[*SHORT, "network.wan_delay=100us"], seeds=range(1, 3)
    )
    texts = [caution.text for caution in farloop.results.cautions.comparison_cautions(compared)]
    assert sum("the traffic asks for more" in text for text in texts) == 1
    assert any("the worst of 2 overloaded runs of 2" in text for text in texts)
    for words in ("did not finish", "before the first ACK"):
        assert len([text for text in texts if text.startswith("dctcp: ") and words in text]) <= 2, (
            "one for each kind of flow"
        )


def test_unfinished_flows_are_told_of_with_their_bound():
    run = farloop.run(EXAMPLES / "two-sites.toml", algorithm="cubic")
    (text,) = [caution["text"] for caution in run.summary["cautions"] if caution["code"] == "unfinished"]
    finished, everyone = run.summary["slowdown"]["cross"], run.summary["slowdown_at_least"]["cross"]
    begun = finished["flows"] + run.summary["unfinished"]["cross"]
    assert text.startswith(f"cubic: {run.summary['unfinished']['cross']} of {begun} cross flows did not finish")
    assert f"{finished['p99']:.3g}, that of all flows at least {everyone['p99']:.3g}" in text
    assert flow_completion.omission_sentences([run.summary, run.summary])[0].endswith("(and in 1 other of 2 runs)")


def test_all_flows_finished_is_not_told():
    run = farloop.run(EXAMPLES / "two-sites.toml", algorithm="gemini")
    assert run.summary["unfinished"]["cross"] == 0
    assert not [caution for caution in run.summary["cautions"] if caution["code"] == "unfinished"]


def test_loads_of_seeds_are_one_table():
    compared = farloop.compare(EXAMPLES / "two-sites.toml", "gemini,cubic", set=SHORT, seeds="1-3")
    header, rows = load_rows(compared)
    assert (header, len(rows)) == (offered.HEADER, 7), "the traffic of a seed is the same under both"
    loads = [100 * run.numbers["network"]["layers"]["host->leaf"]["load"] for run in compared]
    assert rows[0][4] == f"{min(loads):,.1f} % to {max(loads):,.1f} %"
    assert offered.rows_of_seeds([compared.runs[0].numbers["network"]["layers"]]) == offered.rows(
        compared.runs[0].numbers["network"]["layers"]
    )
