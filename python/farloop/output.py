"""Result directories. They are written aside and renamed, so a killed run never looks complete, and replace only what farloop wrote."""

from __future__ import annotations

import errno
import html
import json
import os
import re
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from farloop import _native, fields, store, tables
from farloop.errors import FarloopError
from farloop.results import Comparison, Run
from farloop.scenario import Scenario
from farloop.store import Pending, Store
from farloop.summary import finite

MANIFEST = "manifest.json"
"""Written last: a directory without it is no result."""

REPORT = "report.html"
FIGURES = "figures"
SUMMARY = "summary.json"
CLAIMS = "claims.json"

MOST_NAMED = 5
"""Of more files that are in the way than this a message names the first ones."""


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
def directory(target: Path, *, force: bool = False, fresh: bool = False) -> Iterator[Output]:
    """A fresh directory that becomes `target` when the block ends well, and vanishes when it does not.

    Whether the target can be written is known at once, before anything is simulated. A link stays: the directory that it leads to is
    replaced. Runs that were put into the store are kept when the block fails, for the next one with the same target; the exception has a
    note that says so.

    Args:
        target: The directory.
        force: Write into it though there are files that farloop did not write: they stay, unless the output has a file of the same name.
        fresh: Take no run from what is there already.

    Raises:
        FarloopError: the target is no directory, holds something that farloop did not write, or cannot be written.
    """
    target, shown = _resolved(target), target
    check_replaceable(target, force=force, shown=shown)
    try:
        pending = Pending(target)
    except (OSError, ValueError) as error:
        raise _unwritable(shown, error) from None
    try:
        if fresh:
            shutil.rmtree(pending.runs, ignore_errors=True)
        others = {} if fresh else store.finished(_run_directories(target))
        try:
            yield Output(pending.output, Store(pending.runs, others))
            # Something may have come there meanwhile.
            check_replaceable(target, force=force, shown=shown)
            _put(pending, target)
        except OSError as error:
            raise _unwritable(shown, error) from None
    except BaseException as error:
        kept = pending.close()
        if kept:
            error.add_note(
                f"{kept} finished {'run is' if kept == 1 else 'runs are'} kept; the same command goes on from there"
            )
        raise
    pending.remove()


def check_replaceable(target: Path, *, force: bool = False, shown: Path | None = None) -> None:
    """Whether an output may go to `target`: nothing is there, an empty directory, or an output with all its files in its manifest.

    Args:
        target: The directory.
        force: Other files do not matter.
        shown: What messages call it.

    Raises:
        FarloopError: it is a file, or a directory with something else in it; the text names it.
    """
    try:
        if not target.is_dir():
            if target.exists() or target.is_symlink():
                raise FarloopError(f"{shown or target}: is a file; choose a directory with --out")
            return
        if force:
            return
        strange = foreign(target)
    except FarloopError:
        raise
    except (OSError, ValueError) as error:
        raise _unwritable(shown or target, error) from None
    if strange:
        more = f" and {len(strange) - MOST_NAMED} more" if len(strange) > MOST_NAMED else ""
        raise FarloopError(
            f"{shown or target}: holds files that farloop did not write: {', '.join(strange[:MOST_NAMED])}{more}; choose another "
            "directory with --out, or write beside them with --force"
        )


def foreign(target: Path) -> list[str]:
    """The files in a directory that no manifest of farloop's in it lists, by relative path."""
    known = _known(target, "")
    found = []
    for where, directories, names in os.walk(target):
        here = Path(where)
        links = [name for name in directories if (here / name).is_symlink()]
        found += [(here / name).relative_to(target).as_posix() for name in (*names, *links)]
    return sorted(name for name in found if name not in known)


