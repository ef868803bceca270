"""`farloop why`: where the time of a flow went."""

from __future__ import annotations

from typing import Annotated

import typer

from farloop.commands.command import guarded, print_json
from farloop.commands.options import JsonOption


@guarded
def why(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN", help="The output directory of a run, or a scenario (a file or a paper's figure)."
        ),
    ],
    flow: Annotated[
        str, typer.Argument(metavar="FLOW", help="The flow's name, or its number in flows.parquet, from 0.")
    ],
    follow: Annotated[
        bool, typer.Option("--follow", help="Also explain the flow that it waited for (after), and so on.")
    ] = False,
    json_: JsonOption = False,
) -> None:
    """Say where the time of a flow went: queue, pause, window, rate, recovery. The parts add up exactly.

    The run is simulated again until the flow is over; it stays as it is.
    """
    from farloop.running.why import why as ask

    explanation = ask(run, flow, follow=follow)
    if json_:
        print_json(explanation.as_json)
        return
    from farloop.commands import show

    show.explanation(explanation)
