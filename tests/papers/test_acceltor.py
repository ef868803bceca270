"""The judges of AccelToR's figures, each on runs made up for it: runs that pass, runs that fail, runs that are incomplete."""

import tomllib

import numpy as np
import pytest
from support.papers_fixtures import failed, judge, made, planned, undecided

import farloop
from farloop.judging.claims import UndecidedError
from farloop.papers.acceltor import common, fig05, fig09
from farloop.papers.acceltor.slow_start import lone_time
from farloop.scenario import PAPERS

SLOT, DAY = 260e-6, 240e-6


def racks_of(figure, case, algorithm):
    """Racks of a case's network."""
    return made(figure, case, algorithm).scenario["network"]["racks"]


def schedule_of(case):
    """The schedule that a case's name begins with; AccelToR where it names none."""
    return next((name for name in (common.UNBLOCKING, common.BLOCKING) if case.startswith(name)), common.ACCELTOR)


def days(racks, duration, share):
    """The circuits from tor1 in all days of so many seconds: `share` of each, a number or a function of the week."""
    rows = []
    for slot in range(int(duration / SLOT)):
        week = slot // (racks - 1)
        used = share(week) if callable(share) else share
        rows.append({"source": "tor1", "destination": f"tor{slot % (racks - 1) + 2}", "slot": slot, "occupancy": used})
    return rows


def elephants(rates, window=4.0):
    """Series of elephants that get so many Mbps at all times, with a window in packets that grows by one in a day."""
    series = {}
    for i, rate in enumerate(rates, 1):
        series[f"flow/elephant-tor1-tor2-{i}", "throughput"] = 1e6 * rate
        series[f"flow/elephant-tor1-tor2-{i}", "cwnd"] = lambda t: 1460 * (window + (t + 1e-10) % SLOT / DAY)
    return series


def mice(slowdown, count=20, start=60e-3):
    """Mice that take so many times as long as alone; the last one has not finished where that is infinite."""
    rows = []
    for i in range(count):
        time = 100e-6 * slowdown * (1 + i / count)
        rows.append(
            {
                "name": f"mice-{i + 1}",
                "start_ps": start * 1e12,
                "received_ps": (start + time) * 1e12 if np.isfinite(time) else None,
                "ideal_fct_ps": 100e6,
            }
        )
    return rows


def only(figure, runs, **how):
    """The figure's one claim."""
    (claim,) = judge(figure, runs, **how).values()
    return claim


def incomplete(figure, make, without):
    """With one run left out what needs it is not decided, and there is no verdict."""
    claims = judge(figure, planned(figure, make, scale="quick", without=[without]), scale="quick")
    assert any(undecided(claim) for claim in claims.values())
    for claim in claims.values():
        decided = len(claim["statements"]) - len(undecided(claim))
        assert (
            not undecided(claim)
            or claim["verdict_text"] == f"partial: {decided} of {len(claim['statements'])} statements"
        )


def quick(figure, make):
    """What complete runs of the quick scale say."""
    return judge(figure, planned(figure, make, scale="quick"), scale="quick")


# ---------------------------------------------------------------- Fig. 5


def growing(fast=16.2, slow=10.1, sent=(92, 42), queues=3, begins=8.7, crowded=8.1, shares=(0.8, 0.3)):
    """Flows whose windows begin and end the day so, and that send so many packets in it; of 32 as well, and what these use."""

    def make(case, algorithm):
        accelerated = case.startswith("accelerated")
        first = crowded if case == fig05.TOGETHER else begins
        end, count = (fast, sent[0]) if accelerated else (slow, sent[1])

        def throughput(t):
            # All of it in the interval that ends 100 us after the beginning of the day.
            return np.where(np.isclose(t % (7 * SLOT), 100e-6, atol=1e-9), count * 1460 * 8 / 10e-6, 0)

        def window(t):
            since = (t + 1e-9) % (7 * SLOT)
            return 1460 * np.where((since > 20e-6) & (since < SLOT + 20e-6), end, first)

        series = {(fig05.FLOW, "throughput"): throughput, (fig05.FLOW, "cwnd"): window}
        rows = [{"node": "tor1", "peer": "ocs", "queue": f"day {i}"} for i in range(queues if accelerated else 1)]
        circuits = days(8, 40e-3, shares[case == fig05.APART])
        return made("acceltor/fig05", case, algorithm, series=series, queues=rows, circuits=circuits)

    return make


