"""The judges of ICC's figures, each on runs made up for it: runs that pass, runs that fail, runs that are incomplete."""

import dataclasses

import numpy as np
import pytest
from support.papers_fixtures import failed, judge, made, planned, table, undecided

from farloop.judging.claims import UndecidedError
from farloop.judging.schedule import READING
from farloop.papers.icc import common, incast, loads

RIVALS = ("DCQCN", "TIMELY", "PCN")


def incomplete(figure, make, without, claim):
    """With one run left out what needs it is not decided, and there is no verdict."""
    judged = judge(figure, planned(figure, make, without=[without]))[claim]
    decided = len(judged["statements"]) - len(undecided(judged))
    assert undecided(judged)
    assert judged["verdict_text"] == f"partial: {decided} of {len(judged['statements'])} statements"


# ---------------------------------------------------------------- bursts

PAUSES = {"icc": 40, "dcqcn-2015": 100, "timely": 120, "pcn": 80}
ENDS = {"icc": 1.0e-3, "dcqcn-2015": 2.4e-3, "timely": 1.9e-3, "pcn": 1.5e-3}
BACK = {"icc": 0.4e-3, "dcqcn-2015": 2.5e-3, "timely": 1.8e-3, "pcn": 1.4e-3}
VICTIM = {"icc": 10.0, "dcqcn-2015": 23.0, "timely": 22.0, "pcn": 17.0}
TAIL = {"icc": 0.2, "dcqcn-2015": 0.7, "timely": 0.68, "pcn": 0.54}
EMPTY = {"icc": 0.5e-3, "dcqcn-2015": 2.4e-3, "timely": 2.0e-3, "pcn": 1.0e-3}


def bursts(pauses=None, ends=None, back=None, victim=None, tail=None, empty=None, level=95e9, least=0.0, standing=0.0):
    """Eight bursts: pauses end, F1 is back and S0's queue is empty so many seconds after each; completion times in ms, by algorithm."""
    pauses, ends, back = PAUSES | (pauses or {}), ENDS | (ends or {}), BACK | (back or {})
    victim, tail, empty = VICTIM | (victim or {}), TAIL | (tail or {}), EMPTY | (empty or {})

    def make(case, algorithm):
        a = algorithm if algorithm in pauses else "icc"

        def since(t):
            return np.where(t > 1e-3 + 1e-9, (t - 1e-3 - 1e-9) % 5e-3, np.inf)

        def throughput(t):
            low = since(t) < back[a] - 1.5e-4
            return np.where(low, level * least if a != "icc" else 0.3 * level, level)

        series = {
            ("flow/f1", "throughput"): throughput,
            ("port/s0->s1", "max_queue"): lambda t: np.where(since(t) < empty[a], 2e6, standing),
        }
        for port in incast.WATCHED:
            series[f"port/{port}", "paused"] = lambda t: np.where(since(t) <= ends[a], 0.5, 0.0)
        flows = [{"name": "f1", "start_ps": 0, "received_ps": 1e9 * victim[a]}]
        flows += [
            {"name": f"{kind}-{i}", "start_ps": 1e9, "received_ps": 1e9 * (1 + tail[a])}
            for kind in ("burst", "hb1")
            for i in range(20)
        ]
        flows.append({"name": "f0", "start_ps": 1e12})
        ports = [{"node": "s0", "peer": "s1", "pauses": pauses[a], "paused_ps": 1e9}]
        return made("icc/incast", case, algorithm, series=series, flows=flows, ports=ports)

    return make


STOPS = "ICC stops pausing after 1.1 ms"
FEWER = [f"ICC avoids at least {p} % of {n}'s pauses" for p, n in zip((56, 63, 38), RIVALS, strict=True)]


