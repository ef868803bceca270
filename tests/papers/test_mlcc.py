"""The judges of MLCC's figures, each on runs made up for it: runs that pass, runs that fail, runs that are incomplete."""

import numpy as np
import pytest
from support.papers_fixtures import failed, judge, made, planned, rates, undecided

from farloop.judging.claims import UndecidedError
from farloop.papers.mlcc import buffers, common, loads

MB = 1e6


def only(figure, runs, **how):
    """The figure's one claim."""
    (claim,) = judge(figure, runs, **how).values()
    return claim


def incomplete(figure, make, without):
    """With one run left out what needs it is not decided, and there is no verdict."""
    claims = judge(figure, planned(figure, make, without=[without]))
    assert any(undecided(claim) for claim in claims.values())
    for claim in claims.values():
        decided = len(claim["statements"]) - len(undecided(claim))
        assert (
            not undecided(claim)
            or claim["verdict_text"] == f"partial: {decided} of {len(claim['statements'])} statements"
        )


# ---------------------------------------------------------------- Figs. 2 to 4: the rivals


def fig02(pause=5.2e-3, before=0.1 * MB, after=2.0 * MB):
    """The leaf's queue before and after 5 ms, and when it first pauses."""

    def make(case, algorithm):
        series = rates(**{f"{kind}_{i}": 10 for kind in ("intra", "cross") for i in range(1, 5)})
        for port in ("dc1-leaf2->dc1-h33", "dc1-leaf2->dc1-h34", "dc1-leaf2->dc1-h35", "dc1-leaf2->dc1-h36"):
            series[f"port/{port}", "max_queue"] = lambda t: np.where(t <= 5e-3, before, after) / 4
        for port in ("dc1-spine1->dc1-leaf2", "dc1-spine2->dc1-leaf2"):
            series[f"port/{port}", "paused"] = lambda t: (t >= pause - 1e-9) * 0.5
        return made("mlcc/fig02", case, algorithm, series=series, paused_s=1e-3)

    return make


def test_fig02():
    assert only("mlcc/fig02", planned("mlcc/fig02", fig02()))["verdict"] == "reproduced"
    late = only("mlcc/fig02", planned("mlcc/fig02", fig02(pause=13e-3)))
    assert late["verdict"] == "direction"
    assert failed(late) == [f"{a}: PFC pauses at about 5 ms" for a in ("dcqcn", "powertcp")]
    flat = only("mlcc/fig02", planned("mlcc/fig02", fig02(after=0.15 * MB)))
    assert "dcqcn: the queue of the leaf switch rises sharply when they do" in failed(flat)
    early = only("mlcc/fig02", planned("mlcc/fig02", fig02(pause=2e-3)))
    assert "powertcp: nothing is paused before the flows across arrive" in failed(early)
    never = only("mlcc/fig02", planned("mlcc/fig02", fig02(pause=1.0)))
    assert never["verdict"] == "differs"
    incomplete("mlcc/fig02", fig02(), ("shared buffer", "powertcp"))


def fig03(shares=(95, 75, 60, 50, 30), fair=()):
    """Throughput of the intra flows beside 0 to 4 across, which have the rest of 95 Gbps; equal for the algorithms in `fair`."""

    def make(case, algorithm):
        values = (95, 47.5, 47.5, 47.5, 47.5) if algorithm in fair else shares

        def intra(t):
            return np.select([t <= s for s in (2e-3, 10e-3, 18e-3, 26e-3)], values[:4], values[4])

        series = rates(**{f"intra_{i}": lambda t: intra(t) / 4 for i in range(1, 5)})
        series |= rates(**{f"cross_{i}": lambda t: (95 - intra(t)) / 4 for i in range(1, 5)})
        return made("mlcc/fig03", case, algorithm, series=series)

    return make