def test_fig05():
    figure = "acceltor/fig05"
    judged = only(figure, planned(figure, growing()))
    assert judged["verdict"] == "reproduced"
    assert judged["measured"]["packets_ratio"] == pytest.approx(92 / 42)
    assert judged["measured"]["m"] == 3
    for departure, statement in (
        ({"fast": 17.0}, "the accelerated window at the end of the day"),
        ({"slow": 11.0}, "the other one"),
        ({"sent": (92, 41)}, "packets in a day, one over the other"),
        ({"queues": 2}, "the calendar has 3 queues"),
        ({"begins": 7.9}, "the accelerated window doubles 3 times before the day"),
        ({"crowded": 7.9}, "32 elephants begin their day with 8 packets each in queues of 256"),
        ({"shares": (0.3, 0.3)}, "the same memory in queues for each rack uses less of the circuits"),
    ):
        assert failed(only(figure, planned(figure, growing(**departure)))) == [statement]
    incomplete(figure, growing(), ("plain, in time", "newreno"))


def test_the_worked_example():
    fast, slow = fig05.accelerated_growth(8), fig05.plain_growth(8)
    assert (fast.before, fast.end, sum(fast.windows)) == (3, 16, 92)
    assert (slow.windows, slow.end, sum(slow.windows)) == ((1, 2, 4, 5, 6, 7, 8, 9), 10, 42)
    assert [fig05.accelerated_growth(n).before for n in (1, 2, 3, 4, 5, 8, 9)] == [0, 1, 2, 2, 3, 3, 4]
    with pytest.raises(UndecidedError):
        fig05.plain_growth(1)


# ---------------------------------------------------------------- Fig. 8

FACTORS = {common.ACCELTOR: 0.92, common.BLOCKING: 0.92 / 8.24, common.UNBLOCKING: 0.92 / 12.92}
MICE = {common.ACCELTOR: 1.0097, common.BLOCKING: 1.0, common.UNBLOCKING: 1.0097 / (1 - 0.9882)}


def by_schedule(figure, shares=None, fct=None, rates=None, totals=None):
    """Runs whose occupancy and mice are the paper's at 50 racks, with more occupancy for Blocking in smaller networks.

    Nothing passes in weeks that are not measured.
    """
    shares, fct = FACTORS | (shares or {}), MICE | (fct or {})

    def make(case, algorithm):
        name, racks = schedule_of(case), racks_of(figure, case, algorithm)
        share = shares[name](racks) if callable(shares[name]) else shares[name]
        if name == common.BLOCKING and not callable(shares[name]):
            share *= (50 / racks) ** 0.5
        scenario = made(figure, case, algorithm).scenario
        duration = common.seconds(scenario["run"]["duration"])
        if case.startswith(common.BASELINE):
            return made(figure, case, algorithm, flows=mice(1.0))
        return made(
            figure, case, algorithm,
            series=elephants((rates or {}).get(name, (20, 22))),
            circuits=days(racks, duration, lambda week: share if week >= common.SETTLED else 0.0),
            flows=mice(fct[name], start=duration - 15e-3),
            totals={"elephants_labelled": 5, "elephants_idle": 1, "elephants_finished": 3} | (totals or {}),
        )  # fmt: skip

    return make


