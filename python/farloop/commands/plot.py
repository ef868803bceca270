"""`farloop plot`: one metric of an output as a figure for a paper."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from farloop.commands.command import handle_errors, print_line, ready_to_draw
from farloop.commands.declarations import declare_command
from farloop.commands.options import QuietOption, SizesOption
from farloop.errors import FarloopError, clip_text, nearest


@declare_command(
    "plot",
    group="Look up",
    place=6,
    summary="Draw one metric of an output as a figure for a paper.",
    examples=(
        "farloop plot out/first --metric p99_slowdown --group intra,cross",
        "farloop plot out/first --kind cdf --metric fct --width 84mm --out fct.svg",
        "farloop plot out/first --kind heatmap --metric queue --style screen",
    ),
)
@handle_errors
def plot(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="An output of run, compare, reproduce (one figure in it), sweep, arena or advise."
        ),
    ],
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What to show: a number such as p99_slowdown or max_queue, an identifier such as fct_slowdown/p99/cross/finished, a curve "
            "such as throughput or queue, a column of a study or an arena (default: what suits the kind).",
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="bars|cdf|time|heatmap",
            help="Numbers with 95 % intervals, a distribution over flows, curves over time, or ports over time (of a study or an arena: "
            "its cells). Default: bars.",
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(metavar="all|intra|cross,...", help="Flows of these groups, one after the other (default: all)."),
    ] = None,
    size: Annotated[
        str | None, typer.Option(metavar="CLASS", help="Flows of this class of sizes, such as small (see --sizes).")
    ] = None,
    sizes: SizesOption = None,
    format: Annotated[
        str | None, typer.Option(metavar="pdf|svg|png", help="The file's format (default: that of --out, else pdf).")
    ] = None,
    width: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="Width on paper: 3.3in, 84mm, 240pt (default: the style's).")
    ] = None,
    height: Annotated[str | None, typer.Option(metavar="LENGTH", help="Height (default: what is needed).")] = None,
    style: Annotated[
        str,
        typer.Option(metavar="paper|screen", help="Letters for one column of a paper, or larger ones with a title."),
    ] = "paper",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The file to write (default: DIR-METRIC-KIND.FORMAT here).")
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Draw one metric of an output as a figure for a paper or a slide: PDF with its fonts, SVG or PNG. Nothing is simulated."""
    from farloop.output.manifest import list_files, slug
    from farloop.results.size_classes import read_option
    from farloop.safe_files.named_files import NamedFiles

    classes = read_option(sizes)
    ready_to_draw(True)
    from farloop.results.run import Comparison
    from farloop.views.figures import plotting
    from farloop.views.figures import style as styles
    from farloop.views.figures.plotted_tables import read_plotted

    chosen = _choose_format(format, out, styles.FORMATS)
    question = plotting.read_question(metric, kind, group, size)
    wide = None if width is None else styles.read_inches(width)
    high = None if height is None else styles.read_inches(height, "--height")
    styles.find_style(style)
    result = read_plotted(directory)
    if isinstance(result, Comparison):
        result = result.by_sizes(classes)
    elif classes is not None:
        raise FarloopError(f"--sizes: {result.what} has its classes in the names of its metrics; expected no --sizes")
    name = "-".join(filter(None, [directory.resolve().name, metric, group, size, kind or plotting.KINDS[0]]))
    target = out or Path(f"{slug(name)}.{chosen}")
    options = {
        "--metric": metric,
        "--kind": kind,
        "--group": group,
        "--size": size,
        "--sizes": sizes,
        "--format": format,
    }
    options |= {"--width": width, "--height": height, "--style": style, "--out": None if out is None else str(out)}
    words = [word for option, value in options.items() if value is not None for word in (option, value)]
    with NamedFiles([directory / each for each in list_files(directory, "")]) as files:
        files.check(target)
        figure = plotting.plot(result, question, style=style, width=wide, height=high)
        command = shlex.join(["farloop", "plot", str(directory), *words])
        files.write(target, styles.encode(figure, chosen, command, result.title))
    if not quiet:
        print_line(f"written: {target}")


def _choose_format(given: str | None, out: Path | None, formats: Sequence[str]) -> str:
    """The format that an option names, or the ending of the file.

    Raises:
        FarloopError: there is none of that name, or they are two.
    """
    ending = "" if out is None else out.suffix.removeprefix(".").lower()
    if given is not None:
        if given not in formats:
            raise FarloopError(f"--format {clip_text(given)}: no such format; {nearest(given, formats)}")
        if ending in formats and ending != given:
            raise FarloopError(
                f"--format {given} and --out {clip_text(out)}: expected an ending of that format, .{given}"
            )
        return given
    if ending and ending not in formats and out is not None and not str(out).startswith("/dev/"):
        raise FarloopError(
            f"--out {clip_text(out)}: no such format; expected an ending of .{', .'.join(formats)}, or --format"
        )
    return ending if ending in formats else formats[0]
