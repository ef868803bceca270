"""The command line: a thin skin over the Python API."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from farloop import memory
from farloop.algorithm import unused
from farloop.commands.command import EXIT_IMPRECISE, EXIT_INVARIANT, guarded, print_file, print_json
from farloop.commands.help_groups import Grouped
from farloop.commands.import_files import COMMANDS as IMPORTS
from farloop.commands.kernel import app as kernel
from farloop.commands.options import (
    AlgorithmFileOption,
    AlgorithmsOption,
    ArenaJitterOption,
    ArenaScenariosOption,
    ArenaStartOption,
    CaseOption,
    FiguresArgument,
    ForceMemoryOption,
    ForceOption,
    FreshOption,
    JitterOption,
    JsonOption,
    NoReportOption,
    OnlyAlgorithmsOption,
    OutOption,
    QuietOption,
    SameStartOption,
    ScenarioArgument,
    SeedOption,
    SeedsOption,
    SetOption,
    ThreadsOption,
    TraceOption,
    algorithm_names,
    explained,
    lists,
    threads_of,
)
from farloop.commands.testbed import app as testbed
from farloop.commands.validate import validate
from farloop.errors import FarloopError
from farloop.messages import say, say_notes
from farloop.scenario import Scenario

app = typer.Typer(
    name="farloop",
    cls=Grouped,
    help="Congestion control for networks that span datacenters: simulate it, compare it, reproduce the papers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"max_content_width": 110},
    # Help says what is written: [workload] is no markup.
    rich_markup_mode=None,
)
app.add_typer(kernel, name="kernel")
app.add_typer(testbed, name="testbed")


def run() -> int:
    """Runs the command line; the exit code. Interrupts, and errors of standard output, are the caller's."""
    out = sys.stdout
    try:
        app(prog_name="farloop")
    except SystemExit as leave:
        # Typer ends with an error, and another standard output, where the reader of a pipe has gone away, as `head` does: that is none.
        # Any other one is of an algorithm in Python that has put it there.
        gone = type(sys.stdout).__name__.endswith("PacifyFlushWrapper")
        sys.stdout = out
        return 0 if gone else leave.code if isinstance(leave.code, int) else 0 if leave.code is None else 1
    return 0


def _ready_to_draw(report: bool) -> None:
    """Before anything loads matplotlib."""
    if report:
        from farloop.figures.loading import load_without_help

        load_without_help()


def _with_files(scenario: Scenario, files: list[Path] | None) -> Scenario:
    """A scenario that may name the algorithms of files of Python."""
    from farloop import algorithm

    return scenario.with_classes([one for file in files or [] for one in algorithm.load(file)])


@app.command("run")
@guarded
def run_(
    scenario: ScenarioArgument,
    algorithm: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Algorithm of every flow that does not name its own.", autocompletion=algorithm_names
        ),
    ] = None,
    algorithm_file: AlgorithmFileOption = None,
    set_: SetOption = None,
    same_start: SameStartOption = None,
    seed: SeedOption = None,
    seeds: SeedsOption = None,
    threads: ThreadsOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    force_memory: ForceMemoryOption = False,
    fresh: FreshOption = False,
    no_report: NoReportOption = False,
    quiet: QuietOption = False,
    trace: TraceOption = None,
    jitter: JitterOption = 0,
) -> None:
    """Simulate one scenario."""
    from farloop import api
    from farloop.output import saving
    from farloop.output.directories import directory
    from farloop.output.manifest import slug
    from farloop.results import starts
    from farloop.running.progress import reporter

    if trace and seeds is not None:
        raise FarloopError(
            "--trace and --seeds: expected one of them, since a trace is of one run; choose its seed with --seed"
        )
    if trace and jitter:
        raise FarloopError("--trace and --jitter: expected one of them, since a trace is of one run")
    alone = seeds is None and not jitter
    settings = [*(set_ or []), *starts.setting(same_start)]
    wanted = _with_files(Scenario.load(scenario), algorithm_file).override(settings, algorithm=algorithm, seed=seed)
    target = out or Path("out") / slug(Path(wanted.file).stem)
    notes = unused(wanted.classes, wanted.resolved)
    with memory.forced(force_memory), directory(target, force=force, fresh=fresh) as aside:
        with reporter(quiet=quiet) as progress:
            if alone:
                one = api.run_one(wanted, threads=threads, reporter=progress, trace=trace or None)
            else:
                several = api.run_seeds(
                    wanted,
                    algorithm=None,
                    set=None,
                    seed=seed,
                    seeds=seeds,
                    threads=threads,
                    reporter=progress,
                    store=aside.store,
                    jitter=jitter,
                )
        _ready_to_draw(not no_report)
        found = (
            saving.fill_run(one, aside.path, report=not no_report)
            if alone
            else saving.fill_comparison(several, aside.path, aside.store, report=not no_report)
        )
    say_notes([*notes, *found])
    if not quiet:
        from farloop.commands import show

        show.comparison(one.alone if alone else several)
        show.written(target, report=not no_report)
        if alone and one.trace is not None:
            show.traced(target, one.trace)


