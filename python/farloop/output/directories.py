"""Directories that are written aside and renamed, so a killed run never looks complete, and that replace only what farloop wrote."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from farloop.errors import FarloopError
from farloop.output import store as stores
from farloop.output.manifest import (
    CLAIMS,
    FIGURES,
    MANIFEST,
    REPORT,
    RUNS,
    SUMMARY,
    check_all_names,
    files,
    find_foreign,
    list_files,
    read_manifest,
    write_json,
)
from farloop.output.store import Pending, Store
from farloop.safe_files import names

MAX_NAMED = 5
"""Of more files that are in the way than this a message names the first ones."""


REDRAWN = "the old report stays; copy the output to where there is room and may be written, and draw it there"
"""Advice where an output on disk cannot be drawn anew: it has a place already."""


@dataclass(frozen=True)
class Output:
    """An output that is being made.

    Attributes:
        path: Where its files are written; they move to their place when all are there.
        store: Where finished runs are kept until then, and found: also those of the output that stands in the place already.
    """

    path: Path
    store: Store


@contextmanager
def directory(target: Path, *, force: bool = False, fresh: bool = False, store: Path | None = None) -> Iterator[Output]:
    """A fresh directory that becomes `target` when the block ends well, and vanishes when it does not.

    A target that cannot be written is refused at once, before anything is simulated. A link stays: the directory that it leads to is
    replaced. Runs that were put into the store are kept when the block fails, for the next one with the same target; the exception has a
    note that says so.

    Args:
        target: The directory.
        force: Write into it though there are files that farloop did not write: they stay, unless the output has a file of the same name.
        fresh: Take no run from what is there already.
        store: Keep finished runs in this directory, and look for them there.

    Raises:
        FarloopError: the target is no directory, holds something that farloop did not write, or cannot be written; a store is named though
            no run is to be taken from what is there.
    """
    if fresh and store is not None:
        raise FarloopError("--fresh and --store: expected one of them, since runs of a store are not simulated again")
    target, shown = _resolve_link(target), target
    check_replaceable(target, force=force, shown=shown)
    try:
        pending = Pending(target)
    except (OSError, ValueError) as error:
        raise _unwritable(shown, error) from None
    try:
        if fresh:
            shutil.rmtree(pending.runs, ignore_errors=True)
        others = {} if fresh else finished_runs(target)
        try:
            yield Output(pending.output, Store(pending.runs if store is None else store.absolute(), others))
            # Something may have come there meanwhile.
            check_replaceable(target, force=force, shown=shown)
            _move_into_place(pending, target)
        except OSError as error:
            raise _unwritable(shown, error) from None
    except BaseException as error:
        kept, where = pending.close(), "kept"
        if store is not None:
            kept, where = len(Store(store)), f"in {store}"
        if kept:
            error.add_note(
                f"{kept} finished {'run is' if kept == 1 else 'runs are'} {where}; the same command goes on from there"
            )
        raise
    pending.remove()


@contextmanager
def rewriting(target: Path) -> Iterator[Path]:
    """A directory for new views of an output; when the block ends well they take the place of the old ones, else those stay.

    Its files go to the same relative paths of `target`; pictures that are not made any more go. Manifests keep what they say and
    list the new files.

    Raises:
        FarloopError: the output cannot be written.
    """
    target, shown = _resolve_link(target), target
    try:
        pending = Pending(target)
    except (OSError, ValueError) as error:
        raise _unwritable(shown, error, REDRAWN) from None
    try:
        yield pending.output
        made = files(pending.output)
        names.check_way(target, made)
        # The page of all figures last: it says what theirs say.
        reports = {Path(name).parent for name in made if Path(name).name == REPORT}
        for where in sorted(reports, key=lambda p: -len(p.parts)):
            _exchange(pending.output / where, target, where)
        _list_anew(target, pending.output)
    except OSError as error:
        raise _unwritable(shown, error, REDRAWN) from None
    finally:
        pending.close()


def check_replaceable(target: Path, *, force: bool = False, shown: Path | None = None) -> None:
    """Checks that an output may go to `target`: nothing is there, an empty directory, or an output with all its files in its manifest.

    Args:
        target: The directory.
        force: Other files do not matter.
        shown: Its name in messages.

    Raises:
        FarloopError: it is a file, or a directory with something else in it; the text names it.
    """
    try:
        if not target.is_dir():
            if target.exists() or target.is_symlink():
                raise FarloopError(f"{shown or target}: is a file; choose a directory with --out")
            return
        if force:
            # What a manifest says that farloop cannot have written is not believed: nothing of it is removed.
            return
        check_all_names(target)
        strange = find_foreign(target)
    except FarloopError:
        raise
    except (OSError, ValueError) as error:
        raise _unwritable(shown or target, error) from None
    if strange:
        more = f" and {len(strange) - MAX_NAMED} more" if len(strange) > MAX_NAMED else ""
        raise FarloopError(
            f"{shown or target}: holds files that farloop did not write: {', '.join(strange[:MAX_NAMED])}{more}; choose another "
            "directory with --out, or write beside them with --force"
        )


def _move_into_place(pending: Pending, target: Path) -> None:
    """Moves a finished output to its place."""
    if not target.exists():
        pending.output.rename(target)
        return
    # A directory that is somebody's working directory, a mount, or holds other files as well is not replaced but filled.
    if not find_foreign(target) and not os.path.ismount(target) and not _is_working_directory(target):
        old = pending.path / stores.REPLACED
        try:
            target.rename(old)
            pending.output.rename(target)
        except BaseException:
            if not target.exists() and old.exists():
                old.rename(target)
            raise
        return
    made = files(pending.output)
    names.check_way(target, made)
    # The manifest first: what is left is no output. It comes last for the same reason.
    names.remove(target, sorted(list_files(target, ""), key=lambda name: (name != MANIFEST, name)))
    for name in [*(n for n in made if n != MANIFEST), MANIFEST]:
        names.place(pending.output / name, target, name)


def _is_working_directory(target: Path) -> bool:
    try:
        return Path.cwd().samefile(target)
    except OSError:
        return False


def _resolve_link(target: Path) -> Path:
    try:
        return Path(target).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise _unwritable(target, error) from None


def _unwritable(target: Path, error: Exception, advice: str = "choose another directory with --out") -> FarloopError:
    why = getattr(error, "strerror", None) or str(error)
    if isinstance(error, names.BarredError) and advice == REDRAWN:
        advice = "the old report stays; expected a directory of the output itself"
    return FarloopError(f"{target}: cannot be written: {why}; {advice}")


def _exchange(new: Path, target: Path, where: Path) -> None:
    """Puts the views of one output, at `where` in the target, in their place."""
    kept = read_manifest(target / where)
    given = kept.get("files")
    known = [name for name in given if isinstance(name, str)] if isinstance(given, list) else []
    made = files(new)
    views = [name for name in made if name != MANIFEST and _is_view(name)]
    stale = [name for name in known if (name.startswith(f"{FIGURES}/") or name == CLAIMS) and name not in made]
    for name in views:
        if name.endswith(f"/{MANIFEST}"):
            # In a run's manifest only the facts of its summary are new.
            write_json(new / name, read_manifest((target / where / name).parent) | _manifest_of(new / name))
        names.place(new / name, target, (where / name).as_posix())
    names.remove(target, [(where / name).as_posix() for name in stale])
    manifest = _manifest_of(new / MANIFEST)
    present = sorted((set(known) - set(stale)) | set(views))
    write_json(new / MANIFEST, kept | manifest | {"files": present})
    names.place(new / MANIFEST, target, (where / MANIFEST).as_posix())


def _is_view(name: str) -> bool:
    """Returns true if a file is drawn from an output's tables: its own, its pictures, or summaries of its runs, listed in manifests."""
    parts = name.split("/")
    return (
        len(parts) == 1
        or parts[0] == FIGURES
        or (len(parts) == 3 and parts[0] == RUNS and parts[2] in (SUMMARY, MANIFEST))
    )


def _list_anew(target: Path, aside: Path) -> None:
    """Brings the list of files of an output that has others in it up to date."""
    kept = read_manifest(target)
    if kept["kind"] not in ("reproduction", "testbed-figure"):
        return
    present = {name for name in list_files(target, "") if name != MANIFEST and (target / name).exists()}
    if sorted(present) != kept.get("files"):
        write_json(aside / MANIFEST, kept | {"files": sorted(present)})
        names.place(aside / MANIFEST, target, MANIFEST)


def _manifest_of(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    return content if isinstance(content, dict) else {}


def finished_runs(target: Path) -> dict[str, Path]:
    """The directories of the runs of the output at `target`, by address; none if it is no output."""
    return stores.find_finished(_run_directories(target))


def _run_directories(target: Path) -> list[Path]:
    """Where the runs of the output at `target` are; nowhere if it is none."""
    directories = []
    for name in sorted(list_files(target, "")):
        if name == MANIFEST or name.endswith(f"/{MANIFEST}"):
            directories.append((target / name).parent)
    # Somebody else's are simulated again: only who has made a run can know that it is one.
    return [path for path in directories if names.is_own(path)]
