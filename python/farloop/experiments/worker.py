"""A worker: a process that reads tasks as lines and answers each with a line. It ends with its input, or with who started it."""

from __future__ import annotations

import os
import sys

from farloop import _native
from farloop.experiments.tasks import READY, Task, make
from farloop.running import pandas_guard


def main() -> None:
    """Works until there is nothing more to read."""
    pandas_guard.hide_pandas()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    # What anybody prints is no answer.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    owner = os.getppid()

    def goes_on(_now: float, _end: float, _hops: int) -> bool:
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