def test_fig03():
    assert only("mlcc/fig03", planned("mlcc/fig03", fig03()))["verdict"] == "reproduced"
    fair = only("mlcc/fig03", planned("mlcc/fig03", fig03(fair=["dcqcn"])))
    assert len(failed(fair)) == 2
    assert all(text.startswith("dcqcn") for text in failed(fair))
    incomplete("mlcc/fig03", fig03(), ("main", "dcqcn"))


def fig04(low=5 * MB, high=50 * MB, period=0.02):
    """The queue of the DCI switch swings between two levels."""

    def make(case, algorithm):
        series = {(f"port/{port}", "queue"): _saw(low, high, period) for port in common.DCI}
        return made("mlcc/fig04", case, algorithm, series=series)

    return make


def _saw(low, high, period):
    return lambda t: (low + (high - low) * np.abs(t / period % 2 - 1)) / 2


def test_fig04():
    assert only("mlcc/fig04", planned("mlcc/fig04", fig04()))["verdict"] == "reproduced"
    still = only("mlcc/fig04", planned("mlcc/fig04", fig04(low=48 * MB)))
    assert failed(still) == [f"{a}: it falls and rises again" for a in ("dcqcn", "powertcp")]
    assert only("mlcc/fig04", planned("mlcc/fig04", fig04(low=0.0, high=2 * MB)))["verdict"] == "differs"
    incomplete("mlcc/fig04", fig04(), ("main", "powertcp"))


# ---------------------------------------------------------------- Figs. 7 and 8: convergence


def convergence(settle=0.01, unfair=(), rate=11.6, unfair_from=0.0):
    """Flows start unequally and are equal `settle` seconds after the last start; in the cases that begin with `unfair` never."""

    def make(case, algorithm):
        scenario = made("mlcc/convergence", case, algorithm).scenario
        last = max(s for s in map(_seconds, (f["start"] for f in scenario["flow"])) if s < 1)
        series, flows = {}, []
        for f in scenario["flow"]:
            greedy = f["name"] == "cross-1" and any(case.startswith(u) for u in unfair)
            fair_at = np.inf if greedy else last + settle

            def value(t, name=f["name"], fair_at=fair_at):
                return np.where(t > fair_at, rate, 25 if name == "cross-1" else 3) * 1e9

            series[f"flow/{f['name']}", "throughput"] = value
            across = f["name"].startswith("cross")
            start = _seconds(f["start"]) * 1e12
            base = 6e9 if across else 25e6
            flows.append({"name": f["name"], "cross_datacenter": int(across), "start_ps": start, "base_rtt_ps": base})
        for port in common.DCI:
            series[f"port/{port}", "max_queue"] = MB
        return made("mlcc/convergence", case, algorithm, series=series, flows=flows)

    return make


def _seconds(text):
    return float(text.removesuffix("ms")) / 1e3 if text.endswith("ms") else float(text.removesuffix("s"))


def test_convergence():
    figure = "mlcc/convergence"
    assert only(figure, planned(figure, convergence()))["verdict"] == "reproduced"
    slow = only(figure, planned(figure, convergence(settle=0.02)))
    assert len(failed(slow)) == 4
    assert slow["verdict"] == "differs"
    judged = only(figure, planned(figure, convergence(unfair=["receivers' side, in turn"])))
    assert failed(judged)[0] == "receivers' side, in turn: fair within 3 round trips across"
    idle = only(figure, planned(figure, convergence(rate=8)))
    assert all("is used" in text for text in failed(idle))
    incomplete(figure, convergence(), ("senders' side, in turn", "mlcc"))


def test_for_good_is_when_it_last_began_to_hold():
    times = np.array([1.0, 2.0, 3.0, 4.0])
    assert common.holding_time(times, [True, False, True, True], 0.5) == 1.5
    assert common.holding_time(times, [False, True, True, True], 1.5) == 0.0
    assert common.holding_time(times, [True, True, True, False], 0.0) == np.inf
    with pytest.raises(UndecidedError):
        common.holding_time(times, [True] * 4, 4.0)


