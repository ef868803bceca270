"""Runs of LCMP's program beside farloop, flow by flow, and what of it the repository keeps: quantiles by size.

Rules, set with load 0.3 before any other was simulated:

- A number is a mean or quantile of the slowdown: completion time, until the last byte is acknowledged, over the program's own ideal.
- Of all flows, mean, median, 90th and 99th percentile are to be within 5 % of the program's. Where farloop's own numbers, with another
  order of ties or its own hashes, are further apart than that, they are to be within that spread.
- Flows that the program did not finish before its end are left out on both sides, and counted. Flows that only farloop did not finish take
  until the end, and are counted: at most one in a hundred.
- By classes of size (to 100 kB, to 1 MB, above) the same numbers are shown, and not judged.
- Under ECMP and UCMP flows take the program's paths. Under LCMP outer switches choose by its law, and all hashes are farloop's own, so a
  flow most often takes another path than in the program: distributions are compared, and numbers flow by flow say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from farloop.errors import FarloopError, clip_text, nearest
from farloop.results.flow_completion import column
from farloop.studies.validation.lcmp import artifact
from farloop.studies.validation.lcmp.artifact import ProgramTime, TrafficFlow
from farloop.studies.validation.lcmp.rules import STOP_S, scenario
from farloop.studies.validation.lcmp.sites import SiteNetwork

if TYPE_CHECKING:
    from farloop.experiments.execution import Execution
    from farloop.results.run import Run

NAME = "lcmp"

ALL = "all"
CLASSES = {ALL: (0, 1 << 62), "to 100 kB": (0, 100_000), "to 1 MB": (100_000, 1_000_000), "above": (1_000_000, 1 << 62)}
"""Of each class the bytes that all of its flows exceed, and the most that they have."""
METRICS = ("mean", "p50", "p90", "p99")
LIMIT = 0.05
"""Of the judged numbers, relative."""
MAX_START_NS = 2
"""Between starts in traffic file and results: the program computes with seconds, and cuts off fractions of nanoseconds."""
MAX_UNFINISHED = 0.01
"""Share of the flows that farloop may leave unfinished where the program finished them."""

PLAIN, TIES, HASHES = "plain", "ties", "hashes"
VARIATIONS = (PLAIN, TIES, HASHES)
"""Farloop's runs: the program's rules; another order of ties; farloop's own paths, or others of them. The first is compared."""

AGREES, DIFFERS = "agrees", "differs"


@dataclass(frozen=True)
class LcmpCase:
    """A run of the program: a load, and how outer switches choose paths."""

    load: str
    chooser: str

    @property
    def name(self) -> str:
        """As users call it."""
        return f"{NAME}/{self.chooser.lower()}-{self.load}"


CASES = tuple(LcmpCase(load, chooser) for chooser in artifact.CHOOSERS for load in artifact.LOADS)


@dataclass(frozen=True)
class SlowdownNumber:
    """A number of the slowdown: the program's and farloop's.

    Attributes:
        size_class: Of the flows.
        metric: Mean or quantile.
        program: The program's.
        farloop: By variation.
    """

    size_class: str
    metric: str
    program: float
    farloop: Mapping[str, float]

    @property
    def difference(self) -> float:
        """Relative to the program's number."""
        return self.farloop[PLAIN] / self.program - 1

    @property
    def limit(self) -> float:
        """Largest difference: 5 %, or how far farloop's own runs are apart."""
        own = self.farloop.values()
        return max(LIMIT, (max(own) - min(own)) / self.program)

    @property
    def verdict(self) -> str:
        """`AGREES` if it is within its limit; empty for the numbers of classes."""
        if self.size_class != ALL:
            return ""
        return AGREES if abs(self.difference) <= self.limit else DIFFERS


