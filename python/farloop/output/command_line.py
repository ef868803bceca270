"""The command line that makes an output, for its manifest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

_WORDS: ContextVar[tuple[str, ...]] = ContextVar("words", default=())


@contextmanager
def remember_words(words: Sequence[str]) -> Iterator[None]:
    """While a command runs: its words after `farloop`."""
    token = _WORDS.set(tuple(words))
    try:
        yield
    finally:
        _WORDS.reset(token)


def command_words() -> list[str]:
    """The words of the command that runs, with `farloop`; nothing where Python called."""
    words = [word.encode("utf-8", "backslashreplace").decode("utf-8") for word in _WORDS.get()]
    return ["farloop", *words] if words else []
