"""Messages on standard error. Light: the entry point imports it before anything else."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable


class Stopped(BaseException):
    """The user, or another process, asked this one to end.

    Attributes:
        number: The signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def say(message: str) -> None:
    """A line on standard error, if anybody listens."""
    with contextlib.suppress(OSError, ValueError):
        print(message, file=sys.stderr, flush=True)  # noqa: T201


def say_notes(sentences: Iterable[str]) -> None:
    """What a command has to say besides its results, a line each."""
    for note in sentences:
        say(f"farloop: note: {note}")


def notes(error: BaseException) -> str:
    """What was noted on an exception."""
    return "; ".join(getattr(error, "__notes__", []))
