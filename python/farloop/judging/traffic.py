"""Measurements on the many flows of a workload. Rates in bit/s, times in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from farloop import metrics
from farloop.results.flow_completion import Mask
from farloop.results.flow_samples import aged_times, statistic
from farloop.results.tables import Floats

if TYPE_CHECKING:
    from farloop.results.run import Run

COLUMNS = ("cross_datacenter", "start_ps", "received_ps", "ideal_fct_ps", "size_bytes", "delivered_bytes")
"""Those of a run's flows that are measured here."""

AGE = 0.05
"""From which age on a flow counts, in seconds, of either kind: a round trip of the cross flows. By then the largest flow of the published
distributions has arrived if nothing delayed it (25 ms and 2.4 ms of transmission), and its sender has heard of what it met. A cutoff that
depended on the kind of flow would make a growing backlog look like unfairness."""

LAYERS = {"h": "host", "tor": "ToR", "agg": "aggregation", "core": "core"}
"""Names of the fat-tree's nodes without numbers, and what they are; anything else is outside."""


@dataclass(frozen=True)
class Flows:
    """Columns of a run's flows.

    Attributes:
        cross: True for flows across datacenters.
        start: When it starts.
        received: When its last byte arrives; NaN if it did not finish.
        ideal: The same alone in the empty network.
        size: Payload in bytes.
        delivered: Payload that has arrived in order, in bytes.
        end: When the run ended.
    """

    cross: Mask
    start: Floats
    received: Floats
    ideal: Floats
    size: Floats
    delivered: Floats
    end: float

    @classmethod
    def from_run(cls, run: Run) -> Flows:
        """Those of a run."""
        column = {name: run.flows[name].to_numpy().astype(np.float64) for name in COLUMNS}
        return cls(
            cross=column["cross_datacenter"] > 0,
            start=column["start_ps"] / 1e12,
            received=column["received_ps"] / 1e12,
            ideal=column["ideal_fct_ps"] / 1e12,
            size=column["size_bytes"],
            delivered=column["delivered_bytes"],
            end=run.duration,
        )

    @property
    def counted(self) -> Mask:
        """Flows that are older than [AGE][farloop.judging.traffic.AGE] at the end of the run."""
        return self.start + AGE <= self.end

    def carried_share(self, *, cross: bool) -> float:
        """The part of the generated payload that has arrived, of the counted flows of a kind."""
        chosen = self.counted & (self.cross == cross)
        return metrics.ratio(float(self.delivered[chosen].sum()), float(self.size[chosen].sum()))

    def normalised_ratio(self) -> float:
        """(Intra_thpt/Cross_thpt)/(Intra_gen/Cross_gen) of Gear, ToN 2025, §IV-B1, with aggregated throughputs.

        Throughput is the payload that has arrived by the end, over the run's duration; generated is the payload of the same flows. Only
        flows older than one age count, the same for both kinds: a cross flow that started in the last 25 ms has delivered nothing however
        it shares, and an intra flow of that age would count as if it had.
        """
        return metrics.ratio(self.carried_share(cross=False), self.carried_share(cross=True))

    def flow_level_ratio(self) -> float:
        """The same with each kind's mean over flows of delivered payload over active time.

        Most flows across are shorter than their round trip, so this compares round-trip times rather than shares.
        """
        chosen = self.counted
        rates = self.delivered / np.maximum(aged_times(self.start, self.received, self.end), 1e-12)
        mean = {c: statistic(rates[chosen & (self.cross == c)], "mean") for c in (False, True)}
        generated = {c: float(self.size[chosen & (self.cross == c)].sum()) for c in (False, True)}
        return metrics.ratio(metrics.ratio(mean[False], mean[True]), metrics.ratio(generated[False], generated[True]))

    def throughput(self) -> float:
        """Payload of all flows that has arrived, over the run's duration."""
        return float(self.delivered.sum()) * 8 / self.end

    def backlog(self, *, cross: bool) -> float:
        """Payload of a kind that was generated and has not arrived by the end, in bytes; of all flows, since the young ones queue, too."""
        chosen = (self.start <= self.end) & (self.cross == cross)
        return float((self.size - self.delivered)[chosen].sum())

    def slowdowns(self) -> dict[str, Floats]:
        """Slowdowns of the counted intra flows, "small" and "large": below and above the median of the generated sizes.

        A flow that has not finished counts with its age so far, which is less than its slowdown will be: leaving it out would favour
        whatever finishes the fewest.
        """
        intra = ~self.cross
        median = float(np.median(self.size[intra])) if intra.any() else 0.0
        chosen = intra & self.counted
        slowdown = metrics.slowdown(aged_times(self.start, self.received, self.end), self.ideal)
        return {"small": slowdown[chosen & (self.size <= median)], "large": slowdown[chosen & (self.size > median)]}

    def count_unfinished(self) -> int:
        """Counted intra flows that have not finished by the end."""
        return int((self.counted & ~self.cross & ~(self.received >= 0)).sum())


def slowdown_statistics(slowdowns: Floats) -> dict[str, float]:
    """Average, 95th and 99th percentile; NaN for none."""
    return {"avg": statistic(slowdowns, "mean"), "p95": statistic(slowdowns, "p95"), "p99": statistic(slowdowns, "p99")}


def offered_load(run: Run) -> dict[str, float]:
    """Offered load by layer and direction, such as "aggregation to core": bytes on the wire, ACKs included, over what the links carry.

    Of the flows that begin during the run, by their paths; above 1 no algorithm can keep up, and a queue grows as long as the load lasts.
    """
    asked: dict[str, float] = {}
    carried: dict[str, float] = {}
    ports = run.ports.select(["node", "peer", "rate_bps", "offered_bytes"]).to_pylist()
    for port in ports:
        if port["offered_bytes"] is not None:
            name = f"{node_layer(port['node'])} to {node_layer(port['peer'])}"
            asked[name] = asked.get(name, 0.0) + 8 * port["offered_bytes"]
            carried[name] = carried.get(name, 0.0) + port["rate_bps"] * run.duration
    return {name: metrics.ratio(asked[name], carried[name]) for name in asked if name != "outside to outside"}


def node_layer(node: str) -> str:
    """The layer of a node of a fat-tree by its name, such as "dc0-tor1-2"; hosts and routers of other datacenters are outside."""
    datacenter, _, name = node.partition("-")
    return LAYERS.get(name.rstrip("-0123456789"), "outside") if datacenter == "dc0" else "outside"


def offered_text(runs: Sequence[Run]) -> str:
    """The offered load of the first run, which is everybody's: the same flows under every algorithm."""
    loads = offered_load(runs[0]) if runs else {}
    text = ", ".join(f"{name} {load:.2f}" for name, load in loads.items())
    return f"offered load with framing and ACKs: {text}" if text else ""


def paused_time(run: Run) -> float:
    """Time for which ports were paused by PFC, added over all ports."""
    return float(run.ports["paused_ps"].to_numpy().sum()) / 1e12
