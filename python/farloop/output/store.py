"""Finished runs, kept under an address that says what they were made from, so that none is ever made twice.

The address is a hash of the scenario with all defaults, algorithm and seed, of the files that it reads, and of the simulator itself. A run
is written aside and renamed: one that was killed is never there. `Pending` is the hidden directory beside an output in which runs are kept
until the output is complete. It has a random name and a lock, so that processes never take it for abandoned while its owner lives, in
whatever container, nor are stopped by one whose owner is dead: they take over what that one has finished.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from farloop import _native, algorithm
from farloop.errors import FarloopError
from farloop.results import fields, tables
from farloop.results.why import Explanation
from farloop.safe_files import names
from farloop.scenario import Scenario

if TYPE_CHECKING:
    from typing import IO

    from farloop.results.trace import Trace

if sys.platform != "win32":
    import fcntl

RUNS = "runs"
KEPT = "run.json"
"""In the directory of a kept run: everything but its tables."""

LOCK = "lock"
REPLACED = "replaced"
"""In a pending directory: the older output, while the new one takes its place."""

_DESCRIPTIONS = ("title", "source", "figure", "case", "claim")
"""Parts of a scenario that no simulation depends on."""

_ADDRESS = "[0-9a-f]*"
"""Pattern of the directories of finished runs; those that are being written begin with a dot."""

_REQUIRED = ("totals", "invariants", "deadlocks", "wall_s", "version")
"""Of what is known of a run besides its tables what everything else builds on."""

EXPLANATION = "why.json"
"""In the directory of a run of an output: where the time of its slow flow went, with `farloop arena --why`."""

_EXPLAINED = f".{EXPLANATION}"
"""After the address: the same of a kept run."""

_FAILED = ".failed.json"
"""After the address: why a run failed."""

MAX_JSON = 1 << 26
"""Bytes of what is known of a run; more is none of farloop's."""

_MAX_NAME_LENGTH = 150
"""Bytes of an output's name that the names of directories beside it repeat; file systems allow 255 in all."""


@dataclass(frozen=True)
class Simulated:
    """Result of the simulator.

    Attributes:
        tables: Flows, series, ports, pauses, circuits, queues, iterations, ranks.
        info: Totals, invariants, deadlocks, wall time, version.
        trace: The recorded trace; none of a run that was kept.
    """

    tables: dict[str, pa.Table]
    info: dict[str, Any]
    trace: Trace | None = None


def address(scenario: Scenario) -> str:
    """Returns the address under which a scenario's run is kept: the same for the same results, another one for another simulator.

    It follows from the keys alone, so that nobody builds the network of a run that is there.

    Raises:
        ScenarioError: the text or a key is not valid; what only the network tells is not checked.
    """
    resolved = {key: value for key, value in scenario.parsed.items() if key not in _DESCRIPTIONS}
    files = digests_of_files(scenario)
    # Files may name algorithms as well.
    named = None if files else algorithm.list_named(resolved)
    made_from = {
        "farloop": _native.version(),
        "simulator": simulator(),
        "scenario": resolved,
        "classes": [algorithm.digest(c) for c in scenario.classes if named is None or algorithm.name_of(c) in named],
        "files": files,
    }
    return hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()


def digests_of_files(scenario: Scenario) -> dict[str, str]:
    """The SHA-256 of each file that a scenario names, by the name.

    Raises:
        ScenarioError: the text or a key is not valid.
    """
    return {name: digest(path) for name, path in find_named_files(scenario.parsed, Path(scenario.file).parent)}


@lru_cache(maxsize=1)
def simulator() -> str:
    """The SHA-256 of the compiled simulator, so that a changed one never counts for the one that made a run."""
    return digest(Path(str(_native.__file__)))


def digest(path: Path) -> str:
    """The SHA-256 of a file.

    Raises:
        OSError: it cannot be read.
    """
    with names.open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def find_named_files(resolved: Mapping[str, Any], directory: Path) -> Iterator[tuple[str, Path]]:
    """The files that a scenario names, such as flow lists, distributions and jobs, with their paths."""
    yield from _walk_files([resolved.get(section) for section in ("workload", "circuits", "job")], directory)


