"""The judges beside public simulators, on runs made up for them: as published, far from it, and incomplete."""

import pytest
from support.papers_fixtures import failed, judge, made, planned, undecided

from farloop.judging.claims import read_claims
from farloop.judging.schedule import own_scenario

FIGURES = ("uec/permutation", "uec/incast", "uno/fig08")


def published(figure):
    """The published numbers of a figure's claims, by name."""
    claims = read_claims(own_scenario(figure).parsed)
    return {name: value for claim in claims for name, value in claim.paper.items()}


def flows(figure, case, algorithm, scale=1.0):
    """Flows whose mean and largest completion time are the published ones, times `scale`."""
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
