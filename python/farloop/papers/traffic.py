"""Measurements on the many flows of a workload. Rates in bit/s, times in seconds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from farloop import metrics
from farloop.results import Run

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Flows:
    """Columns of a run's flows.

    Attributes:
        cross: Whether a flow goes across datacenters.
        start: When it starts.
        completion: From its start to its last byte's arrival; negative if it did not finish.
        ideal: The same alone in the empty network.
        size: Payload in bytes.
        delivered: Payload that has arrived in order, in bytes.
        end: When the run ended.
    """

    cross: Mask
    start: Floats
    completion: Floats
    ideal: Floats
    size: Floats
    delivered: Floats
    end: float

    @classmethod
    def of(cls, run: Run) -> Flows:
        """Those of a run."""
        names = ("cross_datacenter", "start_ps", "received_ps", "ideal_fct_ps", "size_bytes", "delivered_bytes")
        column = {name: run.flows[name].to_numpy().astype(np.float64) for name in names}
        start, received = column["start_ps"] / 1e12, column["received_ps"] / 1e12
        return cls(
            cross=column["cross_datacenter"] > 0,
            start=start,
            completion=np.where(received >= 0, received - start, -1.0),
            ideal=column["ideal_fct_ps"] / 1e12,
            size=column["size_bytes"],
            delivered=column["delivered_bytes"],
            end=run.duration,
        )

    @property
    def possible(self) -> Mask:
        """Flows that could have finished before the end of the run, alone in the empty network."""
        return self.start + self.ideal <= self.end

    def carried(self, *, cross: bool) -> float:
        """The part of the generated payload that has arrived, of the possible flows of a kind."""
        chosen = self.possible & (self.cross == cross)
        return metrics.ratio(float(self.delivered[chosen].sum()), float(self.size[chosen].sum()))

    def normalised_ratio(self) -> float:
        """(Intra_thpt/Cross_thpt)/(Intra_gen/Cross_gen) of Gear, ToN 2025, §IV-B1, with aggregated throughputs.

        Throughput is the payload that has arrived by the end, over the run's duration; generated is the payload of the same flows. Only
        flows that could have finished count: a cross flow that started in the last 25 ms has delivered nothing however it shares.
        """
        return metrics.ratio(self.carried(cross=False), self.carried(cross=True))

    def flow_level_ratio(self) -> float:
        """The same with each kind's mean over flows of delivered payload over active time.

        Most flows across are shorter than their round trip, so this compares round-trip times rather than shares.
        """
        chosen = self.possible
        active = np.where(self.completion >= 0, self.completion, self.end - self.start)
        rates = self.delivered / np.maximum(active, 1e-12)
        mean = {c: _mean(rates[chosen & (self.cross == c)]) for c in (False, True)}
        generated = {c: float(self.size[chosen & (self.cross == c)].sum()) for c in (False, True)}
        return metrics.ratio(metrics.ratio(mean[False], mean[True]), metrics.ratio(generated[False], generated[True]))

    def throughput(self) -> float:
        """Payload of all flows that has arrived, over the run's duration."""
        return float(self.delivered.sum()) * 8 / self.end

    def slowdowns(self) -> dict[str, Floats]:
        """Slowdowns of the finished intra flows, "small" and "large": below and above the median of the generated sizes."""
        intra = ~self.cross
        median = float(np.median(self.size[intra])) if intra.any() else 0.0
        finished = intra & (self.completion >= 0)
        slowdown = metrics.slowdown(self.completion, self.ideal)
        return {
            "small": slowdown[finished & (self.size <= median)],
            "large": slowdown[finished & (self.size > median)],
        }

    def unfinished(self) -> int:
        """Intra flows that have not finished by the end."""
        return int((~self.cross & (self.completion < 0)).sum())


def statistics(slowdowns: Floats) -> dict[str, float]:
    """Average, 95th and 99th percentile; NaN for none."""
    if not slowdowns.size:
        return dict.fromkeys(("avg", "p95", "p99"), float("nan"))
    p95, p99 = np.percentile(slowdowns, [95, 99])
    return {"avg": float(slowdowns.mean()), "p95": float(p95), "p99": float(p99)}


def paused(run: Run) -> float:
    """Time for which ports were paused by PFC, added over all ports."""
    return float(run.ports["paused_ps"].to_numpy().sum()) / 1e12


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else float("nan")
