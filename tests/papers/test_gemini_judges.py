"""The judges of GEMINI's figures, each on runs made up for it: runs that pass, runs that fail, runs that are incomplete."""

import numpy as np
import pytest
from support.papers_fixtures import failed, judge, made, planned, undecided

MBPS = 1e6


def only(figure, runs, **how):
    """The figure's one claim."""
    (claim,) = judge(figure, runs, **how).values()
    return claim


def incomplete(figure, make, without):
    """With one run left out nothing that needs it is decided, and there is no verdict."""
    claim = only(figure, planned(figure, make, without=[without]))
    assert undecided(claim)
    decided = len(claim["statements"]) - len(undecided(claim))
    assert claim["verdict_text"] == f"partial: {decided} of {len(claim['statements'])} statements"


# ---------------------------------------------------------------- Figs. 5 and 8: thresholds


def thresholds(figure, dctcp, gemini=940.0, intra=940.0):
    """Throughputs in Mbps by threshold across (`gemini`: one for all or by threshold); inside the datacenter the same."""

    def make(case, algorithm):
        where, _, k = case.partition(", K = ")
        own = gemini if isinstance(gemini, dict) else dict.fromkeys(dctcp, gemini)
        rate = intra if where == "intra" else (dctcp if algorithm == "dctcp" else own)[int(k)]
        base = 10e-3 if where == "inter" else 200e-6
        series = {}
        for i in range(1, 9):
            series[f"flow/f-{i}", "throughput"] = rate * MBPS / 8
            series[f"flow/f-{i}", "rtt"] = base + int(k) * 12e-6
        flows = [{"name": f"f-{i}", "base_rtt_ps": base * 1e12} for i in range(1, 9)]
        return made(figure, case, algorithm, series=series, flows=flows, interval=1.0)

    return make


LOSING = {20: 640.0, 40: 720.0, 80: 800.0, 100: 830.0, 160: 860.0, 320: 899.0}


def test_fig05():
    assert only("gemini/fig05", planned("gemini/fig05", thresholds("gemini/fig05", LOSING)))["verdict"] == "reproduced"
    # 890 of 899 Mbps is full: then flows across need no larger K than flows inside, either.
    hardly = dict.fromkeys(LOSING, 899.0) | {20: 890.0}
    claim = only("gemini/fig05", planned("gemini/fig05", thresholds("gemini/fig05", hardly)))
    assert failed(claim) == [
        "flows across lose throughput at the smallest K",
        "flows across need a larger K than flows inside",
    ]
    assert claim["verdict"] == "differs"
    incomplete("gemini/fig05", thresholds("gemini/fig05", LOSING), ("inter, K = 20", "dctcp"))


def test_fig08():
    good = thresholds("gemini/fig08", LOSING, gemini=938.0)
    assert only("gemini/fig08", planned("gemini/fig08", good))["verdict"] == "reproduced"
    # Both fill the link: the gap of 4 % is not there.
    full = only(
        "gemini/fig08", planned("gemini/fig08", thresholds("gemini/fig08", LOSING | {320: 941.0}, gemini=941.0))
    )
    assert failed(full) == ["4 % more than DCTCP at K = 320", "DCTCP at K = 320 (Mbps)"]
    assert full["verdict"] == "direction"
    # Equal everywhere but at thresholds that are no neighbours: no range.
    equal = dict.fromkeys(LOSING, 938.0)
    for points in ({20: 640.0}, {20: 640.0, 80: 640.0}):
        claim = only("gemini/fig08", planned("gemini/fig08", thresholds("gemini/fig08", equal | points, gemini=938.0)))
        assert "GEMINI performs better than DCTCP in a range of settings" in failed(claim)
        assert claim["verdict"] == "differs"
    two = only(
        "gemini/fig08",
        planned("gemini/fig08", thresholds("gemini/fig08", equal | {20: 640.0, 40: 900.0}, gemini=938.0)),
    )
    assert "GEMINI performs better than DCTCP in a range of settings" not in failed(two)
    incomplete("gemini/fig08", good, ("inter, K = 320", "dctcp"))


# ---------------------------------------------------------------- Figs. 4, 6, 12 to 15: many flows

SIZES = {"small": 50e3, "middle": 1e6, "large": 20e6}


