"""`farloop import-sndlib`, `import-hpcc`, `import-htsim`: networks and flows of other tools, on standard output."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from farloop.commands.command import handle_errors, print_file
from farloop.commands.declarations import declare_command


@declare_command(
    "import-sndlib",
    group="Import",
    place=5,
    summary="Turn an SNDlib network and its demands into a scenario.",
    examples=("farloop import-sndlib abilene.txt > network.toml",),
)
@handle_errors
def import_sndlib(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A network file of SNDlib, native or XML.")],
    flows: Annotated[
        bool, typer.Option("--flows", help="Print the demands as flows (CSV) in place of the network.")
    ] = False,
    unit: Annotated[
        str | None,
        typer.Option(help="What 1 in the file stands for, such as 1Mbps; by default what META says, else 1Mbps."),
    ] = None,
    hosts_per_node: Annotated[int, typer.Option(help="Hosts at each node.")] = 1,
    rate: Annotated[str | None, typer.Option(help="Rate of links without capacity and module, such as 10Gbps.")] = None,
    delay: Annotated[
        str | None, typer.Option(help="One-way delay of links whose ends have no coordinates, such as 5ms.")
    ] = None,
    route_factor: Annotated[
        float, typer.Option(help="Length of a fibre over the great-circle distance of its ends.")
    ] = 1.0,
    host_rate: Annotated[
        str | None, typer.Option(help="Rate of the hosts' links; by default that of the fastest link.")
    ] = None,
    duration: Annotated[str, typer.Option(help="With --flows: the time in which flows start.")] = "1s",
    scale: Annotated[float, typer.Option(help="With --flows: what all demands are multiplied by.")] = 1.0,
    size: Annotated[str, typer.Option(help="With --flows: the size of a flow.")] = "1MB",
    seed: Annotated[int, typer.Option(help="With --flows: seed of the start times.")] = 1,
) -> None:
    """Print the network of an SNDlib file as part of a scenario, or its demands as flows."""
    from farloop.formats.sndlib import flows_from_sndlib, from_sndlib

    if flows:
        text = flows_from_sndlib(
            file, duration=duration, scale=scale, size=size, seed=seed, unit=unit, hosts_per_node=hosts_per_node
        )
    else:
        text = from_sndlib(
            file,
            unit=unit,
            rate=rate,
            delay=delay,
            route_factor=route_factor,
            hosts_per_node=hosts_per_node,
            host_rate=host_rate,
        )
    print_file(text)


@declare_command(
    "import-hpcc",
    group="Import",
    place=6,
    summary="Turn HPCC's topology.txt and flow.txt into a scenario.",
    examples=(
        "farloop import-hpcc topology.txt > network.toml",
        "farloop import-hpcc topology.txt --flows flow.txt > flows.csv",
    ),
)
@handle_errors
def import_hpcc(
    topology: Annotated[Path, typer.Argument(metavar="TOPOLOGY", help="A topology file of HPCC's ns-3 simulator.")],
    flows: Annotated[
        Path | None,
        typer.Option("--flows", metavar="FILE", help="Print the flows of this file (CSV) in place of the network."),
    ] = None,
) -> None:
    """Print a topology of HPCC's ns-3 simulator as part of a scenario, or the flows of a flow file."""
    from farloop.formats.hpcc import flows_from_hpcc, from_hpcc

    print_file(from_hpcc(topology) if flows is None else flows_from_hpcc(topology, flows))


@declare_command(
    "import-htsim",
    group="Import",
    place=7,
    summary="Turn an htsim connection matrix (.cm) into CSV.",
    examples=("farloop import-htsim incast.cm > flows.csv",),
)
@handle_errors
def import_htsim(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A connection matrix (.cm) of htsim.")],
    hosts: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="The hosts of the nodes: names with commas between them, or one with the number of node 0's in braces.",
        ),
    ] = "h{1}",
    start_unit: Annotated[
        str, typer.Option(help="The unit of start: ps, as csg-htsim and uet-htsim have it, ns or us.")
    ] = "ps",
) -> None:
    """Print the flows of an htsim connection matrix, and what they wait for, as the CSV that a scenario's [workload] reads."""
    from farloop.formats.htsim import flows_from_htsim

    print_file(flows_from_htsim(file, hosts=hosts, start_unit=start_unit))