def _walk_files(section: Any, directory: Path) -> Iterator[tuple[str, Path]]:
    """The texts below a section that name a file."""
    if isinstance(section, Mapping):
        for value in section.values():
            yield from _walk_files(value, directory)
    elif isinstance(section, list):
        for value in section:
            yield from _walk_files(value, directory)
    elif isinstance(section, str) and section:
        # The simulator's names are UTF-8, whatever this system's are.
        path = Path(os.fsdecode(os.path.join(os.fsencode(directory), section.encode("utf-8"))))  # noqa: PTH118, of bytes
        if os.path.isfile(path):  # noqa: PTH113, it never raises
            yield section, path


def write_tables(tables_of_run: Mapping[str, pa.Table], into: Path) -> dict[str, str]:
    """Writes the tables of a run; their hashes by file name.

    Raises:
        OSError: they cannot be written.
    """
    hashes = {}
    for name in fields.TABLES:
        path = into / f"{name}.parquet"
        tables.write(tables_of_run[name], path)
        hashes[path.name] = digest(path)
    return hashes


class Store:
    """Finished runs by address.

    Args:
        directory: Where new ones go; made when the first one comes.
        others: Directories of runs in complete outputs, by address: they are taken from there instead of being made again.
    """

    def __init__(self, directory: Path, others: Mapping[str, Path] | None = None) -> None:
        self.directory = directory
        self._others = dict(others or {})

    def __contains__(self, key: str) -> bool:
        return self.find(key) is not None

    def __len__(self) -> int:
        """Returns the number of simulations put here: runs, and explanations of some."""
        return sum(
            1 for pattern in (f"{_ADDRESS}/{KEPT}", f"{_ADDRESS}{_EXPLAINED}") for _ in self.directory.glob(pattern)
        )

    def find(self, key: str) -> Path | None:
        """The directory of a run that is whole: its tables are those that were written, byte for byte."""
        places = [(self.directory / name, KEPT) for name in _names(key)]
        for where, name in (*places, (self._others.get(key), "manifest.json")):
            if where is not None and _is_whole(where / name, key):
                return where
        return None

    def get(self, key: str) -> Simulated | None:
        """A finished run.

        Raises:
            FarloopError: its tables have the bytes that were written, but say nothing: somebody has forged it.
        """
        where = self.find(key)
        if where is None:
            return None
        kept = _read_manifest(where / (KEPT if where.parent == self.directory else "manifest.json"))
        try:
            tables_of_run = {name: tables.read(name, where / f"{name}.parquet") for name in fields.TABLES}
        except (OSError, ValueError, pa.ArrowException) as error:
            raise FarloopError(
                f"{where}: is a damaged run: {error}; remove it, and run the same command again"
            ) from None
        return Simulated(tables_of_run, read_info(kept))

    def put(self, key: str, outcome: Simulated) -> None:
        """Keeps a finished run.

        Raises:
            OSError: it cannot be written.
        """
        aside = self.directory / f"{_pending_prefix(key)}{secrets.token_hex(8)}"
        aside.mkdir(parents=True)
        try:
            hashes = write_tables(outcome.tables, aside)
            content = {"address": key, "tables": hashes, **info(outcome.info)}
            (aside / KEPT).write_text(json.dumps(content, indent=2), encoding="utf-8")
            if self.find(key) is None:
                # What is damaged is in the way.
                shutil.rmtree(self.directory / key, ignore_errors=True)
                _rename_to_free(aside, [self.directory / name for name in _names(key)])
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    @contextlib.contextmanager
    def claim_run(self, key: str) -> Iterator[bool]:
        """Claims the run of this address until the block ends; false if another process, on any host, is making it.

        A process that is killed claims nothing any more. Where the file system has no locks, no process waits.

        Raises:
            OSError: the store cannot be written.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self.directory / f".{key}.lock"
        try:
            lock = _open_locked(path, own=True, make=True)
            mine = lock is not None
        except PermissionError:
            if not path.exists():
                raise
            # Another user's lock that cannot be read stops no run.
            lock, mine = None, True
        try:
            if lock is not None:
                for left in self.directory.glob(f"{_pending_prefix(key)}*"):
                    # Left by a process that was killed while writing it.
                    shutil.rmtree(left, ignore_errors=True)
            yield mine
        finally:
            if lock is not None:
                with contextlib.suppress(PermissionError):
                    path.unlink(missing_ok=True)
                lock.close()

    def explanation(self, key: str) -> Explanation | None:
        """The explanation that was put of the run of an address; `None` where there is none that can be read."""
        own = Explanation.read(_read_manifest(self.directory / f"{key}{_EXPLAINED}"))
        where = self._others.get(key)
        return own or (None if where is None else Explanation.read(_read_manifest(where / EXPLANATION)))

    def put_explanation(self, key: str, content: Mapping[str, Any]) -> None:
        """Keeps where the time of a flow of a run went.

        Raises:
            OSError: it cannot be written.
        """
        self._put_json(f"{key}{_EXPLAINED}", content)

    def failure(self, key: str) -> str:
        """Why the run of an address failed; empty if it did not."""
        return str(_read_manifest(self.directory / f"{key}{_FAILED}").get("because", ""))

    def put_failure(self, key: str, because: str) -> None:
        """Keeps why a run failed, so that it is not tried again and again.

        Raises:
            OSError: it cannot be written.
        """
        self._put_json(f"{key}{_FAILED}", {"because": because})

    def _put_json(self, name: str, content: Mapping[str, Any]) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        aside = self.directory / f".{name}-{secrets.token_hex(8)}"
        aside.write_text(json.dumps(content), encoding="utf-8")
        aside.replace(self.directory / name)

    def forget_failure(self, key: str) -> None:
        """Lets a run that failed be tried again."""
        (self.directory / f"{key}{_FAILED}").unlink(missing_ok=True)

    def adopt(self, other: Path) -> None:
        """Takes over the finished runs of another store's directory, and what is kept of them; nothing that is a link, or beyond one."""
        if names.barrier(other.parent, [other.name]):
            return
        for kept in sorted(other.glob(f"{_ADDRESS}/{KEPT}")):
            run = kept.parent
            if not (self.directory / run.name).exists() and not _is_linked(run):
                self.directory.mkdir(parents=True, exist_ok=True)
                run.rename(self.directory / run.name)
        for explanation in sorted(other.glob(f"{_ADDRESS}{_EXPLAINED}")):
            if explanation.is_symlink():
                continue
            self.directory.mkdir(parents=True, exist_ok=True)
            explanation.replace(self.directory / explanation.name)