@pytest.mark.parametrize(
    ("changed", "verdict", "failing"),
    [
        ({}, "reproduced", []),
        ({"pauses": {"icc": 0}, "ends": {"icc": -1.0}}, "direction", [STOPS]),
        ({"pauses": {"icc": 60}}, "direction", FEWER),
        ({"pauses": {"pcn": 30}}, "differs", ["ICC pauses less than PCN", FEWER[2]]),
        ({"ends": {"icc": 0.35e-3}}, "direction", [STOPS]),
        ({"ends": {"icc": 1.7e-3}}, "differs", [STOPS, "ICC stops pausing before PCN"]),
        ({"ends": {"timely": 0.9e-3}}, "differs", ["ICC stops pausing before TIMELY"]),
    ],
)
def test_pauses(changed, verdict, failing):
    claim = judge("icc/incast", planned("icc/incast", bursts(**changed)))["icc/fig04-09"]
    assert sorted(failed(claim)) == sorted(failing)
    assert claim["verdict"] == verdict


def test_pauses_of_nobody_are_not_avoided():
    claim = judge("icc/incast", planned("icc/incast", bursts(pauses=dict.fromkeys(PAUSES, 0))))["icc/fig04-09"]
    assert undecided(claim) == FEWER
    assert failed(claim) == [f"ICC pauses less than {n}" for n in RIVALS]
    assert common.avoided_pauses(3, 0) == -np.inf
    with pytest.raises(UndecidedError):
        common.avoided_pauses(0, 0)


def test_throughput():
    good = judge("icc/incast", planned("icc/incast", bursts()))["icc/fig05"]
    assert good["measured"]["recovery_ms_DCQCN"] == pytest.approx(2.5, abs=0.1)
    # What F1 has over 5 ms follows from when it is back: 82 %, 44 % and 29 % more under ICC.
    assert failed(good) == ["F1 gets 51 % more than under DCQCN"]
    assert good["verdict"] == "direction"
    slow = judge("icc/incast", planned("icc/incast", bursts(back={"icc": 2.6e-3})))["icc/fig05"]
    assert {f"F1 is back sooner under ICC than under {n}" for n in RIVALS} <= set(failed(slow))
    assert "ICC: F1 is back after 0.4 ms" in failed(slow)
    crawling = judge("icc/incast", planned("icc/incast", bursts(least=0.1)))["icc/fig05"]
    assert {f"{n}: F1 stands still for a time after the burst" for n in RIVALS} <= set(failed(crawling))
    low = judge("icc/incast", planned("icc/incast", bursts(level=60e9)))["icc/fig05"]
    assert "ICC: F1 has almost 100 Gbps without a burst" in failed(low)
    never = judge("icc/incast", planned("icc/incast", bursts(back={"pcn": 9e-3})))["icc/fig05"]
    assert "PCN: F1 is back after 1.4 ms" in failed(never)
    assert "F1 is back sooner under ICC than under PCN" not in failed(never)


@pytest.mark.parametrize(
    ("changed", "verdict", "failing"),
    [
        ({}, "reproduced", []),
        ({"victim": {"pcn": 10.5}}, "direction", ["average completion time of F1: 1.7 times as short as under PCN"]),
        (
            {"tail": {"timely": 0.15}},
            "differs",
            [
                "99th percentile of H2 to Hn's flows: 3.4 times as short as under TIMELY",
                "99th percentile of H2 to Hn's flows: shorter than under TIMELY",
            ],
        ),
    ],
)
def test_completion(changed, verdict, failing):
    claim = judge("icc/incast", planned("icc/incast", bursts(**changed)))["icc/fig10"]
    assert sorted(failed(claim)) == failing
    assert claim["verdict"] == verdict
    assert claim["note"].endswith("counted with their age: none"), "F0 has not begun"


@pytest.mark.parametrize(
    ("changed", "failing"),
    [
        ({}, []),
        ({"empty": {"icc": 1.2e-3}}, ["ICC: S0's queue is near zero soon after the burst"]),
        (
            {"empty": {"timely": 0.4e-3}},
            ["S0's queue falls sooner under ICC than under TIMELY", "TIMELY: S0's queue is not near zero soon after the burst"],
        ),
        ({"standing": 60e3}, ["ICC: S0's queue is near zero soon after the burst", "ICC: S0's queue is near zero without bursts",
                              "S0's queue falls sooner under ICC than under DCQCN", "S0's queue falls sooner under ICC than under TIMELY"]),
    ],
)  # fmt: skip
def test_queue(changed, failing):
    claim = judge("icc/incast", planned("icc/incast", bursts(**changed)))["icc/fig11"]
    assert sorted(failed(claim)) == failing
    assert claim["verdict"] == ("differs" if failing else "reproduced")


