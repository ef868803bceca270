"""`farloop report`: judges and draws an output again, whatever command wrote it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from farloop.commands.command import guarded, ready_to_draw
from farloop.commands.options import QuietOption
from farloop.errors import FarloopError


@guarded
def report(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The output directory of an earlier command.")],
    quiet: QuietOption = False,
) -> None:
    """Judge the claims of an output again and draw its report again, from its tables. Nothing is simulated."""
    ready_to_draw(True)
    rewrite(directory)
    if not quiet:
        from farloop.commands import show

        show.written(directory)


def rewrite(source: Path) -> None:
    """Judges the figures of an output on disk anew, from its tables, and writes reports and pictures anew; all of them or none.

    Raises:
        FarloopError: it is no complete farloop output, something could not be judged or drawn, or it cannot be written.
    """
    from farloop.judging.verdicts import judged_anew
    from farloop.output import names
    from farloop.output.directories import rewriting
    from farloop.output.manifest import damaged, read_manifest
    from farloop.output.reading import load
    from farloop.output.saving import rewrite_views
    from farloop.reproduce import write_index
    from farloop.results.run import FigureVerdicts

    kept = read_manifest(source)
    try:
        with rewriting(source) as aside:
            if kept["kind"] == "arena":
                from farloop.arena import execution

                execution.rewrite(source, kept, aside)
                return
            if kept["kind"] == "study":
                from farloop.sweep import study

                study.rewrite(source, kept, aside)
                return
            if kept["kind"] == "advice":
                from farloop.advice import asking

                asking.rewrite(source, aside)
                return
            if kept["kind"] == "validation":
                from farloop.validation import record

                record.rewrite(source, aside)
                return
            if kept["kind"] == "testbed-figure":
                from farloop.testbed import side_by_side

                side_by_side.rewrite(source, kept, aside)
                return
            if kept["kind"] != "reproduction":
                rewrite_views(judged_anew(load(source)), aside, str(kept["kind"]))
                return
            done = []
            for figure in kept["figures"]:
                comparison = judged_anew(load(names.within(source, figure)))
                rewrite_views(comparison, aside / figure, "comparison")
                done.append(FigureVerdicts.of(figure, comparison, []))
                del comparison
            write_index(done, aside, scale=str(kept["scale"]), seeds=kept["seeds"])
    except FarloopError:
        raise
    except Exception as error:
        raise damaged(source, error) from None