# ---------------------------------------------------------------- Figs. 9 and 10: the queue of the DCI switch


def dci(peak=37 * MB, settled=6 * MB, times=None, lowest=None, rate=11.6, turn_peak=24 * MB, left=0.0):
    """A queue that falls from its peak at 10 ms to where it settles, by the case's time constant, and in some cases through a valley."""

    def make(case, algorithm):
        theta = case.removeprefix("theta = ") if case.startswith("theta") else ""
        constant = {"6 ms": 8e-3, "18 ms": 10e-3, "30 ms": 25e-3} | (times or {})
        valley = ({"6 ms": 2 * MB} | (lowest or {})).get(theta)

        def level(t):
            if not theta:
                kept = np.where(t < 0.105, settled, left)
                return np.where(
                    t < 0.04, turn_peak * t / 0.04, kept + (turn_peak - settled) * np.exp(-(t - 0.04) / 8e-3)
                )
            falling = settled + (peak - settled) * np.exp(-(t - 0.01) / constant[theta])
            dip = 0.0 if valley is None else (settled - valley) * np.exp(-(((t - 0.05) / 3e-3) ** 2))
            return np.where(t < 0.01, peak * t / 0.01, falling - dip)

        series = rates(**{f"{kind}_{i}": rate for kind in ("intra", "cross") for i in range(1, 5)})
        for port in common.DCI:
            series[f"port/{port}", "queue"] = series[f"port/{port}", "max_queue"] = lambda t: level(t) / 2
        return made("mlcc/buffers", case, algorithm, series=series)

    return make


def test_buffers():
    figure = "mlcc/buffers"
    good = judge(figure, planned(figure, dci()))
    assert {c: v["verdict"] for c, v in good.items()} == {"mlcc/fig09": "reproduced", "mlcc/fig10": "reproduced"}
    assert good["mlcc/fig10"]["verdict_text"].startswith("reproduced (calibrated: 10 ms between")
    readings = {c: {s["reading"] for s in v["statements"]} for c, v in good.items()}
    assert readings == {"mlcc/fig09": {"text or other figures"}, "mlcc/fig10": {"text or other figures", "this figure"}}
    low = judge(figure, planned(figure, dci(peak=20 * MB, turn_peak=10 * MB)))
    assert failed(low["mlcc/fig09"]) == ["θ = 18 ms: peak (MB)", "θ = 18 ms: peak per flow (MB)"]
    assert (low["mlcc/fig09"]["verdict"], low["mlcc/fig10"]["verdict"]) == ("direction", "direction")
    empty = judge(figure, planned(figure, dci(settled=1 * MB)))
    assert "θ = 18 ms: the queue settles at D_t times the rate" in failed(empty["mlcc/fig09"])
    steady = judge(figure, planned(figure, dci(lowest={"6 ms": None})))
    assert failed(steady["mlcc/fig09"]) == ["θ = 6 ms jitters"]
    both = judge(figure, planned(figure, dci(lowest={"18 ms": 2 * MB})))
    assert failed(both["mlcc/fig09"]) == ["θ = 6 ms jitters"]
    quick = judge(figure, planned(figure, dci(times={"30 ms": 5e-3})))
    assert failed(quick["mlcc/fig09"]) == ["θ = 30 ms is slower"]
    full = judge(figure, planned(figure, dci(left=6 * MB)))
    assert failed(full["mlcc/fig10"]) == ["as flows end the queue empties"]
    incomplete(figure, dci(), ("theta = 18 ms", "mlcc"))
    incomplete(figure, dci(), ("in turn", "mlcc"))


def test_the_target_of_the_queue_is_the_delay_times_the_rate():
    run = dci()("theta = 18 ms", "mlcc")
    assert buffers._target(run) == pytest.approx(1e-3 * 4 * 11.6e9 / 8)
    assert 1 - buffers._undershoot(dci()("theta = 6 ms", "mlcc")) == pytest.approx(2 / 6, abs=0.05)


