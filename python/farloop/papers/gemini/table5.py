"""GEMINI, Table V: noise on samples of the round-trip time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging
from farloop.judging.schedule import Need, scheduled_runs
from farloop.judging.testbed import numbers_text
from farloop.palette import INTRA
from farloop.papers.gemini.common import delay_and_throughput
from farloop.views.figures.panels import grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

NO_EFFECT = 0.01
"""A change of the throughput by less than this part is none."""

SLIGHT = 0.1
"""A drop by less than this part is slight."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """Throughput for each range of the noise."""
    judging = Judging(comparison, claims["gemini/table5"])
    judging.measure(
        lambda: {f"noise up to {x:g} ms: throughput (Mbps)": t / 1e6 for x, t in throughputs(comparison).items()}
    )
    planned = {amplitude(n.case): n for n in scheduled_runs(comparison)}

    def select_need(x: float) -> list[Need]:
        return [planned[x]] if x in planned else []

    for least, most, part, text in (
        (0.0, 0.1, NO_EFFECT, "noise below 0.1 ms has no effect on the throughput"),
        (0.1, 1.0, SLIGHT, "noise up to 1 ms lowers it slightly at most"),
    ):

        def changes_little(reference: Run, *runs: Run, part: float = part) -> tuple[bool, str]:
            base = delay_and_throughput(reference)[1]
            change = {run.case: metrics.ratio(delay_and_throughput(run)[1], base) - 1 for run in runs}
            return all(c > -part for c in change.values()), numbers_text(change, "+.4f")

        noisy = [n for x, n in planned.items() if least < x <= most]
        judging.order(text, [*select_need(0.0), *noisy] if select_need(0.0) and noisy else [], changes_little)

    def is_no_less(*runs: Run) -> tuple[bool, str]:
        rates = {run.case: delay_and_throughput(run)[1] / 1e6 for run in runs}
        return rates["2 ms"] <= (1 + NO_EFFECT) * rates["1 ms"], f"Mbps: {numbers_text(rates, '.5g')}"

    judging.order(
        "noise up to 2 ms costs no less than noise up to 1 ms", [*select_need(1.0), *select_need(2.0)], is_no_less
    )
    return [
        judging.finding(
            note="the table's numbers are not in the text; eight flows; throughput is payload, 941 Mbps at most"
        )
    ]


def draw(comparison: Comparison) -> dict[str, Figure]:
    """The table as bars."""
    rates = throughputs(comparison)
    figure, (axis,) = grid(1, "Uniform noise on RTT samples")
    axis.bar([f"{x:g}" for x in rates], [t / 1e6 for t in rates.values()], color=INTRA[0], width=0.6)
    axis.set_xlabel("noise up to (ms)", fontsize=8)
    axis.set_ylabel("throughput (Mbps)", fontsize=8)
    return {"table5": figure}


def throughputs(comparison: Comparison) -> dict[float, float]:
    """Aggregate throughput by the range of the noise in ms, from the cases "X ms"."""
    return {amplitude(run.case): delay_and_throughput(run)[1] for run in comparison.runs if run.case}


def amplitude(case: str) -> float:
    """The range of the noise in ms."""
    return float(case.removesuffix(" ms"))
