"""Training jobs in the formats of `job_formats.py`. `crates/job` reads, checks and writes them."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from farloop import _native, memory
from farloop.errors import FarloopError, clip_text
from farloop.formats.inputs import copy_pipes, open_input
from farloop.formats.job_formats import BY_NAME, FORMATS
from farloop.messages import say
from farloop.safe_files.named_files import NamedFiles

EVERY = 2.0
"""Seconds between lines of progress, and before the first."""

PATIENCE = 0.2
"""Seconds that an interrupt waits for the reader to clean up."""

_left: list[threading.Event] = []

MAX_GROUPS = 1 << 28
"""Bytes of a file of groups: a device would have no end."""

MAX_HINTED = 1 << 22
"""Bytes of a file beside traces that is read to find out whether it has groups."""

MAX_RANKS = 16_777_216
"""The most ranks of a job, as `crates/job` has it."""

Level = tuple[int, str, str]
"""Ranks of a host or a site, latency and rate."""


def read_job(
    files: Sequence[str | PathLike[str]],
    *,
    format: str | None = None,
    out: str | PathLike[str] | None = None,
    to: str | None = None,
    expanded: bool = False,
    collectives: str = "nccl",
    latency: str = "5us",
    rate: str = "400Gbps",
    site: Level | None = None,
    host: Level | None = None,
    message: tuple[str, str, str] | None = None,
    timed: bool = True,
    ranks: int | None = None,
    flops: float | None = None,
    memory_bandwidth: float | None = None,
    groups: str | PathLike[str] | None = None,
    quiet: bool = True,
) -> dict[str, Any]:
    """Describes a training job: counts, bytes by collective, time and critical path on an ideal network.

    Args:
        files: The job's files: one, or one for each rank where the format has such files.
        format: The name of one of `farloop.formats.job_formats.FORMATS`, such as "goal"; by content unless given.
        out: Where to write the job; what names of files begin with where the format has one for each rank. All files are there, each
            whole, or none.
        to: The format of `out`; unless given, the end of its name says it.
        expanded: Write sends and receives in place of collectives, also to Chakra.
        collectives: "nccl", "ring", "doubling", "tree", "direct" or "hierarchical".
        latency: Time of a message on the ideal network, beside its bytes.
        rate: Rate at which a rank sends and receives there.
        site: Ranks of a site, and latency and rate between sites.
        host: Ranks of a host, and latency and rate inside.
        message: Time that a message costs a rank, the least time between two, and the size above which a send waits for its receiver, or
            "none": o, g and S of LogGOPS.
        timed: Time an iteration on the ideal network.
        ranks: Number of ranks where the files do not say it.
        flops: Operations per second of a rank, for Chakra nodes with `num_ops` and no duration.
        memory_bandwidth: Bytes per second of a rank's memory, for Chakra nodes with `tensor_size` and no duration.
        groups: A file with Chakra's groups of ranks as JSON.
        quiet: Tell nothing while it lasts.

    Raises:
        FarloopError: a file cannot be read, is none of these formats or broken, or `out` cannot be written or is one of the files; the
            text names file, place and reason.
    """
    for option, number in (
        ("--ranks", ranks),
        ("--ranks-per-site", site and site[0]),
        ("--ranks-per-host", host and host[0]),
    ):
        if number is not None and not 1 <= number <= MAX_RANKS:
            raise FarloopError(f"{option} {number}: expected 1 to {MAX_RANKS}")
    names = [os.fspath(file) for file in files]
    written = _output_format(out, to)
    options: dict[str, Any] = {
        "format": format,
        "collectives": collectives,
        "latency": latency,
        "rate": rate,
        "site": site,
        "host": host,
        "message": message,
        "timed": timed,
        "expanded": expanded,
        "ranks": ranks,
        "flops": flops,
        "memory_bandwidth": memory_bandwidth,
        "groups": _text(groups),
        "memory_limit": memory.limit(),
    }
    progress = None if quiet else _progress()
    with NamedFiles([*names, *([] if groups is None else [groups])]) as made:
        if written is not None:
            path, form = written
            known = BY_NAME.get(form)
            made.check(f"{path}.0{known.extension}" if known and known.is_file_per_rank else path)
            options["out"] = (path, form, made.open)
        with copy_pipes(names) as copies:
            try:
                answer = _on_a_thread(copies, options, progress, made)
            except UnicodeEncodeError as error:
                raise FarloopError(f"{clip_text(ascii(error.object))}: is not UTF-8 text; expected that") from None
            except _native.ScenarioError as error:
                text = str(error)
                for copy, name in zip(copies, names, strict=True):
                    text = text.replace(copy, name)
                if error.lacks_groups and groups is None:
                    text += _groups_hint(names)
                raise FarloopError(text) from None
    summary: dict[str, Any] = json.loads(answer)
    return summary | {"files": names}


def has_stray_thread() -> bool:
    """True while a thread still reads or writes a job that an interrupt has ended."""
    return not all(done.is_set() for done in _left)


def _on_a_thread(
    names: list[str],
    options: dict[str, Any],
    progress: Callable[[str, int, int], bool] | None,
    made: NamedFiles,
) -> str:
    """Reads it on a thread, so that an interrupt ends it at once, also between two calls of `progress`."""
    # Not `is_alive`: a thread whose `join` was interrupted counts as over (bpo-45274).
    stopped, done = threading.Event(), threading.Event()
    answers: list[str] = []
    raised: list[BaseException] = []

    def go_on(what: str, done: int, total: int) -> bool:
        return not stopped.is_set() and (progress is None or progress(what, done, total))

    def read() -> None:
        try:
            answers.append(_native.import_job(names, go_on, **options))
        except BaseException as error:
            raised.append(error)
        finally:
            done.set()

    try:
        threading.Thread(target=read, name="import-job", daemon=True).start()
        while not done.wait(0.1):
            pass
    except BaseException:
        stopped.set()
        _left.append(done)
        # What it writes from now on fails.
        made.remove()
        done.wait(PATIENCE)
        raise
    if raised:
        raise raised[0]
    return answers[0]


def _output_format(out: str | PathLike[str] | None, to: str | None) -> tuple[str, str] | None:
    if out is None:
        if to is not None:
            raise FarloopError("--to: expected --out as well")
        return None
    path = os.fspath(out)
    by_end = {row.extension: row.name for row in FORMATS if row.is_written}
    form = to or by_end.get(Path(path).suffix)
    if form is None:
        raise FarloopError(f"--out {clip_text(path)}: expected --to, or a name that ends in {', '.join(by_end)}")
    known = BY_NAME.get(form)
    return (path.removesuffix(known.extension) if known and known.is_file_per_rank else path), form


def _text(groups: str | PathLike[str] | None) -> tuple[str, str] | None:
    if groups is None:
        return None
    name = clip_text(os.fspath(groups), 300)
    try:
        with open_input(Path(groups)) as file:
            content = file.read(MAX_GROUPS + 1)
        if len(content) > MAX_GROUPS:
            raise FarloopError(f"{name}: has more than {MAX_GROUPS >> 20} MiB; expected lists of ranks as JSON")
        return name, content.decode("utf-8")
    except UnicodeDecodeError:
        raise FarloopError(f"{name}: is not UTF-8 text") from None
    except OSError as error:
        raise FarloopError(f"{name}: cannot be read: {error.strerror or error}") from None


def _groups_hint(names: Sequence[str]) -> str:
    """Returns a hint for a refusal of Chakra traces without the ranks of their groups: the option, and a file beside them with these."""
    if not names[0].endswith(".et"):
        return ""
    beside = next((path for path in sorted(Path(names[0]).parent.glob("*.json")) if _has_groups(path)), None)
    named = f"--groups {clip_text(os.fspath(beside), 300)}" if beside else "--groups FILE"
    return f"; expected {named}, where the traces do not have the ranks of their groups"


def _has_groups(path: Path) -> bool:
    """Returns true if a file has lists of ranks by the name of a group; files that are too large to be sure of are not read."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_HINTED:
            return False
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    lists = list(content.values()) if isinstance(content, dict) else []
    return bool(lists) and all(isinstance(ranks, list) and all(type(r) is int for r in ranks) for ranks in lists)


def _progress() -> Callable[[str, int, int], bool]:
    """Lines of progress with the time left."""
    state: dict[str, float] = {}
    began = last = time.monotonic()

    def tell(what: str, done: int, total: int) -> bool:
        nonlocal last
        now = time.monotonic()
        first = state.setdefault(what, now)
        if now - last >= EVERY and now - began >= EVERY:
            last = now
            left = f", {(now - first) * (total - done) / done:.0f} s left" if done and now > first else ""
            say(f"import-job: {what}: {done / max(total, 1):.0%}{left}")
        return True

    return tell