@dataclass(frozen=True)
class LcmpComparison:
    """A case, compared.

    Attributes:
        case: Its name.
        flows: Those that the program finished.
        program_unfinished: Those that it did not.
        farloop_unfinished: Of the first, those that farloop did not finish.
        exact_ideals: Of the first, those whose ideal the closed form gives to the nanosecond.
        numbers: All of them.
        flow_by_flow: Of farloop's completion time over the program's, by flow, the quartiles, and the share within 5 %.
    """

    case: str
    flows: int
    program_unfinished: int
    farloop_unfinished: int
    exact_ideals: int
    numbers: tuple[SlowdownNumber, ...]
    flow_by_flow: Mapping[str, float]

    @property
    def verdict(self) -> str:
        """`AGREES` if all judged numbers are within their limits, all ideals exact and enough flows over."""
        few = self.farloop_unfinished <= MAX_UNFINISHED * self.flows and self.exact_ideals == self.flows
        return AGREES if few and not any(number.verdict == DIFFERS for number in self.numbers) else DIFFERS

    def row(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def read(row: Mapping[str, Any]) -> LcmpComparison:
    """A comparison from its row."""
    return LcmpComparison(**{**row, "numbers": tuple(SlowdownNumber(**number) for number in row["numbers"])})


def select(names: Sequence[str], *, full: bool) -> list[LcmpCase]:
    """The cases of these names; "lcmp" is the shortest one, or all of them.

    Raises:
        FarloopError: there is no such case.
    """
    known = {case.name: case for case in CASES}
    chosen: list[LcmpCase] = []
    for name in names:
        if name == NAME:
            chosen += CASES if full else CASES[:1]
        elif name in known:
            chosen.append(known[name])
        else:
            raise FarloopError(f"{clip_text(name)}: no such case; {nearest(name, known)}")
    return list(dict.fromkeys(chosen))


def run(checkout: Path, cases: Sequence[LcmpCase], execution: Execution, *, full: bool) -> list[LcmpComparison]:
    """Simulates cases and compares them.

    Args:
        checkout: Of the artifact.
        cases: Which.
        execution: How simulations are made.
        full: Vary ties and hashes, too.

    Raises:
        FarloopError: a file of the checkout is missing, or another one than at the commit.
    """
    from farloop.experiments.variants import Variant, run_variants
    from farloop.scenario import Scenario

    network = artifact.read_network(checkout)
    read_cases = [
        (case, artifact.read_traffic(checkout, case.load), artifact.read_times(checkout, case.load, case.chooser))
        for case in cases
    ]
    variations = VARIATIONS if full else VARIATIONS[:1]
    variants = [
        Variant(
            f"{case.name} {variation}", case.name, "dcqcn", Scenario.load(_scenario(network, case, flows, variation))
        )
        for case, flows, _ in read_cases
        for variation in variations
    ]
    runs = iter(run_variants(variants, execution))
    return [
        compare(case, network, flows, times, {variation: next(runs) for variation in variations})
        for case, flows, times in read_cases
    ]


def _scenario(network: SiteNetwork, case: LcmpCase, flows: Sequence[TrafficFlow], variation: str) -> dict[str, Any]:
    chosen = case.chooser == artifact.LCMP
    paths: list[tuple[list[int], list[int]] | None] = [
        None if chosen or variation == HASHES else paths_of(network, flow, fastest=case.chooser == artifact.UCMP)
        for flow in flows
    ]
    outer = {artifact.UCMP: "ucmp", artifact.LCMP: "lcmp"}.get(case.chooser, "flow")
    made = scenario(network, flows, paths, f"{case.name}, {variation}", outer=outer)
    if variation == TIES:
        made["run"]["jitter"] = 1
    if chosen and variation == HASHES:
        made["run"]["seed"] = 2
    return made


def paths_of(network: SiteNetwork, flow: TrafficFlow, *, fastest: bool) -> tuple[list[int], list[int]]:
    """The nodes that a flow's data passes, and those of its ACKs, which are hashed with addresses and ports the other way round."""
    ports = flow.source_port, flow.target_port
    return (
        network.path(flow.source, flow.target, ports, fastest=fastest),
        network.path(flow.target, flow.source, ports[::-1], fastest=fastest),
    )


def compare(
    case: LcmpCase,
    network: SiteNetwork,
    flows: Sequence[TrafficFlow],
    times: Mapping[tuple[int, int, int], ProgramTime],
    runs: Mapping[str, Run],
) -> LcmpComparison:
    """Compares the runs of a case with the program's completion times.

    Raises:
        FarloopError: the completion times are not those of the flows.
    """
    over = [number for number, flow in enumerate(flows) if flow.key in times]
    theirs = [times[flows[number].key] for number in over]
    pairs = [(flows[number], time) for number, time in zip(over, theirs, strict=True)]
    same = all(flow.size == time.size and abs(flow.start_ns - time.start_ns) <= MAX_START_NS for flow, time in pairs)
    if len(over) != len(times) or not same:
        raise FarloopError(
            f"{case.name}: the completion times are not those of the flows; expected the files of one commit"
        )
    sizes = np.array([time.size for time in theirs])
    ideals = np.array([time.ideal_ns for time in theirs])
    took = np.array([time.took_ns for time in theirs], dtype=float)
    own = {name: _times_ns(run)[over] for name, run in runs.items()}
    unfinished = int(np.isnan(own[PLAIN]).sum())
    starts = np.array([time.start_ns for time in theirs])
    own = {name: np.where(np.isnan(times), STOP_S * 1e9 - starts, times) for name, times in own.items()}
    numbers = []
    for size_class, (above, most) in CLASSES.items():
        among = (sizes > above) & (sizes <= most)
        if not among.any():
            continue
        program = _metrics((took / ideals)[among])
        by_variation = {name: _metrics((times / ideals)[among]) for name, times in own.items()}
        numbers += [
            SlowdownNumber(
                size_class, metric, program[metric], {name: own[metric] for name, own in by_variation.items()}
            )
            for metric in METRICS
        ]
    closed = [network.ideal_ns(flows[number].source, flows[number].target, flows[number].size) for number in over]
    ratio = own[PLAIN] / took
    quartiles = dict(zip(("p25", "p50", "p75"), np.quantile(ratio, (0.25, 0.5, 0.75)).tolist(), strict=True))
    return LcmpComparison(
        case=case.name,
        flows=len(over),
        program_unfinished=len(flows) - len(over),
        farloop_unfinished=unfinished,
        exact_ideals=int((np.array(closed) == ideals).sum()),
        numbers=tuple(numbers),
        flow_by_flow={name: round(value, 5) for name, value in quartiles.items()}
        | {"within 5 %": round(float((np.abs(ratio - 1) <= LIMIT).mean()), 4)},
    )


def _times_ns(run: Run) -> Any:
    """Completion times of a run, until the last byte is acknowledged, in nanoseconds; NaN where a flow is not over."""
    return (column(run.flows, "finish_ps") - column(run.flows, "start_ps")) / 1e3


def _metrics(values: Any) -> dict[str, float]:
    numbers = {"mean": np.mean(values), "p50": np.quantile(values, 0.5), "p90": np.quantile(values, 0.9)}
    return {name: round(float(value), 4) for name, value in (numbers | {"p99": np.quantile(values, 0.99)}).items()}