# ---------------------------------------------------------------- Figs. 11 to 16: loads

# MLCC's average over that of each rival, as the paper has them: 1 - reduction.
HEAVY = {
    ("WebSearch", "intra"): {"dcqcn": 0.28, "timely": 0.33, "hpcc": 0.46, "powertcp": 0.39},
    ("Hadoop", "intra"): {"dcqcn": 0.07, "timely": 0.10, "hpcc": 0.18, "powertcp": 0.16},
    "cross": {"dcqcn": 0.12, "timely": 0.41, "hpcc": 0.05, "powertcp": 0.04},
}
LIGHT = {
    ("WebSearch", "intra"): {"dcqcn": 0.24, "timely": 0.30, "hpcc": 0.36, "powertcp": 0.27},
    ("Hadoop", "intra"): {"dcqcn": 0.09, "timely": 0.10, "hpcc": 0.27, "powertcp": 0.26},
    "cross": HEAVY["cross"],
}
SHORT = {
    ("WebSearch", "intra"): {"dcqcn": 0.22},
    ("Hadoop", "cross"): {"dcqcn": 0.05},
    ("Hadoop", "intra"): {},
    "cross": {},
}


def loaded(change=None, large=1.2, unfinished=()):
    """Runs under load: MLCC's flows across above 5 MB take `large` times as long as its rivals', all others as much less as the paper says.

    `change` replaces reductions by (load, sizes, kind).
    """

    def reduction(load, sizes, kind, rival):
        table = {"heavy": HEAVY, "light": LIGHT, "1 ms": SHORT}.get(load, HEAVY)
        row = table.get((sizes, kind), table.get("cross", {}))
        return (change or {}).get((load, sizes, kind), row).get(rival, 0.1)

    def make(case, algorithm):
        load, sizes = [part for part in case.split(", ") if part in (*loads.SIZES, "heavy", "light", "1 ms")]
        rows = []
        for i, upper in enumerate(loads.BINS[sizes][1:]):
            for kind in ("intra", "cross"):
                # The largest size is rare, so that averages stay what they are.
                count = 1 if upper > loads.SMALL else 1000
                base = 1e-3 * (i + 1)
                if algorithm == "mlcc":
                    time = base
                elif upper > loads.SMALL and kind == "cross":
                    time = base / large
                else:
                    time = base / (1 - reduction(load, sizes, kind, algorithm))
                late = (case, algorithm) in unfinished and i == 0
                rows.append(
                    {
                        "name": f"{kind}-{i}",
                        "cross_datacenter": int(kind == "cross"),
                        "start_ps": 20e9,
                        "received_ps": None if late else 20e9 + time * 1e12,
                        "size_bytes": upper,
                        "copies": count,
                    }
                )
        return made("mlcc/loads", case, algorithm, flows=rows, interval=0.05)

    return make


def test_loads():
    good = judge("mlcc/loads", planned("mlcc/loads", loaded(), scale="quick"), scale="quick")
    assert {c: v["verdict"] for c, v in good.items()} == dict.fromkeys(
        ("mlcc/fig11", "mlcc/fig12", "mlcc/fig13-14", "mlcc/fig15"), "reproduced"
    )
    # Every rival 10 % slower: the direction, not the numbers.
    tenth = {(load, s, k): {} for load in ("heavy", "light", "1 ms") for s in loads.SIZES for k in loads.KINDS}
    same = judge("mlcc/loads", planned("mlcc/loads", loaded(tenth), scale="quick"), scale="quick")
    assert {same[f"mlcc/fig{n}"]["verdict"] for n in ("11", "12", "15")} == {"direction"}
    worse = {("heavy", "WebSearch", "cross"): {"hpcc": -0.1}}
    slower = judge("mlcc/loads", planned("mlcc/loads", loaded(worse), scale="quick"), scale="quick")["mlcc/fig11"]
    assert "cross flows, WebSearch: MLCC's average is below HPCC's" in failed(slower)
    assert slower["verdict"] == "differs"
    # At light load the paper has no numbers of flows across, but says that they gain with both distributions.
    worse = {("light", "Hadoop", "cross"): {"powertcp": -0.1}}
    claims = judge("mlcc/loads", planned("mlcc/loads", loaded(worse), scale="quick"), scale="quick")
    assert failed(claims["mlcc/fig12"]) == ["cross flows, Hadoop: MLCC's average is below PowerTCP's"]
    assert claims["mlcc/fig12"]["verdict"] == "differs"
    long = judge("mlcc/loads", planned("mlcc/loads", loaded(large=3.0), scale="quick"), scale="quick")["mlcc/fig13-14"]
    assert len(failed(long)) == 4
    assert all("above 5 MB" in text for text in failed(long))


