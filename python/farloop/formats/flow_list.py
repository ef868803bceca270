"""Flow lists from Parquet files, as the CSV that a `[workload]` with `pattern = "list"` reads."""

from __future__ import annotations

import csv
import difflib
import io
import math
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from farloop.errors import FarloopError, clip_text
from farloop.safe_files.names import open_regular

COLUMNS = (
    "name", "from", "to", "start", "stop", "size", "initial_rate", "initial_cwnd", "algorithm", "class", "elephant",
    "after", "count", "port", "path", "ack_path",
)  # fmt: skip
"""The keys of `[[flow]]`."""

_WITH_UNIT = {f"{key}_{unit}": (key, unit) for key in ("start", "stop") for unit in ("ps", "ns", "us", "ms", "s")} | {
    "size_bytes": ("size", "B"),
    "initial_cwnd_bytes": ("initial_cwnd", "B"),
    "initial_rate_bps": ("initial_rate", "bps"),
}
"""Columns of plain numbers: the key that they stand for and the unit."""

_COUNTS = ("class", "count", "port")
_LISTS = {"after": '"request" or "request+10us"', "path": '"h1", "leaf1", "h2"', "ack_path": '"h2", "leaf1", "h1"'}
"""Columns of lists of texts, with an example."""


def flows_from_parquet(path: str | PathLike[str]) -> str:
    """The flows of a Parquet file as CSV text: one row per flow.

    The columns are keys of `[[flow]]`: `from` and `to`, and any others. Quantities are texts with a unit ("10MB"), or plain numbers
    in a column whose name ends with the unit: `start_ps`, `start_s`, `size_bytes`, `initial_rate_bps`. `after`, `path` and `ack_path`
    have lists of texts. A null leaves the key at its default.

    Raises:
        FarloopError: the file is no Parquet file, a column is not known or missing, or a value is not what its column needs; the text names
            row (from 0) and column.
    """
    file, path = path, clip_text(path, 300)
    try:
        with open_regular(Path(file)) as opened, pq.ParquetFile(opened, pre_buffer=False) as parquet:
            table = parquet.read(use_threads=False)  # as results/tables.py does
    except OSError as error:
        raise FarloopError(f"{path}: cannot be read: {clip_text(str(error.strerror or error).strip(), 300)}") from None
    except (TypeError, ValueError) as error:
        # Arrow's errors are ValueErrors, too, and so are null bytes in a path.
        problem = "is not a Parquet file" if isinstance(error, pa.ArrowException) else "cannot be read"
        raise FarloopError(f"{path}: {problem}: {clip_text(str(error).strip(), 300)}") from None
    except pa.ArrowException as error:
        raise FarloopError(f"{path}: is not a Parquet file: {clip_text(str(error).strip(), 300)}") from None
    keys = [_key(path, name) for name in table.column_names]
    for key in keys:
        if keys.count(key) > 1:
            raise FarloopError(f"{path}: two columns stand for {key}; expected each key once")
    for required in ("from", "to"):
        if required not in keys:
            raise FarloopError(f"{path}: column {required}: missing; {_workload_hint()}")
    columns = [
        [_cell(path, row, field.name, value) for row, value in enumerate(_values(path, field.name, column, field))]
        for field, column in zip(table.schema, table.columns, strict=True)
    ]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(keys)
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()


def _values(path: object, name: str, column: pa.ChunkedArray, field: pa.Field) -> list[Any]:
    """The values of a column, in Python's types.

    Only types of one form are taken: of times, Arrow makes something else where pandas is installed.
    """
    if (why := _unknown_type(field)) and column.null_count < len(column):
        row = next(row for row, scalar in enumerate(column) if scalar.is_valid)
        raise FarloopError(f"{path}: row {row}, column {name}: is of the type {why}; expected texts or plain numbers")
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError:
        for row, scalar in enumerate(column):
            try:
                scalar.as_py()
            except UnicodeDecodeError:
                raise FarloopError(f"{path}: row {row}, column {name}: is not UTF-8 text") from None
        raise
    return [None] * len(values) if why else values


def _unknown_type(field: pa.Field) -> str:
    """The type of a column that has neither texts, numbers, truth values nor lists of texts; empty where it has."""
    kind, types = field.type, pa.types
    extension = (field.metadata or {}).get(b"ARROW:extension:name", b"").decode("utf-8", "replace")
    if extension or isinstance(kind, pa.BaseExtensionType):
        # Known to Arrow only where the library that defines it is loaded.
        return f"extension {clip_text(extension or kind.extension_name)}"
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        kind = kind.value_type
        plain = _is_text(kind) or types.is_null(kind)
    else:
        plain = _is_text(kind) or types.is_integer(kind) or types.is_floating(kind)
        plain = plain or types.is_boolean(kind) or types.is_null(kind)
    return "" if plain else clip_text(field.type)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _key(path: object, name: str) -> str:
    if name in COLUMNS:
        return name
    if name in _WITH_UNIT:
        return _WITH_UNIT[name][0]
    close = difflib.get_close_matches(name[:200], [*COLUMNS, *_WITH_UNIT], n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise FarloopError(f"{path}: column {clip_text(name)}: unknown; {_workload_hint()}{hint}")


def _workload_hint() -> str:
    return f"columns: {', '.join(COLUMNS)}, or with a unit such as start_ps, start_s, size_bytes, initial_rate_bps"


def _cell(path: object, row: int, name: str, value: Any) -> str:
    if value is None:
        return ""
    where = f"{path}: row {row}, column {name}: {clip_text(repr(value))}"
    if name in _WITH_UNIT:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise FarloopError(f"{where} is no number; expected one, or null for the default")
        return f"{_format_number(value)}{_WITH_UNIT[name][1]}"
    if name in _COUNTS:
        if isinstance(value, bool) or not isinstance(value, int):
            raise FarloopError(f"{where} is no whole number; expected one, or null for the default")
        return str(value)
    if name == "elephant":
        if not isinstance(value, bool):
            raise FarloopError(f"{where} is neither true nor false; expected one of them, or null for the default")
        return str(value).lower()
    if name in _LISTS:
        names = value if isinstance(value, list) else [value]
        if not all(isinstance(text, str) for text in names):
            raise FarloopError(f"{where}: expected a list of texts such as {_LISTS[name]}")
        return _cell(path, row, "name", " ".join("".join(text.split()) for text in names))
    if not isinstance(value, str):
        expected = "a text"
        if any(key == name for key, _ in _WITH_UNIT.values()):
            other = next(column for column, (key, _) in _WITH_UNIT.items() if key == name)
            expected = f"a text with a unit, or numbers in a column such as {other}"
        raise FarloopError(f"{where} is no text; expected {expected}")
    # No name or quantity has these.
    if any(mark in value for mark in ',"') or not value.isprintable() or value.lstrip().startswith("#"):
        raise FarloopError(
            f"{where} has a comma, quote, line break, control character or leading #; expected a plain text"
        )
    return value


def _format_number(value: float) -> str:
    """A number without exponent; 15 decimals make a second exact to far less than a picosecond."""
    return str(value) if isinstance(value, int) else f"{value:.15f}".rstrip("0").rstrip(".")