@app.command()
@guarded
def compare(
    scenario: ScenarioArgument,
    algorithms: AlgorithmsOption,
    algorithm_file: AlgorithmFileOption = None,
    set_: SetOption = None,
    same_start: SameStartOption = None,
    seed: SeedOption = None,
    seeds: SeedsOption = None,
    threads: ThreadsOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    force_memory: ForceMemoryOption = False,
    fresh: FreshOption = False,
    no_report: NoReportOption = False,
    quiet: QuietOption = False,
    jitter: JitterOption = 0,
) -> None:
    """Simulate the same network and traffic under several algorithms. Repeat an interrupted command to continue it."""
    from farloop import api
    from farloop.output import saving
    from farloop.output.directories import directory
    from farloop.output.manifest import slug
    from farloop.results import starts
    from farloop.running.progress import reporter

    wanted = _with_files(Scenario.load(scenario), algorithm_file)
    target = out or Path("out") / slug(f"{Path(wanted.file).stem[:80]}-compared")
    with memory.forced(force_memory), directory(target, force=force, fresh=fresh) as aside:
        with reporter(quiet=quiet) as progress:
            result = api.compare(
                wanted,
                algorithms,
                set=[*(set_ or []), *starts.setting(same_start)],
                seed=seed,
                seeds=seeds,
                threads=threads,
                progress=progress,
                store=aside.store,
                jitter=jitter,
            )
        _ready_to_draw(not no_report)
        found = saving.fill_comparison(result, aside.path, aside.store, report=not no_report)
    say_notes(found)
    if not quiet:
        from farloop.commands import show

        show.comparison(result)
        show.written(target, report=not no_report)


@app.command()
@guarded
def reproduce(
    figures: FiguresArgument = None,
    full: Annotated[bool, typer.Option("--full", help="Run all cases at full scale (hours to days).")] = False,
    set_: SetOption = None,
    case: CaseOption = None,
    algorithms: OnlyAlgorithmsOption = None,
    same_start: SameStartOption = None,
    seeds: SeedsOption = None,
    threads: ThreadsOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    force_memory: ForceMemoryOption = False,
    fresh: FreshOption = False,
    no_report: NoReportOption = False,
    quiet: QuietOption = False,
    jitter: JitterOption = 0,
) -> None:
    """Reproduce figures of papers and judge their claims. Repeat an interrupted command to continue it.

    With --set, --case or --algorithms it is a reading: every statement of the claims says whether it holds then, and nothing is a verdict.
    """
    from farloop import reproduce as reproduction
    from farloop.output.directories import directory
    from farloop.output.manifest import slug
    from farloop.running.progress import reporter

    chosen = reproduction.select(figures or [])
    names = tuple(name.strip() for name in (algorithms or "").split(",") if name.strip())
    reading = reproduction.Reading(tuple(set_ or ()), tuple(case or ()), names)
    target = out or Path("out") / slug("-".join(["reproduce", *(figures or [])]))
    _ready_to_draw(not no_report)
    with (
        memory.forced(force_memory),
        directory(target, force=force, fresh=fresh) as aside,
        reporter(quiet=quiet) as progress,
    ):
        done = reproduction.reproduce(
            chosen,
            aside.path,
            full=full,
            same_start=same_start,
            reading=reading,
            seeds=seeds,
            threads=threads,
            reporter=progress,
            store=aside.store,
            report=not no_report,
            jitter=jitter,
        )
    say_notes(f"{verdicts.figure}: {note}" for verdicts in done for note in verdicts.notes)
    if not quiet:
        from farloop.commands import show

        for verdicts in done:
            show.claims(verdicts.claims)
            show.deadlocks(verdicts.deadlocks, verdicts.figure)
        show.written(target, report=not no_report)


