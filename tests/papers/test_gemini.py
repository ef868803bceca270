"""The judges of GEMINI's figures, on short runs and on numbers made up for them."""

import math

import numpy as np
import pytest

import farloop
from farloop.experiments.threads import Job, simulate
from farloop.experiments.variants import Variant, make_run
from farloop.judging import paper_modules
from farloop.judging.testbed import Completion, Losses, rates, scheme, settling_time
from farloop.judging.verdicts import add_verdicts
from farloop.papers.gemini import fig10
from farloop.scenario import Scenario


def runs(figure, wanted, **settings):
    """Short runs of the (case, algorithm) pairs of a figure, and the figure's scenario."""
    base = Scenario.load(figure)
    cases = {case["name"]: case["set"] for case in base.resolved["case"]}
    parts = [(c, a, base.override(cases[c]).override(algorithm=a).override(settings)) for c, a in wanted]
    outcomes = simulate([Job(f"{a}, {c}", s) for c, a, s in parts])
    made = [make_run(o, Variant(f"{a}, {c}", c, a, s)) for o, (c, a, s) in zip(outcomes, parts, strict=True)]
    return farloop.Comparison(figure, made), base


def judged(figure, wanted, **settings):
    comparison, base = runs(figure, wanted, **settings)
    (claim,) = add_verdicts(comparison, base).claims
    assert paper_modules.paper_module(figure).draw(comparison)
    return claim


def texts(claim):
    return [s["text"] for s in claim["statements"]]


SHORT = {"run.duration": "400ms"}


def test_thresholds_are_told_apart_by_place():
    wanted = [(f"{w}, K = {k}", "dctcp") for w in ("intra", "inter") for k in (20, 320)]
    claim = judged("gemini/fig05", wanted, **SHORT)
    assert len(claim["statements"]) == 5
    measured = claim["measured"]
    # 20 packets of 1538 B take 0.25 ms: more than a base round trip; 320 take 3.9 ms.
    assert 1.5 < measured["intra, K = 20: RTT over base"] < 4 < measured["intra, K = 320: RTT over base"] < 24
    assert 1 < measured["inter, K = 20: RTT over base"] < 1.5
    assert measured["intra, K = 20: throughput (Mbps)"] < 942


def test_throughput_is_compared_at_each_threshold():
    wanted = [(f"inter, K = {k}", a) for k in (100, 320) for a in ("gemini", "dctcp")]
    claim = judged("gemini/fig08", [*wanted, ("intra, K = 20", "gemini"), ("intra, K = 20", "dctcp")], **SHORT)
    assert len(claim["statements"]) == 8
    assert {"gemini_mbps_k320", "dctcp_mbps_k320"} <= set(claim["measured"])


def test_round_trip_times_follow_the_delay_threshold():
    wanted = [(f"T = {t} ms, beta = 0.2", "gemini") for t in (2, 8)] + [
        ("Cubic", "cubic"),
        ("base RTT 100 ms", "gemini"),
    ]
    claim = judged("gemini/fig09", wanted, **{"run.duration": "4s"})
    assert len(claim["statements"]) == 7
    measured = claim["measured"]
    assert 10 < measured["T = 2 ms, beta = 0.2: RTT (ms)"] < measured["T = 8 ms, beta = 0.2: RTT (ms)"] < 25
    assert measured["cubic_rtt_ms"] > 20
    # Four runs of eight, and shorter ones: numbers, no verdict.
    assert claim["verdict_text"] == "not judged: changed keys run.duration"
    assert {s["holds"] for s in claim["statements"]} == {None}


def test_noise_is_read_from_the_case():
    claim = judged("gemini/table5", [(f"{x} ms", "gemini") for x in ("0", "0.1", "1")], **SHORT)
    assert [t[:16] for t in texts(claim)] == ["noise below 0.1 ", "noise up to 1 ms", "noise up to 2 ms"]


def test_jain_counts_the_flows_that_have_started():
    starts = {"flow.group2.start": "1s", "flow.group3.start": "2s", "run.duration": "4s"}
    comparison, base = runs("gemini/fig10", [("K = 50", "gemini"), ("K = 300", "dctcp")], **starts)
    (claim,) = add_verdicts(comparison, base).claims
    assert 0.3 < claim["measured"]["GEMINI"] <= 1
    times, index = fig10.indices(comparison.runs[0])
    assert times.tolist() == pytest.approx([1, 2, 3, 4])
    assert np.all((index > 1 / 30) & (index <= 1 + 1e-12))
    early = [v for f, v in rates(comparison.runs[0], 0, 1).items() if f.startswith("group1-")]
    assert index[0] == pytest.approx(farloop.metrics.jain(early))


