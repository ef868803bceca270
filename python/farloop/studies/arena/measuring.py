"""Measurements of a run in an arena. Rates in bit/s, times in seconds unless a name says otherwise, sizes in bytes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from farloop import metrics
from farloop.results import flow_completion, gears, summary
from farloop.results.collectives import iterations_by_job
from farloop.results.flow_completion import Mask
from farloop.results.flow_samples import statistic
from farloop.results.size_classes import GEMINI
from farloop.results.tables import Floats, port_names
from farloop.studies.arena import switches

if TYPE_CHECKING:
    from farloop.results.run import Run

SIZES = GEMINI
"""Classes of flow sizes."""

ALL = "all"
"""In the name of a class: of every kind, or of every size."""

POINTS = 48
"""Of a small picture's curve."""

ENDLESS, FINITE = "endless", "finite"
"""The traffic of a scenario: with flows that no algorithm could finish, which then are what counts, or without."""

JUDGED_SIZES = ("small", "large")
"""Classes whose 99th percentile counts; of a kind of flow that has neither, the medium ones."""

_STATISTICS = ("mean", "p50", "p99")


@dataclass(frozen=True)
class Measured:
    """Measurements of one run.

    Attributes:
        scenario: The arena's scenario.
        algorithm: The algorithm.
        seed: The seed.
        traffic: "endless" or "finite".
        costs: Costs that users of such a network care for, by name, each as a number of which half is twice as good: the p99 slowdowns
            of small and large flows inside and across, or for endless flows 1 / goodput (s/bit) and 1 / Jain's index.
        values: The measurements, by the names of [CELLS][farloop.results.fields.CELLS].
        rates: Throughput of the recorded flows over time, mean over those of a kind, thinned; by kind.
        queue: Longest queue of the port that `values` names, over time, thinned.
        limits: The time of the flows by what limited them (`farloop.results.limits`).
    """

    scenario: str
    algorithm: str
    seed: int
    traffic: str
    costs: dict[str, float]
    values: dict[str, Any]
    rates: dict[str, Floats] = field(default_factory=dict)
    queue: Floats = field(default_factory=lambda: np.empty(0))
    limits: Sequence[Mapping[str, Any]] = ()

    @property
    def score(self) -> float | None:
        """The geometric mean of the costs, so that each counts the same and less is better; `None` without any.

        Infinite where one is: nothing was delivered.
        """
        if not self.costs:
            return None
        if any(math.isinf(cost) for cost in self.costs.values()):
            return math.inf
        return math.exp(math.fsum(map(math.log, self.costs.values())) / len(self.costs))


def measure_run(run: Run, scenario: str) -> Measured:
    """The measurements of a run."""
    flows, end = run.flows, run.duration
    rates = summary.throughputs(flows, end)
    endless, slowdowns = flow_completion.endless(run), flow_completion.age_slowdowns(run)
    kinds = {kind: flow_completion.is_kind(flows, kind) for kind in flow_completion.KINDS}
    delivered = flow_completion.column(flows, "delivered_bytes")
    began = flow_completion.column(flows, "start_ps") / 1e12 < end
    total = float(delivered.sum())
    values: dict[str, Any] = {
        f"{kind}_throughput_bps": _mean(rates[chosen & began & (endless | ~endless.any())])
        for kind, chosen in kinds.items()
    }
    for start in run.info.get("starts", []):
        values[f"{start['kind']}_first_rtt_bytes"] = float(max(start["first_rtt_bytes"]))
        values[f"{start['kind']}_first_rtt_bdps"] = float(max(start["first_rtt_bdps"]))
    values["slow_start"] = int(any(start["slow_start"] for start in run.info.get("starts", [])))
    values["cross_share"] = float(delivered[kinds["cross"]].sum()) / total if total > 0 else None
    values["jain"] = run.summary["jain"]
    # Flows of different sizes have different rates even where all are treated alike: theirs count relative to what each would get alone.
    for name, shares in (("endless", rates[endless & began]), ("relative", 1 / slowdowns[~np.isnan(slowdowns)])):
        values[f"jain_{name}"] = _finite_or_none(metrics.jain(shares)) if shares.size else None
    classes = _classes(run, slowdowns, kinds)
    for name, of_class in classes.items():
        values |= _distribution(name, of_class)
    unfinished = ~np.isnan(slowdowns) & np.isnan(flow_completion.slowdowns(flows))
    values["unfinished"] = int(np.count_nonzero(unfinished))
    pfc = run.summary["pfc"]
    values["is_steady"] = None if run.steadiness is None else int(run.steadiness.is_steady)
    values |= {"paused_ps": round(pfc["paused"] * 1e12), "pauses": pfc["pauses"], "victims": pfc["victims"]}
    port, queue = _queue(run)
    values |= queue | {"dropped": run.summary["dropped"]}
    if gears.gear_of(run.scenario) == gears.PACKETS:
        values |= switches.measure_switches(run)
    finite = int(np.count_nonzero(~np.isnan(slowdowns)))
    begun_flows = int(np.count_nonzero(began))
    values["unfinished_share"] = values["unfinished"] / finite if finite else None
    # Rates know no victims of pauses.
    values["victim_share"] = None if pfc["victims"] is None else pfc["victims"] / begun_flows if begun_flows else 0.0
    values["iteration_s"], values["iteration_slowdown"] = _iterations(run)
    values["goodput_bps"] = 8 * total / end
    values["longest_rtt_s"] = float(np.nanmax(flow_completion.column(flows, "base_rtt_ps"), initial=0.0)) / 1e12
    each = rates[endless & began]
    values["least_share"] = (
        float(each.min() / each.mean()) if each.size and each.mean() > 0 else 0.0 if each.size else None
    )
    return Measured(
        scenario=scenario,
        algorithm=run.algorithm,
        seed=run.seed,
        traffic=ENDLESS if endless.any() else FINITE,
        costs=_costs_of_endless(each, values) if endless.any() else _costs_of_finite(values),
        values=values,
        rates=_curves(run, kinds),
        queue=_thin_values(run.samples.get(f"port/{port}", "max_queue")[1], np.max) if port else np.empty(0),
        limits=run.info.get("limits", ()),
    )