def test_fig08():
    figure = "acceltor/fig08"
    good = quick(figure, by_schedule(figure))[figure]
    assert good["verdict"] == "reproduced"
    assert good["measured"]["vs_blocking"] == pytest.approx(8.24)
    assert good["measured"]["mice_fct_below_unblocking"] == pytest.approx(0.9882, abs=0.001)
    low = quick(figure, by_schedule(figure, {common.ACCELTOR: 0.89}))[figure]
    assert low["verdict"] == "direction"
    assert failed(low) == [f"{n} racks: AccelToR uses 90 % of the optical bandwidth" for n in (8, 16, 32, 50, 72)]
    flat = quick(figure, by_schedule(figure, {common.BLOCKING: lambda racks: 0.08 * racks**0.1}))[figure]
    assert failed(flat) == [f"Blocking falls from {a} to {b} racks" for a, b in ((8, 16), (16, 32), (32, 50), (50, 72))]
    none = quick(figure, by_schedule(figure, totals={"elephants_labelled": 1}))[figure]
    assert failed(none) == ["8 racks: the heaviest mice take the places of elephants that end"]
    assert flat["verdict"] == "differs"
    slow = quick(figure, by_schedule(figure, fct={common.ACCELTOR: 1.1}))[figure]
    assert failed(slow) == ["50 racks: mice take at most 2 % longer than under Blocking"]
    evidence = {s["text"]: s["evidence"] for s in slow["statements"]}
    assert evidence[failed(slow)[0]].startswith("10.00 ± 0.00 %")
    # Twenty weeks with 8 and 16 racks.
    doubted = [text for text, said in evidence.items() if "not settled" in said]
    assert not any(text.startswith(("8 racks", "16 racks")) for text in doubted)
    assert "72 racks: AccelToR uses 90 % of the optical bandwidth" in doubted
    incomplete(figure, by_schedule(figure), ("Blocking, 16 racks", "newreno"))


def test_the_full_scale_is_judged_by_the_long_cases():
    needs = common.scheduled_cases(type("", (), {"figure": "acceltor/fig08", "scale": "full"})(), "Blocking, ")
    longer = [f"Blocking, {n} racks, until settled" for n in (32, 50, 72)]
    assert [n.case for n in needs] == ["Blocking, 8 racks", "Blocking, 16 racks", *longer]


def test_what_is_measured():
    run = by_schedule("acceltor/fig08", rates={common.ACCELTOR: (0, 10, 20)})("AccelToR, 8 racks", "newreno")
    assert common.occupancy(run) == pytest.approx(0.92)
    assert common.occupancy_by_week(run)[: common.SETTLED + 1] == pytest.approx([0, 0, 0, 0.92])
    # Weeks of 1.82 ms in 80 ms, and half a round trip.
    assert common.weeks(run) == range(15, 43)
    assert common.weekly(run).mean(axis=1) == pytest.approx([0, 10e6, 20e6])
    assert common.daily(run).shape == (3, 28)
    assert common.silent_share(run) == pytest.approx(1 / 3)
    times, packets = common.windows(run)
    assert (times[0], times[-1]) == (0, pytest.approx(DAY))
    assert (packets[0], packets[-1]) == (pytest.approx(4), pytest.approx(5))
    assert common.spread(np.arange(101.0)) == (50, 10, 90)
    # Three empty weeks count in the measure beside.
    kept = common.numbers(run)
    assert kept["AccelToR, 8 racks: occupancy"] == pytest.approx(0.92)
    assert kept["AccelToR, 8 racks: occupancy, all weeks"] == pytest.approx(0.92 * 40 / 43)


def lasting(weeks, share):
    """A run of so many weeks with 8 racks, and its occupancy by week."""
    duration = weeks * 7 * SLOT + 100e-6
    change = {"run.duration": f"{1e6 * duration:.0f}us"}
    return made("acceltor/fig08", "Blocking, 8 racks", "newreno", circuits=days(8, duration, share), change=change)


def test_what_has_settled():
    def rising(week):
        return 0.5 + 0.01 * week

    settled = common.judge_settling(lasting(20, rising))
    assert (settled.weeks, settled.settled) == (range(15, 20), True)
    assert settled.drift == pytest.approx(0.04 / 0.67)
    assert common.occupancy(lasting(20, rising)) == pytest.approx(0.67)
    early = common.judge_settling(lasting(12, rising))
    assert (early.weeks, early.settled) == (range(7, 12), False)
    assert common.name_unsettled_runs([lasting(12, rising)]) == "not settled: 8 racks, weeks 8 to 12, drift +6.8 %"
    flat = lasting(12, lambda week: 0.5 + (0.0005 * week))
    assert (common.judge_settling(flat).settled, common.name_unsettled_runs([flat])) == (True, "")
    few = common.judge_settling(lasting(6, lambda week: 0.5))
    assert (few.weeks, few.settled, str(few)) == (range(3, 6), False, "weeks 4 to 6")
    with pytest.raises(UndecidedError, match="from the 4th on"):
        common.judge_settling(lasting(3, rising))