def _known(directory_: Path, prefix: str) -> set[str]:
    """What an output's manifest lists, with those of the outputs in it."""
    try:
        kept = read_manifest(directory_)
    except FarloopError:
        return set()
    listed = kept.get("files")
    if not isinstance(listed, list):
        return set()
    found = {f"{prefix}{MANIFEST}"}
    for name in listed:
        if isinstance(name, str):
            found.add(f"{prefix}{name}")
            below, _, last = name.rpartition("/")
            if last == MANIFEST and below and ".." not in below.split("/"):
                found |= _known(directory_ / below, f"{prefix}{below}/")
    return found


def _put(pending: Pending, target: Path) -> None:
    """Moves a finished output to its place."""
    if not target.exists():
        pending.output.rename(target)
        return
    # A directory that is somebody's working directory, a mount, or holds other files as well is not replaced but filled.
    if not foreign(target) and not os.path.ismount(target) and not _is_working_directory(target):
        old = pending.path / store.REPLACED
        try:
            target.rename(old)
            pending.output.rename(target)
        except BaseException:
            if not target.exists() and old.exists():
                old.rename(target)
            raise
        return
    _remove(target, _known(target, ""))
    names = files(pending.output)
    for name in [*(n for n in names if n != MANIFEST), MANIFEST]:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        _move(pending.output / name, target / name)


def _move(source: Path, destination: Path) -> None:
    try:
        source.replace(destination)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.copyfile(source, destination)


def _remove(target: Path, names: Iterable[str]) -> None:
    """Removes files, the manifest first: what is left is no output. Directories that get empty go with them."""
    ordered = sorted(names, key=lambda name: (name != MANIFEST, name))
    for name in ordered:
        (target / name).unlink(missing_ok=True)
    for below in sorted({parent for name in ordered for parent in Path(name).parents}, key=lambda p: -len(p.parts)):
        if below.parts and (target / below).is_dir() and not any((target / below).iterdir()):
            (target / below).rmdir()


def _is_working_directory(target: Path) -> bool:
    try:
        return Path.cwd().samefile(target)
    except OSError:
        return False


def _resolved(target: Path) -> Path:
    try:
        return Path(target).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise _unwritable(target, error) from None


def _unwritable(target: Path, error: Exception) -> FarloopError:
    why = getattr(error, "strerror", None) or str(error)
    return FarloopError(f"{target}: cannot be written: {why}; choose another directory with --out")


def files(directory_: Path) -> list[str]:
    """The files in a directory and below, by relative path."""
    return sorted(path.relative_to(directory_).as_posix() for path in directory_.rglob("*") if not path.is_dir())


def write_run(run: Run, target: Path, *, force: bool = False) -> Path:
    """Writes one run: tables, summary, report, pictures, manifest. A report or picture that cannot be made is a warning."""
    with directory(target, force=force) as out:
        notes = fill_run(run, out.path)
    _warn(notes)
    return target


def write_comparison(comparison: Comparison, target: Path, *, force: bool = False) -> Path:
    """Writes several runs, each with its tables and manifest under runs/, and what they have in common."""
    with directory(target, force=force) as out:
        notes = fill_comparison(comparison, out.path)
    _warn(notes)
    return target


def _warn(notes: Sequence[str]) -> None:
    for note in notes:
        warnings.warn(note, RuntimeWarning, stacklevel=4)


def fill_run(run: Run, into: Path, kept: Store | None = None) -> list[str]:
    """Writes one run into an existing directory; notes on what could not be drawn.

    Args:
        run: The run.
        into: The directory.
        kept: Where its tables are already, perhaps.
    """
    comparison = Comparison(title=str(run.summary["title"] or run.label), runs=[run])
    hashes = _write_tables(run, into, kept)
    notes = _write_views(comparison, into, run.summary)
    write_json(into / MANIFEST, manifest(run, hashes) | {"notes": notes, "files": files(into)})
    return notes


