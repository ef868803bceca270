"""Congestion control for networks that span datacenters: simulate it, compare it, reproduce the papers.

>>> import farloop
>>> result = farloop.run("papers/gear/fig09.toml", algorithm="hpcc")
>>> result.summary["ratio"]          # mean intra-DC throughput over mean cross-DC throughput
>>> result.series.to_pandas()        # any column, as an Arrow table
"""

from farloop import metrics
from farloop._native import ScenarioError
from farloop.api import algorithms, compare, run, schema, version, workloads
from farloop.errors import FarloopError, InvariantError
from farloop.flow_list import flows_from_parquet
from farloop.graphml import from_graphml
from farloop.results import Comparison, Run
from farloop.scenario import Scenario

__version__ = version()

__all__ = [
    "Comparison",
    "FarloopError",
    "InvariantError",
    "Run",
    "Scenario",
    "ScenarioError",
    "__version__",
    "algorithms",
    "compare",
    "flows_from_parquet",
    "from_graphml",
    "metrics",
    "run",
    "schema",
    "version",
    "workloads",
]
