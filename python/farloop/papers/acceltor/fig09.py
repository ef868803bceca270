"""AccelToR, Figs. 9 to 12: elephants' throughput and estimated completion times, their windows over a day, completion times of mice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Judging, UndecidedError
from farloop.judging.schedule import Need
from farloop.papers.acceltor.common import (
    ACCELTOR,
    BLOCKING,
    COLOURS,
    LONG,
    SCHEDULES,
    UNBLOCKING,
    cumulative,
    drop_short_runs,
    measured_part,
    mice,
    numbers,
    scheduled_cases,
    silent_share,
    weekly,
    windows,
)
from farloop.results.tables import Floats
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

TOP = ((0.90, 5e6), (0.97, 10e6), (1.0, 30e6))
"""The upper tenth of WebSearch's sizes, in bytes by cumulative probability (DCTCP, SIGCOMM 2010)."""

DRAWN = 200
"""Sizes that stand for the "top-200 largest flows"."""

FAR = 0.5
"""AccelToR's elephants take at most this part of a rival's time: far shorter."""

AS_RUN = ", as the authors ran it"
"""Suffix of cases with the settings of the published simulation; no claim judges them."""

OVERLAP = 0.1
"""The largest distance of two distribution functions that basically overlap (Kolmogorov and Smirnov's)."""


def judge(comparison: Comparison, claims: Mapping[str, Claim]) -> list[Finding]:
    """The distribution of weekly throughput; completion times of elephants, windows, and mice."""
    all_needs = {name: scheduled_cases(comparison, name) for name in SCHEDULES}
    needs = {name: n for name, every in all_needs.items() for n in every if not n.case.endswith(AS_RUN)}
    return [
        _throughput(Judging(comparison, claims["acceltor/fig09"]), needs),
        _times(Judging(comparison, claims["acceltor/fig10-12"]), needs),
    ]


def _throughput(judging: Judging, needs: Mapping[str, Need]) -> Finding:
    own, rival = needs[ACCELTOR], needs[UNBLOCKING]
    for key, text, percent in (("low_mbps", "10th", 10), ("high_mbps", "90th", 90)):

        def edge(run: Run, percent: int = percent) -> float:
            return float(np.percentile(elephant_rates(run), percent)) / 1e6

        judging.near(key, f"AccelToR: {text} percentile of weekly throughput (Mbps)", [own], edge)
    judging.near(
        "unblocking_max_mbps",
        "Unblocking: the largest weekly throughput (Mbps)",
        [rival],
        lambda run: float(elephant_rates(run).max()) / 1e6,
    )

    def some_starve(run: Run) -> tuple[bool, str]:
        least = float(elephant_rates(run).min()) / 1e6
        return least < 1, f"least {least:.3g} Mbps"

    def wider(a: Run, b: Run) -> tuple[bool, str]:
        spans = [width(elephant_rates(run)) for run in (a, b)]
        return spans[0] < spans[1], f"p90 - p10 over the mean: {spans[0]:.2f} and {spans[1]:.2f}"

    def is_above(a: Run, b: Run) -> tuple[bool, str]:
        middle = [float(np.median(elephant_rates(run))) / 1e6 for run in (a, b)]
        return middle[0] > middle[1], f"medians {middle[0]:.3g} and {middle[1]:.3g} Mbps"

    judging.order("Unblocking: some elephants get next to nothing", [rival], some_starve)
    for name in (BLOCKING, UNBLOCKING):
        judging.order(f"AccelToR's throughput varies less than {name}'s", [own, needs[name]], wider)
        judging.order(f"AccelToR's elephants get more than {name}'s", [own, needs[name]], is_above)
    for run in judging.have(list(needs.values())):
        judging.measure(numbers, run)
    for run in (r for r in judging.comparison.runs if r.case.endswith(AS_RUN)):
        judging.measure(numbers, run)
        judging.measure(lambda r: {f"{r.case}: window at the beginning of the day (packets)": first_window(r)}, run)
    return judging.finding(note=measured_part(judging.have(list(needs.values()))))


def elephant_rates(run: Run) -> Floats:
    """Throughput of each recorded elephant over all weeks that are measured."""
    return np.asarray(weekly(run).mean(axis=1))


def width(values: Floats) -> float:
    """The range of all but the highest and lowest tenths, over the mean."""
    low, high = np.percentile(values, [10, 90])
    return metrics.ratio(float(high - low), float(values.mean()))


def estimate_throughput(run: Run) -> Floats:
    """Completion times that sizes of large flows have at the throughput of each recorded elephant; infinite without any."""
    sizes = np.interp(0.9 + 0.1 * (np.arange(DRAWN) + 0.5) / DRAWN, [p for p, _ in TOP], [size for _, size in TOP])
    with np.errstate(divide="ignore"):
        return np.asarray((8 * sizes[None, :] / elephant_rates(run)[:, None]).ravel())


