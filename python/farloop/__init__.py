"""Congestion control for networks that span datacenters: simulate it, compare it, reproduce the papers.

>>> import farloop
>>> result = farloop.run("papers/gear/fig09.toml", algorithm="hpcc")
>>> result.summary["ratio"]          # mean intra-DC throughput over mean cross-DC throughput
>>> result.series.to_pandas()        # any column, as an Arrow table
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from farloop.results.showing import set_renderer as _set_renderer

if TYPE_CHECKING:
    from farloop import metrics
    from farloop._native import ScenarioError
    from farloop.api import advise, compare, diff, load, plan, run, schema, study, version
    from farloop.catalogue import algorithms, workloads
    from farloop.errors import FarloopError, InvariantError, UnknownNameError
    from farloop.experiments.execution import Execution
    from farloop.formats.flow_list import flows_from_parquet
    from farloop.formats.goal import flows_from_goal
    from farloop.formats.graphml import from_graphml
    from farloop.formats.hpcc import flows_from_hpcc, from_hpcc
    from farloop.formats.htsim import flows_from_htsim
    from farloop.formats.sndlib import flows_from_sndlib, from_sndlib
    from farloop.results.differences import Difference
    from farloop.results.job_matrix import Interference
    from farloop.results.run import Comparison, Run
    from farloop.results.showing import Renderer
    from farloop.results.trace import Trace
    from farloop.results.why import Explanation
    from farloop.results.why_job import JobExplanation
    from farloop.running.why import why
    from farloop.scaling import scale_network
    from farloop.scenario import Scenario
    from farloop.studies.advice.asking import Advice
    from farloop.studies.capacity.planning import CapacityPlan
    from farloop.studies.interference import interference
    from farloop.studies.sweep.study import Study

    __version__: str

__all__ = [
    "Advice",
    "CapacityPlan",
    "Comparison",
    "Difference",
    "Execution",
    "Explanation",
    "FarloopError",
    "Interference",
    "InvariantError",
    "JobExplanation",
    "Run",
    "Scenario",
    "ScenarioError",
    "Study",
    "Trace",
    "UnknownNameError",
    "__version__",
    "advise",
    "algorithms",
    "compare",
    "diff",
    "flows_from_goal",
    "flows_from_hpcc",
    "flows_from_htsim",
    "flows_from_parquet",
    "flows_from_sndlib",
    "from_graphml",
    "from_hpcc",
    "from_sndlib",
    "interference",
    "load",
    "metrics",
    "plan",
    "run",
    "scale_network",
    "schema",
    "study",
    "version",
    "why",
    "workloads",
]

_PLACES = {
    "Advice": "studies.advice.asking",
    "advise": "api",
    "Comparison": "results.run",
    "Difference": "results.differences",
    "Execution": "experiments.execution",
    "Explanation": "results.why",
    "FarloopError": "errors",
    "Interference": "results.job_matrix",
    "InvariantError": "errors",
    "JobExplanation": "results.why_job",
    "CapacityPlan": "studies.capacity.planning",
    "Run": "results.run",
    "Scenario": "scenario",
    "ScenarioError": "_native",
    "Study": "studies.sweep.study",
    "Trace": "results.trace",
    "UnknownNameError": "errors",
    "algorithms": "catalogue",
    "compare": "api",
    "diff": "api",
    "flows_from_goal": "formats.goal",
    "flows_from_hpcc": "formats.hpcc",
    "flows_from_htsim": "formats.htsim",
    "flows_from_parquet": "formats.flow_list",
    "flows_from_sndlib": "formats.sndlib",
    "from_graphml": "formats.graphml",
    "from_hpcc": "formats.hpcc",
    "from_sndlib": "formats.sndlib",
    "interference": "studies.interference",
    "load": "api",
    "plan": "api",
    "run": "api",
    "scale_network": "scaling",
    "schema": "api",
    "study": "api",
    "version": "api",
    "why": "running.why",
    "workloads": "catalogue",
}
"""Module of each name: it is imported on first use, so that users of no tables do not wait for them."""


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(importlib.import_module(f"farloop.{_PLACES[name]}"), name)
    if name == "__version__":
        return importlib.import_module("farloop._native").version()
    if importlib.util.find_spec(f"farloop.{name}") is not None:
        return importlib.import_module(f"farloop.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _load_renderer() -> Renderer:
    from farloop.views import notebook

    return notebook


_set_renderer(_load_renderer)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