def test_loads_that_are_incomplete():
    part = planned("mlcc/loads", loaded(), scale="quick", without=[("heavy, Hadoop, seed 1", "timely")])
    claims = judge("mlcc/loads", part, scale="quick")
    assert all(
        "needs timely at heavy, Hadoop, seed 1" in s["evidence"]
        for s in claims["mlcc/fig11"]["statements"]
        if s["holds"] is None
    )
    assert claims["mlcc/fig11"]["verdict"] == "partial"
    assert claims["mlcc/fig12"]["verdict"] == "reproduced"
    # Flows that do not finish count with the time that they had.
    late = {("heavy, WebSearch, seed 1", "mlcc")}
    runs = planned("mlcc/loads", loaded(unfinished=late), scale="quick")
    claim = judge("mlcc/loads", runs, scale="quick")["mlcc/fig11"]
    assert "unfinished at the end, counted with their age: MLCC 2000" in claim["note"]
    assert claim["verdict"] == "differs"


def test_reductions_need_a_run_of_both():
    assert common.reductions([1.0, 3.0], [2.0, 4.0])[0] == pytest.approx(0.375)
    for own, rivals in (([], []), ([1.0], [])):
        with pytest.raises(UndecidedError, match="not both of them have run"):
            common.reductions(own, rivals)


def test_the_full_scale_is_judged_by_the_long_cases():
    claims = judge("mlcc/loads", planned("mlcc/loads", loaded(), without=[("light, WebSearch, seed 1", "mlcc")]))
    assert all(claim["verdict"] == "reproduced" for claim in claims.values())
    assert not any("steady" in claim["note"] for claim in claims.values())
    assert claims["mlcc/fig11"]["measured"]["32 servers a leaf, WebSearch, intra, below HPCC"] == pytest.approx(
        0.46, abs=0.02
    )


def on_testbed(intra=0.193, cross=0.193):
    """MLCC's averages below DCQCN's."""

    def make(case, algorithm):
        rows = []
        for kind, reduction in (("intra", intra), ("cross", cross)):
            time = 1e-3 if algorithm == "mlcc" else 1e-3 / (1 - reduction)
            for i in range(10):
                rows.append(
                    {
                        "name": f"{kind}-{i}",
                        "cross_datacenter": int(kind == "cross"),
                        "start_ps": 10e9,
                        "received_ps": 10e9 + time * 1e12,
                        "size_bytes": 1000.0,
                    }
                )
        return made("mlcc/testbed", case, algorithm, flows=rows, interval=0.01)

    return make


def test_testbed():
    assert only("mlcc/testbed", planned("mlcc/testbed", on_testbed()))["verdict"] == "reproduced"
    more = only("mlcc/testbed", planned("mlcc/testbed", on_testbed(intra=0.5, cross=0.5)))
    assert (failed(more), more["verdict"]) == (["average over all flows below DCQCN's"], "direction")
    assert only("mlcc/testbed", planned("mlcc/testbed", on_testbed(cross=-0.1)))["verdict"] == "differs"
    incomplete("mlcc/testbed", on_testbed(), ("seed 3, long", "dcqcn"))