@app.command()
@guarded
def arena(
    scenario: ArenaScenariosOption = None,
    algorithms: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="The algorithms, separated by commas (default: all).",
            autocompletion=algorithm_names,
        ),
    ] = None,
    set_: SetOption = None,
    same_start: ArenaStartOption = "bdp",
    full: Annotated[bool, typer.Option("--full", help="Run at full scale, which takes longer.")] = False,
    seeds: Annotated[
        str | None,
        typer.Option(metavar="SEEDS", help="One run for each of these seeds, such as 1-10 or 1,3,7 (default: 1-3)."),
    ] = None,
    threads: ThreadsOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    force_memory: ForceMemoryOption = False,
    fresh: FreshOption = False,
    no_report: NoReportOption = False,
    quiet: QuietOption = False,
    jitter: ArenaJitterOption = 3,
) -> None:
    """Rank every algorithm in cross-datacenter scenarios taken from the papers. Repeat an interrupted command to continue it."""
    from farloop.arena import execution
    from farloop.arena.plan import plan
    from farloop.output.directories import directory
    from farloop.running.progress import reporter

    planned = plan(scenario or [], algorithms, set=set_, seeds=seeds, full=full, same_start=same_start, jitter=jitter)
    target = out or Path("out") / "arena"
    with (
        memory.forced(force_memory),
        directory(target, force=force, fresh=fresh) as aside,
        reporter(quiet=quiet) as progress,
    ):
        found = execution.run(
            planned, aside.path, threads=threads, reporter=progress, store=aside.store, report=not no_report
        )
    if not quiet:
        from farloop.commands import show

        show.arena(found, planned.algorithms)
        show.written(target, report=not no_report)


@app.command()
@guarded
def sweep(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY", help="A study file (TOML): a base scenario, points, what to collect.")
    ],
    algorithm_file: AlgorithmFileOption = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="PRECISION",
            help="Add seeds until the 95 % confidence interval is this narrow: 'p99 slowdown ± 5 %' (or +- 5 %).",
        ),
    ] = None,
    most_seeds: Annotated[
        int | None, typer.Option(min=10, metavar="N", help="Stop --until after N seeds (default: 100).")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Run N processes side by side (default: one per processor).")
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="auto|ADDRESS", help="Run on this Ray cluster (install the extra `ray` first: docs/install.md)."
        ),
    ] = None,
    slurm: Annotated[
        str | None,
        typer.Option(
            metavar="KEY=VALUE,...",
            help="Run as Slurm jobs, such as partition=short,time=2:00:00,jobs=50,runs=10 (extra `slurm`: docs/install.md).",
        ),
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Run again what failed before.")] = False,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep finished runs in DIR, and look for them there (default: run-store beside the output).",
        ),
    ] = None,
    out: OutOption = None,
    force: ForceOption = False,
    force_memory: ForceMemoryOption = False,
    no_report: NoReportOption = False,
    quiet: QuietOption = False,
) -> None:
    """Simulate a study: many runs over settings, algorithms and seeds, on this machine or a cluster. Finished runs are never repeated."""
    from farloop.running.progress import counter
    from farloop.sweep import definition as definitions
    from farloop.sweep import study as studies

    wanted = definitions.from_file(
        study, until=until, most_seeds=most_seeds, algorithm_files=algorithm_file or [], told=None if quiet else say
    )
    target = out or studies.default_target(study.stem)
    _ready_to_draw(not no_report)
    with memory.forced(force_memory), counter(quiet=quiet) as counting:
        found = studies.sweep(
            wanted,
            target,
            studies.engine(target, workers=workers, ray=ray, slurm=slurm, store=store),
            store=store,
            retry=retry,
            force=force,
            report=not no_report,
            counting=counting,
        )
    say_notes(found.told)
    if not quiet:
        from farloop.commands import show

        show.study(found, wanted.collect)
        show.written(target, report=not no_report)
    if found.failures:
        raise typer.Exit(EXIT_INVARIANT)
    if found.unmet:
        raise typer.Exit(EXIT_IMPRECISE)


@app.command("list")
@guarded
def list_(
    what: Annotated[
        str,
        typer.Argument(
            metavar="algorithms|scenarios|arena|workloads|claims", help="What to list.", autocompletion=lists
        ),
    ],
    as_json: JsonOption = False,
) -> None:
    """List algorithms, scenarios, workloads or claims."""
    from farloop import catalogue
    from farloop.commands import show

    rows = catalogue.entries(what)
    if as_json:
        print_json(rows)
    else:
        show.entries(rows)


