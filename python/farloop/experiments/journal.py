"""Makes a run of a store once, whoever else is at it, and notes who made it when."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

from farloop.output.store import Simulated, Store

MADE, KEPT, BUSY = "made", "kept", "busy"
"""Outcomes of `make_once`: the run has been simulated; it was in the store; somebody else is simulating it."""

JOURNAL = "journal.jsonl"
"""In a store: a line for every simulation that began or was finished, with time, machine and process. For people; nothing reads it."""

LOOK_AGAIN = 1.0
"""Seconds until a run that somebody else is making is looked at again."""

_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def make_once(store: Store, key: str, simulate: Callable[[], Simulated]) -> str:
    """Simulates a run and keeps it, unless it is there or somebody else is at it: another process, or another thread of this one.

    Args:
        store: Where it is looked for, and put.
        key: Its address.
        simulate: Simulates it; called while nobody else can.

    Raises:
        OSError: the store cannot be written.
    """
    with store.claim_run(key) as mine:
        if not mine:
            return BUSY
        if key in store:
            return KEPT
        note(store.directory, "began", key)
        store.put(key, simulate())
        note(store.directory, "finished", key)
    return MADE


def note(store: Path, what: str, key: str) -> None:
    """Writes a line into the journal of a store, where this user may: nothing depends on it."""
    line = {"what": what, "run": key, "at": time.time(), "host": socket.gethostname(), "process": os.getpid()}
    with contextlib.suppress(OSError):
        _write_line(store, json.dumps(line) + "\n")


def journal_trouble(store: Path) -> str:
    """Why the journal of a store cannot be written, for people; empty if it can."""
    try:
        os.close(os.open(store / JOURNAL, _FLAGS))
    except FileNotFoundError:
        # It comes with the first run.
        return ""
    except OSError as error:
        why = "is a link" if error.errno == errno.ELOOP else error.strerror
        return f"{store / JOURNAL}: cannot be written: {why}; who made which run when is not noted there"
    return ""


def _write_line(store: Path, text: str) -> None:
    """Appends to the journal, which is a file: through a link something else could be written, and a pipe may have no reader."""
    with os.fdopen(os.open(store / JOURNAL, _FLAGS | os.O_CREAT, 0o666), "a", encoding="utf-8") as file:
        file.write(text)