def _is_linked(run: Path) -> bool:
    """True where the directory of a run, or a part of it, is a link or a mount point, so that its content is elsewhere."""
    return bool(names.barrier(run.parent, [run.name])) or any(part.is_symlink() for part in run.rglob("*"))


def info(content: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the facts of a run besides its tables, as manifests have it."""
    return {"info": sorted(content), **{key: content[key] for key in sorted(content)}}


def read_info(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Reads the facts that `info` wrote."""
    return {key: kept[key] for key in kept["info"]}


def find_finished(directories: Iterable[Path]) -> dict[str, Path]:
    """Those of the directories that hold a run of a complete output, by address."""
    runs = {}
    for directory in directories:
        kept = _read_manifest(directory / "manifest.json")
        if isinstance(kept.get("address"), str) and kept["address"]:
            runs[kept["address"]] = directory
    return runs


def _names(key: str) -> tuple[str, ...]:
    """Returns names for the directory of a run: the second, a user's own, serves where another user's unreadable one is in the way."""
    return (key, f"{key}.{os.geteuid()}") if hasattr(os, "geteuid") else (key,)


def _rename_to_free(path: Path, wanted: Sequence[Path]) -> None:
    """Renames a directory to the first of several names that is free.

    Raises:
        OSError: none is, or nothing can be renamed there.
    """
    for name in wanted[:-1]:
        with contextlib.suppress(OSError):
            path.rename(name)
            return
    path.rename(wanted[-1])


def _is_whole(manifest: Path, key: str) -> bool:
    """Returns true if a run can be read and has what was written, as far as its own manifest tells."""
    kept = _read_manifest(manifest)
    hashes, content = kept.get("tables"), kept.get("info")
    if kept.get("address") != key or not isinstance(hashes, dict) or not isinstance(content, list):
        return False
    if not all(isinstance(name, str) and name in kept for name in content) or not set(_REQUIRED) <= set(content):
        return False
    try:
        return all(_is_table(name, manifest.with_name(f"{name}.parquet"), hashes) for name in fields.TABLES)
    except (OSError, ValueError, pa.ArrowException):
        return False


def _is_table(name: str, path: Path, hashes: Mapping[str, object]) -> bool:
    return hashes.get(path.name) == digest(path) and set(fields.columns(name)) <= set(tables.column_names(path))


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        with names.open_regular(path) as file:
            text = file.read(MAX_JSON + 1)
        content = json.loads(text.decode("utf-8")) if len(text) <= MAX_JSON else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


class Pending:
    """A hidden directory beside an output that is being made; see the module.

    Attributes:
        path: The directory.
        output: Where the output is written.
        runs: Where finished runs are kept.
    """

    def __init__(self, target: Path) -> None:
        """Makes the directory, and takes over what owners that are dead left beside `target`.

        Raises:
            OSError: it cannot be made.
        """
        self._parents = [parent for parent in target.parents if not parent.exists()]
        target.parent.mkdir(parents=True, exist_ok=True)
        self.path, self._lock = _make_directory(target)
        try:
            self.output = self.path / "output"
            self.output.mkdir()
            self.runs = self.path / RUNS
            self._take_over(target)
        except BaseException:
            self.remove()
            raise

    def close(self) -> int:
        """Removes all but the finished runs; everything where there is none. Returns the number of kept runs."""
        shutil.rmtree(self.output, ignore_errors=True)
        kept = len(Store(self.runs))
        if kept:
            self._lock.close()
        else:
            self.remove()
        return kept

    def remove(self) -> None:
        """Removes everything."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()
        for parent in self._parents:
            # Those that hold an output now stay.
            with contextlib.suppress(OSError):
                parent.rmdir()

    def _take_over(self, target: Path) -> None:
        for left in sorted(target.parent.glob(f"{_glob(prefix(target))}*")):
            # Directories of other users say nothing about this user's simulations.
            mine = left != self.path and names.is_own(left, alone=True)
            lock = _open_locked(left / LOCK, own=False) if mine else None
            if lock is not None:
                with lock:
                    replaced = (left / REPLACED).is_dir() and not names.barrier(left, [REPLACED])
                    if replaced and not os.path.lexists(target):
                        (left / REPLACED).rename(target)
                    Store(self.runs).adopt(left / RUNS)
                    if not _has_mounts(left):
                        shutil.rmtree(left, ignore_errors=True)


def _has_mounts(left: Path) -> bool:
    """True where a directory directly in it is a mount point, whose content is elsewhere; links are removed without their targets."""
    directories = [path for path in left.iterdir() if path.is_dir() and not path.is_symlink()]
    return any(names.barrier(left, [path.name]) for path in directories)


def prefix(target: Path) -> str:
    """Returns the prefix of the names of an output's pending directories."""
    name = target.name
    if len(os.fsencode(name)) > _MAX_NAME_LENGTH:
        name = f"{name[: _MAX_NAME_LENGTH // 6]}-{hashlib.sha256(os.fsencode(name)).hexdigest()[:16]}"
    return f".{name}.partial-"


def _pending_prefix(key: str) -> str:
    """Returns the prefix of the names of directories in which a run is written."""
    return f".{key[:32]}-"


def _make_directory(target: Path) -> tuple[Path, IO[bytes]]:
    """A new directory that this process has locked."""
    while True:
        path = target.with_name(f"{prefix(target)}{secrets.token_hex(4)}")
        try:
            # Nobody else's: what is in it is believed later.
            path.mkdir(mode=0o700)
        except FileExistsError:
            continue
        (path / LOCK).touch()
        # Between the two lines another process may have found it unlocked, and removed it.
        lock = _open_locked(path / LOCK, own=True)
        if lock is not None:
            return path, lock


def _open_locked(path: Path, *, own: bool, make: bool = False) -> IO[bytes] | None:
    """A locked file, which is so until it is closed; `None` if the owner of its lock may be alive.

    Raises:
        OSError: with `make`: it cannot be made.
    """
    lock = _open_lock(path, own=own, make=make)
    if lock is None:
        return None
    try:
        if sys.platform == "win32":
            raise OSError(errno.ENOLCK, "not used there")
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(lock.fileno()), path.stat()):
            return lock
    except OSError as error:
        # Where there are no locks, the random name has to do, and nothing is known of the others.
        if own and error.errno not in (errno.EWOULDBLOCK, errno.EACCES, errno.ENOENT):
            return lock
    lock.close()
    return None


def _open_lock(path: Path, *, own: bool, make: bool) -> IO[bytes] | None:
    """A file to be locked, and no link to one."""
    flags = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.fdopen(os.open(path, os.O_RDWR | flags | (os.O_CREAT if make else 0), 0o666), "r+b", buffering=0)
    except PermissionError:
        if not own:
            return None
    except OSError:
        if make:
            raise
        return None
    # Somebody else's in a store that is shared: most file systems lock what can only be read.
    return os.fdopen(os.open(path, os.O_RDONLY | flags), "rb")


def _glob(text: str) -> str:
    """A text as a pattern that matches itself."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in text)
