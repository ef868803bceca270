"""Measurements that the figures share. Rates in bit/s, times in seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from farloop import metrics
from farloop.judging.claims import UndecidedError

if TYPE_CHECKING:
    from farloop.results.run import Comparison, Run


def throughput(run: Run, flow: str, start: float = 0.0, end: float = np.inf) -> float:
    """Mean throughput of a flow over (start, end]."""
    return metrics.mean(*run.samples.get(f"flow/{flow}", "throughput"), start, end)


def ratio(run: Run, start: float | None = None, end: float = np.inf) -> float:
    """Throughput of the intra- over that of the cross-datacenter flow, over (start, end]; by default from when both have started."""
    since = common_start(run) if start is None else start
    return metrics.ratio(throughput(run, "intra", since, end), throughput(run, "cross", since, end))


def common_start(run: Run) -> float:
    """When the later one of the two flows starts."""
    starts = zip(run.flows["name"].to_pylist(), run.flows["start_ps"].to_pylist(), strict=True)
    return float(max(ps for name, ps in starts if name in ("intra", "cross"))) / 1e12


def shares(run: Run, flows: Iterable[str], start: float = 0.0, end: float = np.inf) -> dict[str, float]:
    """Each flow's part of their common throughput over (start, end]."""
    rates = {f: throughput(run, f, start, end) for f in flows}
    total = sum(rates.values())
    return {f: r / total if total > 0 else float("nan") for f, r in rates.items()}


def balance_time(run: Run, *, low: float, high: float, over: float) -> float:
    """When the ratio intra/cross (rates averaged over the last `over` seconds) has entered [low, high] for good."""
    times, intra = run.samples.get("flow/intra", "throughput")
    _, cross = run.samples.get("flow/cross", "throughput")
    return metrics.convergence_time(times, intra, cross, low=low, high=high, over=over)


def require_duration(run: Run, seconds: float) -> Run:
    """The run, if it goes on for so long.

    Raises:
        UndecidedError: it ends before.
    """
    if run.duration < seconds - 1e-9:
        raise UndecidedError(f"needs {seconds:g} s, ran {run.duration:.3g} s")
    return run


def completion_times(run: Run) -> np.ndarray:
    """Completion times of all flows in seconds, from a flow's start to the acknowledgement of its last byte.

    Raises:
        UndecidedError: a flow is not over.
    """
    starts, ends = run.flows["start_ps"], run.flows["finish_ps"]
    if ends.null_count:
        raise UndecidedError(f"{ends.null_count} of {len(ends)} flows are not over")
    times: np.ndarray = (ends.to_numpy() - starts.to_numpy()) / 1e12
    return times


def select_runs(comparison: Comparison, algorithm: str, case: str | None = None) -> list[Run]:
    """The runs of an algorithm, of one case or of all."""
    return [r for r in comparison.runs if r.algorithm == algorithm and (case is None or r.case == case)]


def group_by_algorithm(comparison: Comparison) -> dict[str, list[Run]]:
    """All runs, by algorithm, in the order of the comparison."""
    groups: dict[str, list[Run]] = {}
    for run in comparison.runs:
        groups.setdefault(run.algorithm, []).append(run)
    return groups


def spread(runs: Iterable[Run], measure: Callable[[Run], float]) -> tuple[float, float, float]:
    """Mean, least and largest of a measurement over runs."""
    values = [measure(run) for run in runs]
    return float(np.mean(values)), min(values), max(values)
