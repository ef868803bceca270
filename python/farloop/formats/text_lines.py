"""Text files of others, line by line, and numbers in them, with errors that name the line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from decimal import Decimal
from os import PathLike
from pathlib import Path

from farloop.errors import FarloopError, clip_text
from farloop.formats.inputs import open_input

MAX_LINE = 10_000
"""Bytes; lines of these formats have fewer than a thousand."""

MAX_NUMBER = 10**18

MAX_NUMBER_LENGTH = 60
"""Characters."""

_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,2})?")


def shown_path(path: str | PathLike[str]) -> str:
    """A path as messages have it."""
    return clip_text(os.fspath(path), 300)


def numbered_lines(path: str | PathLike[str], *, expected: str, binary: str = "") -> Iterator[tuple[int, str]]:
    """The lines of a file as they stand, numbered from 1.

    Args:
        path: The file, or a pipe.
        expected: The end of messages: what a line of the format looks like.
        binary: The end of the message about a binary file; `expected` unless given.

    Raises:
        FarloopError: the file cannot be read, is binary or not UTF-8, or a line is longer than `MAX_LINE`.
    """
    name, number = shown_path(path), 0
    try:
        with open_input(Path(path)) as file:
            while raw := file.readline(MAX_LINE + 1):
                number += 1
                if b"\0" in raw:
                    raise FarloopError(f"{name}:{number}: is not text; {binary or expected}")
                if len(raw) > MAX_LINE:
                    raise FarloopError(f"{name}:{number}: longer than {MAX_LINE} bytes; {expected}")
                # A byte order mark belongs to no line.
                yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        raise FarloopError(f"{name}:{number}: is not UTF-8 text") from None
    except (OSError, ValueError) as error:
        if isinstance(error, FarloopError):
            raise
        raise FarloopError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def whole_number(here: str, text: str, what: str, *, least: int = 0, most: int = MAX_NUMBER) -> int:
    """A whole number within a range.

    Args:
        here: File and line, for messages.
        text: Its digits.
        what: Name of the counted thing, for messages.
        least: The smallest that is accepted.
        most: The largest that is accepted.

    Raises:
        FarloopError: it is none, or outside the range.
    """
    digits = text.isascii() and text.isdigit()
    if not digits or len(text) > len(str(MAX_NUMBER)) or not least <= int(text) <= most:
        raise FarloopError(f"{here}: {what}: {clip_text(text)}: expected a whole number from {least} to {most}")
    return int(text)


def decimal_number(here: str, text: str, what: str, *, most: int = MAX_NUMBER) -> Decimal:
    """A number from 0 on, exactly as it is written.

    Raises:
        FarloopError: it is none, is negative, not finite or larger than `most`.
    """
    number = Decimal(text) if len(text) <= MAX_NUMBER_LENGTH and _DECIMAL.fullmatch(text) else None
    if number is None or not 0 <= number <= most:
        raise FarloopError(f"{here}: {what}: {clip_text(text)}: expected a number from 0 to {most}")
    return number
