"""The log of a plan's runs: lines of JSON, from which a run that was killed goes on."""

from __future__ import annotations

import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from farloop.errors import FarloopError
from farloop.kernel.rollout.rollout_plan import RolloutPlan


class Journal:
    """Appends lines to a log; each is on disk before what it announces is done."""

    def __init__(self, path: Path, plan: RolloutPlan) -> None:
        """Opens the log.

        Raises:
            FarloopError: it cannot be written.
        """
        self.path = path
        self._plan = plan
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise FarloopError(f"{path}: the log cannot be written: {error.strerror}") from None
        # A run that was killed may have left half a line.
        if path.is_file() and path.read_bytes()[-1:] not in (b"", b"\n"):
            os.write(self._descriptor, b"\n")

    def write(self, event: str, **facts: Any) -> dict[str, Any]:
        """Writes a line, and returns it."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = {"time": now, "plan": self._plan.name, "event": event, **facts}
        os.write(self._descriptor, (json.dumps(line) + "\n").encode())
        return line

    def close(self) -> None:
        """Closes the log."""
        os.close(self._descriptor)


def digest(plan: RolloutPlan) -> str:
    """The plan's content in a few characters: another plan does not go on where this one was."""
    return hashlib.sha256(plan.path.read_bytes()).hexdigest()[:16]


def unfinished_run(path: Path, plan: RolloutPlan) -> tuple[int, dict[str, Any] | None]:
    """Reads how far the last run came, where it did not come to an end.

    Returns:
        The number of steps that it passed, and its values before the first step; 0 and None where the last run ended, or was of another
        plan.
    """
    passed, baseline, of_plan = 0, None, None
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return 0, None
    for text in lines:
        try:
            line = json.loads(text)
            event = line["event"]
        except (ValueError, TypeError, KeyError):
            # The last line of a killed run may be half a line.
            continue
        if event == "end" or (event == "begin" and line.get("digest") != of_plan):
            passed, baseline = 0, None
        if event == "begin":
            of_plan = line.get("digest")
        if event == "baseline":
            baseline = line.get("rates")
        elif event == "passed":
            passed = int(line.get("step", 0))
    return (passed, baseline) if of_plan == digest(plan) else (0, None)
