"""Uno, Fig. 9: completion times of a permutation over 8 and 128 long-haul links."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from farloop.judging.claims import Claim, Finding, Judging, UndecidedError
from farloop.judging.schedule import Need
from farloop.papers.uno.common import WAYS, bars, make_below_test, mean, p99, times

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

LINKS = ("8 links", "128 links")
"""Across the long haul."""

STATISTICS = {"mean": mean, "99 %": p99}

AHEAD_OF = {
    ("8 links", "mean"): ("gemini",),
    ("8 links", "99 %"): ("uno, one path", "gemini"),
    ("128 links", "mean"): ("uno, one path", "gemini"),
    ("128 links", "99 %"): ("uno, one path", "gemini"),
}
"""Of which ways the artifact's Uno over several paths is ahead."""

ALGORITHM = {"uno, one path": "uno", "uno": "uno", "gemini": "uno-gemini"}


def need(links: str, way: str) -> Need:
    """The run with so many long-haul links."""
    return Need(f"{links}, {way}", ALGORITHM[way])


def number_name(links: str, way: str, word: str) -> str:
    """The number's name in the claim."""
    return f"{links}, {way}: {word} (us)"


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Mean and 99th percentile beside the artifact's, and which way is ahead."""
    judging = Judging(comparison, claims["uno/fig09"])

    def number_of_run(word: str) -> Callable[[Run], float]:
        return lambda run: 1e6 * STATISTICS[word](times(run))

    for links in LINKS:
        for word in STATISTICS:
            for way in WAYS:
                text = f"{links}, {way}: {word} of the completion times"
                judging.near(
                    number_name(links, way, word), text, [need(links, way)], number_of_run(word), better="lower"
                )
            for way in AHEAD_OF[links, word]:
                pair = [need(links, "uno"), need(links, way)]
                text = f"{links}: uno's {word} is below that of {way}"
                judging.order(text, pair, make_below_test(number_of_run(word), ".4g", " us"))
    return [judging.finding(unit="us", note="the artifact's numbers are those of one run of ours")]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Mean and 99th percentile by links and way, beside the artifact's."""
    numbers: dict[str, float] = {}
    for links in LINKS:
        for way in WAYS:
            runs = [r for r in comparison.runs if Need(r.case, r.algorithm) == need(links, way)]
            for word, statistic in STATISTICS.items():
                try:
                    values = [1e6 * statistic(times(run)) for run in runs]
                except UndecidedError:
                    continue
                if values:
                    numbers[number_name(links, way, word)] = float(np.mean(values))
    panels = {word: [(number_name(x, w, word), need(x, w)) for x in LINKS for w in WAYS] for word in STATISTICS}
    return {"fig09": bars(comparison, numbers, "Each of 256 hosts sends 1 MB", "completion time (us)", panels)}
