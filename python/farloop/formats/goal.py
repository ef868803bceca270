"""GOAL traces as flows that wait for one another.

GOAL is the Group Operation Assembly Language (T. Hoefler, C. Siebert, A. Lumsdaine, ICPP 2009) that LogGOPSim and ATLAHS read. A message
(`send` with its `recv`) becomes a flow; what a rank computes (`calc`, nanoseconds) becomes the delay with which a flow follows those that
it depends on. crates/job/src/formats/goal_flows.rs reads and converts the traces.
"""

from __future__ import annotations

import csv
import io
from os import PathLike
from pathlib import Path

from farloop import _native
from farloop.errors import FarloopError
from farloop.formats.inputs import open_input
from farloop.formats.ranks import rank_names
from farloop.formats.text_lines import shown_path


def flows_from_goal(path: str | PathLike[str], *, hosts: str = "h{1}", eager: bool = False) -> str:
    """The messages of a GOAL trace (its text form) as the CSV that a `[workload]` with `pattern = "list"` reads.

    A flow is called rRANK-LABEL by its `send`. It begins when what the trace makes it wait for is over: messages that its rank gets,
    with their last byte; messages that it sends, when they are acknowledged (with `eager`, at once, as LogGOPSim has it for small
    messages); computations of its rank. Ranks have processors enough: computations that the trace does not order overlap, whatever
    `cpu` and `nic` say. A receiver is always ready. A message of 0 bytes has 1.

    Args:
        path: The file.
        hosts: The host of each rank: names, separated by commas, or a name with the number of rank 0's host in braces.
        eager: Sends are eager: what depends on a rank's own send need not wait for it.

    Raises:
        FarloopError: the file cannot be read or is no such trace, a message lacks its other half, or operations wait for one another;
            the text names file and line.
    """
    name = shown_path(path)
    try:
        with open_input(Path(path)) as file:
            trace = _native.GoalTrace(file, name)
        host = rank_names(hosts, max(trace.ranks, default=-1) + 1)
        rows = trace.flows([host(rank) for rank in trace.ranks], eager)
    except FarloopError:
        raise
    except _native.ScenarioError as error:
        raise FarloopError(str(error)) from None
    except (OSError, ValueError) as error:
        raise FarloopError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows((("name", "from", "to", "start", "size", "after"), *rows))
    return text.getvalue()
