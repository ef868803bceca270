"""The judges of MRC's figures of traffic and collectives, on runs made up for them: as the text has it, and otherwise."""

import pytest
from support.papers_fixtures import failed, judge, made, planned, undecided

LINE_RATE = 100e9

COLLIDING = (1.0, 1.0, 0.5, 0.5, 0.5, 0.34, 0.34, 0.33)
"""Rates over line rate where some queue pairs share a link."""

TRAFFIC = {
    "permutation, DCQCN, 1 QP": COLLIDING,
    "permutation, PFC alone, 1 QP": COLLIDING,
    "permutation, DCQCN, 8 QPs": (0.9,) * 8,
    "permutation, PFC alone, 8 QPs": (0.6,) * 8,
    "permutation, MRC": (0.975,) * 8,
    "incast, DCQCN, 1 QP": (*(0.14,) * 7, 0.72),
    "incast, DCQCN, 8 QPs": (*(0.14,) * 7, 0.9),
    "incast, PFC alone, 1 QP": (*(0.14,) * 7, 0.2),
    "incast, MRC": (*(0.138,) * 7, 0.96),
    "alone, MRC": (*(0.0,) * 7, 0.96),
    "alone, DCQCN": (*(0.0,) * 7, 0.96),
}
"""Rates of the hosts h1 to h8 over line rate as the text has them; the last one is the victim."""

COLLECTIVES = {
    "all-reduce, RoCE": 0.5,
    "all-reduce, RoCE, 8 QPs": 0.88,
    "all-reduce, RoCE, 16 QPs": 0.89,
    "all-reduce, RoCE, 0.1 % lost": 0.05,
    "all-reduce, MRC": 0.96,
    "all-reduce, MRC, 0.1 % lost": 0.94,
    "all-reduce, MRC, 1 % lost": 0.33,
    "all-to-all, RoCE": 0.8,
    "all-to-all, RoCE, 16 QPs": 0.75,
    "all-to-all, RoCE, 0.1 % lost": 0.79,
    "all-to-all, MRC": 0.96,
    "all-to-all, MRC, 0.1 % lost": 0.95,
    "small all-to-all, RoCE": 0.8,
    "small all-to-all, RoCE, 0.1 % lost": 0.3,
    "small all-to-all, MRC": 0.9,
    "small all-to-all, MRC, 0.1 % lost": 0.8,
}
"""Speeds over those of an ideal network as the text has them."""


def traffic(change=(), pauses=1):
    """The failing and the undecided statements of mrc/traffic, by claim, where these cases have other rates."""
    table = {**TRAFFIC, **dict(change)}

    def make(case, algorithm):
        rates = table[case]
        flows = [{"name": f"f{i}", "source": f"h{i}"} for i in range(1, 9)]
        series = {(f"flow/f{i}", "throughput"): rate * LINE_RATE for i, rate in enumerate(rates, 1)}
        paused = [{}] * (pauses if "DCQCN" in case else 0)
        return made("mrc/traffic", case, algorithm, flows=flows, series=series, pauses=paused)

    return report("mrc/traffic", make)


def collectives(change=()):
    """The same of mrc/collectives, by speed; a collective whose speed is `None` is not over when the run ends."""
    table = {**COLLECTIVES, **dict(change)}

    def make(case, algorithm):
        speed = table[case]
        row = {"ideal_ps": 1e9, "time_ps": speed and 1e9 / speed}
        return made("mrc/collectives", case, algorithm, iterations=[row])

    return report("mrc/collectives", make)


def report(figure, make):
    """The failing statements of all claims of a figure; each is decided."""
    claims = judge(figure, planned(figure, make))
    assert [text for claim in claims.values() for text in undecided(claim)] == []
    return [text for claim in claims.values() for text in failed(claim)]


def test_traffic_as_the_text_has_it_holds():
    assert traffic() == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"permutation, MRC": (*(0.975,) * 7, 0.9)}, ["MRC: all flows have 390 of 400 Gbps"]),
        (
            {"permutation, PFC alone, 1 QP": (0.7,) * 8},
            [
                "PFC alone, 1 QP: some flows get line rate",
                "PFC alone, 1 QP: some flows get a half or a third",
                "1 QP: the outcome is the same with DCQCN as with PFC alone",
            ],
        ),
        (
            {"permutation, DCQCN, 1 QP": (0.4,) * 8},
            ["1 QP: the outcome is the same with DCQCN as with PFC alone"],
        ),
        (
            {"permutation, DCQCN, 8 QPs": (0.5,) * 8},
            ["8 QPs: DCQCN avoids that congested queue pairs slow the others, so it is faster than PFC alone"],
        ),
        (
            {"incast, MRC": (0.1, *(0.14,) * 6, 0.5)},
            ["MRC: no effect on the victim", "MRC: the incast shares its link almost perfectly"],
        ),
        ({"incast, PFC alone, 1 QP": (*(0.14,) * 7, 0.5)}, ["PFC alone, 1 QP: the victim has 30 to 100 of 400 Gbps"]),
        (
            {"incast, DCQCN, 8 QPs": (*(0.14,) * 7, 0.3)},
            ["DCQCN: with 8 QPs the average impact on the victim is smaller than with one"],
        ),
        ({"alone, DCQCN": (*(0.0,) * 7, 0.72)}, ["DCQCN, 1 QP: the victim loses a quarter"]),
    ],
)
def test_traffic_that_goes_otherwise_is_named(change, expected):
    assert traffic(change) == expected


def test_a_run_without_a_pause_is_named():
    assert traffic(pauses=0) == ["DCQCN, 1 QP: PFC still pauses"]


def test_collectives_as_the_text_has_them_hold():
    assert collectives() == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"all-reduce, RoCE": 0.95}, [
            "RoCE with one queue pair has half of the throughput",
            "RoCE is faster with 16 queue pairs than with one",
        ]),
        ({"all-reduce, RoCE, 8 QPs": 0.7}, ["RoCE gains little beyond 8 queue pairs"]),
        ({"all-reduce, MRC, 1 % lost": 0.9}, ["MRC keeps a third of the throughput at 1 % of loss"]),
        ({"all-reduce, MRC, 0.1 % lost": None}, [
            "0.1 % of loss has little impact on MRC",
            "MRC is faster than RoCE at 0.1 % of loss",
        ]),
        ({"all-to-all, RoCE": 0.97}, [
            "large: MRC is faster than RoCE",
            "large: 0.1 % of loss barely degrades RoCE",
        ]),
        ({"all-to-all, RoCE, 16 QPs": 0.9}, ["large: RoCE is slower with 16 queue pairs than with one"]),
        ({"small all-to-all, RoCE, 0.1 % lost": 0.78}, ["small: RoCE loses more by 0.1 % of loss than MRC"]),
    ],
)  # fmt: skip
def test_collectives_that_go_otherwise_are_named(change, expected):
    assert collectives(change) == expected
