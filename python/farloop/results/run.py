"""Results of simulations: tables, series, summaries; written, shown, compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from farloop.deprecation import RenamedKeys
from farloop.errors import UnknownNameError, clip_text, nearest
from farloop.results import (
    cautions,
    collectives,
    fields,
    flow_completion,
    frames,
    gears,
    job_times,
    paired,
    seeds,
    steadiness,
)
from farloop.results.flow_completion import MANY
from farloop.results.seeds import group_by_label, strip_seed
from farloop.results.showing import Drawable
from farloop.results.size_classes import GEMINI, SizeClasses, parse
from farloop.results.steadiness import Stationarity
from farloop.results.summary import summarise
from farloop.results.tables import Floats, Series
from farloop.scenario import Scenario

if TYPE_CHECKING:
    from farloop.results.algorithm_text import AlgorithmText
    from farloop.results.jitter import TieSensitivity
    from farloop.results.trace import Trace


@dataclass(frozen=True)
class Run(Drawable):
    """The result of one simulation.

    Attributes:
        label: Its name in tables and pictures.
        case: The case of the figure that it belongs to; empty outside of figures.
        algorithm: The algorithm of its flows.
        flows: One row per flow (Arrow); times in ps, sizes in bytes; null where there is no such time or size.
        series: Sampled series in long form: time in ps, object, metric, value.
        ports: One row per egress port; times in ps, sizes in bytes.
        pauses: Pauses by PFC: one row per paused port, cause and root; times in ps.
        circuits: Traffic of each circuit in each day that was over by the end; empty without circuit switches.
        queues: The queues of switches that schedule circuits; empty without such switches.
        iterations: Iterations of jobs, with what they take on an ideal network; empty without jobs.
        ranks: Ranks of jobs: how long they compute, and do not; empty without jobs.
        info: Totals, invariants, deadlocks, wall time, version.
        scenario: The scenario with all defaults resolved.
        file: The scenario file's name.
        overrides: The settings that replaced some of the file.
        address: Address in a store of runs: a hash of all that this one was made from; empty where that is not known.
        trace: The recorded trace, if the run was traced.
        sizes: The classes of flow sizes that its summary and tables have.
        algorithm_texts: The files of algorithms in Python that its scenario knew.
        inputs: The SHA-256 of each file that its scenario names.
    """

    label: str
    case: str
    algorithm: str
    flows: pa.Table = field(repr=False)
    series: pa.Table = field(repr=False)
    ports: pa.Table = field(repr=False)
    pauses: pa.Table = field(repr=False)
    circuits: pa.Table = field(repr=False)
    queues: pa.Table = field(repr=False)
    iterations: pa.Table = field(repr=False)
    ranks: pa.Table = field(repr=False)
    info: dict[str, Any] = field(repr=False)
    scenario: dict[str, Any] = field(repr=False)
    file: str
    overrides: tuple[tuple[str, str], ...] = ()
    address: str = ""
    trace: Trace | None = None
    sizes: SizeClasses = GEMINI
    algorithm_texts: tuple[AlgorithmText, ...] = field(default=(), repr=False)
    inputs: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def tables(self) -> dict[str, pa.Table]:
        """All tables, by name."""
        return {name: getattr(self, name) for name in fields.TABLES}

    def table(self, name: str) -> pa.Table:
        """A table by its name, such as "flows" or "ports".

        Raises:
            UnknownNameError: there is none of that name.
        """
        if name not in fields.TABLES:
            raise UnknownNameError(f"{clip_text(name)}: no such table; {nearest(str(name), fields.TABLES)}")
        return self.tables[name]

    def to_pandas(self, table: str = "flows") -> Any:
        """A table of the run, by default that of its flows, as a data frame of pandas.

        Args:
            table: Its name.

        Raises:
            UnknownNameError: there is no such table.
            FarloopError: pandas is not installed.
        """
        return frames.to_pandas(self.table(table))

    def to_polars(self, table: str = "flows") -> Any:
        """A table of the run, by default that of its flows, as a data frame of polars.

        Args:
            table: Its name.

        Raises:
            UnknownNameError: there is no such table.
            FarloopError: polars is not installed.
        """
        return frames.to_polars(self.table(table))

    @property
    def metrics(self) -> dict[str, list[str]]:
        """Names of the metrics that were recorded, by kind of object: those that `samples.get("flow/NAME", METRIC)` has."""
        return self.samples.metrics

    @cached_property
    def slowdown(self) -> Floats:
        """FCT slowdown of each finished flow, in the order of the table of flows.

        It is the time until the flow's last byte arrived over that of the same flow alone in the empty network.
        """
        values = flow_completion.slowdowns(self.flows)
        return values[~np.isnan(values)]

    @cached_property
    def samples(self) -> Series:
        """The series as numpy arrays, one pair of times and values per object and metric."""
        return Series(self.series)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Throughput, fairness, queues, pauses, losses, completion times; rates in bit/s, times in seconds, sizes in bytes."""
        return self.numbers | {"cautions": [caution.row() for caution in cautions.of_run(self)]}

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """The summary without its cautions, which are drawn from it."""
        numbers = summarise(
            self.flows,
            self.ports,
            self.pauses,
            self.iterations,
            self.samples,
            self.info,
            self.scenario,
            self.sizes,
        )
        steady = None if self.steadiness is None else self.steadiness.is_steady
        times = job_times.facts(self.iterations, self.ranks, self.info)
        trained = {name: job | times[name] for name, job in collectives.summarise_jobs(self.iterations).items()}
        numbers["jobs"] = numbers["jobs"] | trained
        return numbers | {"warm_up": steadiness.warm_up_of_flows(self.flows), "steady": steady}

    @cached_property
    def steadiness(self) -> Stationarity | None:
        """Where the warm-up of its flows ends, and whether they drift after it; `None` where they are too few to say."""
        return steadiness.steadiness(self.flows, self.duration)

    @property
    def seed(self) -> int:
        """The seed of all random streams."""
        return int(self.scenario["run"]["seed"])

    @property
    def gear(self) -> str:
        """How it was simulated: "packets", "fluid" or "max-min"."""
        return gears.gear_of(self.scenario)

    @property
    def duration(self) -> float:
        """Simulated seconds."""
        return float(self.info["totals"]["end_s"])

    @property
    def loaded_time(self) -> float:
        """Seconds that loads are over: those in which jobs ran, where no flows did; else all simulated ones."""
        begin, until = collectives.time_of_jobs(self.flows, self.iterations, self.duration) or (0.0, self.duration)
        return until - begin

    def by_sizes(self, sizes: str | SizeClasses | None) -> Run:
        """The same run with other classes of flow sizes: "gemini", "median", or bounds such as "20kB,1MB"; its own for `None`.

        Raises:
            FarloopError: these are no classes.
        """
        return self if sizes is None else replace(self, sizes=sizes if isinstance(sizes, SizeClasses) else parse(sizes))

    def save(self, directory: str | PathLike[str], *, force: bool = False, report: bool = True) -> Path:
        """Writes tables, summary, report and pictures into a directory (replaced if it is such an output already).

        Args:
            directory: Where to.
            force: Write beside files that farloop did not write, over those of the same names.
            report: With the report and the pictures; `farloop report` draws them later.

        Raises:
            FarloopError: the directory cannot be written, or holds something else.
        """
        from farloop.output import saving

        return saving.save_run(self, Path(directory), force=force, report=report)

    def __str__(self) -> str:
        return str(replace(self.alone, title=str(self.summary["title"])))

    def _repr_html_(self) -> str:
        from farloop.views.report.shown import as_html

        return as_html(replace(self.alone, title=str(self.summary["title"])))

    @property
    def alone(self) -> Comparison:
        """The run as a comparison of one."""
        return Comparison(title=str(self.summary["title"] or self.label), runs=[self])


