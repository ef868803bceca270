"""A worker: a process that reads tasks as lines and answers each with a line, after lines that say how far it is.

It ends with its input, or with who started it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time

from farloop import _native
from farloop.experiments.tasks import PROGRESS, READY, Task, make
from farloop.running import pandas_guard

PROGRESS_EVERY = 0.2
"""Seconds between lines that say how far a simulation is."""


def main() -> None:
    """Works until there is nothing more to read."""
    pandas_guard.hide_pandas()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    # What anybody prints is no answer.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    owner = os.getppid()

    last = 0.0

    def goes_on(simulated: float, end: float, packet_hops: int) -> bool:
        nonlocal last
        now = time.monotonic()
        if end == 0 or now - last > PROGRESS_EVERY:
            # The beginning counts for nothing: how far a run is stands there as soon as that is known.
            last = now if end else 0.0
            with contextlib.suppress(OSError):
                answers.write(f"{PROGRESS}{simulated} {end} {packet_hops}\n")
                answers.flush()
        return os.getppid() == owner

    answers.write(READY)
    answers.flush()
    for line in sys.stdin:
        try:
            outcome = make(Task.from_json(line), goes_on)
        except _native.Cancelled:
            return
        try:
            answers.write(outcome.as_json() + "\n")
            answers.flush()
        except OSError:
            return


if __name__ == "__main__":
    main()
