"""Results in notebooks: as figures and as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from farloop.errors import FarloopError
from farloop.results.run import Comparison, Run
from farloop.results.why import Explanation
from farloop.results.why_job import JobExplanation
from farloop.studies.advice.asking import Advice
from farloop.studies.capacity.planning import CapacityPlan
from farloop.studies.sweep.study import Study
from farloop.views.tabular import Head, Table

if TYPE_CHECKING:
    from farloop.views.figures.style import Picture


def plot(
    result: object,
    *,
    metric: str | None = None,
    kind: str | None = None,
    group: str | None = None,
    size: str | None = None,
    style: str = "screen",
    width: str | None = None,
    height: str | None = None,
) -> Picture:
    """One metric of a result as a figure; see `farloop.results.showing.Drawable.plot`.

    Raises:
        FarloopError: the result has no such metric or kind.
    """
    from farloop.views.figures import plotting
    from farloop.views.figures.plotted_tables import PlottedAnswer, PlottedTime, StudyPoints
    from farloop.views.figures.style import read_inches

    question = plotting.read_question(metric, kind, group, size)
    wide, high = (
        None if text is None else read_inches(text, name) for name, text in (("width", width), ("height", height))
    )
    drawn: plotting.Plotted
    match result:
        case Run():
            drawn = result.alone
        case Comparison():
            drawn = result
        case Study():
            drawn = StudyPoints(result.title, points=result.points)
        case Advice():
            drawn = PlottedAnswer(str(result.content["title"]), content=result.content)
        case CapacityPlan():
            raise FarloopError(
                f"{result.directory}: a plan has no figure of one metric; its report.html has the curves"
            )
        case Explanation() | JobExplanation():
            drawn = PlottedTime(result.answer, explanation=result)
        case _:
            raise TypeError(f"{type(result).__name__}: has no figure")
    return plotting.plot(drawn, question, style=style, width=wide, height=high)


def as_html(result: object) -> str:
    """A result as a fragment of HTML: what it says, then its table."""
    from farloop.views.html import render

    title, sentences, table = _summary_table(result)
    return str(render("fragment.html.j2", title=title, answer="", warnings=sentences, overview=table.html(), claims=""))


def _summary_table(result: object) -> tuple[str, list[str], Table]:
    """The title, the sentences above the table, and the table."""
    match result:
        case Study():
            return result.title, result.cautions, _points(result)
        case Advice():
            return result.sentence, [], _candidates(result)
        case CapacityPlan():
            from farloop.views.capacity_page import answers_table

            return result.sentence, list(result.content["untried"]), answers_table(result.content)
        case Explanation():
            return result.answer, [], Table.from_rows(["cause", "limit", "where", "by", "time", "share"], result.rows)
        case JobExplanation():
            heads = ["cause", "limit", "phase", "ranks", "where", "by", "time", "share"]
            return result.answer, [], Table.from_rows(heads, result.rows)
    raise TypeError(f"{type(result).__name__}: has no table")


def _points(study: Study) -> Table:
    from farloop.studies.sweep.dataset import OF_METRICS
    from farloop.studies.sweep.multiples import label, metric_text, unit_of

    points = study.points
    columns = points.column_names
    metrics = [name for name in columns if f"{name}{OF_METRICS[1]}" in columns]
    keys = columns[columns.index("algorithm") : columns.index("seeds")]
    rows = [
        [
            label(points, row, keys),
            str(row["seeds"]),
            *(metric_text(row, name, unit_of(points, name)) for name in metrics),
        ]
        for row in points.to_pylist()
    ]
    return Table.from_rows(["point", "seeds", *metrics], rows)


def _candidates(advice: Advice) -> Table:
    from farloop.studies.arena.quantities import quantity

    rows = advice.content["candidates"]
    names = list(dict.fromkeys(name for row in rows for name in row["quantities"]))
    cells = [
        [
            row["name"],
            row["because"] or row["state"],
            *(quantity(name).text(row["quantities"][name]) if name in row["quantities"] else None for name in names),
        ]
        for row in rows
    ]
    return Table([Head("candidate"), Head("state", is_text=True), *map(Head, names)], cells)
