"""Where the time of training jobs went: stacked bars of computing, communication and waiting by iteration, and by rank of the slowest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from farloop.palette import CROSS, INTRA
from farloop.results.collectives import iterations_by_job
from farloop.results.job_times import PARTS, job_times, times_of_ranks
from farloop.units import time_text
from farloop.views.html import render
from farloop.views.tabular import Table

if TYPE_CHECKING:
    from markupsafe import Markup

    from farloop.results.run import Comparison, Run

COLOURS = dict(zip(PARTS, (INTRA[0], CROSS[1], "#8a949e"), strict=True))

MAX_BARS = 24
"""Bars of a picture; of more iterations or ranks those with the longest times."""

MAX_ROWS = 512
"""Rows of a table."""

ITERATION_HEADER = ["iteration", "time", "computing", "communication", "waiting", "exposed", "last rank"]

RANK_HEADER = ["rank", "host", "computing", "communication", "waiting", "exposed"]

Bar = tuple[str, dict[str, float], float]
"""Name, seconds of each part, and seconds that stand beside it."""


def section(comparison: Comparison) -> Markup:
    """A picture and a table by iteration for each run and job, and by rank for its slowest iteration; nothing without jobs."""
    jobs = [
        _job(run, name, named=len(comparison.runs) > 1)
        for run in comparison.runs
        for name, _ in iterations_by_job(run.iterations)
    ]
    return render("jobs.html.j2", jobs=[job for job in jobs if job], colours=COLOURS)


def _job(run: Run, job: str, *, named: bool) -> dict[str, Any] | None:
    times = job_times(run.iterations, run.ranks, job)
    if times is None:
        return None
    each = [
        (int(number), dict(zip(PARTS, times.parts[:, at].tolist(), strict=True)), float(times.seconds[at]), int(last))
        for at, (number, last) in enumerate(zip(times.iterations, times.last_ranks, strict=True))
    ]
    worst = each[times.slowest]
    ranks = times_of_ranks(run.ranks, job, worst[0])
    title = f"{run.label}: {job}" if named else job
    return {
        "title": title,
        "iterations": _bars(
            [(str(number), parts, seconds) for number, parts, seconds, _ in each],
            f"{title}: what its iterations went into, mean over ranks",
        ),
        "left": max(len(each) - MAX_BARS, 0),
        "worst": worst[0],
        "ranks": _bars(
            [(f"{row['rank']} ({row['host']})", {part: row[part] for part in PARTS}, _total(row)) for row in ranks],
            f"{title}: what iteration {worst[0]} went into by rank",
        ),
        "ranks_left": max(len(ranks) - MAX_BARS, 0),
        "table": Table.from_rows(
            ITERATION_HEADER,
            [
                [str(number), time_text(seconds), *_texts(parts), str(last)]
                for number, parts, seconds, last in each[:MAX_ROWS]
            ],
            style="sorts",
        ),
        "rank_table": Table.from_rows(
            RANK_HEADER, [[str(row["rank"]), str(row["host"]), *_texts(row)] for row in ranks[:MAX_ROWS]], style="sorts"
        ),
        "cut": len(each) > MAX_ROWS or len(ranks) > MAX_ROWS,
    }


def _texts(parts: dict[str, Any]) -> list[str]:
    """The parts, then the share of those without computing."""
    total = _total(parts)
    return [
        *(time_text(parts[part]) for part in PARTS),
        f"{100 * (1 - parts['computing'] / total):.1f} %" if total > 0 else "0 %",
    ]


def _total(parts: dict[str, Any]) -> float:
    return float(sum(parts[part] for part in PARTS))


def _bars(bars: Sequence[Bar], words: str) -> Markup:
    """Stacked bars on one scale; of too many the longest, in their order."""
    chosen = list(bars)
    if len(chosen) > MAX_BARS:
        longest = np.argsort([-_total(parts) for _, parts, _ in bars], kind="stable")[:MAX_BARS]
        chosen = [bars[at] for at in sorted(longest.tolist())]
    widest = max((max(_total(parts), seconds) for _, parts, seconds in chosen), default=0.0) or 1.0
    rows = [
        {
            "name": name,
            "value": time_text(seconds),
            "parts": [
                {
                    "colour": COLOURS[part],
                    "width": f"{100 * parts[part] / widest:.2f}",
                    "words": f"{part}: {time_text(parts[part])}",
                }
                for part in PARTS
            ],
        }
        for name, parts, seconds in chosen
    ]
    return render("job_bars.html.j2", rows=rows, words=words)
