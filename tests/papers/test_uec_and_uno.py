"""The judges beside public simulators, on runs made up for them: as published, far from it, and incomplete."""

import pytest
from support.papers_fixtures import failed, judge, made, planned, undecided

from farloop.judging.claims import read_claims
from farloop.judging.schedule import own_scenario

FIGURES = ("uec/permutation", "uec/incast", "uno/fig08", "uno/fig13")


def published(figure):
    """The published numbers of a figure's claims, by name."""
    claims = read_claims(own_scenario(figure).parsed)
    return {name: value for claim in claims for name, value in claim.paper.items()}


def flows(figure, case, algorithm, scale=1.0):
    """Flows whose mean and, where it is published, largest completion time are the published ones, times `scale`."""
    if figure == "uno/fig13":
        return [{"finish_ps": scale * 1e9 * published(figure)[f"{case}: mean (ms)"]}] * 8
    name = f"{case}, {algorithm}" if figure == "uec/incast" else case
    unit, ps = ("ms", 1e9) if figure.startswith("uno/") else ("us", 1e6)
    numbers = published(figure)
    mean, last = numbers[f"{name}: mean ({unit})"], numbers[f"{name}: last ({unit})"]
    first = last * numbers[f"{name}: first over last"] if figure.startswith("uno/") else 2 * mean - last
    # The rest makes the mean; there are enough of them to be between the two.
    rest = (8 * mean - first - last) / 6
    return [{"finish_ps": scale * ps * time} for time in (first, *[rest] * 6, last)]


@pytest.mark.parametrize("figure", FIGURES)
def test_what_is_published_holds(figure):
    runs = planned(figure, lambda case, a: made(figure, case, a, flows=flows(figure, case, a)))
    for claim in judge(figure, runs).values():
        assert claim["statements"]
        assert failed(claim) == undecided(claim) == []


@pytest.mark.parametrize("figure", FIGURES)
def test_what_takes_twice_as_long_does_not(figure):
    runs = planned(figure, lambda case, a: made(figure, case, a, flows=flows(figure, case, a, 2.0)))
    for claim in judge(figure, runs).values():
        numbers = [s["text"] for s in claim["statements"] if s["number"] and "close together" not in s["text"]]
        assert numbers
        assert failed(claim) == numbers


@pytest.mark.parametrize("figure", FIGURES)
def test_a_flow_that_is_not_over_decides_nothing(figure):
    runs = planned(figure, lambda case, a: made(figure, case, a, flows=[*flows(figure, case, a), {"finish_ps": None}]))
    for claim in judge(figure, runs).values():
        assert undecided(claim) == [s["text"] for s in claim["statements"]]


def test_choosers_that_do_not_avoid_the_slow_spine_are_told():
    def make(case, algorithm):
        late = 1.5 if case == "slow spine, mixed" else 1.0
        return made("uec/permutation", case, algorithm, flows=flows("uec/permutation", case, algorithm, late))

    claim = judge("uec/permutation", planned("uec/permutation", make))["uec/slow-spine"]
    assert "slow spine: mixed takes less time than oblivious on average" in failed(claim)
    assert "slow spine: bitmap takes less time than oblivious on average" not in failed(claim)


def test_coding_that_is_no_better_than_repairs_is_told():
    def make(case, algorithm):
        late = 2.0 if case.endswith(", coded") else 1.0
        return made("uno/fig13", case, algorithm, flows=flows("uno/fig13", case, algorithm, late))

    (claim,) = judge("uno/fig13", planned("uno/fig13", make)).values()
    assert "uno, coded ends sooner than uno, plain" in failed(claim)
    assert "uno, coded ends sooner than plb, coded" not in failed(claim)


UNO = ("uno/fig09", "uno/fig10", "uno/fig11", "uno/fig12")
OF_ALL_FLOWS = ("uno/fig09", "uno/fig11")
"""Their numbers are of all flows together."""


def mix(figure, case, scale=1.0):
    """Flows, half of them across, whose mean and 99th percentile are the published ones of a case: six of 200 are the percentile.

    Fig. 10 has such numbers of the flows inside and of those across; those of all flows do not follow from as many of each.
    """
    numbers = published(figure)
    ratio = int(case.partition(",")[0]) if figure == "uno/fig11" else 128
    flows = []
    for across in (0, 1):
        kind = ("intra", "inter")[across]
        name = case if figure in OF_ALL_FLOWS else f"{case}, {kind}"
        unit = " (us)" if figure != "uno/fig11" else ""
        mean, top = numbers[f"{name}: mean{unit}"], numbers[f"{name}: 99 %{unit}"]
        count = 200
        rest = (count * mean - 6 * top) / (count - 6)
        base = 14.0 * (ratio if across else 1)
        # One byte takes no time at 100 Gbps, beside the base round-trip time.
        times = [top] * 6 + [rest] * (count - 6)
        micro = [t * base for t in times] if figure == "uno/fig11" else times
        flows += [{"finish_ps": scale * 1e6 * t, "size_bytes": 1, "cross_datacenter": across} for t in micro]
    return flows


@pytest.mark.parametrize("figure", UNO)
def test_realistic_traffic_as_published_holds(figure):
    runs = planned(figure, lambda case, a: made(figure, case, a, flows=mix(figure, case)))
    for claim in judge(figure, runs).values():
        assert undecided(claim) == []
        assert [text for text in failed(claim) if "all flows" not in text] == []


@pytest.mark.parametrize("figure", UNO)
def test_realistic_traffic_that_takes_twice_as_long_does_not(figure):
    runs = planned(figure, lambda case, a: made(figure, case, a, flows=mix(figure, case, 2.0)))
    for claim in judge(figure, runs).values():
        numbers = [s["text"] for s in claim["statements"] if s["number"] and "all flows" not in s["text"]]
        assert numbers
        assert set(numbers) <= set(failed(claim))


@pytest.mark.parametrize("figure", UNO)
def test_uno_that_is_slower_than_gemini_is_told(figure):
    def make(case, algorithm):
        late = 5.0 if case.endswith(", uno") else 1.0
        return made(figure, case, algorithm, flows=mix(figure, case, late))

    claim = judge(figure, planned(figure, make))[figure]
    orders = [s["text"] for s in claim["statements"] if "is below that of gemini" in s["text"] and "mean" in s["text"]]
    assert len(orders) == {"uno/fig09": 2, "uno/fig10": 9, "uno/fig11": 4, "uno/fig12": 3}[figure]
    assert set(orders) <= set(failed(claim))


@pytest.mark.parametrize("figure", UNO)
def test_realistic_traffic_that_is_not_over_decides_nothing(figure):
    late = {"finish_ps": None, "size_bytes": 1, "cross_datacenter": 0}
    runs = planned(figure, lambda case, a: made(figure, case, a, flows=[*mix(figure, case), late]))
    for claim in judge(figure, runs).values():
        assert undecided(claim) == [s["text"] for s in claim["statements"]]
