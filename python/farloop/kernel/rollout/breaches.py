"""Verdicts: limits that stop a plan, and what a switchback says of the whole class and of those that were not moved.

Both arms of a share send through the same queues, so their ratio is no effect: it can be wrong in size and sign (Spang et al., "Unbiased
Experiments in Congested Networks", IMC 2021). A switchback turns the whole class on and off in blocks of
random order, and compares blocks.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from farloop.kernel.rollout.rollout_plan import Limit, RolloutPlan
from farloop.kernel.rollout.tally import Rates, Sums, rates_of
from farloop.statistics import Interval, paired_ratio

METRICS = ("delivery", "retransmissions", "marks", "rtt", "completions", "completion_time")
AT_LEAST = ("delivery", "completions")
"""Metrics with a lower bound; the others have an upper one."""

MIN_LIVED = 1.0
"""Seconds that connections of an arm must have lived in all, before their rate for each of them is shown."""

WASHOUT = 0.3
"""Share of a block that is not counted: queues and windows of the block before are still there."""


@dataclass(frozen=True)
class Breach:
    """A limit that did not hold.

    Attributes:
        arm: "class", "moved" or "unmoved".
    """

    key: str
    arm: str
    value: float
    bound: float
    text: str

    def sentence(self) -> str:
        """The breach for people."""
        return f"{self.key} of {self.arm} is {self.value:.4g}; the plan allows {self.text} ({self.bound:.4g})"


def class_rates(sums: Mapping[str, Sums], duration: float, completions: tuple[float | None, float | None]) -> Rates:
    """The rates of the whole class."""
    rates = asdict(rates_of(sums["moved"] + sums["unmoved"], duration))
    return Rates(**{**rates, "completions": completions[0], "completion_time": completions[1]})


def find_breach(
    limits: Sequence[Limit], sums: Mapping[str, Sums], duration: float, whole: Rates, baseline: Mapping[str, Any] | None
) -> Breach | None:
    """The first limit that does not hold. Upper bounds of TCP's metrics hold for each arm, too: a few cannot hide in the class."""
    arms = {"class": asdict(whole), **{arm: asdict(rates_of(sums[arm], duration)) for arm in ("moved", "unmoved")}}
    for limit in limits:
        bound = limit.bound
        if limit.relative:
            before = (baseline or {}).get(limit.key)
            # A multiple of nothing is no bound: what has never been, such as marks, is allowed.
            if not before:
                continue
            bound *= before
        if limit.key in AT_LEAST:
            value = arms["class"][limit.key]
            if value is not None and value < bound:
                return Breach(limit.key, "class", value, bound, limit.text)
            continue
        for arm, rates in arms.items():
            value = rates[limit.key]
            if value is not None and value > bound:
                return Breach(limit.key, arm, value, bound, limit.text)
    return None


def draw_blocks(plan: RolloutPlan) -> list[bool]:
    """On and off for each block: in every pair one of each, in random order, so that trends of the traffic cancel."""
    chance = random.Random(plan.seed)
    blocks: list[bool] = []
    for _ in range(plan.blocks // 2):
        first = chance.random() < 0.5
        blocks += [first, not first]
    return blocks


def judge_blocks(on: Sequence[Mapping[str, Any]], off: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Compares pairs of blocks.

    Args:
        on: `Rates` of each pair's block with the plan, as dictionaries.
        off: Of its block without.

    Returns:
        A row for each metric that was measured in all blocks: `metric`, `ratio` of on to off with `low` and `high` of 95 %, `pairs`, and
        `verdict`: "more", "less", or "undecided". Where a metric was 0 somewhere there is no ratio, but `on` and `off`, its means.
    """
    rows = []
    for metric in METRICS:
        pairs = [(a[metric], b[metric]) for a, b in zip(on, off, strict=True)]
        if not pairs or any(a is None or b is None for a, b in pairs):
            continue
        above, below = zip(*pairs, strict=True)
        interval: Interval = paired_ratio(above, below)
        outside = interval.low is not None and interval.high is not None and not interval.low <= 1 <= interval.high
        verdict = "undecided" if not outside or interval.low is None else "more" if interval.low > 1 else "less"
        if interval.estimate is None:
            # A difference of the same sign in all of n pairs has a chance of 2^(1-n) without an effect.
            signs = {(a > b) - (a < b) for a, b in pairs}
            if len(signs) == 1 and 0 not in signs and len(pairs) >= 6:
                verdict = "more" if signs == {1} else "less"
        rows.append(
            {
                "metric": metric,
                "ratio": interval.estimate,
                "low": interval.low,
                "high": interval.high,
                "on": sum(above) / len(pairs),
                "off": sum(below) / len(pairs),
                "pairs": len(pairs),
                "verdict": verdict,
            }
        )
    return rows


def naive_ratios(sums: Mapping[str, Sums], duration: float) -> dict[str, Any]:
    """Moved against unmoved connections of a step, bytes for each second that a connection lived: shown, and no effect."""
    moved, unmoved = (asdict(rates_of(sums[arm], duration)) for arm in ("moved", "unmoved"))
    ratios = {}
    for metric in ("delivery", "retransmissions", "marks", "rtt"):
        a, b = moved[metric], unmoved[metric]
        if metric == "delivery":
            # Connections shorter than a look have lived for no time that is known.
            lived = [sums[arm].connection_seconds for arm in ("moved", "unmoved")]
            a, b = (sums[arm].bytes / max(sums[arm].connection_seconds, MIN_LIVED) for arm in ("moved", "unmoved"))
            a = a if min(lived) >= MIN_LIVED else None
        ratios[metric] = a / b if a is not None and b else None
    return {"moved_over_unmoved": ratios, "reading": "not an effect: both arms share their queues"}
