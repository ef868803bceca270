"""Files of `farloop why`: a page, a picture, and a path over ranks for Perfetto."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from farloop.errors import FarloopError, shown
from farloop.results.why import Explanation
from farloop.results.why_job import JobExplanation


def write_page(asked: Explanation | JobExplanation, path: Path) -> None:
    """Writes a page with the pictures and the table.

    Raises:
        FarloopError: the file cannot be written.
    """
    from farloop.report import where

    _write(path, where.page(asked))


def write_svg(asked: Explanation | JobExplanation, path: Path) -> None:
    """Writes the stacked picture.

    Raises:
        FarloopError: the file cannot be written.
    """
    from farloop.report import where

    _write(path, where.svg(asked))


def write_perfetto(asked: Explanation | JobExplanation, path: Path) -> None:
    """Writes the path of an iteration with a track for each rank, as trace events (JSON), which ui.perfetto.dev opens.

    Raises:
        FarloopError: it is a flow, or the file cannot be written.
    """
    if not isinstance(asked, JobExplanation):
        raise FarloopError("why: --perfetto shows ranks, but this is a flow; expected a job")
    _write(path, json.dumps(trace_events(asked)) + "\n")


def trace_events(asked: JobExplanation) -> dict[str, Any]:
    """The path as trace events: a process for the job, a thread for each rank; times in microseconds."""
    ranks = sorted({step["rank"] for step in asked.steps})
    named = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": asked.title}}]
    named += [{"ph": "M", "name": "thread_name", "pid": 1, "tid": r + 1, "args": {"name": f"rank {r}"}} for r in ranks]
    events: list[dict[str, Any]] = []
    for number, step in enumerate(asked.steps):
        name = step["phase"] if step["to"] is None else f"{step['cause']} to rank {step['to']}"
        events.append(
            {
                "ph": "X",
                "pid": 1,
                "tid": step["rank"] + 1,
                "name": name,
                "cat": step["cause"],
                "ts": step["start_ps"] / 1e6,
                "dur": (step["end_ps"] - step["start_ps"]) / 1e6,
                "args": {"phase": step["phase"], "start_ps": step["start_ps"], "end_ps": step["end_ps"]},
            }
        )
        # An arrow from each step to the next.
        if number + 1 < len(asked.steps):
            after = asked.steps[number + 1]
            flow = {"cat": "path", "name": "path", "id": number + 1, "pid": 1}
            events.append({**flow, "ph": "s", "tid": step["rank"] + 1, "ts": step["start_ps"] / 1e6})
            events.append({**flow, "ph": "f", "bp": "e", "tid": after["rank"] + 1, "ts": after["start_ps"] / 1e6})
    return {"displayTimeUnit": "ns", "traceEvents": [*named, *events]}


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        aside.write_text(text, "utf-8")
        aside.replace(path)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise FarloopError(
            f"{shown(path, 4096)}: {error.strerror or error}; expected a file that can be written"
        ) from None