def fill_comparison(comparison: Comparison, into: Path, kept: Store | None = None) -> list[str]:
    """Writes several runs into an existing directory, the tables first; notes on what could not be judged or drawn.

    Args:
        comparison: The runs.
        into: The directory.
        kept: Where their tables are already, perhaps.
    """
    names = run_names(comparison)
    for run, name in zip(comparison.runs, names, strict=True):
        where = into / "runs" / name
        where.mkdir(parents=True)
        hashes = _write_tables(run, where, kept)
        write_json(where / SUMMARY, run.summary)
        write_json(where / MANIFEST, manifest(run, hashes) | {"files": files(where)})
    notes = [*comparison.notes, *_write_views(comparison, into, overall(comparison))]
    base = comparison.base
    content = {
        "farloop": _native.version(),
        "kind": "comparison",
        "title": comparison.title,
        "figure": comparison.figure,
        "scale": comparison.scale,
        "seeds": list(comparison.seeds),
        "runs": names,
        "notes": notes,
        "base": None if base is None else {"file": base.file, "overrides": base.overrides, "text": base.text},
    }
    write_json(into / MANIFEST, content | {"files": files(into)})
    return notes


def run_names(comparison: Comparison) -> list[str]:
    """The names of the runs' directories: their labels, with a number where two would be the same."""
    names: list[str] = []
    for run in comparison.runs:
        wanted, count = slug(run.label), 1
        name = wanted
        while name.lower() in (n.lower() for n in names):
            count += 1
            name = f"{wanted}-{count}"
        names.append(name)
    return names


def load(source: str | os.PathLike[str]) -> Comparison:
    """Reads an output again; a single run becomes a comparison of one.

    Raises:
        FarloopError: the directory is no complete farloop output.
    """
    source = Path(source)
    kept = read_manifest(source)
    try:
        if kept["kind"] == "run":
            run = _load_run(source, kept)
            return Comparison(title=str(run.summary["title"] or run.label), runs=[run])
        if kept["kind"] == "comparison":
            runs = [_load_run(source / "runs" / n, read_manifest(source / "runs" / n)) for n in kept["runs"]]
            claims_file = source / CLAIMS
            claims = json.loads(claims_file.read_text("utf-8")) if claims_file.is_file() else []
            base = kept["base"]
            if base is not None:
                base = Scenario(base["text"], base["file"], tuple((str(k), str(v)) for k, v in base["overrides"]))
            seeds = tuple(int(seed) for seed in kept["seeds"])
            return Comparison(
                str(kept["title"]),
                runs,
                figure=str(kept["figure"]),
                claims=claims,
                scale=str(kept["scale"]),
                seeds=seeds,
                base=base,
            )
    except FarloopError:
        raise
    except Exception as error:
        raise damaged(source, error) from None
    if kept["kind"] == "reproduction":
        raise FarloopError(
            f"{source}: has no runs of its own; load one of the figures in it, such as {_first_figure(source, kept)}"
        )
    raise FarloopError(f"{source / MANIFEST}: was not written by farloop")


def _first_figure(source: Path, kept: dict[str, Any]) -> str:
    figures = kept.get("figures")
    return str(source / str(figures[0])) if isinstance(figures, list) and figures else f"{source}/PAPER/FIGURE"


def damaged(source: Path, error: Exception) -> FarloopError:
    """What to say of an output that cannot be read."""
    return FarloopError(f"{source}: is a damaged farloop output: {type(error).__name__}: {error}; run it again")


@contextmanager
def rewriting(target: Path) -> Iterator[Path]:
    """A directory for new views of an output; when the block ends well they take the place of the old ones, else those stay.

    What is in it goes to the same relative paths of `target`; pictures that are not made any more go. Manifests keep what they say and
    list the new files.

    Raises:
        FarloopError: the output cannot be written.
    """
    target, shown = _resolved(target), target
    try:
        pending = Pending(target)
    except (OSError, ValueError) as error:
        raise _unwritable(shown, error) from None
    try:
        yield pending.output
        # The page of all figures last: it says what theirs say.
        reports = {Path(name).parent for name in files(pending.output) if Path(name).name == REPORT}
        for where in sorted(reports, key=lambda p: -len(p.parts)):
            _exchange(pending.output / where, target / where)
        _list_anew(target, pending.output)
    except OSError as error:
        raise _unwritable(shown, error) from None
    finally:
        pending.close()


