"""Uno, Fig. 10: completion times of realistic traffic at three loads, of all flows, of those inside and of those across."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from farloop.judging.claims import Claim, Finding, Judging, UndecidedError
from farloop.judging.schedule import Need
from farloop.papers.uno.common import ALGORITHM, RIVALS, WAYS, bars, make_below_test, mean, p99, times

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

LOADS = ("40 %", "60 %", "80 %")

KINDS = ("all", "intra", "inter")

STATISTICS = {"mean": mean, "99 %": p99}


def need(load: str, way: str) -> Need:
    """The run of a load."""
    return Need(f"{load}, {way}", ALGORITHM[way])


def number_name(load: str, way: str, kind: str, word: str) -> str:
    """The name of a number in the claim."""
    return f"{load}, {way}, {kind}: {word} (us)"


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Mean and 99th percentile beside the artifact's, and which way is ahead."""
    return [
        *judge_loads(comparison, claims["uno/fig10"], LOADS),
        *judge_rivals(comparison, claims["uno/fig10-bbr"], LOADS),
    ]


def judge_loads(comparison: Comparison, claim: Claim, loads: Sequence[str]) -> list[Finding]:
    """The same of a claim about these loads."""
    judging = Judging(comparison, claim)

    for load in loads:
        for kind in KINDS:
            for word in STATISTICS:
                for way in WAYS:
                    judge_number(judging, (load, way, kind, word))
                for way in ("gemini", "uno, one path"):
                    # The artifact's own mean of all flows, and of those across, is not below that of one path at 40 and 60 %.
                    if word == "mean" and way == "uno, one path" and kind != "intra":
                        continue
                    pair = [need(load, "uno"), need(load, way)]
                    text = f"{load}, {kind} flows: uno's {word} is below that of {way}"
                    judging.order(text, pair, make_below_test(measure(word, kind), ".4g", " us"))
    return [judging.finding(unit="us", note="the artifact's numbers are those of one run")]


def judge_rivals(comparison: Comparison, claim: Claim, loads: Sequence[str]) -> list[Finding]:
    """Mean and 99th percentile under MPRDMA and BBR at these loads, beside the artifact's."""
    judging = Judging(comparison, claim)
    for load in loads:
        for kind in KINDS:
            for word in STATISTICS:
                judge_number(judging, (load, RIVALS, kind, word))
    return [judging.finding(unit="us", note="the artifact's numbers are those of one run")]


def judge_number(judging: Judging, place: tuple[str, str, str, str]) -> None:
    """Judges a number by its load, way, kind of flows and statistic."""
    load, way, kind, word = place
    judging.near(
        number_name(load, way, kind, word),
        f"{load}, {way}: {word} of {kind} flows' completion times",
        [need(load, way)],
        measure(word, kind),
        better="lower",
    )


def measure(word: str, kind: str) -> Callable[[Run], float]:
    """A statistic of the completion times of a kind of flows, in microseconds."""
    return lambda run: 1e6 * STATISTICS[word](times(run, kind))


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Mean and 99th percentile by load and way, beside the artifact's."""
    return {"fig10": draw_loads(comparison, LOADS, "5000 flows by load")}


def draw_loads(comparison: Comparison, loads: Sequence[str], title: str) -> Figure:
    """The same of these loads, under a title."""
    numbers: dict[str, float] = {}
    for load in loads:
        for way in (*WAYS, RIVALS):
            runs = [r for r in comparison.runs if Need(r.case, r.algorithm) == need(load, way)]
            for kind in KINDS:
                for word, statistic in STATISTICS.items():
                    try:
                        values = [1e6 * statistic(times(run, kind)) for run in runs]
                    except UndecidedError:
                        continue
                    if values:
                        numbers[number_name(load, way, kind, word)] = float(np.mean(values))
    panels = {
        f"{kind} flows, {word}": [
            (number_name(load, w, kind, word), need(load, w)) for load in loads for w in (*WAYS, RIVALS)
        ]
        for kind in KINDS
        for word in STATISTICS
    }
    return bars(comparison, numbers, title, "completion time (us)", panels)
