"""Agreement between the simulator and a kernel on a scenario."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from farloop import metrics
from farloop.judging.claims import Claim, Finding, Statement
from farloop.results.run import Run
from farloop.results.summary import throughputs
from farloop.results.tables import port_names

SHARES = 0.1
"""A flow's share of the throughput agrees when it is within this part of the simulator's."""

QUEUE = 0.25
"""The same for the mean queue of the simulator's longest."""

FIFTEEN = 15
"""More flows than this are compared as groups: those inside a datacenter and those across."""

_CLAIM = Claim("testbed", "the simulator's shares of throughput and mean queue are the kernel's", {}, {})


def finding(simulated: Run, measured: Sequence[Run]) -> dict[str, Any]:
    """The agreement as a claim: medians of what was measured, with the least and the most, against what was simulated."""
    statements, numbers = [], {}
    for name, value in shares(simulated).items():
        of_runs = [shares(run).get(name, 0.0) for run in measured]
        statements.append(_statement(f"share of {name}", value, of_runs, SHARES))
        numbers[f"share of {name}, simulated and measured"] = [value, statistics.median(of_runs)]
    queue = longest_queue(simulated)
    if queue is not None:
        port, value = queue
        of_runs = [mean_queue(run, port) for run in measured]
        statements.append(_statement(f"mean queue of {port} (B)", value, of_runs, QUEUE))
        numbers[f"mean queue of {port} (B), simulated and measured"] = [value, statistics.median(of_runs)]
    total = [float(run.summary["throughput"] or 0.0) for run in measured]
    numbers["throughput (Mbps), simulated and measured"] = [
        float(simulated.summary["throughput"] or 0.0) / 1e6,
        statistics.median(total) / 1e6,
    ]
    count = f"{len(measured)} measurement{'s' if len(measured) > 1 else ''}"
    return Finding("testbed", statements, numbers, note=f"medians of {count}").row(_CLAIM, "custom")


def shares(run: Run) -> dict[str, float]:
    """The part of all throughput that each flow has; of many flows those inside a datacenter and those across."""
    rates = throughputs(run.flows, run.duration).tolist()
    total = sum(rates)
    names = run.flows["name"].to_pylist()
    if len(names) > FIFTEEN:
        kinds = ["flows across" if c else "flows inside" for c in run.flows["cross_datacenter"].to_pylist()]
        rate_by_name = {
            kind: sum(r for r, k in zip(rates, kinds, strict=True) if k == kind) for kind in dict.fromkeys(kinds)
        }
    else:
        rate_by_name = dict(zip(names, rates, strict=True))
    return {name: metrics.ratio(rate, total) if total else 0.0 for name, rate in rate_by_name.items()}


def longest_queue(run: Run) -> tuple[str, float] | None:
    """The switch's port with the longest mean queue, and that; `None` where no queue was longer than a packet."""
    kinds = run.ports["kind"].to_pylist()
    means = dict(zip(port_names(run.ports), run.ports["mean_queue_bytes"].to_pylist(), strict=True))
    queues = [(mean, port) for (port, mean), kind in zip(means.items(), kinds, strict=True) if kind != "host"]
    mean, port = max(queues, default=(0.0, ""))
    return (port, mean) if mean > 1500 else None


def mean_queue(run: Run, port: str) -> float:
    """The mean queue of a port, in bytes."""
    means = dict(zip(port_names(run.ports), run.ports["mean_queue_bytes"].to_pylist(), strict=True))
    return float(means[port])


def _statement(what: str, simulated: float, values: Sequence[float], tolerance: float) -> Statement:
    middle = statistics.median(values)
    low, high = simulated * (1 - tolerance), simulated * (1 + tolerance)
    spread = f" ({min(values):.4g} to {max(values):.4g})" if len(values) > 1 else ""
    off = f"{100 * (middle / simulated - 1):+.1f} %" if simulated else "no part"
    evidence = f"simulated {simulated:.4g}, measured {middle:.4g}{spread}: {off}"
    return Statement(
        f"{what} within {100 * tolerance:.0f} %",
        low <= middle <= high,
        evidence,
        number=True,
        value=middle,
        accepted=(low, high),
    )
