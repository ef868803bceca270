"""Jobs: the rounds of collective operations (`[[workload]]` with `pattern = "all-reduce"`), and how long each took. Times in seconds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from farloop.results import flow_completion


def jobs(flows: pa.Table, scenario: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Each job by its name: how many `rounds` it has, and how long those took that were finished, in their order (`rounds_s`).

    A round lasts from the first start of a flow to the last byte of all.

    Args:
        flows: The table of flows, whose names tell job and round.
        scenario: The scenario with all keys; jobs without a name are none.
    """
    written = scenario.get("workload", [])
    workloads = written if isinstance(written, list) else [written]
    named = [w for w in workloads if w.get("pattern") == "all-reduce" and w.get("name", "none") != "none"]
    if not named:
        return {}
    prefix = np.array([name.rpartition("-")[0] for name in flows["name"].to_pylist()])
    start, received = (flow_completion.column(flows, f"{what}_ps") / 1e12 for what in ("start", "received"))
    jobs_by_name: dict[str, dict[str, Any]] = {}
    for workload in named:
        times = []
        for number in range(1, int(workload["rounds"]) + 1):
            own = prefix == f"{workload['name']}-{number}"
            if not np.isnan(received[own]).any():
                times.append(float(received[own].max() - start[own].min()))
        jobs_by_name[str(workload["name"])] = {"rounds": int(workload["rounds"]), "rounds_s": times}
    return jobs_by_name
