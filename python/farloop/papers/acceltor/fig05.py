"""AccelToR, Fig. 5: the window of an elephant that is accelerated and of one that is not, by arithmetic and in the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging, UndecidedError
from farloop.judging.schedule import Need
from farloop.papers.acceltor.common import ACCELTOR, BLOCKING, COLOURS, NEWRENO, day, occupancy, packet, slot, way, week
from farloop.results.tables import Floats
from farloop.units import seconds
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

FLOW = "flow/elephant-tor1-tor2-1"
"""The elephant that is looked at; its day is the first of each week."""

SETTLED = 10
"""Weeks that are not measured: thresholds halve their way down from a first window without bounds."""

QUEUES = 3
"""Of the calendar: K = K1 + 2 with K1 = 1 (§III-C)."""

ACCELERATED, PLAIN = "accelerated, in time", "plain, in time"
PRINTED = ("accelerated", "plain")

TOGETHER, APART = "32 elephants", "32 elephants, a queue for each rack"
"""The same memory for their packets, in three queues and in 49 (§III-D)."""


@dataclass(frozen=True)
class Growth:
    """Growth of a window in a day of `n` round-trip times (§III-C, §III-D).

    Attributes:
        before: Round-trip times before the day for which it is accelerated, m.
        windows: Packets in each round-trip time of the day.
        end: Packets of the window at the end of the day.
    """

    before: int
    windows: tuple[int, ...]
    end: int


def accelerated_growth(n: int) -> Growth:
    """Slow start before the day, up to `2^m`, then a packet in each round-trip time: `m = ceil(log2 n)` (Theorem 1)."""
    m = max(n - 1, 0).bit_length()
    return Growth(m, tuple(2**m + i for i in range(n)), 2**m + n)


def plain_growth(n: int) -> Growth:
    """`x` round-trip times of slow start and `y` of congestion avoidance in the day: `x + y = n`, `2^(x-1) < y <= 2^x` (Eq. 5).

    Raises:
        UndecidedError: there are no such numbers.
    """
    for x in range(1, n):
        y = n - x
        if 2 ** (x - 1) < y <= 2**x:
            return Growth(0, (*(2**i for i in range(x)), *(y + i for i in range(y))), 2 * y)
    raise UndecidedError(f"Eq. 5 has no solution for n = {n}")


def rtts(run: Run) -> int:
    """Round-trip times through the circuit in a day, n."""
    return int(day(run) / seconds(run.scenario["network"]["circuit_rtt"]) + 1e-9)


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """The worked example, as two simulated flows and their switches do it."""
    judging = Judging(comparison, claims["acceltor/fig05"])
    paper = judging.claim.paper
    fast, slow = Need(ACCELERATED, NEWRENO), Need(PLAIN, NEWRENO)

    def doublings(run: Run) -> tuple[float, str]:
        window = day_begins(run)
        return float(int(np.log2(window))), f"the day begins with {window:.3g} packets"

    judging.near("m", f"the accelerated window doubles {paper['m']:g} times before the day", [fast], doublings)

    def measure_growth(run: Run) -> tuple[float, str]:
        return float(int(end_of_day(run))), f"{end_of_day(run):.3g} packets"

    judging.near("accelerated_mss", "the accelerated window at the end of the day", [fast], measure_growth)
    judging.near("plain_mss", "the other one", [slow], measure_growth)

    def ratio(a: Run, b: Run) -> tuple[float, str]:
        sent = packets(a), packets(b)
        return metrics.ratio(*sent), f"{sent[0]:.3g} and {sent[1]:.3g}"

    judging.near("packets_ratio", "packets in a day, one over the other", [fast, slow], ratio)

    def queues(run: Run) -> tuple[bool, str]:
        count = len({name for name in run.queues["queue"].to_pylist() if name.startswith("day")})
        return count == QUEUES, f"{count}"

    judging.order(f"the calendar has {QUEUES} queues", [fast], queues)

    def is_whole(run: Run) -> tuple[bool, str]:
        window = day_begins(run)
        return window >= 2 ** paper["m"], f"{window:.3g} packets"

    def is_less(a: Run, b: Run) -> tuple[bool, str]:
        shares = occupancy(a), occupancy(b)
        return shares[1] < shares[0], f"{shares[0]:.3f} and {shares[1]:.3f}"

    together, apart = Need(TOGETHER, NEWRENO), Need(APART, NEWRENO)
    judging.order(
        "32 elephants begin their day with 8 packets each in queues of 256", [together], is_whole, number=True
    )
    judging.order("the same memory in queues for each rack uses less of the circuits", [together, apart], is_less)
    for run in comparison.runs:
        judging.measure(_numbers, run)
    printed = judging.have([Need(case, NEWRENO) for case in PRINTED])
    if len(printed) == 2:
        judging.measure(
            lambda a, b: {"timeouts as printed: packets_ratio": metrics.ratio(packets(a), packets(b))}, *printed
        )
    return [judging.finding(note=f"the simulated flow from the {SETTLED + 1}th week on")]


def _numbers(run: Run) -> dict[str, float]:
    return {f"{run.case}: window at the end of the day": end_of_day(run), f"{run.case}: packets in a day": packets(run)}


def _weeks(run: Run) -> range:
    numbers = range(SETTLED, int((run.duration - way(run) + 1e-9) / week(run)))
    if not numbers:
        raise UndecidedError(f"ran {run.duration:.3g} s, weeks are measured from the {SETTLED + 1}th on")
    return numbers


def day_begins(run: Run) -> float:
    """The window at the beginning of the day, in packets: the median over weeks."""
    return _window(run, 0.0)


def end_of_day(run: Run) -> float:
    """The window at the end of the day, in packets: the median over weeks."""
    return _window(run, day(run) + way(run))


def _window(run: Run, after: float) -> float:
    times, values = run.samples.get(FLOW, "cwnd")
    moments = [number * week(run) + after for number in _weeks(run)]
    return float(np.median([values[np.searchsorted(times, moment - 1e-9)] for moment in moments]) / packet(run))


def packets(run: Run) -> float:
    """Packets that arrive of what is sent in a day: the median over weeks."""
    times, values = run.samples.get(FLOW, "throughput")
    interval = float(times[0])
    sent = []
    for number in _weeks(run):
        # What is accelerated has arrived before.
        begin = number * week(run) + 1e-9
        inside = (times > begin) & (times <= begin + slot(run))
        sent.append(values[inside].sum() * interval / 8 / packet(run))
    return float(np.median(sent))


def draw(comparison: Comparison) -> dict[str, Figure]:
    """Windows before and in the day, in round-trip times; dots: the arithmetic; dashed: timeouts as printed."""
    figure, axes = grid(1, "Windows of elephants around their day (shaded)")
    axis = axes[0]
    looks = {
        ACCELERATED: (ACCELTOR, "-"),
        PLAIN: (BLOCKING, "-"),
        PRINTED[0]: (ACCELTOR, "--"),
        PRINTED[1]: (BLOCKING, "--"),
    }
    n, before = 8, 3
    for run in comparison.runs:
        if run.case not in looks:
            continue
        n, before = rtts(run), accelerated_growth(rtts(run)).before
        name, style = looks[run.case]
        times, values = _week(run, before + 2)
        label = run.case if run.case in (ACCELERATED, PLAIN) else f"{run.case}, timeouts as printed"
        axis.plot(times, values, style, color=COLOURS[name], linewidth=1.1, label=label)
    for name, growth in ((ACCELTOR, accelerated_growth(n)), (BLOCKING, plain_growth(n))):
        # The window of the last round trip of acceleration waits one more for the day.
        windows = [2**i for i in range(growth.before)] + list(growth.windows)
        at = np.concatenate([np.arange(growth.before) - growth.before - 1, np.arange(n)]) + 0.5
        axis.plot(
            at,
            windows,
            "o",
            color=COLOURS[name],
            markersize=3.5,
            label=f"arithmetic, {'accelerated' if growth.before else 'plain'}",
        )
    axis.axvspan(0, n, color="0.9", zorder=0)
    axis.set_xlabel("round-trip times from the beginning of the day", fontsize=8)
    axis.set_ylabel("window (packets)", fontsize=8)
    axis.set_ylim(bottom=0)
    legend_below(figure, axes)
    return {"fig05": figure}


def _week(run: Run, before: int) -> tuple[Floats, Floats]:
    """The window around the last whole day, times in round-trip times from its beginning."""
    times, values = run.samples.get(FLOW, "cwnd")
    rtt = seconds(run.scenario["network"]["circuit_rtt"])
    begin = (int(run.duration / week(run)) - 1) * week(run)
    inside = (times > begin - before * rtt) & (times <= begin + slot(run))
    return (times[inside] - begin) / rtt, values[inside] / packet(run)
