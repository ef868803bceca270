"""Files that users name, and pipes: `farloop run <(generate)` reads one."""

from __future__ import annotations

import errno
import os
import select
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from farloop.errors import FarloopError, clip_text

PATIENCE = 10.0
"""Seconds to wait for a pipe to have data. A pipe without a writer would stop a command for ever."""


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


@contextmanager
def copy_pipes(paths: Sequence[str]) -> Iterator[list[str]]:
    """Files that can be opened several times: what comes out of pipes is copied into a temporary folder until the block ends.

    A copy is called as its pipe is; those of a shell's `<(...)` are called by their places, from 0, as ranks of a job are.

    Raises:
        FarloopError: a pipe cannot be read, or there is no room for what comes out of it.
    """
    if not any(_is_pipe(path) for path in paths):
        yield list(paths)
        return
    with tempfile.TemporaryDirectory(prefix="farloop-") as folder:
        yield [
            _copy_pipe(path, Path(folder, str(place))) if _is_pipe(path) else path for place, path in enumerate(paths)
        ]


def _is_pipe(path: str) -> bool:
    try:
        return stat.S_ISFIFO(Path(path).stat().st_mode)
    except (OSError, ValueError):
        return False


def _copy_pipe(path: str, folder: Path) -> str:
    name = folder.name if Path(path).parent.name == "fd" else Path(path).name
    copy = folder / name
    try:
        folder.mkdir()
        with open_input(Path(path)) as pipe, copy.open("xb") as file:
            shutil.copyfileobj(pipe, file, 1 << 18)
    except OSError as error:
        raise FarloopError(f"{clip_text(path, 4096)}: cannot be read: {error.strerror or error}") from None
    return str(copy)
