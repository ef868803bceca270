"""One table for every reader, and HTML that escapes what it is given."""

import io

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup
from rich.console import Console

from farloop.views import html, svg
from farloop.views.tabular import Head, StyledCell, Table

TABLE = Table(
    [Head("run", is_text=True), Head("rate", hint="per flow"), Head("cause <b>", is_text=True)],
    [
        ["a | b", "1.5", None],
        [StyledCell("best", Markup("<b>best</b>"), "text"), StyledCell("2 ×", sort=2.0), "x & y"],
        [StyledCell("none ran", style="no", span=3)],
    ],
    title="What ran",
)


def test_a_page_has_the_cells_escaped_and_styled():
    page = TABLE.html()
    assert '<th class="text">run</th><th title="per flow">rate</th><th class="text">cause &lt;b&gt;</th>' in page
    assert '<td class="text">a | b</td><td>1.5</td><td class="text">–</td>' in page
    assert '<td class="text"><b>best</b></td><td data-v="2.0">2 ×</td><td class="text">x &amp; y</td>' in page
    assert '<td class="no" colspan="3">none ran</td>' in page
    assert not Table.from_rows(["a"], []).html()


def test_text_has_the_same_cells():
    assert TABLE.markdown().splitlines() == [
        "| run | rate | cause <b> |",
        "| --- | ---: | --- |",
        r"| a \| b | 1.5 | – |",
        "| best | 2 × | x & y |",
        "| none ran |  |  |",
    ]


def test_a_terminal_has_numbers_on_the_right():
    console = Console(file=io.StringIO(), width=80, color_system=None)
    rows = [["a", "5", "s1"], ["b", 1000, "s2"], ["c", "no flows", "s3"]]
    console.print(*Table.from_rows(["run", "drops", "port"], rows, title="Drops").terminal())
    assert "a   │        5 │ s1" in console.file.getvalue()


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_number_is_broken_on_a_narrow_terminal(width):
    numbers = ["7.48 Gbps [7.17 Gbps, 7.74 Gbps]", "0.478 [0.456, 0.495]", "6.8 MB [5.19 MB, 7.86 MB]", "1,000"]
    table = Table.from_rows(
        ["run", "mean throughput", "Jain", "longest queue", "drops"], [["cubic", *numbers]], title="Runs"
    )
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(*table.terminal(width))
    shown = console.file.getvalue()
    lines = [line.rstrip() for line in shown.splitlines()]
    assert max(map(len, lines)) <= width
    for number in numbers:
        first, _, interval = number.partition(" [")
        assert any(first in line for line in lines), first
        assert not interval or any(f"[{interval}" in line for line in lines), interval
    assert shown.count("Runs") == 1, "the title stands above the first part"
    assert shown.count("cubic") == len(table.terminal(width)), "each part names its rows"
    assert len(table.terminal()) == 1, "without a width it is one table"


def test_each_part_of_a_wide_table_tells_its_rows_apart():
    numbers = ["1,344", "3.31 [1.00, 7.45]", "38.42", "1,056", "2.43 [1.04, 3.29]", "11.14"]
    rows = [[run, group, *numbers] for run in ("cubic", "bbr") for group in ("intra", "cross")]
    table = Table.from_rows(["run", "slowdown of", "flows", "mean", "p99", "more flows", "more mean", "more p99"], rows)
    console = Console(file=io.StringIO(), width=60, color_system=None)
    parts = table.terminal(60)
    console.print(*parts)
    assert len(parts) > 1
    lines = console.file.getvalue().splitlines()
    for run, group, *_ in rows:
        assert sum(run in line and group in line for line in lines) == len(parts)


def test_a_name_that_nobody_gave_is_an_error():
    with pytest.raises(UndefinedError, match="explanation"):
        html.render("link_events.html.j2", table=TABLE)


def test_a_drawing_escapes_words_and_attributes():
    assert svg.element("text", "<&>", x=1, text_anchor='"') == '<text x="1" text-anchor="&quot;">&lt;&amp;&gt;</text>'
    assert svg.element("g", svg.element("rect", class_="a")) == '<g><rect class="a"/></g>'


def test_every_template_compiles_and_is_used():
    templates = {path.name for path in html.TEMPLATES.iterdir()}
    assert set(html.environment().list_templates()) == templates
    for name in templates:
        html.environment().get_template(name)
    package = html.TEMPLATES.parents[1]
    texts = [path.read_text("utf-8") for path in (*package.rglob("*.py"), *html.TEMPLATES.iterdir())]
    assert [name for name in templates if not any(f'"{name}"' in text for text in texts)] == []