def test_shares_are_intra_over_inter():
    together = {f"flow.{kind}{i}.start": f"{i}ms" for kind in ("intra", "inter") for i in range(1, 5)}
    wanted = [("4x", "dctcp"), ("64x", "dctcp"), ("64x", "gemini")]
    claim = judged("gemini/fig11", wanted, **together, **{"run.duration": "3s"})
    assert claim["measured"]["DCTCP, 64x: intra over inter"] > claim["measured"]["DCTCP, 4x: intra over inter"]
    assert "GEMINI, 64x: intra over inter" in claim["measured"]


WEB = {"run.duration": "1s", "workload.web.stop": "300ms"}


def test_losses_and_completion_times_of_a_workload():
    wanted = [(c, a) for c in ("10 ms", "0 ms") for a in ("cubic", "vegas")] + [("10 ms", "vegas-10")]
    comparison, base = runs("gemini/fig04-table2", wanted, **WEB)
    (claim,) = add_verdicts(comparison, base).claims
    assert {"Cubic, loss in DCN", "Vegas-10, small, average (s)"} <= set(claim["measured"])
    assert [scheme(run) for run in comparison.runs] == ["Cubic", "Vegas", "Cubic", "Vegas", "Vegas-10"]
    run = comparison.runs[0]
    times, starts = Completion.from_run(run), run.flows["start_ps"].to_numpy() / 1e12
    assert settling_time(run) == pytest.approx(starts.max() / 2)
    assert 0 < times.all.size == (starts >= settling_time(run)).sum() < run.flows.num_rows
    assert 0 <= times.unfinished < times.all.size
    assert times.small.min() >= 0.005  # 10 ms there and back
    assert 0 <= Losses.from_run(run).total < 1


def test_losses_count_from_when_hosts_know_each_other():
    # A small buffer, so that there is something to lose in a second of traffic.
    small = {"run.duration": "6s", "workload.web.stop": "4s", "switch.buffer": "400kB", "record.interval": "100ms"}
    comparison, _ = runs("gemini/fig04-table2", [("10 ms", "dctcp")], **small)
    (run,) = comparison.runs
    dropped = {"spine": 0.0, "leaf": 0.0}
    for port in run.samples.objects("port"):
        times, values = run.samples.get(f"port/{port}", "dropped")
        dropped["spine" if "spine" in port.partition("->")[0] else "leaf"] += values[times > settling_time(run)].sum()
    late = run.flows["start_ps"].to_numpy() / 1e12 >= settling_time(run)
    rate = run.flows["dropped"].to_numpy()[late].sum() / run.flows["packets"].to_numpy()[late].sum()
    losses = Losses.from_run(run)
    everywhere = dropped["leaf"] + dropped["spine"]
    assert losses.dcn == pytest.approx(rate * dropped["leaf"] / everywhere) and losses.dcn > 0
    assert losses.wan == pytest.approx(rate * dropped["spine"] / everywhere)
    # Every port has series: none of the run's drops is missed.
    everything = sum(run.samples.get(f"port/{p}", "dropped")[1].sum() for p in run.samples.objects("port"))
    assert everything == sum(run.ports[c].to_numpy().sum() for c in ("dropped_buffer", "dropped_limit"))


def test_scales_of_vegas_are_compared():
    claim = judged("gemini/fig06", [("N = 1", "vegas"), ("N = 20", "vegas")], **WEB)
    assert len(claim["statements"]) == 4


def test_patterns_are_judged_by_figure():
    cases = [
        ("1 Gbps, pattern 1, GEMINI", "gemini"),
        ("1 Gbps, pattern 1", "cubic"),
        ("1 Gbps, pattern 1", "vegas-10"),
    ]
    claim = judged("gemini/fig12-15", cases, **WEB)
    assert "fig12, GEMINI, loss" in claim["measured"]
    assert any("faster than with Cubic" in t for t in texts(claim))


CELLS = {
    "fig12": {
        "GEMINI": {"small, average": 1.1, "large, average": 2.0},
        "Cubic": {"small, average": 2.2, "large, average": 1.0},
        "DCTCP": {"small, average": 1.0, "large, average": 1.6},
    }
}


def test_reduction_is_the_part_saved():
    assert paper_modules.paper_module("gemini/fig12-15").reduction(CELLS, "Cubic", "small, average") == {
        "fig12": pytest.approx(0.5)
    }
    assert paper_modules.paper_module("gemini/fig12-15").reduction(CELLS, "BBR", "small, average") == {}


def test_the_second_best_is_the_measure():
    behind = paper_modules.paper_module("gemini/fig12-15").behind_second(CELLS)
    assert behind["fig12, small, average"] == pytest.approx(1.1 / 2.2 - 1)
    assert behind["fig12, large, average"] == pytest.approx(2.0 / 1.6 - 1)


def test_losses_of_nothing_have_no_share():
    assert math.isnan(Losses(0.0, 0.0).share)
    assert Losses(3e-4, 1e-4).share == pytest.approx(0.75)