def web(figure, times, *, losses=None, wan=None, unfinished=()):
    """WebSearch runs: completion times in seconds of small and large flows by scheme (case, algorithm) -> (small, large), and loss rates.

    A hundred flows of each size, the second half of which counts; losses at the datacenter's port unless `wan` says that part of them is at
    the border router's.
    """

    def make(case, algorithm):
        small, large = times(case, algorithm)
        loss = losses(case, algorithm) if losses else 0.0
        part = wan(case, algorithm) if wan else 0.0
        rows = []
        for i in range(300):
            kind = ("small", "middle", "large")[i % 3]
            took = {"small": small, "middle": (small + large) / 2, "large": large}[kind]
            start = i * 0.1
            done = None if (case, algorithm, i) in unfinished else round((start + took) * 1e12)
            rows.append(
                {
                    "name": f"web-{i}",
                    "cross_datacenter": 1,
                    "start_ps": start * 1e12,
                    "received_ps": done,
                    "size_bytes": SIZES[kind],
                    "packets": 10_000_000,
                    "dropped": loss * 10_000_000,
                }
            )
        series = {
            ("port/dc0-leaf1->dc0-spine1", "dropped"): loss * 1e7 * (1 - part),
            ("port/dc0-spine1->dc1-spine1", "dropped"): loss * 1e7 * part,
        }
        return made(figure, case, algorithm, flows=rows, series=series, interval=10.0)

    return make


FIG04 = {
    "cubic": (0.04, 3.0), "cubic-ecn": (0.04, 3.0), "dctcp": (0.045, 2.8), "vegas": (0.02, 5.0), "vegas-10": (0.025, 3.4),
    "bbr": (0.04, 3.2),
}  # fmt: skip


def fig04_losses(case, algorithm):
    if case.startswith("0 ms"):
        return 5e-5 if algorithm in ("cubic-ecn", "dctcp") else 5e-4
    return 2e-3 if algorithm == "bbr" else 6e-4


def fig04(times=None, **how):
    chosen = FIG04 | (times or {})
    how = {"losses": fig04_losses} | how
    return planned("gemini/fig04-table2", web("gemini/fig04-table2", lambda _, a: chosen[a], **how))


def test_fig04():
    assert only("gemini/fig04-table2", fig04())["verdict"] == "reproduced"
    quick_vegas = only("gemini/fig04-table2", fig04({"vegas": (0.02, 3.1)}))
    assert "Vegas has the slowest large flows" in failed(quick_vegas)
    little = only("gemini/fig04-table2", fig04(losses=lambda c, a: 3e-4 if a == "bbr" else fig04_losses(c, a)))
    assert failed(little) == ["BBR loses more than 0.1 %"]
    assert little["verdict"] == "differs"
    outside = only("gemini/fig04-table2", fig04(wan=lambda *_: 0.5))
    assert "more than 80 % of the losses are inside the datacenters" in failed(outside)
    cured = only("gemini/fig04-table2", fig04(losses=lambda c, a: 1e-5 if "paced" in c else fig04_losses(c, a)))
    assert "with pacing Cubic loses similarly much inside datacenters as without" in failed(cured)
    # Sixty lost packets each are no rate, and so not similarly many.
    burst = only("gemini/fig04-table2", fig04(losses=lambda c, a: 4e-8 if a == "cubic" else fig04_losses(c, a)))
    assert failed(burst) == [
        "Cubic with pacing loses as much inside datacenters",
        "with pacing Cubic loses similarly much inside datacenters as without",
    ]
    # Nor do they say where losses happen.
    elsewhere = only(
        "gemini/fig04-table2",
        fig04(losses=lambda c, a: 4e-8 if a == "vegas" else fig04_losses(c, a), wan=lambda _, a: float(a == "vegas")),
    )
    assert elsewhere["verdict"] == "reproduced"
    make = web("gemini/fig04-table2", lambda _, a: FIG04[a], losses=fig04_losses)
    incomplete("gemini/fig04-table2", make, ("10 ms, 200 s", "vegas"))


def test_a_flow_that_does_not_finish_counts_with_the_time_that_it_had():
    late = {(case, "bbr", i) for case in ("10 ms", "10 ms, 200 s") for i in range(299, 150, -3)}
    measured = only("gemini/fig04-table2", fig04(unfinished=late))["measured"]
    # Large flows of the second half start after 15 s at the earliest, and the runs end at 200 and 400 s.
    assert 150 < measured["BBR, large, average (s)"] < 400
    assert measured["Cubic, large, average (s)"] == pytest.approx(3.0)


