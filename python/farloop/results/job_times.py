"""Where the time of training jobs goes: how long their ranks compute, wait for messages on their way, and wait for others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from farloop.results import flow_completion
from farloop.results.tables import Floats

PARTS = ("computing", "communication", "waiting")
"""Parts of a rank's time; docs/jobs.md defines each. The last two are exposed: the rank does not compute."""


@dataclass(frozen=True)
class JobTimes:
    """The finished iterations of a job.

    Attributes:
        iterations: Their numbers, from 1.
        seconds: Duration of each.
        parts: For each of the `PARTS` a row, for each iteration the mean over ranks, in seconds.
        last_ranks: The rank that was over last in each.
    """

    iterations: npt.NDArray[np.int64]
    seconds: Floats
    parts: Floats
    last_ranks: npt.NDArray[np.int64]

    @property
    def shares(self) -> Floats:
        """Each of the `PARTS` over all of them, of all ranks and iterations together."""
        sums: Floats = self.parts.sum(axis=1)
        return sums / max(float(sums.sum()), 1e-15)

    @property
    def exposed_share(self) -> float:
        """The part of the time in which a rank does not compute."""
        return 1.0 - float(self.shares[0])

    @property
    def slowest(self) -> int:
        """The place of the iteration that took longest, of several the first."""
        return int(np.argmax(self.seconds))


def job_times(iterations: pa.Table, ranks: pa.Table, job: str) -> JobTimes | None:
    """Where the time of a job went; `None` where no iteration is over, or a result has no ranks.

    Args:
        iterations: The table of iterations.
        ranks: The table of ranks.
        job: The name of the job.
    """
    rounds, own = _rows_of_job(iterations, job), _rows_of_job(ranks, job)
    times = flow_completion.column(rounds, "time_ps") / 1e12
    known = ~np.isnan(times)
    numbers = rounds["iteration"].to_numpy()[known]
    if not numbers.size or not own.num_rows:
        return None
    of = own["iteration"].to_numpy()
    counts = np.bincount(of, minlength=int(numbers.max()) + 1)[numbers]
    parts = np.array([_sums(own, part, of, numbers) for part in PARTS]) / np.maximum(counts, 1)
    ends, rank = own["end_ps"].to_numpy(), own["rank"].to_numpy()
    # By iteration, then by end, then the least rank last: the last row of each iteration is the one.
    order = np.lexsort((-rank.astype(np.int64), ends, of))
    last = order[np.searchsorted(of[order], numbers, side="right") - 1]
    return JobTimes(numbers.astype(np.int64), times[known], parts, rank[last].astype(np.int64))


def times_of_ranks(ranks: pa.Table, job: str, iteration: int) -> list[dict[str, Any]]:
    """The ranks of a job in an iteration: `rank`, `host`, and seconds of each of the `PARTS`."""
    own = _rows_of_job(ranks, job)
    rows = own.filter(pc.equal(own["iteration"], iteration)).to_pylist()
    return [
        {"rank": row["rank"], "host": row["host"], **{part: row[f"{part}_ps"] / 1e12 for part in PARTS}} for row in rows
    ]


def facts(iterations: pa.Table, ranks: pa.Table, info: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns the entries of a summary for each job, apart from its rounds.

    `shares` has the parts of the ranks' time, `exposed_share` that without computing, `bytes_across` the bytes of an iteration that go from
    one datacenter to another one; `None` where a result does not say.
    """
    sent = {str(job["name"]): job for job in info.get("jobs", [])}
    made: dict[str, dict[str, Any]] = {}
    for name in pc.unique(iterations["job"]).to_pylist():
        times = job_times(iterations, ranks, name)
        made[str(name)] = {
            "shares": None if times is None else dict(zip(PARTS, times.shares.tolist(), strict=True)),
            "exposed_share": None if times is None else times.exposed_share,
            "bytes_across": sent.get(str(name), {}).get("bytes_across"),
        }
    return made


def _rows_of_job(table: pa.Table, job: str) -> pa.Table:
    return table.filter(pc.equal(table["job"].cast(pa.string()), job))


def _sums(ranks: pa.Table, part: str, of: npt.NDArray[np.int64], numbers: npt.NDArray[np.int64]) -> Floats:
    """Seconds of a part by iteration, added over ranks."""
    seconds = ranks[f"{part}_ps"].to_numpy() / 1e12
    sums: Floats = np.bincount(of, weights=seconds, minlength=int(numbers.max()) + 1).astype(np.float64)
    return sums[numbers]
