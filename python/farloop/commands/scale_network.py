"""`farloop scale`: a scenario of jobs with less to simulate, whose iterations take as long."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from farloop.commands.command import handle_errors, print_file
from farloop.commands.declarations import declare_command
from farloop.commands.options import ScenarioArgument, SetOption


@declare_command(
    "scale",
    group="Simulate",
    place=7,
    summary="Divide a scenario of training jobs: less to simulate.",
    examples=("farloop scale jobs.toml 16 > smaller.toml",),
)
@handle_errors
def scale(
    scenario: ScenarioArgument,
    by: Annotated[int, typer.Argument(metavar="BY", help="What to divide by, 2 to 1024.")],
    set_: SetOption = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the scenario here, in place of standard output.")
    ] = None,
) -> None:
    """Divide a scenario of training jobs, so that less is simulated in the same time of the network.

    Bytes of jobs, rates, buffers, thresholds and byte windows are divided by BY. Packets keep their size, links their delay, ranks their
    computing time: an iteration takes about as long. The scenario that is written has every key.
    """
    from farloop.safe_files.named_files import NamedFiles
    from farloop.scaling import scale_network
    from farloop.scenario import Scenario

    text = scale_network(Scenario.load(scenario).override(set_), by).text
    if out is None:
        print_file(text)
        return
    with NamedFiles([str(scenario)]) as files:
        files.write(str(out), text.encode())
