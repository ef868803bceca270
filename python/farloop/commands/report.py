"""`farloop report`: judges and draws an output again, whatever command wrote it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from farloop.commands.command import handle_errors, ready_to_draw
from farloop.commands.declarations import declare_command
from farloop.commands.options import AlgorithmFileOption, QuietOption, SizesOption, ThreadsOption
from farloop.errors import FarloopError, clip_text
from farloop.results.size_classes import read_option

if TYPE_CHECKING:
    from farloop.results.run import Comparison
    from farloop.results.size_classes import SizeClasses
    from farloop.running.progress import Reporter
    from farloop.views.report.page import Section


@declare_command(
    "report",
    group="Look up",
    place=4,
    summary="Draw the report of an output again.",
    examples=(
        "farloop report out/first",
        "farloop report out/first --why --sizes median",
    ),
)
@handle_errors
def report(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The output directory of an earlier command.")],
    why: Annotated[
        bool,
        typer.Option(
            "--why",
            help="Show where the time of the slowest iteration of each job went, and of the slowest flows; these are simulated again.",
        ),
    ] = False,
    algorithm_file: AlgorithmFileOption = None,
    sizes: SizesOption = None,
    threads: ThreadsOption = None,
    quiet: QuietOption = False,
) -> None:
    """Judge the claims of an output again and draw its report again, from its tables. Nothing is simulated without --why."""
    classes = read_option(sizes)
    if algorithm_file and not why:
        raise FarloopError("--algorithm-file: expected --why beside it, since nothing is simulated without")
    ready_to_draw(True)
    if why:
        from farloop.running.progress import reporter

        with reporter(quiet=quiet) as progress:
            rewrite(
                directory,
                lambda comparison: _where_section(comparison, threads, progress, algorithm_file or []),
                classes,
            )
    else:
        rewrite(directory, sizes=classes)
    if not quiet:
        from farloop.views import terminal

        terminal.print_written(directory)


def _where_section(
    comparison: Comparison, threads: int | None, reporter: Reporter, algorithm_files: Sequence[Path]
) -> Section:
    """Where the time of a comparison's slowest flows and iterations went."""
    from farloop.experiments import explaining
    from farloop.experiments.execution import Execution
    from farloop.views.report import where

    explained = explaining.answer_report_questions(
        comparison, Execution(threads=threads, progress=reporter), algorithm_files
    )
    return where.runs_section(explained, several=len(comparison.groups) > 1)


def rewrite(
    source: Path, more: Callable[[Comparison], Section] | None = None, sizes: SizeClasses | None = None
) -> None:
    """Judges the figures of an output on disk anew, from its tables, and writes reports and pictures anew; all of them or none.

    Args:
        source: The output.
        more: Makes a further section of the report, of an output with runs of its own.
        sizes: Classes of flow sizes in place of those that the output was written with.

    Raises:
        FarloopError: it is no complete farloop output, or has no tables of runs though `more` or `sizes` asks for them; its numbers are of
            another version; something could not be judged or drawn, or it cannot be written.
    """
    from farloop.judging.verdicts import judge_again
    from farloop.output.directories import rewriting
    from farloop.output.manifest import damaged_error, read_manifest
    from farloop.output.reading import load
    from farloop.output.saving import rewrite_views
    from farloop.results.measures import has_version
    from farloop.results.run import FigureVerdicts
    from farloop.safe_files import names
    from farloop.studies.reproduce import write_index
    from farloop.views import advice_page, arena_page, capacity_page, study_page, validation_page
    from farloop.views.report import verdict_pairs
    from farloop.views.report.index import index_page

    kept = read_manifest(source)
    if sizes is not None and kept["kind"] not in ("run", "comparison", "reproduction"):
        raise FarloopError(
            f"--sizes: {source} keeps numbers by the classes of its command; expected an output of run, compare or reproduce"
        )
    if more is not None and kept["kind"] not in ("run", "comparison"):
        load(source)  # Says which outputs in it have runs.
    if kept["kind"] in ("study", "advice", "plan", "validation") and not has_version(kept):
        raise FarloopError(
            f"{source}: keeps numbers by the definitions of another version of farloop ({clip_text(kept['farloop'])}); repeat its command, "
            "which measures anew"
        )
    try:
        with rewriting(source) as aside:
            if kept["kind"] == "arena":
                from farloop.studies.arena import scenario_runs

                scenario_runs.rewrite(source, kept, aside, arena_page.page)
                return
            if kept["kind"] == "study":
                study_page.rewrite(source, kept, aside)
                return
            if kept["kind"] == "advice":
                advice_page.rewrite(source, aside)
                return
            if kept["kind"] == "plan":
                capacity_page.rewrite(source, aside)
                return
            if kept["kind"] == "validation":
                validation_page.rewrite(source, aside)
                return
            if kept["kind"] == "testbed-figure":
                from farloop.testbed import side_by_side

                side_by_side.rewrite(source, kept, aside, verdict_pairs.page)
                return
            if kept["kind"] != "reproduction":
                comparison = load(source).by_sizes(sizes)
                sections = [] if more is None else [more(comparison)]
                rewrite_views(judge_again(comparison), aside, str(kept["kind"]), *sections)
                return
            done = []
            for figure in kept["figures"]:
                comparison = judge_again(load(names.resolve_within(source, figure)).by_sizes(sizes))
                rewrite_views(comparison, aside / figure, "comparison")
                done.append(FigureVerdicts.from_comparison(figure, comparison, []))
                del comparison
            made: dict[str, object] = {key: kept[key] for key in ("command", "packages", "sources") if key in kept}
            write_index(done, aside, scale=str(kept["scale"]), seeds=kept["seeds"], index_page=index_page, made=made)
    except (FarloopError, MemoryError):
        raise
    except Exception as error:
        raise damaged_error(source, error) from None