def _times(judging: Judging, needs: Mapping[str, Need]) -> Finding:
    own = needs[ACCELTOR]
    for name in (BLOCKING, UNBLOCKING):

        def shorter(a: Run, b: Run) -> tuple[bool, str]:
            middle = [float(np.median(estimate_throughput(run))) for run in (a, b)]
            return middle[0] <= FAR * middle[1], f"medians {middle[0]:.3g} and {middle[1]:.3g} s, at most {FAR:g} times"

        judging.order(f"elephants complete far sooner than under {name}", [own, needs[name]], shorter)
    judging.near("acceltor_mss", "AccelToR: window at the beginning of the day (packets)", [own], first_window)
    judging.near("blocking_mss", "Blocking: the same", [needs[BLOCKING]], first_window)
    judging.near(
        "blocking_silent", "Blocking: elephants that send nothing in their day", [needs[BLOCKING]], silent_share
    )

    def grows(run: Run) -> tuple[bool, str]:
        _, packets = windows(run)
        return packets[-1] > packets[0], f"from {packets[0]:.3g} to {packets[-1]:.3g}"

    def larger(a: Run, b: Run) -> tuple[bool, str]:
        both = [first_window(run) for run in (a, b)]
        return both[0] > both[1], f"{both[0]:.3g} and {both[1]:.3g}"

    def overlaps(a: Run, b: Run) -> tuple[bool, str]:
        apart = distance(mice(a), mice(b))
        return apart <= OVERLAP, f"at most {apart:.3f} apart, from {OVERLAP:g}"

    def longer(a: Run, b: Run) -> tuple[bool, str]:
        means = [float(mice(run).mean()) for run in (a, b)]
        return means[1] > means[0], f"means {means[0]:.3g} and {means[1]:.3g}"

    judging.order("AccelToR: the window grows over the day", [own], grows)
    judging.order("the window begins larger than Blocking's", [own, needs[BLOCKING]], larger)
    judging.order("the mice's distribution overlaps Blocking's", [own, needs[BLOCKING]], overlaps)
    judging.order("mice take longer under Unblocking", [own, needs[UNBLOCKING]], longer)
    for run in judging.have(list(needs.values())):
        judging.measure(
            lambda r: {f"{r.case}: median estimated FCT (s)": float(np.median(estimate_throughput(r)))}, run
        )
    return judging.finding(note=measured_part(judging.have(list(needs.values()))))


def first_window(run: Run) -> float:
    """The recorded elephants' mean window at the beginning of their day, in packets."""
    return float(windows(run)[1][0])


def distance(first: Floats, second: Floats) -> float:
    """The largest distance between two samples' distribution functions."""
    at = np.sort(np.concatenate([first, second]))
    shares = [np.searchsorted(np.sort(values), at, side="right") / values.size for values in (first, second)]
    return float(np.abs(shares[0] - shares[1]).max())


def draw(comparison: Comparison) -> dict[str, Figure]:
    """The paper's four figures, one panel each; the inset of Fig. 12 is a panel of its own."""
    runs = drop_short_runs(comparison.runs)
    return {
        "fig09": _distributions(
            runs, elephant_rates, 1e6, "Weekly throughput of elephants", "weekly throughput (Mbps)"
        ),
        "fig10": _distributions(
            runs, estimate_throughput, 1.0, "Estimated completion times of elephants", "FCT (s)", log=True
        ),
        "fig11": _windows(runs),
        "fig12": _mice(runs),
    }


def _line_style(run: Run) -> dict[str, Any]:
    """Colour and name of a run's line, dashed as the authors ran it."""
    style = "--" if run.case.endswith(AS_RUN) else "-"
    label = run.case.removesuffix(LONG)
    return {"linewidth": 1.1, "color": COLOURS.get(label.partition(",")[0]), "linestyle": style, "label": label}


def _curves(axis: Axes, runs: Sequence[Run], measure: Callable[[Run], Floats], unit: float) -> None:
    for run in runs:
        try:
            values, share = cumulative(measure(run) / unit)
        except UndecidedError:  # too short for that
            continue
        axis.step(values, share, where="post", **_line_style(run))
    axis.set_ylim(0, 1.02)
    axis.set_ylabel("cumulative share", fontsize=8)


def _distributions(
    runs: Sequence[Run], measure: Callable[[Run], Floats], unit: float, title: str, label: str, *, log: bool = False
) -> Figure:
    figure, axes = grid(1, title)
    _curves(axes[0], runs, measure, unit)
    axes[0].set_xlabel(label, fontsize=8)
    if log:
        axes[0].set_xscale("log")
    else:
        axes[0].set_xlim(left=0)
    legend_below(figure, axes)
    return figure


def _windows(runs: Sequence[Run]) -> Figure:
    figure, axes = grid(1, "Windows over the day, mean over elephants")
    for run in runs:
        try:
            times, packets = windows(run)
        except UndecidedError:
            continue
        axes[0].plot(1e6 * times, packets, marker=".", **_line_style(run))
    axes[0].set_xlabel("time from the beginning of the day (us)", fontsize=8)
    axes[0].set_ylabel("window (packets)", fontsize=8)
    axes[0].set_ylim(bottom=0)
    legend_below(figure, axes)
    return figure


def _mice(runs: Sequence[Run]) -> Figure:
    figure, axes = grid(2, "Completion times of mice; right: without Unblocking", columns=2, shared=False)
    _curves(axes[0], runs, mice, 1.0)
    axes[0].set_xscale("log")
    _curves(axes[1], [run for run in runs if not run.case.startswith(UNBLOCKING)], mice, 1.0)
    axes[1].set_xlim(0, 10)
    for axis in axes:
        axis.set_xlabel("normalised FCT", fontsize=8)
    legend_below(figure, axes)
    return figure