def test_mice_that_do_not_finish_count_with_their_age():
    run = by_schedule("acceltor/fig08", fct={common.ACCELTOR: np.inf})("AccelToR, 8 racks", "newreno")
    assert common.mice(run) == pytest.approx(15e-3 / 100e-6)


def test_mice_are_compared_with_themselves_alone():
    run, other, baseline = (
        by_schedule("acceltor/fig08", fct={common.ACCELTOR: 1.2, common.BLOCKING: 1.1})(case, "newreno")
        for case in ("AccelToR, 8 racks", "Blocking, 8 racks", "mice one by one, 8 racks")
    )
    assert common.mice(run, baseline) == pytest.approx(1.2)
    assert common.relative_increase(run, other, baseline) == pytest.approx((1.2 / 1.1 - 1, 0), abs=1e-4)
    fewer = made("acceltor/fig08", "mice one by one, 8 racks", "newreno", flows=mice(1.0, count=19))
    with pytest.raises(UndecidedError, match="1 mice have no time alone"):
        common.mice(run, fewer)


def test_a_flow_alone_takes_as_long_as_the_simulator_says():
    """Slow start, sizes of one packet to many, on a path that keeps the order: one uplink."""
    document = tomllib.loads((PAPERS / "acceltor" / "fig08.toml").read_text(encoding="utf-8"))
    tables = {k: v for k, v in document.items() if k not in ("figure", "template", "case", "claim", "workload")}
    sizes = (180, 1460, 3160, 5840, 10_000, 50_000, 300_000, 3_000_000)
    tables["flow"] = [
        {"name": f"mice-{i}", "from": f"r1-h{i + 1}", "to": f"r5-h{i + 1}", "start": f"{4 * i}ms", "size": f"{s}B"}
        for i, s in enumerate(sizes)
    ]
    tables["network"] |= {"eps_rate": "40Gbps", "eps_uplinks": 1}
    run = farloop.run({**tables, "record": {"interval": "none"}, "run": {"duration": "40ms"}})
    start, received = (run.flows[c].to_numpy(zero_copy_only=False) for c in ("start_ps", "received_ps"))
    assert lone_time(run) == pytest.approx(received - start, rel=0.02)


# ---------------------------------------------------------------- Figs. 9 to 12

OWN, SLOW, WIDE = np.linspace(26.5, 30.1, 20), [0.0] * 15 + [4.0] * 5, np.linspace(0, 22, 20)


def distributions(own=OWN, blocking=SLOW, unblocking=WIDE, window=4.0, fct=None):
    """Elephants with such throughputs in Mbps; of Blocking's a part is silent. AccelToR's window begins the day so."""
    rates = dict(zip((common.ACCELTOR, common.BLOCKING, common.UNBLOCKING), (own, blocking, unblocking), strict=True))
    factors = MICE | (fct or {})

    def make(case, algorithm):
        name = schedule_of(case)
        series = elephants(rates[name], window if name == common.ACCELTOR else 1.0)
        return made("acceltor/fig09", case, algorithm, series=series, flows=mice(factors[name]))

    return make


