"""Columns of the native module as Arrow tables and numpy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_TYPES: dict[str, np.dtype[Any]] = {"i64": np.dtype("<i8"), "f64": np.dtype("<f8"), "u32": np.dtype("<u4")}

Column = tuple[str, bytes, list[str] | None]
"""A column of the native module: kind ("i64", "i64?", "f64", "u32" or "dict"), little-endian buffer, names of a "dict" column."""

_NOTHING = np.iinfo(np.int64).min
"""What stands in a column of kind "i64?" where there is no number."""

Floats = npt.NDArray[np.float64]


def to_arrow(columns: Mapping[str, Column]) -> pa.Table:
    """An Arrow table of the columns: "dict" columns become dictionary arrays, "i64?" columns have nulls; the others are not copied."""
    return pa.table({name: _array(column) for name, column in columns.items()})


def _array(column: Column) -> pa.Array:
    kind, buffer, names = column
    if kind == "dict":
        indices = pa.array(np.frombuffer(buffer, dtype="<u4").astype("<i4"))
        return pa.DictionaryArray.from_arrays(indices, pa.array(names or [], pa.string()))
    if kind == "i64?":
        numbers = np.frombuffer(buffer, dtype="<i8")
        return pa.array(numbers, mask=numbers == _NOTHING)
    return pa.array(np.frombuffer(buffer, dtype=_TYPES[kind]))


class Series:
    """The sampled series of a run, ready to be asked for one object and metric.

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

    def objects(self, kind: str) -> list[str]:
        """Names of recorded objects of a kind ("flow" or "port"), in the order of the scenario."""
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
            KeyError: the object was not recorded, or it has no such metric.
        """
        return self._index[obj, metric]
