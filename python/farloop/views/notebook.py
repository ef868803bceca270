"""Results in notebooks: as figures and as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from farloop.results.run import Comparison, Run
from farloop.results.why import Explanation
from farloop.results.why_job import JobExplanation
from farloop.studies.advice.asking import Advice
from farloop.studies.sweep.study import Study

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

    asked = plotting.read_question(metric, kind, group, size)
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
        case Explanation() | JobExplanation():
            drawn = PlottedTime(result.answer, explanation=result)
        case _:
            raise TypeError(f"{type(result).__name__}: has no figure")
    return plotting.plot(drawn, asked, style=style, width=wide, height=high)