def test_fig09():
    figure = "acceltor/fig09"
    good = quick(figure, distributions(blocking=[0.0] * 18 + [4.0] * 2))
    assert {c: v["verdict"] for c, v in good.items()} == {figure: "reproduced", "acceltor/fig10-12": "reproduced"}
    less = quick(figure, distributions(own=OWN * 0.65, blocking=[0.0] * 18 + [4.0] * 2))[figure]
    assert less["verdict"] == "direction"
    much = quick(figure, distributions(unblocking=np.linspace(0, 80, 20)))[figure]
    assert failed(much) == [
        "Unblocking: the largest weekly throughput (Mbps)", "AccelToR's elephants get more than Unblocking's"
    ]  # fmt: skip
    small = quick(figure, distributions(window=1.0))["acceltor/fig10-12"]
    assert "the window begins larger than Blocking's" in failed(small)
    assert small["verdict"] == "differs"
    late = quick(figure, distributions(fct={common.ACCELTOR: 1.6}))["acceltor/fig10-12"]
    assert "the mice's distribution overlaps Blocking's" in failed(late)
    incomplete(figure, distributions(), ("Unblocking", "newreno"))


def test_fig09_as_the_authors_ran_it_stands_beside():
    def make(case, algorithm):
        published = distributions(own=OWN / 9, window=5.0)
        return (published if case.endswith(fig09.AS_RUN) else distributions())(case, algorithm)

    beside = quick("acceltor/fig09", make)["acceltor/fig09"]
    assert beside["statements"] == quick("acceltor/fig09", distributions())["acceltor/fig09"]["statements"]
    window = beside["measured"][f"AccelToR{fig09.AS_RUN}: window at the beginning of the day (packets)"]
    assert window == pytest.approx(5, rel=1e-3)


def test_estimated_times_are_sizes_over_throughput():
    run = distributions(own=[8.0, 8.0])("AccelToR", "newreno")
    times = fig09.estimate_throughput(run)
    assert times.size == 2 * fig09.DRAWN
    assert (times.min(), times.max()) == (pytest.approx(5, rel=0.02), pytest.approx(30, rel=0.02))
    assert fig09.distance(np.array([1.0, 2.0]), np.array([3.0, 4.0])) == 1
    assert fig09.distance(np.array([1.0, 2.0]), np.array([1.0, 2.0])) == 0


# ---------------------------------------------------------------- Figs. 13 to 17


def test_fig13():
    figure = "acceltor/fig13"
    slow = {common.BLOCKING: (3, 4)}
    assert quick(figure, by_schedule(figure, rates=slow))[figure]["verdict"] == "reproduced"

    def make(case, algorithm):
        return by_schedule(
            figure, rates={common.BLOCKING: (19, 20) if "18" in case.split(", ")[-1].split(".")[0] else (3, 4)}
        )(case, algorithm)

    full = quick(figure, make)[figure]
    assert failed(full) == [f"18 MB: {what} throughput well below AccelToR's" for what in ("daily", "weekly")]
    incomplete(figure, by_schedule(figure, rates=slow), ("Blocking, 5.4 MB", "newreno"))


def loaded(shares=(0.93, 0.92, 0.91, 0.6), fct=None):
    """AccelToR's occupancy by load, from 10 to 95 % of an uplink."""
    steps = dict(zip(("10", "50", "70", "95"), shares, strict=True))

    def make(case, algorithm):
        share = steps.get(case.partition(", ")[2].partition(" %")[0], 0.5)
        return by_schedule("acceltor/fig14", {common.ACCELTOR: share}, fct)(case, algorithm)

    return make


def test_fig14():
    figure = "acceltor/fig14"
    assert quick(figure, loaded())[figure]["verdict"] == "reproduced"
    low = quick(figure, loaded((0.93, 0.89, 0.88, 0.6)))[figure]
    assert failed(low) == [f"{n} %: AccelToR uses 90 % of the optical bandwidth" for n in (50, 70)]
    assert low["verdict"] == "direction"
    flat = quick(figure, loaded((0.93, 0.92, 0.91, 0.9)))[figure]
    assert (failed(flat), flat["verdict"]) == (["AccelToR's occupancy falls from 70 % to 95 %"], "differs")
    slow = quick(figure, loaded(fct={common.ACCELTOR: 1.5}))[figure]
    assert failed(slow)[0] == "10 %: mice take no longer than under Blocking"
    incomplete(figure, loaded(), ("AccelToR, 70 %", "newreno"))