def _exchange(new: Path, old: Path) -> None:
    """Puts the views of one output in their place."""
    kept = read_manifest(old)
    listed = kept.get("files")
    listed = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    made = files(new)
    views = [name for name in made if "/" not in name or name.startswith(f"{FIGURES}/")]
    stale = [name for name in listed if (name.startswith(f"{FIGURES}/") or name == CLAIMS) and name not in made]
    (old / FIGURES).mkdir(exist_ok=True)
    for name in views:
        if name != MANIFEST:
            (new / name).replace(old / name)
    for name in stale:
        if ".." not in name.split("/"):
            (old / name).unlink(missing_ok=True)
    told = _manifest_of(new / MANIFEST)
    present = sorted((set(listed) - set(stale)) | {name for name in views if name != MANIFEST})
    write_json(new / MANIFEST, kept | told | {"files": present})
    (new / MANIFEST).replace(old / MANIFEST)


def _list_anew(target: Path, aside: Path) -> None:
    """Brings the list of files of an output that has others in it up to date."""
    kept = read_manifest(target)
    if kept["kind"] != "reproduction":
        return
    found = {name for name in _known(target, "") if name != MANIFEST and (target / name).exists()}
    if sorted(found) != kept.get("files"):
        write_json(aside / MANIFEST, kept | {"files": sorted(found)})
        (aside / MANIFEST).replace(target / MANIFEST)