def test_bursts_incomplete():
    for claim in ("icc/fig04-09", "icc/fig05", "icc/fig10"):
        incomplete("icc/incast", bursts(), ("burst, PCN's marks", "pcn"), claim)
    incomplete("icc/incast", bursts(), ("burst", "timely"), "icc/fig11")


def test_the_tree_of_pauses_in_words():
    run = bursts()("burst", "icc")
    assert incast.tree(run) == ["nothing is paused"]

    def pause(node, peer, cause, root, depth):
        return {"node": node, "peer": peer, "cause_node": cause[0], "cause_peer": cause[1],
                "root_node": root[0], "root_peer": root[1], "depth": depth, "pauses": 2, "paused_ps": 1_000_000_000}  # fmt: skip

    congested, port = ("s1", "br1"), ("s0", "s1")
    rows = [pause("s0", "s1", congested, congested, 1)] + [
        pause(h, "s0", port, congested, 2) for h in ("h1", "b02", "b03")
    ]
    assert incast.tree(with_pauses(run, rows)) == [
        "s1->br1 is congested",
        "   s1 stops s0: 2 pauses, 1 ms",
        "      s0 stops hosts of bursts (2): 4 pauses, 2 ms",
        "      s0 stops h1: 2 pauses, 1 ms",
    ]


def with_pauses(run, rows):
    """The run with these pauses."""
    return dataclasses.replace(run, pauses=table("pauses", rows))


# ---------------------------------------------------------------- loads

AVERAGE = {"icc": 100.0, "dcqcn-2015": 245.0, "timely": 283.0, "pcn": 184.0}
AT_50 = {"icc": 53, "dcqcn-2015": 100, "timely": 120, "pcn": 80}


def traffic(average=None, pauses=None, more=0.0, slow=(), tail=0.5):
    """Flows that take so many microseconds on average, by algorithm or (point, algorithm); each further seed adds `more` to ICC's.

    Under ICC the hosts in `slow` take three times as long; from the average flows depart by the part `tail`.
    """
    average, pauses = AVERAGE | (average or {}), AT_50 | (pauses or {})

    def make(case, algorithm):
        a = algorithm if algorithm in AVERAGE else "icc"
        point = case.partition(",")[0]
        load = point if point == loads.WEB else int(point.removesuffix(" %"))
        seed = int(case.partition("seed ")[2][:1] or 1)
        mean = average.get((load, a), average[a]) + (more * (seed - 1) if a == "icc" else 0)
        flows = [
            {
                "name": f"{kind}-{i}",
                "start_ps": 0,
                "received_ps": 1e6 * mean * f * (3 if a == "icc" and kind in slow else 1),
            }
            for kind in ("h1", "rack", "hb")
            for i, f in enumerate((1 - tail, 1 + tail) if a == "icc" else (0.5, 1.5))
        ]
        return made(
            "icc/loads",
            case,
            algorithm,
            flows=flows,
            ports=[{"node": "s0", "peer": "s1", "pauses": pauses.get((load, a), pauses[a])}],
        )

    return make


def whoever(name):
    """What is said of each kind of host against a rival."""
    return [f"ICC's {what} is below {name}'s for each kind of host" for what in ("average", "p99")]


def test_lowest():
    assert judge("icc/loads", planned("icc/loads", traffic()))["icc/fig12"]["verdict"] == "reproduced"
    judged = judge("icc/loads", planned("icc/loads", traffic(average={(70, "pcn"): 99.0})))["icc/fig12"]
    assert failed(judged) == ["70 %: ICC's average is below PCN's"]
    assert judged["verdict"] == "differs"
    assert len(judged["statements"]) == 18
    incomplete("icc/loads", traffic(), ("20 %, seed 2, PCN's marks, long", "pcn"), "icc/fig12")
    # One seed against three: the mean decides, and the evidence has each.
    drifting = judge("icc/loads", planned("icc/loads", traffic(more=90.0)))["icc/fig12"]
    assert failed(drifting) == [f"{load} %: ICC's average is below PCN's" for load in loads.LOADS]
    assert "by seed 100, 190, 280 and 184, 184, 184" in drifting["note"]


