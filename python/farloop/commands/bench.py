"""`farloop bench`: the speed of the simulator."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from farloop import _native
from farloop.commands.command import handle_errors, print_json
from farloop.commands.declarations import declare_command
from farloop.commands.options import JsonOption, QuietOption, read_threads
from farloop.errors import FarloopError, clip_text, nearest

if TYPE_CHECKING:
    from farloop.running.progress import Reporter


@declare_command(
    "bench",
    group="Develop",
    place=2,
    summary="Measure how fast the simulator is on this machine.",
    examples=("farloop bench",),
)
@handle_errors
def bench(
    case: Annotated[str | None, typer.Argument(metavar="[CASE]", help="One case (default: all).")] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            metavar="N|auto",
            parser=read_threads,
            help="Threads of a simulation; auto: as many as pay (default: 1).",
            show_default=False,
        ),
    ] = 1,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure the speed of the simulator, in packet-hops per second."""
    from farloop.running.progress import reporter
    from farloop.views import terminal

    names = select(case)
    with reporter(quiet=quiet) as progress:
        results = measure(names, progress, threads=threads)
    if as_json:
        print_json(results)
    else:
        terminal.entries(results["cases"])


def select(case: str | None) -> list[str]:
    """The cases to measure: the named one, or all.

    Raises:
        FarloopError: there is no such case.
    """
    known = _native.bench_cases()
    if case is None:
        return known
    if case not in known:
        raise FarloopError(f"{clip_text(case)}: no such benchmark; {nearest(case, known, cutoff=0.3)}")
    return [case]


def measure(cases: list[str], reporter: Reporter, *, threads: int | None = 1) -> dict[str, Any]:
    """Measures the cases one after the other: packet-hops per second and nanoseconds per packet-hop of wall time, memory in bytes.

    On one thread, on `threads`, or for `None` on as many as pay, at most one per processor; "parts" says into how many a case was cut.
    """
    from farloop.experiments.threads import number_of_threads

    auto, number = threads is None, number_of_threads(threads)
    results: list[dict[str, Any]] = []
    for case in cases:

        def progress(simulated: float, end: float, packet_hops: int, case: str = case) -> bool:
            reporter.update(case, simulated, end, packet_hops)
            return True

        reporter.start(case)
        results += json.loads(_native.bench(case, progress, number, auto))["cases"]
        reporter.finish(case)
    return {"cases": results}
