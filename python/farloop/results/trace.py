"""Traces: of what, and the files for other people's viewers (docs/traces.md)."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from farloop.errors import FarloopError, clip_text, require_utf8
from farloop.safe_files.named_files import NamedFiles

if TYPE_CHECKING:
    from farloop import _native

PERFETTO = "trace.perfetto-trace"
PCAPNG = "trace.pcapng"

TraceItems = str | Iterable[str]
"""Items to trace, such as "flows=intra", "ports=s1:*", "window=10ms..12ms", "limit=1000000" or "all", or one of them."""


def read_items(trace: TraceItems | None) -> tuple[str, ...]:
    """The items; none for `None`. The simulator says what is wrong with one, since it knows the network's names.

    Raises:
        FarloopError: an item is no text, or there is none.
    """
    if trace is None:
        return ()
    items = (trace,) if isinstance(trace, str) else tuple(trace) if isinstance(trace, Iterable) else (trace,)
    for item in items:
        if not isinstance(item, str):
            raise FarloopError(f"trace: {clip_text(repr(item))}: expected texts, such as all or flows=intra")
        require_utf8("trace", item)
    if not items:
        raise FarloopError("trace: there is no item; expected texts, such as all or flows=intra")
    return items


@dataclass(frozen=True)
class Trace:
    """Trace of a run.

    Attributes:
        items: Requested items.
        records: Number of records.
        left_out: Number of earlier events that did not fit the limit.
    """

    items: tuple[str, ...]
    records: int
    left_out: int
    _source: _native.TraceOutput | Path = field(repr=False)
    _written: list[Path] = field(default_factory=list, repr=False, compare=False)
    """The directory that has its files at present."""

    def write(self, directory: str | PathLike[str]) -> None:
        """Writes `trace.perfetto-trace` and `trace.pcapng` into an existing directory, both or none.

        Raises:
            FarloopError: they cannot be written.
            OSError: they are no longer where the run was loaded from.
        """
        directory = Path(directory)
        own = [self._source / name for name in (PERFETTO, PCAPNG)] if isinstance(self._source, Path) else []
        with NamedFiles(own) as files:
            for name in (PERFETTO, PCAPNG):
                self._fill(name, files.open(directory / name))
        self._written[:] = [directory]

    def save(self, directory: Path) -> None:
        """Writes the same files into a new directory of farloop's own.

        Raises:
            OSError: they cannot be written, or are no longer where the run was loaded from.
        """
        for name in (PERFETTO, PCAPNG):
            with (directory / name).open("xb") as file:
                self._fill(name, file)
        self._written[:] = [directory]

    def _fill(self, name: str, file: BinaryIO) -> None:
        if isinstance(self._source, Path):
            with (self._source / name).open("rb") as source:
                shutil.copyfileobj(source, file)
        elif name == PERFETTO:
            self._source.write_perfetto(file)
        else:
            self._source.write_pcapng(file)

    @contextmanager
    def perfetto(self) -> Iterator[Path]:
        """Its file for Perfetto, wherever that is; one that was not written yet is written for as long as it is needed.

        Raises:
            OSError: it cannot be written.
        """
        for directory in [*self._written, *([self._source] if isinstance(self._source, Path) else [])]:
            if (directory / PERFETTO).is_file():
                yield directory / PERFETTO
                return
        if isinstance(self._source, Path):
            raise FileNotFoundError(f"{self._source / PERFETTO}: no such file")
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / PERFETTO
            with path.open("xb") as file:
                self._source.write_perfetto(file)
            yield path

    @property
    def manifest_entry(self) -> dict[str, Any]:
        """Its entry in a manifest."""
        return {"items": list(self.items), "records": self.records, "left_out": self.left_out}


def make_trace(items: tuple[str, ...], output: _native.TraceOutput | None) -> Trace | None:
    """The trace that the simulator gave."""
    return None if output is None else Trace(items, output.records, output.left_out, output)


def read_trace(entry: dict[str, Any] | None, directory: Path) -> Trace | None:
    """The trace in a directory, of which the manifest says `entry`."""
    if entry is None:
        return None
    return Trace(tuple(map(str, entry["items"])), int(entry["records"]), int(entry["left_out"]), directory)