def _iterations(run: Run) -> tuple[float | None, float | None]:
    """Mean time of an iteration of the training job where it is longest, and the largest mean slowdown over an ideal network.

    Infinite where an iteration is not over; `None` without training jobs.
    """
    times, slowdowns = [], []
    for _, own in iterations_by_job(run.iterations):
        each, ideal = (flow_completion.column(own, f"{what}_ps") / 1e12 for what in ("time", "ideal"))
        is_over = not np.isnan(each).any()
        times.append(float(each.mean()) if is_over else math.inf)
        if not np.isnan(ideal).any():
            slowdowns.append(float((each / ideal).mean()) if is_over else math.inf)
    return max(times, default=None), max(slowdowns, default=None)


def _costs_of_endless(rates: Floats, values: Mapping[str, Any]) -> dict[str, float]:
    total, jain = float(rates.sum()), values["jain_endless"]
    return {"goodput": 1 / total if total > 0 else math.inf, "fairness": 1 / jain if jain else math.inf}


def _costs_of_finite(values: Mapping[str, Any]) -> dict[str, float]:
    costs = {}
    for kind, where in (("intra", "inside"), ("cross", "across")):
        sizes = [size for size in JUDGED_SIZES if values[f"{kind}_{size}_flows"]] or ["medium"]
        for size in sizes:
            if values[f"{kind}_{size}_slowdown_p99"] is not None:
                costs[f"p99 {size} {where}"] = float(values[f"{kind}_{size}_slowdown_p99"])
    return costs


def _classes(run: Run, slowdowns: Floats, kinds: Mapping[str, Mask]) -> dict[str, Floats]:
    """The slowdowns of each kind and class of sizes, and of "all" kinds and sizes."""
    known = ~np.isnan(slowdowns)
    everywhere = np.ones(known.size, dtype=np.bool_)
    sizes = SIZES.masks(flow_completion.column(run.flows, "size_bytes")) | {ALL: everywhere}
    return {
        f"{kind}_{name}": slowdowns[chosen & mask & known]
        for kind, chosen in {**kinds, ALL: everywhere}.items()
        for name, mask in sizes.items()
    }


def _distribution(name: str, slowdowns: Floats) -> dict[str, Any]:
    row: dict[str, Any] = {f"{name}_flows": int(slowdowns.size)}
    for which in _STATISTICS:
        row[f"{name}_slowdown_{which}"] = statistic(slowdowns, which) if slowdowns.size else None
    return row


def _queue(run: Run) -> tuple[str, dict[str, Any]]:
    """The recorded port with the longest mean queue (of all ports, if none is recorded), and what is known of it.

    The name is empty if the port has no samples.
    """
    recorded = [name for name in run.samples.objects("port") if (f"port/{name}", "queue") in run.samples]
    names = port_names(run.ports)
    mean = dict(zip(names, run.ports["mean_queue_bytes"].to_pylist(), strict=True))
    most = dict(zip(names, run.ports["max_queue_bytes"].to_pylist(), strict=True))
    port = max(recorded or names, key=lambda name: mean[name])
    samples = run.samples.get(f"port/{port}", "queue")[1] if recorded else np.empty(0)
    values = {
        "queue_port": port,
        "mean_queue_bytes": float(mean[port]),
        "p99_queue_bytes": float(np.percentile(samples, 99)) if samples.size else None,
        "max_queue_bytes": int(most[port]),
    }
    return port if recorded else "", values


def _curves(run: Run, kinds: Mapping[str, Mask]) -> dict[str, Floats]:
    names = run.flows["name"].to_pylist()
    rates = {}
    for kind, chosen in kinds.items():
        rows = [
            run.samples.get(f"flow/{name}", "throughput")[1]
            for name, is_one in zip(names, chosen.tolist(), strict=True)
            if is_one and (f"flow/{name}", "throughput") in run.samples
        ]
        if rows:
            rates[kind] = _thin_values(np.mean(rows, axis=0), np.mean)
    return rates


def _thin_values(values: Floats, how: Any) -> Floats:
    return metrics.thin_values(np.arange(values.size, dtype=np.float64), values, how, POINTS)[1]


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if values.size else None


def _finite_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
