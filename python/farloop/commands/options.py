"""Options and arguments that commands share, with their help and the completions of shells."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from farloop.memory import OPTION
from farloop.results.gears import GEARS
from farloop.results.jitter import MAX_JITTER
from farloop.scenario import Scenario, arena_names, figure_names

if TYPE_CHECKING:
    from farloop.algorithm import Algorithm


def algorithm_names(incomplete: str) -> list[str]:
    """Names of algorithms that the last one of a list may become, for shells."""
    from farloop.catalogue import algorithms

    last = incomplete.rpartition(",")[2].rpartition("/")[2]
    before = incomplete.removesuffix(last)
    return [f"{before}{a['name']}" for a in algorithms() if a["name"].startswith(last)]


def figures(incomplete: str) -> list[str]:
    """Papers' scenarios, for shells."""
    return [name for name in figure_names() if name.startswith(incomplete)]


def complete_explain(incomplete: str) -> list[str]:
    """Completes what `explain` accepts."""
    return [*algorithm_names(incomplete), *figures(incomplete)]


def arena_scenarios(incomplete: str) -> list[str]:
    """The arena's scenarios, for shells."""
    return [name for name in arena_names() if name.startswith(incomplete)]


def lists(incomplete: str) -> list[str]:
    """Completes the kinds of `list`."""
    from farloop.catalogue import KINDS

    return [kind for kind in KINDS if kind.startswith(incomplete)]


def read_threads(given: object) -> int | None:
    """A number of threads, or `None` for "auto"."""
    text = str(given)
    if text == "auto":
        return None
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise typer.BadParameter(f"{text!r}: expected a whole number from 1 on, or auto")
    return int(text)


ScenarioArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO",
        help="A scenario file (TOML), or a paper's figure such as gear/fig09.",
        autocompletion=figures,
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a setting of the scenario, such as run.duration=100ms. May be repeated.",
    ),
]
FiguresArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[PAPER[/FIGURE] ...]", help="What to reproduce (default: everything).", autocompletion=figures
    ),
]
AlgorithmsOption = Annotated[
    str,
    typer.Option(
        "--algorithms",
        metavar="A,B,...",
        help="The algorithms, separated by commas; A/B runs A in flows inside a datacenter and B in flows across.",
        autocompletion=algorithm_names,
    ),
]
CaseOption = Annotated[
    list[str] | None,
    typer.Option("--case", metavar="NAME", help="Run this case only, whatever the scale. May be repeated."),
]
OnlyAlgorithmsOption = Annotated[
    str | None,
    typer.Option(
        "--algorithms",
        metavar="A,B,...",
        help="Run only these of the figure's algorithms.",
        autocompletion=algorithm_names,
    ),
]
ArenaScenariosOption = Annotated[
    list[str] | None,
    typer.Option(
        "--scenario",
        metavar="SCENARIO",
        help="One of the arena's scenarios (`farloop list arena`), or a scenario file (default: all of the arena's). May be repeated.",
        autocompletion=arena_scenarios,
    ),
]
SeedOption = Annotated[int | None, typer.Option(min=0, metavar="N", help="Seed of all random streams.")]
SeedsOption = Annotated[
    str | None,
    typer.Option(
        metavar="SEEDS",
        help="Run once per seed, such as 1-10 or 1,3,7, and print means with 95 % confidence intervals.",
    ),
]
ThreadsOption = Annotated[
    int | None,
    typer.Option(
        metavar="N|auto",
        parser=read_threads,
        help="Use at most N threads (default: auto, as many as pay). Results do not depend on it.",
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Simulate in N processes (default: in threads of this one; docs/studies.md)."
    ),
]
StudyThreadsOption = Annotated[
    int | None,
    typer.Option(
        metavar="N|auto",
        parser=read_threads,
        help="Use at most N threads of this process (default: auto, threads for two seconds, then a process per processor).",
    ),
]
StudyWorkersOption = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Simulate in N processes from the beginning (default: docs/studies.md)."),
]
RayOption = Annotated[
    str | None,
    typer.Option(
        metavar="auto|ADDRESS", help="Run on this Ray cluster (install the extra `ray` first: docs/install.md)."
    ),
]
SlurmOption = Annotated[
    str | None,
    typer.Option(
        metavar="KEY=VALUE,...",
        help="Run as Slurm jobs, such as partition=short,time=2:00:00,jobs=50,runs=10 (extra `slurm`: docs/install.md).",
    ),
]
StoreOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Keep finished runs in DIR, and look for them there (default: until the output is complete).",
    ),
]
StudyStoreOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Keep finished runs in DIR, and look for them there (default: run-store beside the output).",
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Write to DIR (default: under out/). An earlier output of farloop there is replaced."
    ),
]
ForceOption = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Write into DIR even if it holds other files. They stay, except those with the name of an output file.",
    ),
]
FreshOption = Annotated[
    bool,
    typer.Option(
        "--fresh",
        help="Simulate everything again. Otherwise runs that DIR already has, or an interrupted command finished, are kept.",
    ),
]
SizesOption = Annotated[
    str | None,
    typer.Option(
        "--sizes",
        metavar="gemini|median|SIZE,...",
        help="Classes of flow sizes: gemini (small up to 100 kB, medium up to 10 MB, large), median (the halves of a run's flows), or "
        "bounds such as 20kB,1MB (default: gemini, or those of the output or the study).",
    ),
]
NoReportOption = Annotated[
    bool,
    typer.Option(
        "--no-report",
        help="Write tables and summary only; `farloop report DIR` draws report and pictures later.",
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]

AlgorithmFileOption = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE.py",
        help="Load algorithms from a Python file; their names then work like all others. May be repeated.",
        show_default=False,
    ),
]
TraceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--trace",
        metavar="ITEM",
        help="Record packets and flows for Perfetto and Wireshark. ITEM is flows=NAME,..., ports=NODE:NEIGHBOUR,..., "
        "window=FROM..UNTIL, limit=RECORDS or all. May be repeated.",
    ),
]

