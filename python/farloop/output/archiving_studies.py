"""Archives of outputs of many runs: of sweep, arena, advise, plan and reproduce, with the files that their commands read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from farloop.errors import FarloopError, clip_text
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
from farloop.output.manifest import CLAIMS, MANIFEST, RUNS, SUMMARY, list_files, slug
from farloop.output.sources import SourceFile, from_rows
from farloop.output.store import digest
from farloop.safe_files import names

KINDS = {"study": "sweep", "arena": "arena", "advice": "advise", "plan": "plan", "reproduction": "reproduce"}
"""The kinds of outputs, and the commands that make them."""

INPUTS = "inputs"
"""The folder of the files that the command read, in which it runs again."""

ANSWER = "answer.json"

_TABLES = (".parquet", ".csv")
_WITHOUT = ("--no-report", "--force", "--fresh", "--quiet", "-q", "--json", "--force-memory", "--retry")
_WITH_VALUE = ("--out", "--store", "--threads", "--workers", "--ray", "--slurm")
"""Options that change nothing of the tables."""


def archive(source: Path, kept: Mapping[str, Any]) -> Files:
    """The files of the archive, sorted by name.

    Args:
        source: The output.
        kept: Its manifest.

    Raises:
        FarloopError: it does not have what its command read, or a file that its scenario names is not there or has changed.
    """
    command = kept.get("command")
    if not isinstance(command, list) or len(command) < 2:
        raise FarloopError(
            f"{source}: does not have the command that made it, since an older version or Python wrote it; expected an output of "
            f"`farloop {KINDS[str(kept['kind'])]}`: make it again"
        )
    # The output may be somebody else's, and the script is run: it begins with no other program.
    if command[:2] != ["farloop", KINDS[str(kept["kind"])]]:
        raise FarloopError(
            f"{source}: its manifest says that {clip_text(' '.join(map(str, command[:2])), 100)} made it; expected `farloop "
            f"{KINDS[str(kept['kind'])]}`"
        )
    sources = from_rows(kept.get("sources"))
    inside = _names(sources)
    files: Files = {f"{INPUTS}/{inside[each.file]}": _content(each, sources, inside) for each in sources}
    for name, content in _inputs(source, kept, sources).items():
        files[f"{INPUTS}/{name}"] = content
    tables = dict(_tables(source, kept, {each.file: inside[each.file] for each in sources}))
    files |= {f"{OUTPUT}/{name}": content for name, content in tables.items()}
    files[LIST] = "".join(f"{name}\n" for name in sorted(tables)).encode()
    words = _words(
        [str(word) for word in command], {each.name: inside[each.file] for each in sources if not each.named_in}
    )
    folder = INPUTS if sources else ""
    files[RERUN] = script(
        [*words, "--no-report", "--quiet", "--out", f"../{AGAIN}" if folder else AGAIN], folder
    ).encode("utf-8")
    files[REQUIREMENTS] = requirements(kept, ["optuna"] if _is_tuned(source, kept) else []).encode()
    about = f"farloop {kept['farloop']}, `farloop {KINDS[str(kept['kind'])]}`."
    rows = (
        {f"`{INPUTS}/`": "scenarios, studies, questions and algorithms in Python that the command reads"}
        if sources
        else {}
    )
    files[README] = readme(_title(kept), kept, about, len(tables), rows).encode("utf-8")
    return dict(sorted(files.items()))


def _title(kept: Mapping[str, Any]) -> str:
    return str(kept.get("title") or kept.get("answer") or f"farloop {KINDS[str(kept['kind'])]}")


def _names(sources: Sequence[SourceFile]) -> dict[str, str]:
    """A name for each file, all of them in one folder."""
    inside: dict[str, str] = {}
    for number, source in enumerate(sources, 1):
        path = PurePosixPath(source.file)
        plain = f"{slug(path.stem)}{path.suffix}"
        inside[source.file] = plain if plain not in inside.values() else f"{number}-{plain}"
    return inside


def _content(source: SourceFile, sources: Sequence[SourceFile], inside: Mapping[str, str]) -> bytes:
    """The text of a file, which names those that it names as they are called in the archive.

    Raises:
        FarloopError: the output does not have its text.
    """
    text = source.text
    if not text:
        raise FarloopError(
            f"{clip_text(source.file, 300)}: the output does not have its text, since it is empty, too long or no UTF-8"
        )
    for other in sources:
        if other.named_in == source.name:
            for quote in "\"'":
                text = text.replace(f"{quote}{other.name}{quote}", f"{quote}{inside[other.file]}{quote}")
    return text.encode("utf-8")


def _inputs(source: Path, kept: Mapping[str, Any], sources: Sequence[SourceFile]) -> Files:
    """The files that scenarios name, such as lists of flows, by their names.

    Raises:
        FarloopError: one has changed, is not there, or is named by a path that leads elsewhere.
    """
    contents: Files = {}
    for scenario, name, wanted in _named_by_scenarios(source, kept):
        if not names.is_proper(name) or "\\" in name:
            raise FarloopError(
                f"{clip_text(scenario, 300)}: names {clip_text(name, 300)}, which lies elsewhere; "
                "expected a file in the scenario's folder, so "
                "that the archive can have it under the same name"
            )
        path = Path(scenario).parent / name
        try:
            content, own = path.read_bytes(), digest(path)
        except OSError as error:
            raise FarloopError(
                f"{clip_text(path, 300)}: {error.strerror or error}; expected the file that the runs read"
            ) from None
        if own != wanted:
            raise FarloopError(
                f"{clip_text(path, 300)}: has changed since the runs; expected the file that they read (SHA-256 {wanted[:16]}…)"
            )
        if contents.setdefault(name, content) != content or any(
            name == PurePosixPath(each.file).name for each in sources
        ):
            raise FarloopError(f"{clip_text(path, 300)}: another file has this name; expected one file of a name")
    return contents


def _named_by_scenarios(source: Path, kept: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Scenario, name and hash of each file that a scenario of an output names."""
    if kept["kind"] in ("advice", "plan"):
        for name, wanted in (kept.get("inputs") or {}).items():
            yield str(kept["scenario"]), str(name), str(wanted)
    if kept["kind"] not in ("study", "arena"):
        return
    seen = set()
    for name in sorted(list_files(source, "")):
        if PurePosixPath(name).name != MANIFEST or RUNS not in name.split("/"):
            continue
        with names.open_regular(source / name) as file:
            content = json.loads(file.read().decode("utf-8"))
        for own in [content, *content.get("runs", [])] if isinstance(content.get("runs"), list) else [content]:
            if not isinstance(own, dict):
                continue
            for each in (own.get("inputs") or {}).items():
                row = (str(own.get("file", content.get("file", ""))), str(each[0]), str(each[1]))
                if row not in seen:
                    seen.add(row)
                    yield row


