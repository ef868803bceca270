"""Flows of other files as the CSV that a `[workload]` with `pattern = "list"` reads."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from farloop.errors import clip_text

COLUMNS = ("name", "from", "to", "start", "size", "after")

MAX_FLOWS = 5_000_000
"""Flows of a list: each takes a few hundred bytes before the run begins."""


class ListedFlow(NamedTuple):
    """A row: texts as `[[flow]]` has them; an empty one leaves a key at its default."""

    name: str
    source: str
    destination: str
    start: str
    size: str
    after: str = ""


def flow_text(flows: Iterable[ListedFlow], comments: Sequence[str] = ()) -> str:
    """Rows as CSV, after a row of column names and comments. The column `after` is left out where no row has any."""
    rows = list(flows)
    width = len(COLUMNS) if any(flow.after for flow in rows) else len(COLUMNS) - 1
    text = io.StringIO()
    for comment in comments:
        text.write(f"# {clip_text(comment, 1000)}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS[:width])
    writer.writerows(flow[:width] for flow in rows)
    return text.getvalue()
