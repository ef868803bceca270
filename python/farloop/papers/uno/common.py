"""Measurements of Uno's figures with realistic traffic: completion times and slowdowns of all flows, as in the artifact's scripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from farloop.judging.claims import read_claims
from farloop.judging.measure import completion_times
from farloop.judging.schedule import Need, own_scenario
from farloop.palette import CROSS
from farloop.results.flow_samples import statistic
from farloop.views.figures.panels import grid, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farloop.results.run import Comparison, Run

WAYS = ("uno, one path", "uno", "gemini")
"""Control law and paths of packets: one path for each flow (the artifact's Uno+ECMP), or several; GEMINI's flows have one."""

RIVALS = "mprdma, bbr"
"""MPRDMA inside datacenters and BBR across, with one path for each flow; its numbers are a claim of their own."""

ALGORITHM = {
    "uno, one path": "uno-slow",
    "uno": "uno-slow",
    "gemini": "uno-gemini",
    RIVALS: "uno-mprdma/uno-bbr",
}

BASE_RTT = 14e-6
"""Inside a datacenter; the artifact takes this for all of its flows, and as many times of it for the others as the figure says."""

RATE = 100e9
"""Of a host's link, in bit/s."""

Cells = Mapping[str, Sequence[tuple[str, Need]]]


def kind(run: Run, which: str) -> np.ndarray:
    """Returns a mask of the flows of a kind: "all", "intra" or "inter"."""
    across = run.flows["cross_datacenter"].to_numpy().astype(bool)
    chosen: np.ndarray = {"all": np.ones_like(across), "intra": ~across, "inter": across}[which]
    return chosen


def times(run: Run, which: str = "all") -> np.ndarray:
    """Completion times of the flows of a kind in seconds.

    Raises:
        UndecidedError: a flow is not over.
    """
    taken: np.ndarray = completion_times(run)[kind(run, which)]
    return taken


def slowdowns(run: Run, ratio: int) -> np.ndarray:
    """Completion times of all flows over a base round-trip time and the time that their bytes take at line rate, at least 1.

    That is what the artifact prints (`lcp/scripts/plot_script_micro.py`, `print_fct_info`); `run.slowdown` counts headers as well.

    Args:
        run: The run.
        ratio: Base round-trip time across over that inside.

    Raises:
        UndecidedError: a flow is not over.
    """
    base = np.where(kind(run, "inter"), ratio * BASE_RTT, BASE_RTT)
    ideal = base + 8 * run.flows["size_bytes"].to_numpy() / RATE
    slow: np.ndarray = np.maximum(1.0, completion_times(run) / ideal)
    return slow


def mean(values: np.ndarray) -> float:
    """The mean, as a plain number."""
    return statistic(values, "mean")


def p99(values: np.ndarray) -> float:
    """The 99th percentile."""
    return statistic(values, "p99")


def make_below_test(
    measured: Callable[[Run], float], style: str = ".3g", unit: str = ""
) -> Callable[[Run, Run], tuple[bool, str]]:
    """Returns a test that a number of the first run is below that of the second, with both as evidence in this format and unit."""

    def decide(own: Run, other: Run) -> tuple[bool, str]:
        first, second = measured(own), measured(other)
        return first < second, f"{first:{style}}{unit} against {second:{style}}{unit}"

    return decide


def bars(comparison: Comparison, measured: Mapping[str, float], title: str, unit: str, panels: Cells) -> Figure:
    """Numbers as bars beside those of the artifact.

    Args:
        comparison: The runs, of all seeds.
        measured: By the name of a number in the claim, the mean over the runs.
        title: Of the picture.
        unit: Unit of the numbers.
        panels: By title, what each has: the name of the number in the claim, and its run.
    """
    own = own_scenario(comparison.figure)
    published = {k: v for claim in read_claims(own.parsed if own else {}) for k, v in claim.paper.items()}
    figure, axes = grid(len(panels), title, columns=2, shared=False)
    for axis, (caption, rows) in zip(axes, panels.items(), strict=True):
        for place, (name, _) in enumerate(rows):
            for shift, value, colour, label in (
                (-0.2, measured.get(name, np.nan), CROSS[0], "farloop"),
                (0.2, published.get(name, np.nan), "0.6", "artifact"),
            ):
                axis.bar(place + shift, value, 0.38, color=colour, label=label if place == 0 else None)
        axis.set_title(caption, fontsize=8)
        axis.set_xticks(range(len(rows)), [need.case for _, need in rows], fontsize=6, rotation=60, ha="right")
        axis.tick_params(axis="y", labelsize=7)
        axis.yaxis.set_major_formatter("{x:,g}")
        axis.set_ylabel(unit, fontsize=8)
    legend_below(figure, axes)
    return figure
