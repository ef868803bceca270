"""`farloop list`, `explain` and `schema`: what there is, and what it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from farloop.commands.command import handle_errors, print_file, print_json
from farloop.commands.declarations import declare_command
from farloop.commands.options import ForceMemoryOption, JsonOption, SetOption, complete_explain, lists
from farloop.errors import FarloopError, clip_text, nearest

SCHEMAS = ("scenario", "study", "question", "output")


@declare_command(
    "list",
    group="Look up",
    place=1,
    summary="List algorithms, paths, scenarios, workloads or claims.",
    examples=(
        "farloop list algorithms",
        "farloop list claims --json",
    ),
)
@handle_errors
def list_(
    what: Annotated[
        str,
        typer.Argument(
            metavar="algorithms|paths|scenarios|arena|workloads|claims", help="What to list.", autocompletion=lists
        ),
    ],
    as_json: JsonOption = False,
) -> None:
    """List algorithms, paths, scenarios, workloads or claims."""
    from farloop import catalogue
    from farloop.views import terminal

    rows = catalogue.entries(what)
    if what == "algorithms":
        from farloop.studies.validation.references import programs

        rows = [row | {"checked_against": programs(row["name"])} for row in rows]
    if as_json:
        print_json(rows)
    else:
        terminal.entries(rows)


@declare_command(
    "schema",
    group="Look up",
    place=3,
    summary="Print the JSON Schema of scenarios, for editors.",
    examples=(
        "farloop schema > scenario.schema.json",
        "farloop schema --of study > study.schema.json",
    ),
)
@handle_errors
def schema(
    of: Annotated[
        str,
        typer.Option(
            "--of",
            metavar="scenario|study|question|output",
            help="Of scenario files, of studies, of questions for advise, or of what commands print with --json (default: scenario).",
        ),
    ] = "scenario",
) -> None:
    """Print the JSON Schema of scenario files, for editors that complete and check TOML."""
    from farloop import api

    if of not in SCHEMAS:
        raise FarloopError(f"--of {clip_text(of)}: no such schema; {nearest(of, SCHEMAS)}")
    if of == "output":
        from farloop.views import machine

        print_json(machine.schema())
        return
    if of != "scenario":
        from farloop.studies import file_schemas

        print_json(file_schemas.study_schema() if of == "study" else file_schemas.question_schema())
        return
    print_json(api.schema())


@declare_command(
    "explain",
    group="Look up",
    place=2,
    summary="Describe an algorithm; check a scenario before a run.",
    examples=(
        "farloop explain gear",
        "farloop explain scenario.toml --set workload.load=0.8",
    ),
)
@handle_errors
def explain(
    algorithm: Annotated[
        str,
        typer.Argument(
            metavar="ALGORITHM|SCENARIO|FILE.py",
            help="The name of an algorithm, a scenario file or a paper's figure, or a Python file with algorithms.",
            autocompletion=complete_explain,
        ),
    ],
    page: Annotated[bool, typer.Option("--page", help="Print the algorithm's specification page.")] = False,
    set_: SetOption = None,
    force_memory: ForceMemoryOption = False,
    as_json: JsonOption = False,
) -> None:
    """Describe an algorithm: source, needs, parameters. Or check a scenario and say how large it is, without running it."""
    from farloop import catalogue, memory
    from farloop.views import terminal

    if algorithm.endswith(".py"):
        if page or set_:
            raise FarloopError(
                "--page and --set: expected neither for a file of Python, which has no page and no settings by itself"
            )
        made = catalogue.describe_file(Path(algorithm))
        if as_json:
            print_json(made)
        else:
            for defined in made:
                terminal.algorithm(defined, None)
        return
    if catalogue.is_scenario(algorithm):
        if page:
            raise FarloopError("--page: expected an algorithm; a scenario has no page")
        with memory.allow_excess(force_memory):
            facts = catalogue.scenario(algorithm, set_)
        if as_json:
            print_json(facts)
        else:
            terminal.scenario(facts)
        return
    if set_:
        raise FarloopError("--set: expected a scenario; an algorithm has no settings by itself")
    entry = catalogue.algorithm(algorithm)
    path = catalogue.specification(algorithm)
    if page:
        if path is None:
            raise FarloopError(f"{algorithm}: has no page; `farloop explain {algorithm}` prints its parameters")
        print_file(path.read_text("utf-8"))
        return
    if as_json:
        print_json(entry)
    else:
        terminal.algorithm(entry, path)
