"""Formats of training jobs, as `crates/job/src/formats` declares them."""

from __future__ import annotations

from typing import NamedTuple

from farloop import _native


class JobFormat(NamedTuple):
    """A format of training jobs."""

    name: str
    """Name in options and answers, such as "goal-binary"."""
    extension: str
    """End of its files' names, such as ".bin"."""
    is_file_per_rank: bool
    """True if a job has a file for each rank, named PATH.RANK and the extension."""
    is_written: bool
    """True if farloop writes jobs in it."""


FORMATS = [JobFormat(*row) for row in _native.job_formats()]
"""All formats, in the order of the lists that show them."""

BY_NAME = {row.name: row for row in FORMATS}
"""A format by its name."""
