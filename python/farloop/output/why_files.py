"""Files of `farloop why`: a page, a picture, and a path over ranks for Perfetto."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from farloop.errors import FarloopError
from farloop.results.why import Explanation
from farloop.results.why_job import JobExplanation
from farloop.safe_files.named_files import NamedFiles


def write(
    explanation: Explanation | JobExplanation,
    *,
    page: Path | None = None,
    svg: Path | None = None,
    perfetto: Path | None = None,
    files: NamedFiles | None = None,
) -> None:
    """Writes all of the files or none.

    Args:
        explanation: The explanation to write.
        page: A page with the pictures and the table.
        svg: The stacked picture.
        perfetto: The path of an iteration with a track for each rank, as trace events (JSON), which ui.perfetto.dev opens.
        files: The output that the files belong to, if the caller has checked them; it makes them whole.

    Raises:
        FarloopError: a file cannot be written, or `perfetto` is of a flow.
    """
    from farloop.views.report import where

    if perfetto is not None and not isinstance(explanation, JobExplanation):
        raise FarloopError("why: --perfetto shows ranks, but this is a flow; expected a job")
    with NamedFiles() if files is None else nullcontext(files) as made:
        if page is not None:
            made.write(page, _encode_text(where.page(explanation)))
        if svg is not None:
            made.write(svg, _encode_text(where.picture(explanation)))
        if perfetto is not None and isinstance(explanation, JobExplanation):
            made.write(perfetto, _encode_text(json.dumps(trace_events(explanation)) + "\n"))


def trace_events(explanation: JobExplanation) -> dict[str, Any]:
    """The path as trace events: a process for the job, a thread for each rank; times in microseconds."""
    ranks = sorted({step["rank"] for step in explanation.steps})
    named = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": explanation.title}}]
    named += [{"ph": "M", "name": "thread_name", "pid": 1, "tid": r + 1, "args": {"name": f"rank {r}"}} for r in ranks]
    events: list[dict[str, Any]] = []
    for number, step in enumerate(explanation.steps):
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
        if number + 1 < len(explanation.steps):
            after = explanation.steps[number + 1]
            flow = {"cat": "path", "name": "path", "id": number + 1, "pid": 1}
            events.append({**flow, "ph": "s", "tid": step["rank"] + 1, "ts": step["start_ps"] / 1e6})
            events.append({**flow, "ph": "f", "bp": "e", "tid": after["rank"] + 1, "ts": after["start_ps"] / 1e6})
    return {"displayTimeUnit": "ns", "traceEvents": [*named, *events]}


def _encode_text(text: str) -> bytes:
    return text.encode("utf-8", "replace")
