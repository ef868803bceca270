"""The command line: a thin skin over the Python API."""

from __future__ import annotations

import functools
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn, ParamSpec, TypeVar

import typer

import farloop
from farloop import bench as benchmarks
from farloop import catalogue, output, scaffold, show
from farloop import reproduce as reproduction
from farloop.api import algorithm_name
from farloop.errors import FarloopError, InvariantError
from farloop.progress import reporter
from farloop.results import Comparison, Run
from farloop.scenario import Scenario
from farloop.simulate import Job, simulate

app = typer.Typer(
    name="farloop",
    help="Congestion control for networks that span datacenters: simulate it, compare it, reproduce the papers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

EXIT_INVARIANT = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 128 + signal.SIGINT
EXIT_TERMINATED = 128 + signal.SIGTERM

P = ParamSpec("P")
R = TypeVar("R")

ScenarioArgument = Annotated[
    str, typer.Argument(metavar="SCENARIO", help="A scenario file (TOML), or a paper's figure such as gear/fig09.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Replace a setting, such as run.duration=100ms. May be repeated."),
]
SeedOption = Annotated[int | None, typer.Option(min=0, help="Seed of all random streams.")]
ThreadsOption = Annotated[
    int | None, typer.Option(min=1, help="Most simulations at a time (default: one per processor). Changes no result.")
]
OutOption = Annotated[Path | None, typer.Option(metavar="DIR", help="Where to write (default: under out/).")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class Terminated(KeyboardInterrupt):
    """Another process asked this one to end."""


def guarded(command: Callable[P, R]) -> Callable[P, R]:
    """Turns errors into a message on standard error and an exit code."""

    @functools.wraps(command)
    def run_guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except InvariantError as error:
            _fail(str(error), EXIT_INVARIANT)
        except (FarloopError, farloop.ScenarioError) as error:
            _fail(str(error), EXIT_USAGE)
        except Terminated:
            _fail("terminated; nothing was written", EXIT_TERMINATED)
        except KeyboardInterrupt:
            _fail("interrupted; nothing was written", EXIT_INTERRUPTED)

    return run_guarded


def _fail(message: str, code: int) -> NoReturn:
    typer.echo(f"farloop: {message}" if "\n" not in message else message, err=True)
    raise typer.Exit(code)


@app.command()
@guarded
def run(
    scenario: ScenarioArgument,
    algorithm: Annotated[str | None, typer.Option(help="Algorithm of all flows that name none of their own.")] = None,
    set_: SetOption = None,
    seed: SeedOption = None,
    threads: ThreadsOption = None,
    out: OutOption = None,
    quiet: QuietOption = False,
) -> None:
    """Simulate one scenario."""
    wanted = Scenario.load(scenario).override(set_, algorithm=algorithm, seed=seed)
    name = algorithm or algorithm_name(wanted)
    target = out or Path("out") / Path(wanted.file).stem
    with output.directory(target) as aside:
        with reporter(quiet=quiet) as progress:
            (outcome,) = simulate([Job(name, wanted)], threads=threads, reporter=progress)
        result = Run.from_outcome(outcome, wanted, algorithm=name, label=name)
        output.fill_run(result, aside)
    if not quiet:
        show.comparison(Comparison(str(result.summary["title"]), [result]))
        show.written(target)


@app.command()
@guarded
def compare(
    scenario: ScenarioArgument,
    algorithms: Annotated[str, typer.Option(metavar="A,B,...", help="The algorithms, separated by commas.")],
    set_: SetOption = None,
    seed: SeedOption = None,
    threads: ThreadsOption = None,
    out: OutOption = None,
    quiet: QuietOption = False,
) -> None:
    """Simulate the same network and traffic under several algorithms."""
    names = [a.strip() for a in algorithms.split(",") if a.strip()]
    wanted = Scenario.load(scenario)
    target = out or Path("out") / f"{Path(wanted.file).stem}-compared"
    with output.directory(target) as aside:
        with reporter(quiet=quiet) as progress:
            result = farloop.compare(wanted, names, set=set_, seed=seed, threads=threads, progress=progress)
        output.fill_comparison(result, aside)
    if not quiet:
        show.comparison(result)
        show.written(target)


@app.command()
@guarded
def reproduce(
    figures: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PAPER[/FIGURE] ...]", help="What to reproduce (default: everything)."),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="All cases, at full scale.")] = False,
    threads: ThreadsOption = None,
    out: OutOption = None,
    quiet: QuietOption = False,
) -> None:
    """Reproduce figures of papers and judge their claims."""
    chosen = reproduction.select(figures or [])
    target = out or Path("out") / output.slug("-".join(["reproduce", *(figures or [])]))
    with output.directory(target) as aside, reporter(quiet=quiet) as progress:
        done = reproduction.reproduce(chosen, aside, full=full, threads=threads, reporter=progress)
    if not quiet:
        for found in done:
            show.claims(found.claims)
            show.deadlocks(found.deadlocks, found.figure)
        show.written(target)


@app.command("list")
@guarded
def list_(
    what: Annotated[str, typer.Argument(metavar="algorithms|scenarios|workloads|claims", help="What to list.")],
    as_json: JsonOption = False,
) -> None:
    """List what there is."""
    rows = catalogue.entries(what)
    if as_json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        show.entries(rows)


@app.command()
@guarded
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors that complete and check TOML."""
    typer.echo(json.dumps(farloop.schema(), indent=2, ensure_ascii=False))


@app.command("import-graphml")
@guarded
def import_graphml(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An undirected GraphML file.")],
    kind: Annotated[str | None, typer.Option(help="Kind of nodes that have none: host, switch or router.")] = None,
    datacenter: Annotated[int | None, typer.Option(min=0, help="Datacenter of nodes that have none.")] = None,
    rate: Annotated[str | None, typer.Option(help="Rate of edges that have none, such as 100Gbps.")] = None,
    delay: Annotated[str | None, typer.Option(help="One-way delay of edges that have none, such as 5us.")] = None,
    loss: Annotated[float | None, typer.Option(help="Loss probability of edges that have none.")] = None,
    corruption: Annotated[float | None, typer.Option(help="Damage probability of edges that have none.")] = None,
) -> None:
    """Print the network of a GraphML file as part of a scenario."""
    text = farloop.from_graphml(
        file, kind=kind, datacenter=datacenter, rate=rate, delay=delay, loss=loss, corruption=corruption
    )
    typer.echo(text, nl=False)


@app.command("import-flows")
@guarded
def import_flows(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A Parquet file with one row per flow.")],
) -> None:
    """Print the flows of a Parquet file as the CSV that a scenario's [workload] reads."""
    typer.echo(farloop.flows_from_parquet(file), nl=False)


@app.command()
@guarded
def explain(
    algorithm: Annotated[str, typer.Argument(metavar="ALGORITHM", help="An algorithm or a preset.")],
    page: Annotated[bool, typer.Option("--page", help="Print the page that specifies it.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Say what an algorithm is, where it is specified, what it needs, and which parameters it has."""
    entry = catalogue.algorithm(algorithm)
    found = catalogue.page(algorithm)
    if page:
        if found is None:
            raise FarloopError(f"{algorithm}: has no page; `farloop explain {algorithm}` says what there is to say")
        typer.echo(found.read_text("utf-8"), nl=False)
        return
    if as_json:
        typer.echo(json.dumps(entry, indent=2, ensure_ascii=False))
    else:
        show.algorithm(entry, found)


@app.command()
@guarded
def report(directory: Annotated[Path, typer.Argument(metavar="DIR", help="A directory that farloop wrote.")]) -> None:
    """Write report and pictures of an output anew."""
    if output.read_manifest(directory)["kind"] == "reproduction":
        reproduction.rewrite(directory)
    else:
        output.rewrite_views(output.load(directory), directory)
    show.written(directory)


@app.command()
@guarded
def bench(
    case: Annotated[str | None, typer.Argument(metavar="[CASE]", help="One case (default: all).")] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure the speed of the simulator, in packet-hops per second."""
    names = benchmarks.select(case)
    with reporter(quiet=quiet) as progress:
        results = benchmarks.measure(names, progress)
    if as_json:
        typer.echo(json.dumps(results, indent=2))
    else:
        show.entries(results["cases"])


@app.command("new-algorithm")
@guarded
def new_algorithm(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name: lower case letters, digits and hyphens.")],
) -> None:
    """Start a new algorithm in this checkout: its file, its two lines in the registry, its page."""
    for path in scaffold.create(name, Path.cwd()):
        typer.echo(f"wrote {path}")
    typer.echo(f"next: describe it in spec/{name}.md, write it, run `cargo test -p farloop-cc` and `make build`")


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Congestion control for networks that span datacenters: simulate it, compare it, reproduce the papers."""
    if version:
        typer.echo(f"farloop {farloop.__version__}")
        raise typer.Exit


def _terminate(_number: int, _frame: FrameType | None) -> NoReturn:
    raise Terminated


def main() -> None:
    """The `farloop` command."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        app()
    except BrokenPipeError:
        # The reader of a pipe went away, as `head` does; the interpreter must not complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
