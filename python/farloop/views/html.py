"""HTML from templates. Jinja2 escapes every value that a template does not call safe, and refuses a name without a value.

The templates stand in `templates/`; `macros.html.j2` has what several share. Jinja2 is loaded where a page is written, not before: a run
without a report does without.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


TEMPLATES = Path(__file__).parent / "templates"
"""Where the templates are."""


@functools.cache
def environment() -> Environment:
    """Jinja2 with farloop's rules: everything is escaped, and nothing may be missing."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["with_interval"] = _interval_cell
    return made


def render(template: str, **values: Any) -> Markup:
    """A template, such as "index.html.j2", with these values in it; what comes out is HTML, which no other template escapes again.

    Raises:
        jinja2.UndefinedError: the template has a name that is not among the values.
    """
    from markupsafe import Markup

    return Markup(environment().get_template(template).render(**values))


def script(name: str) -> Markup:
    """The text of a script of the views, for a page's own element."""
    from markupsafe import Markup

    return Markup(files("farloop.views").joinpath(name).read_text("utf-8"))


def sections_page(
    title: str,
    heading: str,
    verdict: Markup,
    sections: Sequence[tuple[str, str, Markup]],
    *,
    remarks: Sequence[str] = (),
    subtitle: str = "",
    style: str = "",
    scripts: Markup | str = "",
) -> str:
    """A complete document whose first screen is the verdict; a section for each question of a reader follows.

    Args:
        title: Its title.
        heading: The heading above the verdict.
        verdict: Its first screen, of `farloop.views.report.verdict`.
        sections: Of each its anchor, the question, and what stands below it.
        remarks: Notes between the verdict and the sections.
        subtitle: Its last line: how much was simulated, by which version.
        style: Classes of the page's style around the sections.
        scripts: Elements that stand at its end.
    """
    headed = [
        (anchor, name, render("section.html.j2", anchor=anchor, title=name, content=body))
        for anchor, name, body in sections
    ]
    content = render(
        "report.html.j2",
        title=heading,
        subtitle=subtitle,
        verdict=verdict,
        remarks=remarks,
        sections=headed,
        style=style,
        sorting=script("sort_tables.js"),
    )
    return document(title, content, scripts=scripts)


def _interval_cell(cell: str) -> Markup:
    """A cell whose interval stands below its number, so that tables are narrower."""
    from markupsafe import Markup, escape

    from farloop.units import INTERVAL_TEXT

    return Markup(INTERVAL_TEXT.sub(r'<br><span class="interval-text">\1</span>', str(escape(cell))))


def document(title: str, content: str, *, scripts: Markup | str = "") -> str:
    """A complete document with the pages' style around its content, which is HTML; it loads nothing from anywhere.

    Args:
        title: Its title.
        content: Its content.
        scripts: Elements that stand at its end, so that all of it can be seen before they run.
    """
    style = files("farloop.views").joinpath("style.css").read_text("utf-8")
    return str(render("document.html.j2", title=title, content=content, scripts=scripts, style=style))