def _tables(source: Path, kept: Mapping[str, Any], renamed: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    """Tables and summaries by their paths in the output, without the places of files on the machine."""
    for name in sorted(list_files(source, "")):
        path = PurePosixPath(name)
        is_deployed = kept["kind"] == "advice" and path.parts[0] == "deploy"
        if path.suffix not in _TABLES and path.name not in (SUMMARY, CLAIMS, ANSWER) and not is_deployed:
            continue
        with names.open_regular(source / name) as file:
            content = file.read()
        if path.name == ANSWER:
            replaced = _rename_paths(json.loads(content.decode("utf-8")), renamed)
            content = (json.dumps(replaced, indent=2, ensure_ascii=False) + "\n").encode("utf-8")
        yield name, content


def _rename_paths(value: Any, renamed: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _rename_paths(item, renamed) for key, item in value.items()}
    if isinstance(value, list):
        return [_rename_paths(item, renamed) for item in value]
    return renamed.get(value, value) if isinstance(value, str) else value


def _words(command: Sequence[str], inside: Mapping[str, str]) -> list[str]:
    """The command without what decides about nothing in the tables, with the names that files have in the archive."""
    words: list[str] = []
    rest = iter(command)
    for word in rest:
        option, sign, value = word.partition("=")
        if word in _WITHOUT:
            continue
        if option in _WITH_VALUE:
            if not sign:
                next(rest, None)
            continue
        if word.startswith("--") and sign and value in inside:
            words.append(f"{option}={inside[value]}")
        else:
            words.append(inside.get(word, word))
    return words


def _is_tuned(source: Path, kept: Mapping[str, Any]) -> bool:
    if kept["kind"] != "advice":
        return False
    with names.open_regular(source / ANSWER) as file:
        return bool(json.loads(file.read().decode("utf-8")).get("tuned"))
