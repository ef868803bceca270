"""Runs scenarios on a testbed, and beside them in the simulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from farloop.errors import FarloopError
from farloop.experiments import variants
from farloop.experiments.execution import Execution
from farloop.experiments.variants import Variant
from farloop.kernel import doctor
from farloop.results.run import Comparison, Run
from farloop.scenario import Scenario
from farloop.testbed import agreement, algorithms, connections, network
from farloop.testbed.blueprint import Blueprint, plan
from farloop.testbed.measured import MEASURED, make_tables

MAX_REPETITIONS = 100

Progress = Callable[[str, float, float], bool]
"""Called with the name of the run, its elapsed seconds and its duration; returns true to go on."""


def missing_requirements(names: Sequence[str] = ()) -> list[str]:
    """Returns the testbed's requirements that this host lacks for these algorithms (the kernel's names), a line each with how to get it."""
    from farloop.testbed.namespaces import command

    lacking = doctor.missing_requirements(objects=False)
    if not doctor.object_file(doctor.SWITCH).exists():
        lacking.append(f"program {doctor.SWITCH}: {doctor.uncompiled_message(doctor.SWITCH)}")
    for tool in ("ip", "tc"):
        try:
            command(tool)
        except FarloopError as error:
            lacking.append(str(error))
    if not lacking:
        lacking += algorithms.missing_algorithms(list(names))
    return lacking


def measure(
    scenario: Scenario, *, repetitions: int = 1, with_simulation: bool = False, progress: Progress | None = None
) -> Comparison:
    """Runs a scenario on this host's kernel, `repetitions` times, and perhaps in the simulator as well.

    Args:
        scenario: The scenario.
        repetitions: Number of repetitions; every run is labelled with its number where there are several.
        with_simulation: Simulate it, too: the first run of the result, and what the two have in common are its claims.
        progress: Called as `Progress` says.

    Raises:
        ScenarioError: the scenario is not valid, or has what a testbed cannot build.
        FarloopError: something is missing on this host.
        KeyboardInterrupt: `progress` returned false.
    """
    if isinstance(repetitions, bool) or not 1 <= repetitions <= MAX_REPETITIONS:
        raise FarloopError(f"repetitions: {repetitions}: expected a whole number from 1 to {MAX_REPETITIONS}")
    wanted = plan(scenario)
    if lacking := missing_requirements([algorithm.kernel for algorithm in wanted.algorithms]):
        raise FarloopError(f"the testbed cannot be built: {lacking[0]}")
    name = scenario.algorithm_name
    runs: list[Run] = []
    with algorithms.register_algorithms(wanted) as wanted:
        for number in range(1, repetitions + 1):
            label = f"{name}, measured" + (f" {number}" if repetitions > 1 else "")
            runs.append(_measure_variant(wanted, Variant(label, "", name, scenario), progress))
    claims = []
    if with_simulation:
        simulated = variants.run_variants([Variant(f"{name}, simulated", "", name, scenario)], Execution())
        claims = [agreement.finding(simulated[0], runs)]
        runs = [*simulated, *runs]
    title = str(scenario.parsed.get("title") or scenario.file)
    return Comparison(title=title, runs=runs, claims=claims)


def measured_run(variant: Variant, progress: Progress | None = None) -> Run:
    """Runs one variant on this host's kernel; the run has the variant's label, case and algorithm.

    Raises:
        ScenarioError: its scenario is not valid, or has what a testbed cannot build.
        FarloopError: the testbed cannot be built here.
        KeyboardInterrupt: `progress` returned false.
    """
    with algorithms.register_algorithms(plan(variant.scenario)) as wanted:
        return _measure_variant(wanted, variant, progress)


def _measure_variant(wanted: Blueprint, variant: Variant, progress: Progress | None) -> Run:
    def go_on(now: float) -> bool:
        return progress is None or progress(variant.label, now, wanted.duration)

    with network.build_network(wanted) as built:
        measurement = connections.run(built, go_on)
        lateness = built.emulator.stop() if built.emulator else []
        run = variants.make_run(make_tables(built, measurement, lateness), variant)
    run.info[MEASURED]["parameters"] = {algorithm.name: algorithm.parameters for algorithm in wanted.algorithms}
    # What was measured is not what the simulator would give for the same scenario.
    return replace(run, address="")
