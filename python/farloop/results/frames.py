"""Tables of results in one piece, and as data frames of other libraries."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from farloop.errors import FarloopError
from farloop.results import flow_completion
from farloop.results.seeds import strip_seed

if TYPE_CHECKING:
    from farloop.results.protocols import RunNumbers


def flows_of_runs(runs: Iterable[RunNumbers]) -> pa.Table:
    """A row for every flow of every run.

    Before the columns of flows.parquet stand `run` (the label without the seed), `case` and `seed`, after them `group` ("intra" or "cross")
    and `slowdown` (null where the flow did not finish).
    """
    tables = [_flows_of(run) for run in runs]
    return pa.concat_tables(tables).unify_dictionaries() if tables else pa.table({})


def _flows_of(run: RunNumbers) -> pa.Table:
    flows, count = run.flows, run.flows.num_rows
    slowdowns = flow_completion.slowdowns(flows)
    groups = np.where(flow_completion.is_kind(flows, "cross"), "cross", "intra")
    label = strip_seed(run)
    columns = {
        "run": pa.array([label] * count, pa.string()),
        "case": pa.array([run.case] * count, pa.string()),
        "seed": pa.array([run.seed] * count, pa.int64()),
        **{name: flows[name] for name in flows.column_names},
        "group": pa.array(groups.tolist(), pa.string()),
        "slowdown": pa.array(slowdowns, mask=np.isnan(slowdowns)),
    }
    return pa.table(columns)


def to_pandas(table: pa.Table) -> Any:
    """A table as a data frame of pandas.

    Raises:
        FarloopError: pandas is not installed.
    """
    _require("pandas")
    return table.to_pandas()


def to_polars(table: pa.Table) -> Any:
    """A table as a data frame of polars.

    Raises:
        FarloopError: polars is not installed.
    """
    _require("polars")
    return importlib.import_module("polars").from_arrow(table)


def _require(library: str) -> None:
    """Refuses a library that is not there.

    Raises:
        FarloopError: it is not installed; the text says how it gets there.
    """
    if importlib.util.find_spec(library) is None:
        raise FarloopError(
            f"{library}: is not installed; `pip install {library}` adds it (Arrow tables have to_pylist() without it)"
        )