class ClaimRow(RenamedKeys):
    """A claim's entry in claims.json."""

    RENAMED: ClassVar[Mapping[str, str]] = {"told": "verdict_text"}


@dataclass(frozen=True)
class Comparison(Drawable):
    """Several runs side by side: one network and traffic under several algorithms, or all runs of a paper's figure.

    Attributes:
        title: Subject of the comparison.
        runs: The runs, in the requested order.
        figure: The identifier of the paper's figure, such as "gear/fig09"; empty if it is none.
        claims: The published claims with the verdicts of these runs.
        scale: "quick" or "full" for a figure's runs, "custom" for anything else.
        seeds: The seeds that everything was run with, for means and confidence intervals; empty where every case has a seed of its own.
        notes: Notes on what could not be judged or drawn.
        base: The scenario that the runs' settings start from, where there is one.
        jitter: Numbers under variations in ties and starts, if `jitter` was set.
    """

    title: str
    runs: list[Run]
    figure: str = ""
    claims: list[dict[str, Any]] = field(default_factory=list)
    scale: str = "custom"
    seeds: tuple[int, ...] = ()
    notes: list[str] = field(default_factory=list)
    base: Scenario | None = field(default=None, repr=False)
    jitter: TieSensitivity | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "claims", [ClaimRow(row) for row in self.claims])

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, label: str) -> Run:
        for run_ in self.runs:
            if run_.label == label:
                return run_
        raise UnknownNameError(f"{clip_text(label)}: no such run; {nearest(str(label), [r.label for r in self.runs])}")

    def of_seed(self, seed: int) -> Comparison:
        """The runs of one of the `seeds`, under the labels that they have without seeds; without verdicts, which are about all seeds.

        Raises:
            UnknownNameError: there is no such seed.
        """
        if seed not in self.seeds:
            raise UnknownNameError(f"seed {seed}: {nearest('', map(str, self.seeds))}; see Comparison.seeds")
        runs = [replace(run_, label=strip_seed(run_)) for run_ in self.runs if run_.seed == seed]
        return replace(self, runs=runs, claims=[], seeds=(), jitter=None)

    @property
    def sizes(self) -> SizeClasses:
        """The classes of flow sizes of its runs."""
        return self.runs[0].sizes if self.runs else GEMINI

    def by_sizes(self, sizes: str | SizeClasses | None) -> Comparison:
        """The same runs with other classes of flow sizes, as `Run.by_sizes`.

        Raises:
            FarloopError: these are no classes.
        """
        return self if sizes is None else replace(self, runs=[run_.by_sizes(sizes) for run_ in self.runs])

    @cached_property
    def flows(self) -> pa.Table:
        """All flows of all runs in one table (Arrow): a row for each flow, with run, case, seed, algorithm, group and slowdown."""
        return frames.flows_of_runs(self.runs)

    def to_pandas(self) -> Any:
        """The flows of all runs as a data frame of pandas.

        Raises:
            FarloopError: pandas is not installed.
        """
        return frames.to_pandas(self.flows)

    def to_polars(self) -> Any:
        """The flows of all runs as a data frame of polars.

        Raises:
            FarloopError: polars is not installed.
        """
        return frames.to_polars(self.flows)

    @property
    def has_many_finished(self) -> bool:
        """True if some run finished enough flows for the distribution of their slowdown to say something."""
        counts = [[kind["flows"] for kind in r.summary["slowdown"].values() if kind] for r in self.runs]
        return any(sum(flows) > MANY for flows in counts)

    @property
    def deadlocks(self) -> list[str]:
        """The PFC deadlocks of all runs, in words."""
        return [f"{run_.label}: {deadlock}" for run_ in self.runs for deadlock in run_.info["deadlocks"]]

    @property
    def cautions(self) -> list[str]:
        """Sentences on what a user may believe wrongly of the runs; each once."""
        return [caution.text for caution in cautions.comparison_cautions(self)]

    @property
    def summary(self) -> dict[str, Any]:
        """The summary of each run, by label."""
        return {run_.label: run_.summary for run_ in self.runs}

    @property
    def groups(self) -> dict[str, list[Run]]:
        """The runs of each case and algorithm, one per seed, by the label that they have without seeds."""
        if self.seeds:
            return group_by_label(self.runs)
        runs_by_label: dict[str, list[Run]] = {}
        for run_ in self.runs:
            runs_by_label.setdefault(run_.label, []).append(run_)
        return runs_by_label

    @property
    def statistics(self) -> dict[str, Any]:
        """The summary of each group of runs: every number as its mean over seeds, its 95 % confidence interval, and n.

        With several seeds also "pooled", the slowdown of the flows of all seeds together, and "paired", the ratios to the first algorithm
        seed by seed.
        """
        rows = {label: seeds.statistics([r.summary for r in runs]) for label, runs in self.groups.items()}
        if len(self.seeds) > 1:
            for label, runs in self.groups.items():
                rows[label]["pooled"] = paired.pooled_rows(runs)
            for comparison in paired.comparisons(self):
                rows[comparison.label]["paired"] = comparison.row()
        return rows

    def save(self, directory: str | PathLike[str], *, force: bool = False, report: bool = True) -> Path:
        """Writes all runs, report, claims and pictures into a directory (replaced if it is such an output already).

        Args:
            directory: Where to.
            force: Write beside files that farloop did not write, over those of the same names.
            report: With the report and the pictures; `farloop report` draws them later.

        Raises:
            FarloopError: the directory cannot be written, or holds something else.
        """
        from farloop.output import saving

        return saving.save_comparison(self, Path(directory), force=force, report=report)

    def __str__(self) -> str:
        from farloop.views.report.shown import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from farloop.views.report.shown import as_html

        return as_html(self)


@dataclass(frozen=True)
class FigureVerdicts:
    """Record of a figure that is kept when it is written: no tables, so that a reproduction needs memory for one figure at a time.

    Attributes:
        figure: The identifier of the paper's figure.
        title: Subject of its comparison.
        claims: The published claims with the verdicts.
        deadlocks: The PFC deadlocks of its runs, in words.
        notes: Notes on what could not be judged or drawn.
    """

    figure: str
    title: str
    claims: list[dict[str, Any]]
    deadlocks: list[str]
    notes: list[str] = field(default_factory=list)

    @classmethod
    def from_comparison(cls, figure: str, comparison: Comparison, notes: list[str] | None = None) -> FigureVerdicts:
        """Those of a judged figure; with the notes that there are when it has been written."""
        return cls(figure, comparison.title, comparison.claims, comparison.deadlocks, notes or [])