def test_losses_are_those_of_the_flows_that_count():
    def early(case, algorithm):
        run = web("gemini/fig04-table2", lambda _, a: FIG04[a], losses=fig04_losses)(case, algorithm)
        # Losses of flows that started before hosts knew each other, however many, are not counted.
        dropped = run.flows["dropped"].to_numpy().copy()
        dropped[:150] *= 1000
        at = run.flows.schema.get_field_index("dropped")
        flows = run.flows.set_column(at, "dropped", [dropped])
        return type(run)(**{**run.__dict__, "flows": flows})

    measured = only("gemini/fig04-table2", planned("gemini/fig04-table2", early))["measured"]
    assert measured["BBR, loss in DCN"] == pytest.approx(2e-3)


def test_fig06():
    def make(slow=5.0, loss=1e-5, none_at=None, slope=39):
        def times(case, _):
            n = int(case.removeprefix("N = ").partition(",")[0])
            return 0.02, slow - (slow - 5.0 / 1.5) * (n - 1) / 19

        def losses(case, _):
            n = int(case.removeprefix("N = ").partition(",")[0])
            return 0.0 if n == none_at else loss * (1 + slope * (n - 1) / 19)

        return web("gemini/fig06", times, losses=losses)

    assert only("gemini/fig06", planned("gemini/fig06", make()))["verdict"] == "reproduced"
    lossless = only("gemini/fig06", planned("gemini/fig06", make(loss=0.0)))
    assert len(failed(lossless)) == 2 and lossless["verdict"] == "differs"
    # None at all and 60,000 are a growth; sixty, a burst, are none.
    assert only("gemini/fig06", planned("gemini/fig06", make(none_at=1)))["verdict"] == "reproduced"
    for none_at in (None, 1):
        burst = only("gemini/fig06", planned("gemini/fig06", make(loss=1e-9, none_at=none_at)))
        assert failed(burst) == failed(lossless) and undecided(burst) == []
    even = only("gemini/fig06", planned("gemini/fig06", make(slope=10)))
    assert failed(even) == ["more than 30 times the losses inside datacenters"]
    incomplete("gemini/fig06", make(), ("N = 20, 200 s", "vegas"))


GEMINI_FCT = {
    "gemini": (0.020, 2.0), "cubic": (0.0425, 3.03), "dctcp": (0.029, 3.28), "bbr": (0.083, 2.2), "vegas": (0.0204, 4.76),
    "vegas-10": (0.026, 4.0),
}  # fmt: skip


def fct(times=None, loss=5e-5):
    chosen = GEMINI_FCT | (times or {})
    return web("gemini/fig12-15", lambda _, a: chosen[a], losses=lambda *_: loss)


def test_fig12_15():
    figure = "gemini/fig12-15"
    assert only(figure, planned(figure, fct()))["verdict"] == "reproduced"
    # Twice the published reduction is not the published one.
    slow_bbr = only(figure, planned(figure, fct({"bbr": (0.083, 4.0)})))
    assert failed(slow_bbr) == ["large flows: up to 9 % below BBR"]
    assert slow_bbr["verdict"] == "direction"
    fast_cubic = only(figure, planned(figure, fct({"cubic": (0.0425, 1.9)})))
    assert "large flows are faster than with Cubic (fig14, fig15)" in failed(fast_cubic)
    fast_overall = only(figure, planned(figure, fct({"vegas": (0.0204, 1.5), "vegas-10": (0.026, 1.4)})))
    assert "over all flows GEMINI is the fastest under pattern 1" in failed(fast_overall)
    useless = only(figure, planned(figure, fct({"vegas-10": (0.026, 5.0)})))
    assert failed(useless) == ["larger thresholds speed up Vegas' large flows (fig12, fig13)"]
    harmless = web(
        figure,
        lambda c, a: (0.0202, 4.0) if a == "vegas-10" and c.startswith("1 Gbps") else GEMINI_FCT[a],
        losses=lambda *_: 5e-5,
    )
    assert failed(only(figure, planned(figure, harmless))) == ["larger thresholds slow down Vegas' small flows (fig12)"]
    # At 10 Gbps the queue of as many packets is a tenth as long: §IV-D does not say that it shows there.
    short = web(
        figure,
        lambda c, a: (0.0202, 4.0) if a == "vegas-10" and c.startswith("10 Gbps") else GEMINI_FCT[a],
        losses=lambda *_: 5e-5,
    )
    assert failed(only(figure, planned(figure, short))) == []
    # A reading of one figure says of "up to" what it has, and of the others nothing.
    ran = [r for r in planned(figure, fct(), "quick") if r.case.startswith("1 Gbps, pattern 1")]
    judged = judge(figure, [r for r in ran if r.algorithm in ("gemini", "cubic")], "reading")[figure]
    holding = [s["text"] for s in judged["statements"] if s["holds"]]
    assert holding[:2] == ["small flows: up to 53 % below Cubic", "large flows: up to 34 % below Cubic"]
    assert failed(judged) == [] and "large flows are faster than with Cubic (fig14, fig15)" in undecided(judged)
    lossy = only(figure, planned(figure, fct(loss=2e-4)))
    assert failed(lossy) == ["GEMINI loses less than 1e-4 of its packets"]
    incomplete(figure, fct(), ("10 Gbps, pattern 1, long", "bbr"))