SameStartOption = Annotated[
    str | None,
    typer.Option(
        "--same-start",
        metavar="line-rate|bdp|N",
        help="Have all flows begin alike, whatever their algorithm: at line rate, with one BDP of their path, or with N segments per base "
        "RTT. Slow start stays on where the algorithm has it.",
    ),
]

ArenaStartOption = Annotated[
    str,
    typer.Option(
        "--same-start",
        metavar="line-rate|bdp|N|own",
        help="How all flows begin in the second set of cells, in which every algorithm starts alike; own for no second set.",
    ),
]

JitterOption = Annotated[
    int,
    typer.Option(
        "--jitter",
        metavar="N",
        min=0,
        max=MAX_JITTER,
        help="Run each simulation of the first seed N more times, with another order of simultaneous events and with starts moved by "
        "less than a packet's time. Numbers that move are marked as fragile. N = 3 makes four runs of one.",
    ),
]
ArenaJitterOption = Annotated[
    int,
    typer.Option(
        "--jitter",
        metavar="N",
        min=0,
        max=MAX_JITTER,
        help="Run each simulation of the first seed N more times, with another order of simultaneous events and with starts moved by "
        "less than a packet's time. Scores that move are marked as fragile. With three seeds the default makes nine simulations of "
        "six (same starts are not varied); 0 for none.",
    ),
]
MustOption = Annotated[
    list[str] | None,
    typer.Option(
        "--must",
        metavar="CONSTRAINT",
        help="What must hold before algorithms are compared, such as 'paused <= 1 %', 'no pfc across' or 'goodput >= 90 %'. It "
        "replaces the usual bound of that quantity; 'none' drops all usual ones (docs/arena.md). May be repeated.",
    ),
]
OverOption = Annotated[
    str | None,
    typer.Option(
        "--over",
        metavar="KEY=V1,V2,...",
        help="Hold each scenario once for each of these values, and show where the order changes, such as workload.load=0.3,0.5,0.8.",
    ),
]

GearOption = Annotated[
    str | None,
    typer.Option(
        "--gear",
        metavar="packets|fluid|max-min",
        help="How to simulate: packet by packet (the scenario's default), as fluid queues and rates, which is faster and has an error "
        "(docs/fluid.md), or max-min, a baseline. The same as --set run.gear=...",
        autocompletion=lambda incomplete: [gear for gear in GEARS if gear.startswith(incomplete)],
    ),
]

ForceMemoryOption = Annotated[
    bool,
    typer.Option(
        OPTION,
        help="Start runs even if they may need more memory than the machine has. A run whose packets no longer fit ends with an error.",
    ),
]


def load_classes(files: list[Path] | None) -> list[type[Algorithm]]:
    """The algorithms of files of Python."""
    from farloop import algorithm

    return [class_ for file in files or [] for class_ in algorithm.load(file)]


def load_with_classes(scenario: Scenario, files: list[Path] | None) -> Scenario:
    """A scenario that may name the algorithms of files of Python."""
    return scenario.with_classes(load_classes(files))
