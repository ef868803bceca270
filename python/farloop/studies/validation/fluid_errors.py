"""Holds the fluid simulation to packets: the errors of flows' completion times, beside those of two others.

Max-min fair rates show what the queues are worth; packets once more, with starts moved by less than a packet (`run.jitter`), show how much
of the error is chance: no approximation can be asked to be nearer.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from farloop.errors import FarloopError, clip_text, nearest
from farloop.results import gears
from farloop.results.flow_completion import column
from farloop.scenario import Scenario
from farloop.studies.validation import fluid_cases, fluid_records
from farloop.studies.validation.fluid_cases import FluidCase

if TYPE_CHECKING:
    from farloop.experiments.execution import Execution
    from farloop.experiments.variants import Variant
    from farloop.results.run import Run
    from farloop.results.tables import Floats
    from farloop.studies.validation.kept_packets import KeptPackets, KeptRun

NAME = "fluid"
"""Name on the command line."""

CLASSES = {"<= 10 kB": (0.0, 1e4), "<= 100 kB": (1e4, 1e5), "<= 1 MB": (1e5, 1e6), "> 1 MB": (1e6, math.inf)}
"""Classes of flows by size in bytes: above the first, up to the second."""

ALL = "all"
"""Name of the class of all flows, which has the numbers of the run, too."""

FLUID, MAX_MIN, JITTER = "fluid", "max-min", "jitter"
"""What is compared with packets."""

_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "packets": {},
    FLUID: {gears.KEY: gears.FLUID, "run.fluid_error": False},
    MAX_MIN: {gears.KEY: gears.MAX_MIN},
    JITTER: {"run.jitter": 1},
}

HOLDS, KNOWN, WORSE = "holds", "above its bar", "worse than recorded"
"""Verdicts: within the bar and no worse than recorded; above the bar as recorded; above what is recorded, or above the bar without any."""


@dataclass(frozen=True)
class FluidError:
    """The errors of the fluid simulation for a class of flows of an algorithm in a case.

    Attributes:
        case: The case.
        algorithm: The algorithm.
        size: The class of sizes, or `ALL`.
        flows: Number of flows that finished in all runs.
        errors: By what is compared, and by statistic: errors as parts of the packets' number, those of flows without sign.
        bars: By statistic: the bar.
        recorded: By statistic: the recorded error.
        why: Why it is above a bar, as far as that is known.
    """

    case: str
    algorithm: str
    size: str
    flows: int
    errors: Mapping[str, Mapping[str, float]]
    bars: Mapping[str, float]
    recorded: Mapping[str, float]
    why: str = ""

    @property
    def verdict(self) -> str:
        """One of `HOLDS`, `KNOWN` and `WORSE`."""
        verdicts = {self._verdict_of(statistic) for statistic in self.errors[FLUID]}
        return next(verdict for verdict in (WORSE, KNOWN, HOLDS) if verdict in verdicts)

    def _verdict_of(self, statistic: str) -> str:
        error, bar = abs(self.errors[FLUID][statistic]), self.bars.get(statistic, math.inf)
        known = abs(self.recorded.get(statistic, math.nan))
        if math.isnan(error):
            return WORSE
        if not math.isnan(known) and fluid_records.is_worse(error, known):
            return WORSE
        if error <= bar:
            return HOLDS
        return WORSE if math.isnan(known) else KNOWN

    def row(self) -> dict[str, Any]:
        """As validation.json has it."""
        return {
            "case": self.case,
            "algorithm": self.algorithm,
            "size": self.size,
            "flows": self.flows,
            "errors": {name: {s: _number(v) for s, v in own.items()} for name, own in self.errors.items()},
            "bars": dict(self.bars),
            "recorded": dict(self.recorded),
            "why": self.why,
            "verdict": self.verdict,
        }


def read(row: Mapping[str, Any]) -> FluidError:
    """Errors from a row of validation.json."""
    errors = {
        name: {s: math.nan if value is None else float(value) for s, value in own.items()}
        for name, own in row["errors"].items()
    }
    case, algorithm, size = (str(row[key]) for key in ("case", "algorithm", "size"))
    return FluidError(case, algorithm, size, int(row["flows"]), errors, row["bars"], row["recorded"], str(row["why"]))


def select(wanted: Sequence[str], *, full: bool) -> list[tuple[FluidCase, str]]:
    """Selects cases and algorithms by names such as "fluid" and "fluid/incast"; everything for none.

    Args:
        wanted: The names.
        full: With cases that are not quick, too. A case that is named is always there.

    Raises:
        FarloopError: there is no such case.
    """
    known = [NAME, *(f"{NAME}/{case.name}" for case in fluid_cases.load())]
    for name in wanted:
        if name not in known:
            raise FarloopError(f"{clip_text(name)}: no such case; {nearest(name, known)}")
    return [
        (case, algorithm)
        for case in fluid_cases.load()
        if f"{NAME}/{case.name}" in wanted or ((full or case.quick) and (not wanted or NAME in wanted))
        for algorithm in case.algorithms
    ]


def run(
    chosen: Sequence[tuple[FluidCase, str]], execution: Execution, packets: KeptPackets | None = None
) -> list[FluidError]:
    """Simulates what was chosen in all ways, and compares.

    Args:
        chosen: Cases with algorithms.
        execution: How and where.
        packets: Where runs of packets are kept and looked for.

    Raises:
        ScenarioError: a scenario is not valid.
        InvariantError: a simulation broke one of its own consistency checks.
    """
    from farloop.experiments.variants import run_variants

    planned = [_variants(case, algorithm) for case, algorithm in chosen]
    simulate = run_variants if packets is None else packets.simulate
    runs = iter(simulate([variant for each in planned for variant in each], execution, group=NAME))
    results: list[FluidError] = []
    for (case, algorithm), each in zip(chosen, planned, strict=True):
        results += compare(case, algorithm, [next(runs) for _ in each])
    return results


def _variants(case: FluidCase, algorithm: str) -> list[Variant]:
    """The runs of an algorithm in a case: by seed, and in each of the ways of `_SETTINGS`."""
    from farloop.experiments.variants import Variant

    base, ways = Scenario.load(case.scenario).override(dict(case.set), algorithm=algorithm), ways_of(case)
    return [
        Variant(
            f"{case.name} {algorithm}, seed {seed}, {way}", case.name, algorithm, base.override(settings, seed=seed)
        )
        for seed in case.seeds
        for way, settings in _SETTINGS.items()
        if way in ways
    ]


def ways_of(case: FluidCase) -> tuple[str, ...]:
    """The ways in which a case is simulated: max-min rates do not follow changes of links."""
    changes = "event" in tomllib.loads(case.scenario.read_text("utf-8"))
    return tuple(way for way in _SETTINGS if way != MAX_MIN or not changes)


def compare(case: FluidCase, algorithm: str, runs: Sequence[Run | KeptRun]) -> list[FluidError]:
    """The errors of an algorithm in a case, for all flows and by class of sizes.

    Args:
        case: The case.
        algorithm: The algorithm.
        runs: By seed the runs in the ways of the case (`ways_of`). Errors of a way that it lacks are NaN.
    """
    ways = ways_of(case)
    tables = {way: [each.flows for each in runs[number :: len(ways)]] for number, way in enumerate(ways)}
    times = {way: [column(f, "received_ps") - column(f, "start_ps") for f in own] for way, own in tables.items()}
    packets = tables["packets"]
    known = [np.all(np.isfinite([times[way][seed] for way in ways]), axis=0) for seed in range(len(packets))]
    together = {
        way: np.concatenate([each[k] for each, k in zip(own, known, strict=True)]) for way, own in times.items()
    }
    sizes = np.concatenate([column(f, "size_bytes")[k] for f, k in zip(packets, known, strict=True)])
    ideal = np.concatenate([column(f, "ideal_fct_ps")[k] for f, k in zip(packets, known, strict=True)])
    ends = {
        way: [float(np.max(column(f, "received_ps")[k])) for f, k in zip(own, known, strict=True)]
        for way, own in tables.items()
    }
    results = []
    for name, (above, up_to) in {ALL: (-1.0, math.inf), **CLASSES}.items():
        mask = (sizes > above) & (sizes <= up_to)
        if not mask.any():
            continue
        errors: dict[str, dict[str, float]] = {}
        for way in (FLUID, MAX_MIN, JITTER):
            if way not in ways:
                errors[way] = dict.fromkeys(errors[FLUID], math.nan)
                continue
            errors[way] = flow_errors(together[way][mask], together["packets"][mask])
            if name == ALL:
                errors[way]["p99"] = _p99(together[way] / ideal) / _p99(together["packets"] / ideal) - 1
                apart = [own / true - 1 for own, true in zip(ends[way], ends["packets"], strict=True)]
                errors[way]["end"] = max(apart, key=abs)
        kept = (
            fluid_cases.load_recorded()
            .get(case.name, {})
            .get(algorithm, {})
            .get(name, {})
            .get("errors", {})
            .get(FLUID, {})
        )
        bars = case.bars if name == ALL else {}
        why = case.known.get(algorithm, "") if name == ALL else ""
        results.append(FluidError(case.name, algorithm, name, int(mask.sum()), errors, bars, kept, why))
    return results


def flow_errors(times: Floats, packets: Floats) -> dict[str, float]:
    """Mean, median and 90th percentile of the errors of completion times, as parts of the packets'."""
    errors = np.abs(times / packets - 1)
    return {"mean": float(np.mean(errors)), "median": float(np.median(errors)), "p90": float(np.quantile(errors, 0.9))}


def _p99(slowdowns: Floats) -> float:
    return float(np.quantile(slowdowns, 0.99))


def record(results: Sequence[FluidError]) -> dict[str, Any]:
    """What `recorded.json` has of results: errors rounded to a thousandth of a percent."""
    document: dict[str, Any] = {}
    for each in results:
        own = document.setdefault(each.case, {}).setdefault(each.algorithm, {})
        rounded = {
            way: {s: round(v, 5) for s, v in errors.items() if math.isfinite(v)} for way, errors in each.errors.items()
        }
        own[each.size] = {"flows": each.flows, "errors": rounded}
    return document


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
