"""Names in manifests, which anybody may have written: an output may come from somewhere else.

A name counts only if it leads to something in the output: it is relative, has no "..", and none of the directories on the way is a link or
a mount point. Writing and removing go from directory to directory by descriptor, so that nothing can be put in the way meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence
from io import BufferedReader
from pathlib import Path

from farloop.errors import FarloopError, clip_text


class BarredError(OSError):
    """A directory of an output is a link, or a mount point."""


def is_proper(name: object) -> bool:
    """Returns true if a name can be that of a file in an output, as far as the name tells."""
    return (
        isinstance(name, str)
        and "\0" not in name
        and all(part not in ("", ".", "..") for part in name.split("/"))
        and not Path(name).is_absolute()
    )


def check_names(names: object, manifest: Path) -> None:
    """Refuses a manifest that names something outside of its output. The reader handles names that are no text.

    Raises:
        FarloopError: there is such a name.
    """
    for name in names if isinstance(names, list) else []:
        if isinstance(name, str) and not is_proper(name):
            where, text = clip_text(manifest, 4096), clip_text(repr(name))
            raise FarloopError(
                f"{where}: names {text}, which is no file of this output; farloop did not write this manifest, "
                "and nothing that it names is touched"
            )


def resolve_within(root: Path, name: object) -> Path:
    """The path of a directory in an output, of which a manifest says the name.

    Raises:
        FarloopError: it would be elsewhere.
    """
    if not isinstance(name, str) or not is_proper(name):
        raise FarloopError(
            f"{clip_text(root, 4096)}: {clip_text(repr(name))} is no directory of this output; expected one"
        )
    if why := barrier(root, name.split("/")):
        raise FarloopError(f"{clip_text(root, 4096)}: {why}; expected a directory of the output itself")
    return root / name


def barrier(root: Path, below: Sequence[str]) -> str:
    """Returns the directory on the way that is a link or a mount point, in words; empty if none is, or if there is no such directory."""
    try:
        with open_directory(root, below):
            return ""
    except BarredError as error:
        return str(error.strerror)
    except OSError:
        return ""


@contextlib.contextmanager
def open_directory(root: Path, below: Sequence[str], *, make: bool = False) -> Iterator[int]:
    """A descriptor of a directory in an output.

    Args:
        root: The output; links on the way to it are followed.
        below: The names of the directories on the way from there.
        make: Those that are missing are made.

    Raises:
        BarredError: one of them is a link or a mount point.
        OSError: one of them is missing, or no directory.
    """
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        mounted = _mount(here)
        for count, part in enumerate(below):
            text = clip_text("/".join(below[: count + 1]), 200)
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=here)
            status = os.stat(part, dir_fd=here, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                raise BarredError(errno.ELOOP, f"{text} is a link")
            lower = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
            os.close(here)
            here = lower
            if _mount(here) != mounted:
                raise BarredError(errno.EXDEV, f"{text} is a mount point")
        yield here
    finally:
        os.close(here)


def _mount(descriptor: int) -> tuple[int, str]:
    """Returns what identifies a directory's mount: the device, and on Linux the mount itself, as one device can have several."""
    device = os.fstat(descriptor).st_dev
    try:
        with open(f"/proc/self/fdinfo/{descriptor}", encoding="ascii") as file:  # noqa: PTH123, as light as can be
            return device, next((line for line in file if line.startswith("mnt_id:")), "")
    except OSError:
        return device, ""


def remove(root: Path, names: Iterable[str]) -> None:
    """Removes files of an output, in this order, and directories that get empty with them. Files beyond a link or a mount stay.

    Raises:
        OSError: a file cannot be removed.
    """
    above = set()
    for name in names:
        if not is_proper(name):
            continue
        *below, last = name.split("/")
        with (
            contextlib.suppress(BarredError, FileNotFoundError, NotADirectoryError),
            open_directory(root, below) as here,
        ):
            os.unlink(last, dir_fd=here)
        above |= {tuple(below[:count]) for count in range(1, len(below) + 1)}
    for *below, last in sorted(above, key=lambda parts: (-len(parts), parts)):
        # One that is not empty stays.
        with contextlib.suppress(OSError), open_directory(root, below) as here:
            os.rmdir(last, dir_fd=here)


def place(source: Path, root: Path, name: str) -> None:
    """Moves a file to its place in an output; one that is there is replaced, and a link as well, not what it leads to.

    Raises:
        BarredError: a directory on the way is a link or a mount point.
        OSError: it cannot be written.
    """
    if not is_proper(name):
        raise BarredError(errno.EINVAL, f"{clip_text(repr(name))} is no file of this output")
    *below, last = name.split("/")
    with open_directory(root, below, make=True) as here:
        try:
            os.replace(source, last, dst_dir_fd=here)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _copy(source, here, last)


def _copy(source: Path, here: int, last: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(last, dir_fd=here)
    descriptor = os.open(last, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666, dir_fd=here)
    with source.open("rb") as original, os.fdopen(descriptor, "wb") as copy:
        shutil.copyfileobj(original, copy)
    source.unlink()


def check_way(root: Path, names: Iterable[str]) -> None:
    """Refuses to write files of these names, before the first one is written.

    Raises:
        BarredError: a directory on the way to one is a link or a mount point.
    """
    for below in sorted({tuple(name.split("/")[:-1]) for name in names}):
        if why := barrier(root, below):
            raise BarredError(errno.ELOOP, why)


def is_own(path: Path, *, alone: bool = False) -> bool:
    """Returns true if this is a directory, no link, that belongs to this process's user; with `alone` nobody else may write into it."""
    try:
        status = path.lstat()
    except OSError:
        return False
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        return False
    return stat.S_ISDIR(status.st_mode) and not (alone and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def open_regular(path: Path) -> BufferedReader:
    """Opens a file to read; a pipe without a writer does not stop the command for ever.

    Raises:
        OSError: it cannot be opened, or is no file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        raise OSError(errno.EINVAL, "is no regular file", str(path))
    return os.fdopen(descriptor, "rb")
