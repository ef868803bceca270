"""`farloop import-job`: what is in a training job's files, and the job in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from farloop.commands.command import handle_errors, print_json, print_line
from farloop.commands.declarations import declare_command
from farloop.commands.options import ForceMemoryOption, JsonOption
from farloop.formats.job_formats import FORMATS

_NAMES = [row.name for row in FORMATS]
_PER_RANK = " and ".join(row.name for row in FORMATS if row.is_file_per_rank)


@declare_command(
    "import-job",
    group="Import",
    place=4,
    summary="Say what is in a training job; convert it.",
    examples=(
        "farloop import-job job.goal",
        "farloop import-job plan.toml --json",
    ),
)
@handle_errors
def import_job(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help=f"The job, in a format of --format; of {_PER_RANK} a file for each rank.",
        ),
    ],
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help=f"{', '.join(_NAMES[:-1])} or {_NAMES[-1]}; by content unless given.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Write the job here; for Chakra what file names begin with: PATH.RANK.et."),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="FORMAT", help="The format of --out; by default the name's end says it."),
    ] = None,
    expand: Annotated[
        bool, typer.Option("--expand", help="Write sends and receives in place of collectives, also to Chakra.")
    ] = False,
    collectives: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="How collectives are done: nccl (ring or tree as NCCL's model chooses), ring, doubling, tree, direct or "
            "hierarchical.",
        ),
    ] = "nccl",
    latency: Annotated[str, typer.Option(help="Of the ideal network: what a message takes to arrive.")] = "5us",
    rate: Annotated[str, typer.Option(help="Of the ideal network: what a rank sends and receives.")] = "400Gbps",
    ranks_per_site: Annotated[
        int | None,
        typer.Option(min=1, help="Ranks of a site, in order; between sites there are --site-latency and --site-rate."),
    ] = None,
    site_latency: Annotated[str | None, typer.Option(help="Latency between sites.")] = None,
    site_rate: Annotated[
        str | None, typer.Option(help="What a rank sends to other sites; --rate unless given.")
    ] = None,
    ranks_per_host: Annotated[
        int | None, typer.Option(min=1, help="Ranks of a host; inside of it there are --host-latency and --host-rate.")
    ] = None,
    host_latency: Annotated[str, typer.Option(help="Latency inside of a host.")] = "1us",
    host_rate: Annotated[str, typer.Option(help="What a rank sends inside of a host.")] = "3600Gbps",
    overhead: Annotated[str, typer.Option(help="What a message costs a rank at either end: o of LogGOPS.")] = "0ns",
    gap: Annotated[str, typer.Option(help="The least time between two messages of a rank: g of LogGOPS.")] = "0ns",
    eager: Annotated[
        str, typer.Option(help="The size above which a send waits for its receiver: S of LogGOPS; none: it never does.")
    ] = "none",
    no_time: Annotated[
        bool, typer.Option("--no-time", help="Say what is in it, without the time on an ideal network.")
    ] = False,
    ranks: Annotated[
        int | None,
        typer.Option(min=1, help="Ranks, where the files do not say it: one Chakra or PARAM file, old AICB header."),
    ] = None,
    flops: Annotated[
        float | None, typer.Option(min=1, help="Operations per second of a rank, for Chakra nodes without a duration.")
    ] = None,
    memory_bandwidth: Annotated[
        float | None, typer.Option(min=1, help="Bytes per second of a rank's memory, for the same nodes.")
    ] = None,
    groups: Annotated[Path | None, typer.Option(metavar="FILE", help="Chakra's groups of ranks as JSON.")] = None,
    force_memory: ForceMemoryOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Say what is in a training job: ranks, bytes by collective, critical path. Or write it in another format."""
    from farloop import memory
    from farloop.formats.job import read_job

    with memory.allow_excess(force_memory):
        summary = read_job(
            files,
            format=format_,
            out=out,
            to=to,
            expanded=expand,
            collectives=collectives,
            latency=latency,
            rate=rate,
            site=_site(ranks_per_site, site_latency, site_rate, rate),
            host=(ranks_per_host, host_latency, host_rate) if ranks_per_host else None,
            message=(overhead, gap, eager),
            timed=not no_time,
            ranks=ranks,
            flops=flops,
            memory_bandwidth=memory_bandwidth,
            groups=groups,
            quiet=quiet,
        )
    if as_json:
        print_json(summary)
    else:
        _print(summary)


def _site(ranks: int | None, latency: str | None, rate: str | None, default: str) -> tuple[int, str, str] | None:
    from farloop.errors import FarloopError

    if ranks is None:
        if latency or rate:
            raise FarloopError("--site-latency and --site-rate: expected --ranks-per-site as well")
        return None
    if latency is None:
        raise FarloopError("--ranks-per-site: expected --site-latency as well")
    return ranks, latency, rate or default


def _print(summary: dict[str, Any]) -> None:
    line = print_line
    counted = f"{summary['computations']:,} computations, {summary['sends']:,} sends, {summary['receives']:,} receives"
    line(f"{summary['format']}: {summary['ranks']:,} ranks, {summary['operations']:,} operations: {counted}")
    line(f"{summary['dependencies']:,} dependencies, {summary['streams']} streams at most")
    most, all_ = summary["computing_s"]["most"], summary["computing_s"]["all"]
    line(f"computing: {most:.6g} s at the rank with most of it, {all_:.6g} s in all")
    if summary["sends"]:
        line(f"messages: {_bytes(summary['sent_bytes'])}")
    for row in summary["collectives"]:
        line(f"{row['collective']}: {row['count']:,}, {_bytes(row['bytes'])} over all ranks")
    if summary["collectives"]:
        line(f"as messages: {summary['expanded']['messages']:,}, {_bytes(summary['expanded']['bytes'])}")
    for note in summary["notes"]:
        line(f"note: {note}")
    if summary["scale"] > 1:
        line(f"scale: bytes are divided by {summary['scale']}, computing times are not")
    if ideal := summary["ideal"]:
        _print_time(ideal)
        if summary["scale"] > 1:
            line(f"on an ideal network with all bytes (scale 1): {ideal['unscaled_iteration_s']:.9g} s an iteration")
    for path in summary["written"][:3]:
        line(f"written: {path}")
    if len(summary["written"]) > 3:
        line(f"and {len(summary['written']) - 3} more")


def _print_time(ideal: dict[str, Any]) -> None:
    line = print_line
    line(f"on an ideal network: {ideal['iteration_s']:.9g} s an iteration")
    exposed = ideal["exposed_s"]
    line(f"exposed communication and waiting: {exposed['mean']:.6g} s on average, {exposed['most']:.6g} s at most")
    path = ideal["critical_path"]
    parts = {
        "computing": path["compute_s"],
        "latency": path["latency_s"],
        "serialisation": path["serialisation_s"],
        "busy interfaces": path["interface_s"],
        "overhead": path["overhead_s"],
    }
    shown = ", ".join(f"{name} {seconds:.6g} s" for name, seconds in parts.items() if seconds)
    line(f"critical path: {shown or 'nothing'}; {path['messages']:,} messages")
    for phase in path["phases"]:
        line(f"  {phase['phase']}: {phase['s']:.6g} s")


def _bytes(count: int) -> str:
    for unit, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} B"