def lossy(kept=lambda week: 0.93, lost=lambda week: 0.93 - 0.004 * week):
    """A circuit's occupancy by week, with the margin and without."""

    def make(case, algorithm):
        return made(
            "acceltor/fig15", case, algorithm, circuits=days(8, 130e-3, kept if case.startswith("with ") else lost)
        )

    return make


def test_fig15():
    figure = "acceltor/fig15"
    assert quick(figure, lossy())[figure]["verdict"] == "reproduced"
    low = quick(figure, lossy(kept=lambda week: 0.8))[figure]
    assert (failed(low), low["verdict"]) == (["with the margin the occupancy stays above 90 %"], "direction")
    flat = quick(figure, lossy(lost=lambda week: 0.93))[figure]
    assert failed(flat) == [
        "without it declines", "with the margin it is higher", "without the margin after 70 weeks"
    ]  # fmt: skip
    incomplete(figure, lossy(), ("without margin, loss 0.01", "newreno"))


def overflowing(spread=2.0, repeated=30, share=0.88):
    """Throughputs of elephants, repairs of packets that are not lost, and occupancy with 300 kB; 500 kB: hardly any spread, none, 0.92."""

    def make(case, algorithm):
        small = case.startswith("300")
        rates = np.linspace(20 - (spread if small else 0.5), 20 + (spread if small else 0.5), 10)
        flows = [
            {"name": "elephant-tor1-tor2-1", "retransmitted": 100 + (repeated if small else 0), "dropped": 100},
            *mice(1.0),
        ]
        circuits = days(16, 80e-3, share if small else 0.92)
        return made("acceltor/fig16", case, algorithm, series=elephants(rates), circuits=circuits, flows=flows)

    return make


def test_fig16():
    figure = "acceltor/fig16"
    assert quick(figure, overflowing())[figure]["verdict"] == "reproduced"
    assert failed(quick(figure, overflowing(spread=0.55))[figure]) == [
        "the elephants' throughput has a wider spread with 300 kB"
    ]
    assert failed(quick(figure, overflowing(repeated=0))[figure]) == ["packets that overtake make for many repairs"]
    for share in (0.93, 0.5):
        assert failed(quick(figure, overflowing(share=share))[figure]) == ["the occupancy is slightly lower"]
    incomplete(figure, overflowing(), ("300 kB", "newreno"))


def sixteen(own=None, rates=None):
    """AccelToR's occupancy by algorithm: 0.92, and the paper's for CUBIC and BBR. Throughput by algorithm and schedule."""
    shares = {"cubic": 0.531, "bbr": 0.76} | (own or {})

    def make(case, algorithm):
        by_algorithm = {common.ACCELTOR: (20,), common.BLOCKING: (3,), common.UNBLOCKING: (10,)} | (rates or {}).get(
            algorithm, {}
        )
        return by_schedule("acceltor/fig17", {common.ACCELTOR: shares.get(algorithm, 0.92)}, rates=by_algorithm)(
            case, algorithm
        )

    return make


def test_fig17():
    figure = "acceltor/fig17"
    good = quick(figure, sixteen())[figure]
    assert (good["verdict"], len(good["statements"])) == ("reproduced", 2 * 16 + 1 + 4)
    better = quick(figure, sixteen({"cubic": 0.92}))[figure]
    assert failed(better) == ["CUBIC uses less than most others", "CUBIC uses 53.1 %"]
    few = quick(
        figure, sixteen(dict.fromkeys(("newreno", "bic", "htcp", "hybla", "veno", "vegas", "yeah", "dctcp"), 0.88))
    )[figure]
    assert failed(few)[0] == "most use 90 % of the optical bandwidth"
    beaten = quick(figure, sixteen(rates={"vegas": {common.UNBLOCKING: (25,)}}))[figure]
    assert (failed(beaten), beaten["verdict"]) == (
        ["Vegas: AccelToR's elephants get more than Unblocking's"],
        "differs",
    )
    incomplete(figure, sixteen(), ("Blocking", "yeah"))
    # RFC 9438's CUBIC decides nothing.
    runs = planned(figure, sixteen(), scale="quick", without=[("AccelToR", "cubic")])
    assert judge(figure, runs, scale="quick")[figure]["verdict"] == "reproduced"
