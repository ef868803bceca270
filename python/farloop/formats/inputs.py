"""Files that users name, and pipes: `farloop run <(generate)` reads one."""

from __future__ import annotations

import errno
import os
import select
import stat
from io import BufferedReader
from pathlib import Path

PATIENCE = 10.0
"""Seconds until a pipe has something to read. One that nobody writes into would stop a command for ever."""


def open_input(path: Path) -> BufferedReader:
    """Opens a file or a pipe to read.

    Raises:
        OSError: it cannot be opened, is a directory, or is a pipe out of which nothing comes.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if stat.S_ISFIFO(kind) and not select.select([descriptor], [], [], PATIENCE)[0]:
            problem = f"it is a pipe, and nothing came out of it for {PATIENCE:g} s"
            raise OSError(errno.ETIMEDOUT, problem, str(path))
        os.set_blocking(descriptor, True)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise
