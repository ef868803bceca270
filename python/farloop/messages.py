"""Messages on standard error. Light: the entry point imports it before anything else."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterable
from typing import NoReturn


class Stopped(BaseException):
    """A request by the user, or by another process, to end this one.

    Attributes:
        number: The signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


MAX_LENGTH = 6000
"""Characters of a message; of a longer one the middle is left out."""


def printable(text: str) -> str:
    """A text for a terminal: what that would obey or would not show, such as escapes and marks of direction, is written with a backslash.

    Line feeds and tabs stay.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" or _is_space(c) else ascii(c)[1:-1] for c in text)


def _is_space(c: str) -> bool:
    """A space of a width of its own; no control, and nothing that ends a line."""
    return c.isspace() and c > "\x9f" and c not in "\u2028\u2029"


def shorten(text: str, most: int = MAX_LENGTH) -> str:
    """A text of at most about so many characters: the end, which says what is expected, stays."""
    if len(text) <= most:
        return text
    head, tail = most * 2 // 3, most // 3
    return f"{text[:head]}… ({len(text) - head - tail} characters) …{text[-tail:]}"


def say(message: str) -> None:
    """A line on standard error, if anybody listens."""
    with contextlib.suppress(OSError, ValueError):
        print(printable(shorten(message)), file=sys.stderr, flush=True)  # noqa: T201


def is_out_of_memory(error: BaseException) -> bool:
    """Returns whether memory is used up: an error of Python's own, of a thread that does not start, of a library that cannot be loaded."""
    if isinstance(error, MemoryError):
        return True
    text = str(error)
    if isinstance(error, RuntimeError):
        return "can't start new thread" in text
    if isinstance(error, ImportError):
        return "failed to map segment" in text or "cannot allocate memory" in text.lower()
    if isinstance(error, SystemError):
        # CPython's import of a module where an allocation failed; it has two texts for that.
        return "without exception set" in text or "without setting an exception" in text
    return isinstance(error, OSError) and error.errno == errno.ENOMEM


def end_without_memory() -> NoReturn:
    """Ends the process with a line and exit code 1. At once: libraries that are half loaded crash where the interpreter tidies up."""
    say("farloop: out of memory; fewer --threads, a shorter run or fewer recorded flows and ports need less")
    with contextlib.suppress(OSError, ValueError, MemoryError):
        sys.stdout.flush()
    os._exit(1)


def say_notes(sentences: Iterable[str]) -> None:
    """Prints the notes of a command beside its results, a line each."""
    for note in sentences:
        say(f"farloop: note: {note}")


def notes(error: BaseException) -> str:
    """Returns the notes on an exception, joined by semicolons."""
    return "; ".join(getattr(error, "__notes__", []))
