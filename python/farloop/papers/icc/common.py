"""Code that ICC's figures share: names, colours, pauses, completion times. Rates in bit/s, times in seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from farloop import metrics
from farloop.judging.claims import UndecidedError
from farloop.palette import CROSS, INTRA
from farloop.results.flow_samples import aged_times
from farloop.results.tables import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from farloop.results.run import Run

RIVALS = {"dcqcn-2015": "DCQCN", "timely": "TIMELY", "pcn": "PCN"}
"""The paper's rivals of ICC, in its order, and its names of them."""

NAMES = {
    **RIVALS,
    "dcqcn": "DCQCN as in HPCC",
    "icc": "ICC",
    "icc-fair": "ICC, shares",
    "icc-drain": "ICC, drain",
    "icc-printed": "ICC, printed bounds",
}

VARIANTS = ("icc-fair", "icc-drain", "icc-printed")
"""ICC with another increase, or other bounds."""

COLOURS = {
    "dcqcn-2015": INTRA[0],
    "dcqcn": INTRA[3],
    "timely": INTRA[1],
    "pcn": INTRA[2],
    "icc": CROSS[0],
    "icc-fair": CROSS[4],
    "icc-drain": CROSS[1],
    "icc-printed": CROSS[3],
}
"""A colour per algorithm, the same in all figures."""

OWN_MARKS = ", PCN's marks"
"""Suffix of cases in which only PCN's ports mark."""


def case_name(point: str, algorithm: str) -> str:
    """The case in which an algorithm runs at a point."""
    return point + OWN_MARKS if algorithm == "pcn" else point


def paper_name(run: Run) -> str:
    """The paper's name of a run's algorithm."""
    return NAMES.get(run.algorithm, run.algorithm)


def pauses(run: Run) -> int:
    """Pause frames, over all ports."""
    return int(np.sum(run.ports["pauses"].to_numpy()))


def avoided_pauses(own: float, rival: float) -> float:
    """Returns the part of a rival's pauses that another algorithm avoids; negative if it has more.

    Raises:
        UndecidedError: neither pauses.
    """
    if rival == 0:
        if own == 0:
            raise UndecidedError("neither of them pauses")
        return -np.inf
    return 1 - own / rival


def completion(run: Run, prefixes: Sequence[str] = ("",)) -> Floats:
    """Times from start to last byte of the flows whose names begin so; one that has not finished counts with the time that it had.

    Raises:
        UndecidedError: there is no such flow.
    """
    names = run.flows["name"].to_pylist()
    start, received = (run.flows[c].to_numpy().astype(np.float64) for c in ("start_ps", "received_ps"))
    chosen = np.array([name.startswith(tuple(prefixes)) for name in names]) & (start < 1e12 * run.duration)
    if not chosen.any():
        raise UndecidedError("no flow to measure")
    time = aged_times(start, received, 1e12 * run.duration)
    return np.asarray(time[chosen] / 1e12)


def unfinished_text(runs: Sequence[Run]) -> str:
    """Returns the number of unfinished flows at the end, by algorithm, in words."""
    counts: dict[str, int] = {}
    for run in runs:
        begun = run.flows["start_ps"].to_numpy() < 1e12 * run.duration
        left = int(np.count_nonzero(begun & ~(run.flows["received_ps"].to_numpy() >= 0)))
        counts[paper_name(run)] = counts.get(paper_name(run), 0) + left
    counts_text = ", ".join(f"{a} {n}" for a, n in counts.items() if n)
    return f"unfinished at the end, counted with their age: {counts_text or 'none'}"


def paused_time(run: Run) -> float:
    """Seconds for which ports were paused, over all ports."""
    return float(np.sum(run.ports["paused_ps"].to_numpy())) / 1e12


def smooth_throughput(run: Run, flow: str, over: float) -> tuple[Floats, Floats]:
    """Times, and a flow's throughput averaged over the last `over` seconds."""
    times, values = run.samples.get(f"flow/{flow}", "throughput")
    step = float(np.median(np.diff(times)))
    return times, metrics.smooth_values(values, max(1, round(over / step)))


def bars(axis: Axes, table: Mapping[str, Mapping[str, float]], label: str) -> None:
    """Groups of bars, one bar per algorithm."""
    groups = list(next(iter(table.values()))) if table else []
    width = 0.8 / max(1, len(table))
    for i, (algorithm, row) in enumerate(table.items()):
        at = np.arange(len(groups)) + (i - (len(table) - 1) / 2) * width
        axis.bar(
            at, [row[g] for g in groups], width, color=COLOURS.get(algorithm), label=NAMES.get(algorithm, algorithm)
        )
    axis.set_xticks(np.arange(len(groups)), groups)
    axis.set_ylabel(label, fontsize=8)
    axis.tick_params(labelsize=7)
