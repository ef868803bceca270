"""Jobs: rounds of collective operations (`[[workload]]` with `pattern = "all-reduce"`) and iterations of `[[job]]`. Times in seconds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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


def summarise_jobs(iterations: pa.Table) -> dict[str, dict[str, Any]]:
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


def time_of_jobs(flows: pa.Table, iterations: pa.Table, end: float) -> tuple[float, float] | None:
    """From when to when the jobs of a run without flows ran, in seconds; `None` where flows ran as well, or no job.

    Args:
        flows: The table of flows.
        iterations: The table of iterations.
        end: When the run ended, in seconds: so long jobs ran that were not over.
    """
    if flows.num_rows or not iterations.num_rows:
        return None
    begin, over = (flow_completion.column(iterations, f"{what}_ps") / 1e12 for what in ("begin", "end"))
    until = end if np.isnan(over).any() else float(over.max())
    return min(float(np.nanmin(begin)), until), until


def expected_time(iterations: pa.Table, end: float) -> tuple[float, float] | None:
    """The same before a run: as long as the iterations take on an ideal network; `None` where that time is not known.

    Args:
        iterations: The table of iterations, of which none has begun.
        end: When the run is to end, in seconds.
    """
    begins, ends = [], []
    for _, own in iterations_by_job(iterations):
        first = own.select(["begin_ps", "ideal_ps"]).slice(0, 1).to_pylist()[0]
        if first["begin_ps"] is None or first["ideal_ps"] is None:
            return None
        begins.append(first["begin_ps"] / 1e12)
        ends.append((first["begin_ps"] + first["ideal_ps"] * own.num_rows) / 1e12)
    return (min(begins), min(end, max(ends))) if begins else None


def expected_iterations(iterations: pa.Table, carried: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Returns the expected times and bytes of an iteration of each `[[job]]`, known before a run, by the job's name.

    `ideal_s` is its time on an ideal network and `ideal_unscaled_s` that with all bytes, `bytes_across` the bytes of messages from one
    datacenter to another one, `base_rtt_s` the least and the largest round-trip time of its messages in an empty network.

    Args:
        iterations: The table of iterations.
        carried: The rows of the jobs, as the facts of a run have them.
    """
    sent = {str(job["name"]): job for job in carried}
    return {
        name: {key: job[key] for key in ("ideal_s", "scale", "ideal_unscaled_s")}
        | {key: sent[name][key] for key in ("bytes_across", "base_rtt_s")}
        for name, job in summarise_jobs(iterations).items()
    }


def iterations_by_job(iterations: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """The name of each `[[job]]` with its rows, in the order of their first ones: a million iterations are no million objects.

    Args:
        iterations: The table of iterations.
    """
    for name in pc.unique(iterations["job"]).to_pylist():
        yield str(name), iterations.filter(pc.equal(iterations["job"].cast(pa.string()), name))
