"""Uno, Fig. 11: slowdowns over the ratio of the round-trip times across and inside, from 8 to 512."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from farloop.judging.claims import Claim, Finding, Judging, UndecidedError
from farloop.judging.schedule import Need
from farloop.papers.uno.common import ALGORITHM, RIVALS, WAYS, bars, make_below_test, mean, p99, slowdowns

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

RATIOS = (8, 32, 128, 512)

STATISTICS = {"mean": mean, "99 %": p99}


def need(ratio: int, way: str) -> Need:
    """The run of a ratio."""
    return Need(f"{ratio}, {way}", ALGORITHM[way])


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Mean and 99th percentile beside the artifact's, and which way is ahead."""
    judging, rivals = (Judging(comparison, claims[name]) for name in ("uno/fig11", "uno/fig11-bbr"))

    def number_of_run(word: str, ratio: int) -> Callable[[Run], float]:
        return lambda run: STATISTICS[word](slowdowns(run, ratio))

    for ratio in RATIOS:
        for way in (*WAYS, RIVALS):
            for word in STATISTICS:
                name = f"{ratio}, {way}: {word}"
                (rivals if way == RIVALS else judging).near(
                    name,
                    f"{ratio}, {way}: {word} of the slowdowns",
                    [need(ratio, way)],
                    number_of_run(word, ratio),
                    better="lower",
                )
        for word in STATISTICS:
            for way in ("gemini", "uno, one path"):
                pair = [need(ratio, "uno"), need(ratio, way)]
                judging.order(
                    f"{ratio}: uno's {word} is below that of {way}", pair, make_below_test(number_of_run(word, ratio))
                )
    for word in STATISTICS:

        def falls(*runs: Run, word: str = word) -> tuple[bool, str]:
            values = [number_of_run(word, ratio)(run) for ratio, run in zip(RATIOS, runs, strict=True)]
            evidence = ", ".join(f"{v:.3g}" for v in values)
            return all(b < a for a, b in itertools.pairwise(values)), evidence

        judging.order(f"uno's {word} falls with the ratio", [need(r, "uno") for r in RATIOS], falls)
    return [each.finding(note="the artifact's numbers are those of one run") for each in (judging, rivals)]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Mean and 99th percentile by ratio and way, beside the artifact's."""
    numbers: dict[str, float] = {}
    for ratio in RATIOS:
        for way in (*WAYS, RIVALS):
            runs = [r for r in comparison.runs if Need(r.case, r.algorithm) == need(ratio, way)]
            for word, statistic in STATISTICS.items():
                try:
                    values = [statistic(slowdowns(run, ratio)) for run in runs]
                except UndecidedError:
                    continue
                if values:
                    numbers[f"{ratio}, {way}: {word}"] = float(np.mean(values))
    panels = {
        f"{word} of the slowdowns": [(f"{r}, {w}: {word}", need(r, w)) for r in RATIOS for w in (*WAYS, RIVALS)]
        for word in STATISTICS
    }
    return {"fig11": bars(comparison, numbers, "5000 flows by the ratio of the round-trip times", "slowdown", panels)}