# ---------------------------------------------------------------- Fig. 9 and Table V: the WAN


def eight(figure, point):
    """Eight flows with a throughput in Mbps together and a round-trip time in ms, by case."""

    def make(case, algorithm):
        mbps, rtt = point(case)
        series = {}
        for i in range(1, 9):
            series[f"flow/f{i}", "throughput"] = mbps * MBPS / 8
            series[f"flow/f{i}", "rtt"] = 1e-3 * rtt
        return made(figure, case, algorithm, series=series, interval=1.0)

    return make


def wan(cubic=100.0, far=857.0, flat=False):
    def point(case):
        if case == "Cubic":
            return 941.0, cubic
        if case.startswith("base RTT"):
            return far, 110.0
        t, beta = float(case.split()[2]), float(case.split()[-1])
        return 930.0, 12.0 if flat else 10.0 + 0.75 * t - beta + 0.2

    return eight("gemini/fig09", point)


def test_fig09():
    assert only("gemini/fig09", planned("gemini/fig09", wan()))["verdict"] == "reproduced"
    quick_cubic = only("gemini/fig09", planned("gemini/fig09", wan(cubic=20.0)))
    assert "GEMINI's RTT is far below Cubic's" in failed(quick_cubic) and quick_cubic["verdict"] == "differs"
    slow = only("gemini/fig09", planned("gemini/fig09", wan(far=600.0)))
    assert failed(slow) == ["857 Mbps at a base RTT of 100 ms"] and slow["verdict"] == "direction"
    incomplete("gemini/fig09", wan(), ("Cubic", "cubic"))


def noise(at_tenth=0.0, at_one=0.05):
    drop = {0.0: 0.0, 0.1: at_tenth, 0.2: 0.02, 1.0: at_one, 2.0: 0.3}
    return eight("gemini/table5", lambda case: (940.0 * (1 - drop[float(case.removesuffix(" ms"))]), 15.0))


def test_table5():
    assert only("gemini/table5", planned("gemini/table5", noise()))["verdict"] == "reproduced"
    claim = only("gemini/table5", planned("gemini/table5", noise(at_tenth=0.05)))
    assert failed(claim) == ["noise below 0.1 ms has no effect on the throughput"]
    assert failed(only("gemini/table5", planned("gemini/table5", noise(at_one=0.2)))) == [
        "noise up to 1 ms lowers it slightly at most"
    ]
    # More noise that costs less: the second row from below is not what it should be.
    drop = {0.0: 0.0, 0.1: 0.0, 0.2: 0.02, 1.0: 0.05, 2.0: 0.0}
    odd = eight("gemini/table5", lambda case: (940.0 * (1 - drop[float(case.removesuffix(" ms"))]), 15.0))
    assert failed(only("gemini/table5", planned("gemini/table5", odd))) == [
        "noise up to 2 ms costs no less than noise up to 1 ms"
    ]
    incomplete("gemini/table5", noise(), ("0.1 ms", "gemini"))


# ---------------------------------------------------------------- Figs. 10 and 11: fairness


def groups(spread):
    """Thirty flows whose rates differ by a factor of 1 ± spread between two halves: Jain's index is 1/(1 + spread²)."""

    def make(case, algorithm):
        series, flows = {}, []
        for g, start in ((1, 0.0), (2, 50.0), (3, 100.0)):
            for i in range(1, 11):
                name = f"group{g}-{i}"
                rate = 30 * MBPS * (1 + spread[algorithm] * (1 if i % 2 else -1))
                series[f"flow/{name}", "throughput"] = rate
                flows.append({"name": name, "start_ps": start * 1e12})
        return made("gemini/fig10", case, algorithm, series=series, flows=flows, interval=1.0)

    return make


SPREAD = {a: np.sqrt(1 / j - 1) for a, j in {"gemini": 0.996, "cubic": 0.926, "dctcp": 0.975, "bbr": 0.948}.items()}


