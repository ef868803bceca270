"""`farloop why`: where the time of a flow, or of an iteration of a job, went."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from farloop.commands.command import handle_errors, print_json
from farloop.commands.declarations import declare_command
from farloop.commands.options import AlgorithmFileOption, JsonOption


@declare_command(
    "why",
    group="Simulate",
    place=5,
    summary="Say where the time of a flow or a job's iteration went.",
    examples=(
        "farloop why out/first web-17",
        "farloop why out/job training --iteration 2 --html why.html",
    ),
)
@handle_errors
def why(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN", help="The output directory of a run, or a scenario (a file or a paper's figure)."
        ),
    ],
    name: Annotated[
        str,
        typer.Argument(
            metavar="FLOW|JOB", help="The flow's name or its number in flows.parquet, from 0, or the job's name."
        ),
    ],
    iteration: Annotated[
        int | None,
        typer.Option(metavar="N", help="Of a job which iteration, from 1 (default: the slowest one that is over)."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Also explain the flow that it waited for (after), and so on.")
    ] = False,
    algorithm_file: AlgorithmFileOption = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with pictures of where the time went.")
    ] = None,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the picture alone.")] = None,
    perfetto: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a job's path, a track for each rank, for Perfetto.")
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Say where the time of a flow or of a job's iteration went: computing, queue, pause, window, rate, recovery. The parts add up exactly.

    The run is simulated again until the flow or the iteration is over; it stays as it is.
    """
    from farloop.errors import FarloopError
    from farloop.output import why_files
    from farloop.running.why import find_source, list_inputs
    from farloop.running.why import why as ask
    from farloop.safe_files.named_files import NamedFiles

    if iteration is not None and not 1 <= iteration < 2**32:
        raise FarloopError(f"why: --iteration {iteration}; expected a number from 1 on")
    source = find_source(run)
    named = [path for path in (html, svg, perfetto) if path is not None]
    with NamedFiles(list_inputs(run, source) if named else ()) as files:
        for path in named:
            files.check(path)
        explanation = ask(source, name, iteration=iteration, follow=follow, algorithm_file=algorithm_file or ())
        why_files.write(explanation, page=html, svg=svg, perfetto=perfetto, files=files)
    if json_:
        print_json(explanation.as_json)
        return
    from farloop.views import terminal

    terminal.explanation(explanation)