def test_improved():
    good = judge("icc/loads", planned("icc/loads", traffic()))["icc/fig13"]
    assert good["verdict"] == "reproduced"
    assert good["measured"]["avg_fct_TIMELY"] == pytest.approx(2.83)
    # The mean of what the three seeds give, not of their completion times.
    drifting = judge("icc/loads", planned("icc/loads", traffic(more=100.0)))["icc/fig13"]
    assert drifting["measured"]["avg_fct_DCQCN"] == pytest.approx(2.45 * (1 + 1 / 2 + 1 / 3) / 3)
    none = judge("icc/loads", planned("icc/loads", traffic(pauses={"icc": 0})))["icc/fig13"]
    assert failed(none) == [f"{p} % of {n}'s pauses avoided" for p, n in zip((47, 56, 34), RIVALS, strict=True)]
    assert none["verdict"] == "direction"
    worse = judge("icc/loads", planned("icc/loads", traffic(average={(50, "pcn"): 90.0})))["icc/fig13"]
    assert failed(worse) == ["ICC's average is below PCN's", *whoever("PCN"), "1.84 times as fast as PCN"]
    incomplete("icc/loads", traffic(), ("50 %, seed 3, long", "icc"), "icc/fig13")


@pytest.mark.long
def test_websearch_is_compared_with_hadoop():
    claim = "icc/websearch"
    same = judge("icc/loads", planned("icc/loads", traffic()))[claim]
    assert (same["verdict"], len(same["statements"])) == ("reproduced", 6)
    # All flows twice as long change no factor; PCN's three times as long do.
    slower = {(loads.WEB, a): 2 * mean for a, mean in AVERAGE.items()}
    assert judge("icc/loads", planned("icc/loads", traffic(average=slower)))[claim]["verdict"] == "reproduced"
    other = judge("icc/loads", planned("icc/loads", traffic(average=slower | {(loads.WEB, "pcn"): 3 * 184.0})))[claim]
    assert failed(other) == ["WebSearch: as many times as fast as PCN as with FB_Hadoop"]
    assert other["measured"]["factor_PCN"] == pytest.approx(1.5)
    fewer = judge("icc/loads", planned("icc/loads", traffic(pauses={(loads.WEB, "timely"): 54})))[claim]
    assert failed(fewer) == ["WebSearch: the same part of TIMELY's pauses avoided as with FB_Hadoop"]
    incomplete("icc/loads", traffic(), ("WebSearch, seed 2, long", "icc"), claim)
    # A reading of FB_Hadoop alone decides nothing.
    alone = [run for run in planned("icc/loads", traffic()) if loads.WEB not in run.case]
    assert len(undecided(judge("icc/loads", alone, READING)[claim])) == 6
    # FB_Hadoop's figures do not see it.
    assert judge("icc/loads", planned("icc/loads", traffic(average=slower)))["icc/fig13"]["verdict"] == "reproduced"


def test_whichever_host_sends():
    judged = judge("icc/loads", planned("icc/loads", traffic(slow=("hb",))))["icc/fig13"]
    assert [whoever(n)[0] in failed(judged) for n in RIVALS] == [True] * 3
    assert [f"ICC's average is below {n}'s" in failed(judged) for n in RIVALS] == [False] * 3
    assert judged["verdict"] == "differs"
    long = judge("icc/loads", planned("icc/loads", traffic(tail=0.99, average={"icc": 145.0})))["icc/fig13"]
    assert [t for t in failed(long) if "host" in t] == [whoever("PCN")[1]]


def test_the_quick_scale_is_judged_by_its_own_runs():
    quick = planned("icc/loads", traffic(), scale="quick")
    assert judge("icc/loads", quick, "quick")["icc/fig13"]["verdict"] == "reproduced"
    assert judge("icc/loads", quick)["icc/fig13"]["verdict"] == "partial"


def test_completion_counts_only_flows_that_have_begun():
    run = bursts()("burst", "icc")
    assert common.completion(run, incast.VICTIM) == pytest.approx([10e-3])
    with pytest.raises(UndecidedError):
        common.completion(run, ["f0"])
    assert set(loads.SENDERS) == {"H1", "H2 to Hn", "Hb", "all"}