@app.command()
@guarded
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors that complete and check TOML."""
    from farloop import api

    print_json(api.schema())


app.command()(validate)
for _name, _command in IMPORTS.items():
    app.command(_name)(_command)


@app.command()
@guarded
def explain(
    algorithm: Annotated[
        str,
        typer.Argument(
            metavar="ALGORITHM|SCENARIO|FILE.py",
            help="The name of an algorithm, a scenario file or a paper's figure, or a Python file with algorithms.",
            autocompletion=explained,
        ),
    ],
    page: Annotated[bool, typer.Option("--page", help="Print the algorithm's specification page.")] = False,
    set_: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Describe an algorithm: source, needs, parameters. Or check a scenario and say how large it is, without running it."""
    from farloop import catalogue
    from farloop.commands import show

    if algorithm.endswith(".py"):
        if page or set_:
            raise FarloopError(
                "--page and --set: expected neither for a file of Python, which has no page and no settings by itself"
            )
        made = catalogue.of_file(Path(algorithm))
        if as_json:
            print_json(made)
        else:
            for one in made:
                show.algorithm(one, None)
        return
    if catalogue.is_scenario(algorithm):
        if page:
            raise FarloopError("--page: expected an algorithm; a scenario has no page")
        told = catalogue.scenario(algorithm, set_)
        if as_json:
            print_json(told)
        else:
            show.scenario(told)
        return
    if set_:
        raise FarloopError("--set: expected a scenario; an algorithm has no settings by itself")
    entry = catalogue.algorithm(algorithm)
    found = catalogue.specification(algorithm)
    if page:
        if found is None:
            raise FarloopError(f"{algorithm}: has no page; `farloop explain {algorithm}` prints its parameters")
        print_file(found.read_text("utf-8"))
        return
    if as_json:
        print_json(entry)
    else:
        show.algorithm(entry, found)


@app.command()
@guarded
def report(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The output directory of an earlier command.")],
    quiet: QuietOption = False,
) -> None:
    """Judge the claims of an output again and draw its report again, from its tables. Nothing is simulated."""
    from farloop import reproduce as reproduction

    _ready_to_draw(True)
    reproduction.rewrite(directory)
    if not quiet:
        from farloop.commands import show

        show.written(directory)


@app.command()
@guarded
def bench(
    case: Annotated[str | None, typer.Argument(metavar="[CASE]", help="One case (default: all).")] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            metavar="N|auto",
            parser=threads_of,
            help="Threads of a simulation; auto: as many as pay (default: 1).",
            show_default=False,
        ),
    ] = 1,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure the speed of the simulator, in packet-hops per second."""
    from farloop.commands import bench as benchmarks
    from farloop.commands import show
    from farloop.running.progress import reporter

    names = benchmarks.select(case)
    with reporter(quiet=quiet) as progress:
        results = benchmarks.measure(names, progress, threads=threads)
    if as_json:
        print_json(results)
    else:
        show.entries(results["cases"])


@app.command("new-algorithm")
@guarded
def new_algorithm(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name: lower case letters, digits and hyphens.")],
    from_: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE.py",
            help="Begin with a Python class: take over its parameters and needs, and test against its behaviour.",
        ),
    ] = None,
    crate: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="With --from: write a separate crate into DIR, which uses this checkout."),
    ] = None,
) -> None:
    """Start a new algorithm in Rust: write its file, registry entry and page into this checkout, or a separate crate."""
    from farloop.new_algorithm import scaffold

    try:
        here = Path.cwd()
    except FileNotFoundError:
        raise FarloopError("the working directory has been deleted; go to a checkout of farloop") from None
    if crate is not None and from_ is None:
        raise FarloopError(
            "--crate: expected --from as well; examples/plugin-algorithm is a crate to begin from nothing"
        )
    if crate is not None and from_ is not None:
        written = scaffold.create_crate(name, here, crate, source=from_)
        hint = f"translate the handlers in {crate}/src/lib.rs, then `cargo test` and `cargo run -- SCENARIO` there"
    else:
        written = scaffold.create(name, here, source=from_)
        do = "translate its handlers" if from_ else "write it"
        hint = f"describe it in spec/{name}.md, {do}, run `cargo test -p farloop-cc` and `make build`"
    for path in written:
        typer.echo(f"wrote {path}")
    typer.echo(f"next: {hint}")


@app.callback(invoke_without_command=True)
@guarded
def root(
    version: Annotated[bool, typer.Option("--version", help="Print version and build details, and exit.")] = False,
) -> None:
    """Congestion control for networks that span datacenters: simulate it, compare it, reproduce the papers."""
    if version:
        from farloop.commands import build_facts

        typer.echo(build_facts.text())
        raise typer.Exit
