"""Writes files that users name (docs/outputs.md): each is whole or absent, and none is one that the same command reads."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from types import TracebackType

from farloop.errors import FarloopError, clip_text

PATIENCE = 10.0
"""Seconds to wait for a pipe to have a reader. A pipe without one would stop a command for ever."""

MAX_LINKS = 40
"""Links on the way to a file; Linux follows as many."""

Named = str | os.PathLike[str]
Identity = tuple[object, ...]
"""Device and inode; of a new file those of its folder, with its name."""

_DESCRIPTORS = re.compile(r"/dev/fd|/proc/([0-9]+)(/task/[0-9]+)?/fd")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_GONE = "something else has taken its place"


@dataclass
class _Place:
    """Where a file goes.

    Attributes:
        path: The name that the user gave.
        status: The status of what stands there; nothing of a new file.
        target: The regular file behind all links; nothing of a device, a pipe or a descriptor.
        descriptor: The descriptor of this process that the path leads to, such as that of /dev/stdout.
        aside: The name under which it is written, in the folder of `target`.
        file: The file once it is open.
    """

    path: Path
    status: os.stat_result | None
    target: Path | None = None
    descriptor: int | None = None
    aside: str = ""
    file: FileIO | None = None


class NamedFiles:
    """The files that a command writes: all take their places when the block ends well, and none does when it does not.

    A file is written into its folder under a random name that nothing has, and renamed over the place: nobody sees a part of it, and of
    several commands the last one wins. It gets the mode of the file that it replaces, and its owner where the system lets it. A link
    stays: the file that it leads to is replaced, or made where there is none. A character device or a pipe is opened and written. A
    descriptor of this process (/dev/stdout, /dev/fd/63 of a shell's `>(...)`) is written as it is open, so that `>>` appends.

    Args:
        inputs: The files that the command reads. Those that do not exist are ignored.
    """

    def __init__(self, inputs: Iterable[Named] = ()) -> None:
        self._places: dict[str, _Place] = {}
        self._taken: dict[Identity, Path] = {}
        self._folders: dict[Path, int] = {}
        self._over = False
        self._inputs: dict[Identity, str] = {}
        for path in inputs:
            with contextlib.suppress(OSError, ValueError):
                status = Path(path).stat()
                if not _is_device(status):
                    self._inputs[status.st_dev, status.st_ino] = os.fspath(path)

    def __enter__(self) -> NamedFiles:
        _unfinished.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._commit()
        finally:
            self.remove()

    def check(self, path: Named) -> None:
        """Refuses what cannot be written, before there is anything to write.

        Raises:
            FarloopError: it is a folder, a socket, a block device, an input or another file of this command, or its folder takes no file.
        """
        self._refuse_again(self._places.get(os.fspath(path)))
        self._place(path)

    def open(self, path: Named) -> FileIO:
        """Opens a file to write; it takes its place at the end of the block.

        Raises:
            FarloopError: it cannot be written.
        """
        place = self._place(path)
        if place.file is not None:
            self._refuse_again(place)
        if self._over:
            raise make_write_error(path, "the command has ended")
        try:
            if place.descriptor is not None:
                sys.stdout.flush()
                descriptor = os.dup(place.descriptor)
            elif place.target is None:
                descriptor = _open_special(place)
            else:
                descriptor = self._open_aside(place, place.target)
        except OSError as error:
            raise make_write_error(path, error) from None
        place.file = FileIO(descriptor, "wb")
        return place.file

    def write(self, path: Named, content: bytes) -> None:
        """Writes a file.

        Raises:
            FarloopError: it cannot be written.
        """
        rest = memoryview(content)
        try:
            with self.open(path) as file:
                while rest:
                    written = file.write(rest)
                    if written is None:
                        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
                    rest = rest[written:]
        except OSError as error:
            raise make_write_error(path, error) from None

    def remove(self) -> None:
        """Removes what has not taken its place; nothing can be opened any more."""
        self._over = True
        with contextlib.suppress(ValueError):
            _unfinished.remove(self)
        for place in list(self._places.values()):
            with contextlib.suppress(OSError):
                if place.file is not None:
                    place.file.close()
            if place.aside and place.target is not None and place.target.parent in self._folders:
                with contextlib.suppress(OSError):
                    os.unlink(place.aside, dir_fd=self._folders[place.target.parent])
                place.aside = ""
        while self._folders:
            os.close(self._folders.popitem()[1])

    def _refuse_again(self, place: _Place | None) -> None:
        if place is not None and not _is_device(place.status):
            raise make_write_error(place.path, "the command writes it twice")

    def _place(self, path: Named) -> _Place:
        name = os.fspath(path)
        if name not in self._places:
            place, identity = _find_place(Path(name))
            if not _is_device(place.status):
                if identity in self._inputs:
                    read = self._inputs[identity]
                    raise make_write_error(
                        path, f"the command reads it{'' if read == name else f' as {clip_text(read, 4096)}'}"
                    )
                if identity in self._taken:
                    raise make_write_error(
                        path, f"the command also writes it as {clip_text(self._taken[identity], 4096)}"
                    )
                self._taken[identity] = place.path
            self._places[name] = place
        return self._places[name]

    def _open_aside(self, place: _Place, target: Path) -> int:
        """A new file in the folder of `target`, with the mode that this has."""
        if target.parent not in self._folders:
            self._folders[target.parent] = os.open(target.parent, _FOLDER)
        folder, old = self._folders[target.parent], place.status
        mode = 0o666 if old is None else stat.S_IMODE(old.st_mode) & 0o777
        descriptor = -1
        while descriptor < 0:
            # Before there is such a file: an interrupt may come at any moment.
            place.aside = f".farloop-{secrets.token_hex(8)}"
            with contextlib.suppress(FileExistsError):
                descriptor = os.open(place.aside, _NEW, mode, dir_fd=folder)
        if self._over:
            # A thread that goes on after an interrupt, whose folder may be closed.
            with contextlib.suppress(OSError):
                (target.parent / place.aside).unlink()
        if old is not None:
            for owner in ((old.st_uid, -1), (-1, old.st_gid)):
                with contextlib.suppress(PermissionError):
                    os.fchown(descriptor, *owner)
            with contextlib.suppress(PermissionError):
                os.fchmod(descriptor, mode)
        return descriptor

    def _commit(self) -> None:
        begun = [place for place in self._places.values() if place.file is not None]
        for place in begun:
            assert place.file is not None
            try:
                place.file.close()
            except OSError as error:
                raise make_write_error(place.path, error) from None
        for place in begun:
            if not place.aside or place.target is None:
                continue
            folder, name = self._folders[place.target.parent], place.target.name
            try:
                with contextlib.suppress(FileNotFoundError):
                    if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                        raise OSError(errno.EEXIST, _GONE)
                os.rename(place.aside, name, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError as error:
                raise make_write_error(place.path, error) from None
            place.aside = ""


_unfinished: list[NamedFiles] = []


def remove_unfinished() -> None:
    """Removes what blocks that have not ended have written: for a command that ends at once."""
    for files in list(_unfinished):
        files.remove()


def make_write_error(path: Named, why: OSError | str) -> FarloopError:
    """The refusal to write a file."""
    reason = why if isinstance(why, str) else why.strerror or str(why)
    text = clip_text(os.fspath(path), 4096) or "''"
    return FarloopError(f"{text}: cannot be written: {reason}; expected a file that can be written")


def _is_device(status: os.stat_result | None) -> bool:
    """True for a character device, which everybody can read and write at once."""
    return status is not None and stat.S_ISCHR(status.st_mode)


def _find_place(path: Path) -> tuple[_Place, Identity]:
    """Where a file of that name goes, and what that is to others.

    Raises:
        FarloopError: nothing can be written there.
    """
    try:
        status: os.stat_result | None = path.stat()
    except FileNotFoundError:
        status = None
    except OSError as error:
        raise make_write_error(path, error) from None
    except ValueError as error:
        raise make_write_error(path, str(error)) from None
    descriptor = _descriptor(path)
    if status is not None:
        kind = status.st_mode
        if stat.S_ISDIR(kind):
            raise make_write_error(path, "it is a folder")
        if stat.S_ISBLK(kind):
            raise make_write_error(path, "it is a block device")
        identity = (status.st_dev, status.st_ino)
        if descriptor is not None:
            return _Place(path, status, descriptor=descriptor), identity
        if stat.S_ISCHR(kind) or stat.S_ISFIFO(kind):
            return _Place(path, status), identity
        if not stat.S_ISREG(kind):
            raise make_write_error(path, "it is a socket")
    target = Path(os.path.realpath(path))
    try:
        folder = target.parent.stat()
        if status is not None and not os.path.samestat(status, target.stat()):
            # Another writer has put a new file there in between; or the name is that of a descriptor whose file is removed.
            if not os.path.samestat(status, path.stat()):
                return _find_place(path)
            raise OSError(errno.ENOENT, "it has no name any more")
        if os.access in os.supports_effective_ids:
            _check_access(target, status is not None)
    except OSError as error:
        raise make_write_error(path, error) from None
    if status is not None:
        return _Place(path, status, target), (status.st_dev, status.st_ino)
    return _Place(path, None, target), (folder.st_dev, folder.st_ino, target.name)


def _check_access(target: Path, exists: bool) -> None:
    """Refuses early what the system would refuse; a file that its owner protects is not replaced either.

    Raises:
        OSError: as the system would.
    """
    if os.statvfs(target.parent).f_flag & os.ST_RDONLY:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))
    own = os.access(target, os.W_OK, effective_ids=True) if exists else True
    if not own or not os.access(target.parent, os.W_OK | os.X_OK, effective_ids=True):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))


def _descriptor(path: Path) -> int | None:
    """The descriptor of this process that a path such as /dev/stdout leads to."""
    for _ in range(MAX_LINKS):
        folder = _DESCRIPTORS.fullmatch(os.path.realpath(path.parent))
        if folder and path.name.isascii() and path.name.isdigit() and folder[1] in (None, str(os.getpid())):
            return int(path.name)
        try:
            path = path.parent / path.readlink()
        except OSError:
            return None
    return None


def _open_special(place: _Place) -> int:
    """Opens a character device, or a pipe as soon as it has a reader.

    Raises:
        OSError: it cannot be opened, or nobody reads.
    """
    began = time.monotonic()
    descriptor = -1
    while descriptor < 0:
        try:
            descriptor = os.open(place.path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError as error:
            if error.errno != errno.ENXIO or place.status is None or not stat.S_ISFIFO(place.status.st_mode):
                raise
            if time.monotonic() - began > PATIENCE:
                raise OSError(error.errno, f"it is a pipe, and nobody read from it for {PATIENCE:g} s") from None
            time.sleep(0.02)
    kind = os.fstat(descriptor).st_mode
    if not stat.S_ISCHR(kind) and not stat.S_ISFIFO(kind):
        os.close(descriptor)
        raise OSError(errno.EEXIST, _GONE)
    os.set_blocking(descriptor, True)
    return descriptor
