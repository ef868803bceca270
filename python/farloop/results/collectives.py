"""Jobs: rounds of collective operations (`[[workload]]` with `pattern = "all-reduce"`) and iterations of `[[job]]`. Times in seconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from farloop.results import flow_completion


def jobs(flows: pa.Table, scenario: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Each job by its name: how many `rounds` it has, and how long those took that were finished, in their order (`rounds_s`).

    A round lasts from the first start of a flow to the last byte of all.

    Args:
        flows: The table of flows, whose names tell job and round.
        scenario: The scenario with all keys. Those without a name are called all-reduce-1, all-reduce-2, … by their position.
    """
    written = scenario.get("workload", [])
    workloads = written if isinstance(written, list) else [written]
    reduced = [w for w in workloads if w.get("pattern") == "all-reduce"]
    if not reduced:
        return {}
    prefix = np.array([name.rpartition("-")[0] for name in flows["name"].to_pylist()])
    start, received = (flow_completion.column(flows, f"{what}_ps") / 1e12 for what in ("start", "received"))
    jobs_by_name: dict[str, dict[str, Any]] = {}
    for position, workload in enumerate(reduced, start=1):
        written_name = str(workload.get("name", "none"))
        own_name = f"all-reduce-{position}" if written_name == "none" else written_name
        times = []
        for number in range(1, int(workload["rounds"]) + 1):
            own = prefix == f"{own_name}-{number}"
            if own.any() and not np.isnan(received[own]).any():
                times.append(float(received[own].max() - start[own].min()))
        jobs_by_name[own_name] = {"rounds": int(workload["rounds"]), "rounds_s": times}
    return jobs_by_name


def trained(iterations: pa.Table) -> dict[str, dict[str, Any]]:
    """Each `[[job]]` by its name, as `jobs` has those of workloads: a round is an iteration.

    `ideal_s` is the time of an iteration on an ideal network, or `None`. `scale` is what its bytes are divided by, and
    `ideal_unscaled_s` the ideal time with all bytes, at scale 1: what divided bytes make of the network's share.

    Args:
        iterations: The table of iterations.
    """
    jobs_by_name: dict[str, dict[str, Any]] = {}
    for name, own in iterations_by_job(iterations):
        # All rows of a job have the same values here.
        first = own.select(["ideal_ps", "scale", "ideal_unscaled_ps"]).slice(0, 1).to_pylist()[0]
        ideal, unscaled = (
            None if first[name] is None else first[name] / 1e12 for name in ("ideal_ps", "ideal_unscaled_ps")
        )
        jobs_by_name[name] = {
            "rounds": own.num_rows,
            "rounds_s": (own["time_ps"].drop_null().to_numpy() / 1e12).tolist(),
            "ideal_s": ideal,
            "scale": first["scale"],
            "ideal_unscaled_s": unscaled,
        }
    return jobs_by_name


def iterations_by_job(iterations: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """The name of each `[[job]]` with its rows, in the order of their first ones: a million iterations are no million objects.

    Args:
        iterations: The table of iterations.
    """
    for name in pc.unique(iterations["job"]).to_pylist():
        yield str(name), iterations.filter(pc.equal(iterations["job"].cast(pa.string()), name))
