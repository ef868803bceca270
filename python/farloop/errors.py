"""Errors whose text is the whole message for the user."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MAX_SHOWN = 20
"""Of more valid names than this a message lists the first ones."""

MAX_COMPARED_LENGTH = 100
"""Characters of something that the user wrote that are compared with valid names."""


class FarloopError(ValueError):
    """A request of the user that cannot be done; the text says what, and what would work."""


class UnknownNameError(FarloopError, KeyError):
    """There is nothing of that name, such as a metric or a recorded flow; the text says what there is."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class InvariantError(RuntimeError):
    """A simulation broke one of its own consistency checks: its numbers are no result."""


def clip_text(text: object, most: int = 80) -> str:
    """Returns users' text for a message: on one line, shortened if it is long."""
    short = str(text)
    short = short if len(short) <= most else f"{short[: most - 20]}… ({len(short)} characters)"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in short)


def require_utf8(what: str, text: str) -> None:
    """Refuses a text that cannot be UTF-8, such as an argument with bytes of another encoding.

    Raises:
        FarloopError: it is not.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise FarloopError(f"{what}: {clip_text(ascii(text))} is not UTF-8 text; expected that") from None


def nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Returns the end of a message about an unknown `name`: the nearest of the known names, and a list of these."""
    names = list(known)
    # The comparison takes quadratic time.
    close = difflib.get_close_matches(name[:MAX_COMPARED_LENGTH], names, n=1, cutoff=cutoff)
    hint = f"did you mean {close[0]}? " if close else ""
    if not names:
        return f"{hint}there is none"
    more = f" and {len(names) - MAX_SHOWN} more" if len(names) > MAX_SHOWN else ""
    # Names that have commas of their own.
    listed = [f'"{name}"' if "," in name else name for name in names[:MAX_SHOWN]]
    return f"{hint}there is {', '.join(listed)}{more}"
