"""Columns of the native module as Arrow tables and numpy arrays."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from farloop.errors import UnknownNameError, clip_text, nearest
from farloop.results import fields
from farloop.safe_files.names import open_regular

_TYPES: dict[str, np.dtype[Any]] = {"i64": np.dtype("<i8"), "f64": np.dtype("<f8"), "u32": np.dtype("<u4")}

_ARROW = {"i64": pa.int64(), "f64": pa.float64(), "u32": pa.uint32(), "dict": pa.dictionary(pa.int32(), pa.string())}

Column = tuple[str, bytes, list[str] | None]
"""A column of the native module: kind ("i64", "i64?", "f64", "u32" or "dict"), little-endian buffer, names of a "dict" column.

"no " before the kind: no row has a value, and the buffer has a byte for each.
"""

_NOTHING = np.iinfo(np.int64).min
"""Value in a column of kind "i64?" where there is no number."""

Floats = npt.NDArray[np.float64]


def to_arrow(columns: Mapping[str, Column]) -> pa.Table:
    """An Arrow table of the columns: "dict" columns become dictionary arrays, "i64?" columns have nulls; the others are not copied.

    Columns that the run's gear does not have are null throughout.
    """
    return pa.table({name: _array(column) for name, column in columns.items()})


def from_rows(name: str, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """A table of a run from rows that may lack columns: those are null where they can be, else 0."""
    columns = {
        field.name: pa.array([row.get(field.name, field.nothing) for row in rows], _ARROW[field.kind])
        for field in fields.TABLES[name]
    }
    return describe_columns(name, pa.table(columns))


def describe_columns(name: str, table: pa.Table) -> pa.Table:
    """A table with the unit and meaning of each column as metadata of its field; series also with those of the metrics."""
    known = {field.name: field for field in fields.TABLES[name]}
    schema = pa.schema([_describe_field(column, known.get(column.name)) for column in table.schema])
    if name == "series":
        kinds = {
            kind: descriptions for kind, descriptions in fields.METRICS.items() if kind != "worst" or _has_worst(table)
        }
        metrics = {
            f"{kind}/{m.name}": [m.unit, m.meaning] for kind, descriptions in kinds.items() for m in descriptions
        }
        schema = schema.with_metadata({"farloop.metrics": json.dumps(metrics)})
    return pa.Table.from_arrays(table.columns, schema=schema)


def write(table: pa.Table, path: Path) -> None:
    """Writes a Parquet file.

    Raises:
        OSError: it cannot be written.
    """
    # Not by its path, which Arrow takes only where it is UTF-8.
    with path.open("wb") as file:
        pq.write_table(table, file, compression="zstd")


def read(name: str, path: Path) -> pa.Table:
    """Reads a table of a run that `write` has written.

    Raises:
        OSError: there is no such file, or it is damaged.
        ValueError: a column has values of another kind, such as times, for which Arrow has other types where pandas is installed.
        pyarrow.ArrowException: it is no Parquet file.
    """
    table = describe_columns(name, read_any(path))
    for column in table.schema:
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_string(kind)):
            raise ValueError(f"column {clip_text(column.name)} of {path.name} is of the type {clip_text(column.type)}")
    return table


def read_any(path: Path) -> pa.Table:
    """Reads any table that `write` has written, with what its columns say of themselves.

    Raises:
        OSError: there is no such file, or it is damaged.
        pyarrow.ArrowException: it is no Parquet file.
    """
    # Not `read_table`: that one takes directories called "load=0.3" for a column.
    with open_regular(path) as opened, pq.ParquetFile(opened, pre_buffer=False) as file:
        # Arrow's threads may let go of Python's file after the interpreter has begun to end, which aborts the process: none are used.
        return file.read(use_threads=False)


def column_names(path: Path) -> list[str]:
    """The columns of a table, of which only the end of its file is read.

    Raises:
        OSError: there is no such file, or it is damaged.
        pyarrow.ArrowException: it is no Parquet file.
    """
    with open_regular(path) as opened, pq.ParquetFile(opened, pre_buffer=False) as file:
        return [str(name) for name in file.schema_arrow.names]


def _describe_field(column: pa.Field, field: fields.Field | None) -> pa.Field:
    if field is None:
        return column.remove_metadata()
    return column.with_metadata(fields.metadata(field))


def _has_worst(series: pa.Table) -> bool:
    """Returns true if some ports have series because they turned out to be the worst."""
    dictionaries = (chunk.dictionary for chunk in series["object"].chunks)
    return any(str(name).startswith("worst/") for names in dictionaries for name in names.to_pylist())


def _array(column: Column) -> pa.Array:
    kind, buffer, names = column
    if kind.startswith("no "):
        return pa.nulls(len(buffer), _ARROW[kind.removeprefix("no ")])
    if kind == "dict":
        indices = pa.array(np.frombuffer(buffer, dtype="<i4"))
        return pa.DictionaryArray.from_arrays(indices, pa.array(names or [], pa.string()))
    if kind == "i64?":
        numbers = np.frombuffer(buffer, dtype="<i8")
        return pa.array(numbers, mask=numbers == _NOTHING)
    return pa.array(np.frombuffer(buffer, dtype=_TYPES[kind]))


def port_name(row: Mapping[str, Any]) -> str:
    """Returns the name in series of the port in a row of the table of ports: "tor1->eps"; on the second of parallel links "tor1->eps#2"."""
    which = row.get("link") or 1
    return f"{row['node']}->{row['peer']}" + (f"#{which}" if which > 1 else "")


def port_names(ports: pa.Table) -> list[str]:
    """Those of all rows."""
    columns = [name for name in ("node", "peer", "link") if name in ports.column_names]
    return [port_name(row) for row in ports.select(columns).to_pylist()]


class Series:
    """The sampled series of a run, indexed by object and metric.

    A sample at time t describes the interval since the sample before (rates, maxima, fractions) or the instant t (windows, queues).
    """

    def __init__(self, table: pa.Table) -> None:
        self._index: dict[tuple[str, str], tuple[Floats, Floats]] = {}
        if table.num_rows == 0:
            return
        table = table.combine_chunks()
        objects, metrics = table["object"].chunk(0), table["metric"].chunk(0)
        object_names, metric_names = objects.dictionary.to_pylist(), metrics.dictionary.to_pylist()
        key = objects.indices.to_numpy().astype(np.int64) * len(metric_names) + metrics.indices.to_numpy()
        order = np.argsort(key, kind="stable")
        seconds = table["time_ps"].to_numpy()[order] / 1e12
        values = table["value"].to_numpy()[order].astype(np.float64)
        keys, starts = np.unique(key[order], return_index=True)
        for k, start, stop in zip(keys, starts, [*starts[1:], len(order)], strict=True):
            name = (object_names[k // len(metric_names)], metric_names[k % len(metric_names)])
            self._index[name] = (seconds[start:stop], values[start:stop])

    def __contains__(self, key: tuple[str, str]) -> bool:
        return key in self._index

    @property
    def metrics(self) -> dict[str, list[str]]:
        """Names of the metrics that were recorded, by kind of object ("flow", "port", "queue"), in the order of the documentation."""
        recorded = {(obj.split("/", 1)[0], metric) for obj, metric in self._index}
        kinds = {kind: [m.name for m in known if (kind, m.name) in recorded] for kind, known in fields.METRICS.items()}
        return {kind: names for kind, names in kinds.items() if names}

    def objects(self, kind: str) -> list[str]:
        """Names of recorded objects of a kind ("flow", "port" or "queue"), in the order of the scenario."""
        names = dict.fromkeys(o.split("/", 1)[1] for o, _ in self._index if o.startswith(f"{kind}/"))
        return list(names)

    def highest(self, kind: str, metric: str, most: int) -> list[str]:
        """Names of the `most` objects of a kind whose metric reaches the highest values, in the order of the scenario."""
        names = self.objects(kind)
        if len(names) <= most:
            return names
        peaks = {name: float(np.max(self.get(f"{kind}/{name}", metric)[1], initial=-np.inf)) for name in names}
        chosen = set(sorted(names, key=lambda name: -peaks[name])[:most])
        return [name for name in names if name in chosen]

    def get(self, obj: str, metric: str) -> tuple[Floats, Floats]:
        """Sampling times in seconds and values of one metric, such as ("flow/intra", "throughput").

        Raises:
            UnknownNameError: the object was not recorded, or it has no such metric; the text says what there is. It is a KeyError.
        """
        places = self._index.get((obj, metric))
        if places is not None:
            return places
        objects = list(dict.fromkeys(o for o, _ in self._index))
        if not objects:
            raise UnknownNameError(f"{clip_text(obj)}: nothing was recorded; see [record] of the scenario")
        if obj not in objects:
            raise UnknownNameError(f"{clip_text(obj)}: no such object was recorded; {nearest(str(obj), objects)}")
        metrics = [m for o, m in self._index if o == obj]
        raise UnknownNameError(f"{clip_text(metric)}: {obj} has no such metric; {nearest(str(metric), metrics)}")
