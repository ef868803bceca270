"""`farloop import-…`: files of others as parts of a scenario, on standard output."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from farloop.commands.command import handle_errors, print_file
from farloop.commands.declarations import declare_command


@declare_command(
    "import-graphml",
    group="Import",
    place=1,
    summary="Turn a GraphML file into a scenario's network.",
    examples=("farloop import-graphml map.graphml > network.toml",),
)
@handle_errors
def import_graphml(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An undirected GraphML file.")],
    kind: Annotated[
        str | None,
        typer.Option(
            help="Kind of nodes that have none: host, switch or router. Without: router where no node has one."
        ),
    ] = None,
    datacenter: Annotated[int | None, typer.Option(min=0, help="Datacenter of nodes that have none.")] = None,
    rate: Annotated[str | None, typer.Option(help="Rate of edges that have none, such as 100Gbps.")] = None,
    delay: Annotated[
        str | None, typer.Option(help="One-way delay of edges that have none, and no coordinates, such as 5us.")
    ] = None,
    loss: Annotated[float | None, typer.Option(help="Loss probability of edges that have none.")] = None,
    corruption: Annotated[float | None, typer.Option(help="Damage probability of edges that have none.")] = None,
    hosts_per_node: Annotated[
        int | None,
        typer.Option(min=1, max=1000, help="Hosts to attach to each switch and router; 1 where the file has no hosts."),
    ] = None,
    hosts_at: Annotated[
        str | None,
        typer.Option(metavar="NODES", help="Attach hosts only to these nodes: ids or labels with commas between them."),
    ] = None,
    host_rate: Annotated[
        str | None,
        typer.Option(help="Rate of attached hosts' links. Without: what the network carries from all of them at once."),
    ] = None,
    route_factor: Annotated[
        float, typer.Option(help="Length of links over the great-circle distance of their ends' coordinates.")
    ] = 1.0,
) -> None:
    """Print the network of a GraphML file as part of a scenario."""
    from farloop.formats.graphml import from_graphml

    text = from_graphml(
        file,
        kind=kind,
        datacenter=datacenter,
        rate=rate,
        delay=delay,
        loss=loss,
        corruption=corruption,
        hosts_per_node=hosts_per_node,
        hosts_at=None if hosts_at is None else [node.strip() for node in hosts_at.split(",")],
        host_rate=host_rate,
        route_factor=route_factor,
    )
    print_file(text)


@declare_command(
    "import-flows",
    group="Import",
    place=2,
    summary="Turn a Parquet file of flows into CSV.",
    examples=("farloop import-flows flows.parquet > flows.csv",),
)
@handle_errors
def import_flows(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A Parquet file with one row per flow.")],
) -> None:
    """Print the flows of a Parquet file as the CSV that a scenario's [workload] reads."""
    from farloop.formats.flow_list import flows_from_parquet

    print_file(flows_from_parquet(file))


@declare_command(
    "import-goal",
    group="Import",
    place=3,
    summary="Turn a GOAL trace (LogGOPSim, ATLAHS) into CSV.",
    examples=("farloop import-goal trace.goal > flows.csv",),
)
@handle_errors
def import_goal(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A GOAL trace in its text form.")],
    hosts: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="The hosts of the ranks: names with commas between them, or one with the number of rank 0's in braces.",
        ),
    ] = "h{1}",
    eager: Annotated[
        bool, typer.Option("--eager", help="Sends are eager: what depends on a rank's own send need not wait for it.")
    ] = False,
) -> None:
    """Print the messages of a GOAL trace, and what they wait for, as the CSV that a scenario's [workload] reads."""
    from farloop.formats.goal import flows_from_goal

    print_file(flows_from_goal(file, hosts=hosts, eager=eager))