def test_fig10():
    assert only("gemini/fig10", planned("gemini/fig10", groups(SPREAD)))["verdict"] == "reproduced"
    claim = only("gemini/fig10", planned("gemini/fig10", groups(SPREAD | {"gemini": 0.3})))
    assert len(failed(claim)) == 3 and claim["verdict"] == "differs"
    unfair_cubic = only("gemini/fig10", planned("gemini/fig10", groups(SPREAD | {"cubic": 0.8})))
    assert failed(unfair_cubic) == ["index of Cubic"] and unfair_cubic["verdict"] == "direction"
    incomplete("gemini/fig10", groups(SPREAD), ("K = 300", "bbr"))


def test_a_reading_of_one_scheme_decides_no_comparison():
    own = [run for run in planned("gemini/fig10", groups(SPREAD)) if run.algorithm == "gemini"]
    held = {s["text"]: s["holds"] for s in only("gemini/fig10", own, scale="reading")["statements"]}
    assert held["index of GEMINI"] is True and held["GEMINI's index is above its rivals'"] is None
    assert held["index of BBR"] is None
    noisy = [run for run in planned("gemini/table5", noise()) if run.case in ("1 ms", "2 ms")]
    held = {s["text"]: s["holds"] for s in only("gemini/table5", noisy, scale="reading")["statements"]}
    assert list(held.values()) == [None, None, True]


def kinds(ratio):
    """Throughput of intra over inter flows, by algorithm and ratio of the round-trip times (which are without queues)."""

    def make(case, algorithm):
        k = int(case.removesuffix("x"))
        series = {}
        for i in range(1, 5):
            series[f"flow/intra{i}", "throughput"] = 100 * MBPS * ratio(algorithm, k)
            series[f"flow/inter{i}", "throughput"] = 100 * MBPS
            series[f"flow/intra{i}", "rtt"] = 1e-3
            series[f"flow/inter{i}", "rtt"] = 1e-3 * k
        return made("gemini/fig11", case, algorithm, series=series, interval=1.0)

    return make


def by_delay(algorithm, k):
    return {"gemini": 1.05, "bbr": 0.5}.get(algorithm, float(k))


def test_fig11():
    assert only("gemini/fig11", planned("gemini/fig11", kinds(by_delay)))["verdict"] == "reproduced"
    unequal = only(
        "gemini/fig11", planned("gemini/fig11", kinds(lambda a, k: 1.4 if a == "gemini" else by_delay(a, k)))
    )
    assert failed(unequal) == ["GEMINI shares equally, whatever the round-trip times"]
    square = only(
        "gemini/fig11", planned("gemini/fig11", kinds(lambda a, k: k**2.0 if a == "dctcp" else by_delay(a, k)))
    )
    assert failed(square) == ["DCTCP shares in proportion to 1/RTT"] and square["verdict"] == "direction"
    incomplete("gemini/fig11", kinds(by_delay), ("8x", "gemini"))


# ---------------------------------------------------------------- Theorem 1


def queues(least=20_000.0, used=0.999):
    def make(case, algorithm):
        def queue(t):
            return np.where((t > 6.0) & (t < 6.5), least, 30_000.0)

        flows = [{"name": "cross", "base_rtt_ps": 10e9}]
        series = {("port/left->right", "queue"): queue, ("port/left->right", "utilisation"): used}
        return made("gemini/theorem1", case, algorithm, series=series, flows=flows, interval=0.1)

    return make


def test_theorem1():
    assert only("gemini/theorem1", planned("gemini/theorem1", queues()))["verdict"] == "reproduced"
    claim = only("gemini/theorem1", planned("gemini/theorem1", queues(used=0.9)))
    assert failed(claim) == ["throughput is full"]
    # A queue that touches zero for a moment is a number; throughput is what the theorem is about.
    touched = only("gemini/theorem1", planned("gemini/theorem1", queues(least=0.0)))
    assert touched["verdict"] == "reproduced" and touched["measured"]["N = 4, K = 75 kB: least queue"] == 0
    incomplete("gemini/theorem1", queues(), ("N = 4, K = 75 kB", "gemini"))


@pytest.mark.parametrize(
    "figure", ["fig04-table2", "fig05", "fig06", "fig08", "fig09", "fig10", "fig11", "fig12-15", "table5", "theorem1"]
)
def test_without_runs_nothing_is_judged(figure):
    claim = only(f"gemini/{figure}", [])
    assert claim["verdict"] == "partial" and claim["verdict_text"].startswith("partial: 0 of ")
