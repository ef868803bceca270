"""Archives of outputs: what repeats one anywhere, with its tables, and nothing of the machine that made it."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from farloop.errors import FarloopError, clip_text
from farloop.formats.scenario_text import from_tables
from farloop.output import archiving_studies, store
from farloop.output.archive_files import (
    AGAIN,
    LIST,
    OUTPUT,
    README,
    REQUIREMENTS,
    RERUN,
    Files,
    readme,
    requirements,
    script,
)
from farloop.output.manifest import RUNS, SUMMARY, read_manifest, slug
from farloop.output.reading import load
from farloop.output.writing import run_names
from farloop.results import fields
from farloop.safe_files import names

if TYPE_CHECKING:
    from farloop.results.run import Comparison, Run

SCENARIO = "scenario/scenario.toml"


def archive(source: Path) -> Files:
    """The files of an output's archive, sorted by name.

    Raises:
        FarloopError: it is no complete output of a command that simulates, or a file that its scenario names is not there or has changed.
    """
    kept = read_manifest(source)
    if kept["kind"] in archiving_studies.KINDS:
        return archiving_studies.archive(source, kept)
    if kept["kind"] not in ("run", "comparison"):
        raise FarloopError(
            f"{source}: is an output of another kind ({clip_text(kept['kind'])}); expected one of run, compare, sweep, arena, "
            "advise, plan or reproduce"
        )
    comparison = load(source)
    if any(run.case for run in comparison.runs):
        figure = comparison.figure or "PAPER/FIGURE"
        raise FarloopError(
            f"{source}: is a figure of a paper, which comes with farloop; `farloop reproduce {figure}` repeats it"
        )
    first = comparison.runs[0]
    files: Files = {}
    text, renamed = _scenario_text(comparison, kept["kind"] == "run")
    files[SCENARIO] = text.encode("utf-8")
    for name, inside in renamed.items():
        files[f"scenario/{inside}"] = _input(first, name)
    algorithms = _algorithms(comparison, files)
    tables = _tables(source, comparison, kept["kind"] == "run")
    files |= {f"{OUTPUT}/{name}": content for name, content in tables.items()}
    files[LIST] = "".join(f"{name}\n" for name in sorted(tables)).encode()
    files[RERUN] = script(_command(comparison, kept, algorithms)).encode("utf-8")
    files[REQUIREMENTS] = requirements(kept).encode()
    files[README] = _readme(comparison, kept, len(tables)).encode("utf-8")
    return dict(sorted(files.items()))


def pack(files: Mapping[str, bytes], folder: str) -> bytes:
    """The files as a compressed tape archive: the same bytes for the same files, without times and owners."""
    buffer = io.BytesIO()
    # Without a name and a time in the header.
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as tape,
    ):
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size, entry.mode = len(content), 0o755 if name == RERUN else 0o644
            tape.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def write_folder(files: Mapping[str, bytes], target: Path) -> None:
    """Writes the files into a new folder, all of them or none.

    Raises:
        FarloopError: something is there, or it cannot be written.
    """
    if os.path.lexists(target):
        raise FarloopError(
            f"--out {clip_text(target, 300)}: is there already; expected a new folder, or a name that ends in .tar.gz"
        )
    aside = target.with_name(f".farloop-{os.getpid()}-{target.name}")
    try:
        for name, content in files.items():
            path = aside / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o755 if name == RERUN else 0o644)
        aside.rename(target)
    except OSError as error:
        raise FarloopError(f"--out {clip_text(target, 300)}: cannot be written: {error.strerror or error}") from None
    finally:
        if aside.is_dir():
            import shutil

            shutil.rmtree(aside, ignore_errors=True)


def places_of_machine(files: Mapping[str, bytes]) -> list[str]:
    """Texts of the user that name this machine, its user or a folder of theirs, which the archive keeps as they are: one line each."""
    import getpass
    import socket

    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = ""
    words = {str(Path.home()), str(Path.cwd()), socket.gethostname(), user} - {"", "/", "root", "localhost"}
    return [
        f"{name}: names {clip_text(word)}, which the archive keeps, since the text is yours"
        for name, content in files.items()
        if not name.startswith(f"{OUTPUT}/")
        for word in sorted(words)
        if len(word) > 3 and word.encode("utf-8", "surrogateescape") in content
    ]


def _scenario_text(comparison: Comparison, is_run: bool) -> tuple[str, dict[str, str]]:
    """The scenario as it is run again, and the files that it names, with their names in the archive."""
    first = comparison.runs[0]
    renamed = {}
    for number, name in enumerate(sorted(first.inputs), 1):
        renamed[name] = (
            name if names.is_proper(name) and "\\" not in name else f"inputs/{number}-{slug(PurePosixPath(name).name)}"
        )
    if not is_run and comparison.base is not None:
        text = comparison.base.text
        for name, inside in renamed.items():
            for quote in "\"'":
                text = text.replace(f"{quote}{name}{quote}", f"{quote}{inside}{quote}")
        return text, renamed
    return from_tables(_rename_paths(first.scenario, renamed)), renamed


def _rename_paths(value: Any, renamed: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _rename_paths(item, renamed) for key, item in value.items()}
    if isinstance(value, list):
        return [_rename_paths(item, renamed) for item in value]
    return renamed.get(value, value) if isinstance(value, str) else value


def _input(run: Run, name: str) -> bytes:
    """A file that the scenario names, if it is the one that the run read."""
    path = Path(os.fsdecode(os.path.join(os.fsencode(Path(run.file).parent), name.encode("utf-8"))))  # noqa: PTH118, of bytes
    try:
        content, digest = path.read_bytes(), store.digest(path)
    except OSError as error:
        raise FarloopError(
            f"{clip_text(path, 300)}: {error.strerror or error}; expected the file that the run read (SHA-256 {run.inputs[name][:16]}…)"
        ) from None
    if digest != run.inputs[name]:
        raise FarloopError(
            f"{clip_text(path, 300)}: has changed since the run; expected the file that it read (SHA-256 {run.inputs[name][:16]}…)"
        )
    return content


def _algorithms(comparison: Comparison, files: Files) -> list[str]:
    """Puts the files of algorithms in Python into the archive; their names in it."""
    texts = dict.fromkeys(text for run in comparison.runs for text in run.algorithm_texts)
    inside = []
    for number, text in enumerate(texts, 1):
        if not text.text:
            raise FarloopError(
                f"{clip_text(text.file, 300)}: the output does not have its text, since it is too long or no UTF-8"
            )
        name = f"algorithms/{slug(Path(text.file).stem)}.py"
        name = name if name not in files else f"algorithms/{number}-{slug(Path(text.file).stem)}.py"
        files[name] = text.text.encode("utf-8")
        inside.append(name)
    return inside


def _tables(source: Path, comparison: Comparison, is_run: bool) -> Files:
    """Tables and summaries by their paths in the output."""
    own = [f"{name}.parquet" for name in fields.TABLES] + [SUMMARY]
    wanted = own if is_run else [SUMMARY, *(f"{RUNS}/{run}/{name}" for run in run_names(comparison) for name in own)]
    contents = {}
    for name in wanted:
        with names.open_regular(source / name) as file:
            contents[name] = file.read()
    return contents


def _command(comparison: Comparison, kept: Mapping[str, Any], algorithms: Sequence[str]) -> list[str]:
    """The command that makes the tables again."""
    words = ["farloop", "run", SCENARIO]
    if kept["kind"] == "comparison":
        labels = list(dict.fromkeys(run.algorithm for run in comparison.runs))
        words = ["farloop", "compare", SCENARIO, "--algorithms", ",".join(labels)]
        overrides = comparison.base.overrides if comparison.base is not None else ()
        words += [word for key, value in overrides for word in ("--set", f"{key}={value}")]
        words += ["--seeds", ",".join(map(str, comparison.seeds))] if comparison.seeds else []
        words += ["--jitter", str(comparison.jitter.count)] if comparison.jitter is not None else []
    words += [word for name in algorithms for word in ("--algorithm-file", name)]
    return [*words, "--sizes", comparison.sizes.name, "--no-report", "--fresh", "--quiet", "--out", AGAIN]


def _readme(comparison: Comparison, kept: Mapping[str, Any], tables: int) -> str:
    seeds = ", ".join(map(str, comparison.seeds)) or ", ".join(dict.fromkeys(str(run.seed) for run in comparison.runs))
    algorithms = ", ".join(dict.fromkeys(run.algorithm for run in comparison.runs))
    about = f"farloop {kept['farloop']}, algorithms {algorithms}, seeds {seeds}."
    rows = {
        f"`{SCENARIO}`": "network, traffic and settings, beside the files that they name",
        "`algorithms/`": "algorithms in Python, if there are any",
    }
    return readme(comparison.title, kept, about, tables, rows)