def _manifest_of(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    return content if isinstance(content, dict) else {}


def rewrite_views(comparison: Comparison, into: Path, kind: str) -> None:
    """Writes summary, claims, report and pictures of an output on disk anew, into a directory of `rewriting`.

    Args:
        comparison: The output.
        into: The directory.
        kind: What the output's manifest calls it: "run" or "comparison".

    Raises:
        FarloopError: something could not be judged or drawn.
    """
    into.mkdir(parents=True, exist_ok=True)
    summary = comparison.runs[0].summary if kind == "run" else overall(comparison)
    notes = [*comparison.notes, *_write_views(comparison, into, summary)]
    if notes:
        raise FarloopError(f"{comparison.title}: {'; '.join(notes)}; the old report stays")
    write_json(into / MANIFEST, {"notes": []})


def overall(comparison: Comparison) -> dict[str, Any]:
    """What summary.json of several runs says: the summary of each, or means and confidence intervals over seeds."""
    return comparison.statistics if comparison.seeds else comparison.summary


def manifest(run: Run, hashes: dict[str, str]) -> dict[str, Any]:
    """What a run was made from, and how it went; with the hashes of its tables' files."""
    content: dict[str, Any] = finite(
        {
            "farloop": run.info["version"],
            "kind": "run",
            "label": run.label,
            "case": run.case,
            "algorithm": run.algorithm,
            "file": run.file,
            "overrides": dict(run.overrides),
            "seed": run.seed,
            "packet_hops": run.info["totals"]["packet_hops"],
            "address": run.address,
            "tables": hashes,
            **store.info(run.info),
            "scenario": run.scenario,
        }
    )
    return content


def write_json(path: Path, content: Any) -> None:
    """Writes JSON for people and programs."""
    path.write_text(
        json.dumps(finite(content), indent=2, ensure_ascii=False) + "\n", encoding="utf-8", errors="replace"
    )


def slug(label: str) -> str:
    """A label as a file name of at most 100 characters."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-.")[:100] or "run"


def _write_tables(run: Run, into: Path, kept: Store | None) -> dict[str, str]:
    """Writes a run's tables, or links those that are on disk already, and its summary; the hashes of the tables' files."""
    where = kept.find(run.address) if kept is not None and run.address else None
    if where is None:
        hashes = store.write_tables(run.tables, into)
    else:
        hashes = {}
        for name in fields.TABLES:
            file = f"{name}.parquet"
            try:
                os.link(where / file, into / file)
            except OSError:
                shutil.copyfile(where / file, into / file)
            hashes[file] = store.digest(into / file)
    return hashes


def _write_views(comparison: Comparison, into: Path, summary: dict[str, Any]) -> list[str]:
    """Writes what is made from the tables: summary, claims, pictures, report; notes on what could not be made."""
    from farloop import figures, report

    write_json(into / SUMMARY, summary)
    if comparison.claims:
        write_json(into / CLAIMS, comparison.claims)
    pictures = into / FIGURES
    pictures.mkdir(exist_ok=True)
    notes: list[str] = []
    _attempt("the pictures could not be drawn", lambda: figures.draw(comparison, pictures), notes)
    page: list[str] = []
    told = replace(comparison, notes=[*comparison.notes, *notes])
    _attempt("the report could not be drawn", lambda: page.append(report.page(told)), notes)
    text = page[0] if page else _bare_page(told.title, [*comparison.notes, *notes])
    (into / REPORT).write_text(text, encoding="utf-8", errors="replace")
    return notes


def _attempt(what: str, make: Callable[[], object], notes: list[str]) -> None:
    """Makes a view; where that fails, whatever the reason, there is a note instead: the results are on disk."""
    try:
        make()
    except OSError:
        raise
    except Exception as error:
        notes.append(f"{what}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")


def _bare_page(title: str, notes: Sequence[str]) -> str:
    items = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    return f'<!doctype html><meta charset="utf-8"><title>{html.escape(title)}</title><h1>{html.escape(title)}</h1><ul>{items}</ul>\n'


def read_manifest(source: Path) -> dict[str, Any]:
    """The manifest of an output.

    Raises:
        FarloopError: the directory is no complete farloop output.
    """
    try:
        content = json.loads((source / MANIFEST).read_text("utf-8"))
    except NotADirectoryError:
        raise FarloopError(f"{source}: is a file; expected a directory that farloop wrote") from None
    except OSError as error:
        what = "is no farloop output (it has no manifest.json)" if os.path.isdir(source) else "no such directory"  # noqa: PTH112, never raises
        if not isinstance(error, FileNotFoundError) and os.path.isdir(source):  # noqa: PTH112
            what = f"manifest.json cannot be read: {error.strerror}"
        raise FarloopError(f"{source}: {what}; expected a directory that `farloop run --out` wrote") from None
    except (ValueError, RecursionError) as error:
        if "null byte" in str(error):
            raise FarloopError(f"{str(source)!r}: no such directory") from None
        raise FarloopError(f"{source / MANIFEST}: is not JSON; the output is damaged, run it again") from None
    if not isinstance(content, dict) or "farloop" not in content or "kind" not in content:
        raise FarloopError(f"{source / MANIFEST}: was not written by farloop")
    return content


def _run_directories(target: Path) -> list[Path]:
    """Where the runs of the output at `target` are; nowhere if it is none."""
    found = []
    for name in sorted(_known(target, "")):
        if name == MANIFEST or name.endswith(f"/{MANIFEST}"):
            found.append((target / name).parent)
    return found


def _load_run(source: Path, kept: dict[str, Any]) -> Run:
    read: dict[str, pa.Table] = {}
    for name in fields.TABLES:
        path = source / f"{name}.parquet"
        read[name] = tables.read(name, path)
        missing = [column for column in fields.columns(name) if column not in read[name].column_names]
        if missing:
            raise FarloopError(
                f"{path}: has no column {', '.join(missing)}; another version of farloop wrote this output "
                f"({kept['farloop']}; this is {_native.version()}): run it again"
            )
    return Run(
        label=str(kept["label"]),
        case=str(kept["case"]),
        algorithm=str(kept["algorithm"]),
        **read,
        info=store.read_info(kept),
        scenario=dict(kept["scenario"]),
        file=str(kept["file"]),
        overrides=tuple((str(k), str(v)) for k, v in kept["overrides"].items()),
        address=str(kept["address"]),
    )
