"""Tables in pages that scripts write, each between two markers with its name."""

from __future__ import annotations

import re
from collections.abc import Sequence


def markers(name: str, script: str) -> tuple[str, str]:
    """Returns the lines before and after a table in a page; the first names the file in scripts/ that writes it."""
    return f"<!-- {name}: written by scripts/{script} -->", f"<!-- end of {name} -->"


def place(text: str, name: str, script: str, content: str, *, blank: str = "\n") -> str:
    """Returns a page with `content` between the markers of `name`.

    Args:
        text: The page.
        name: The name of the table.
        script: The file in scripts/ that writes it.
        content: The table in Markdown.
        blank: Blank line beside the markers; an empty text inside a paragraph.

    Raises:
        ValueError: a marker is missing.
    """
    begin, end = markers(name, script)
    pattern = re.compile(f"{re.escape(begin)}\n.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"expected the markers {begin} and {end}")
    return pattern.sub(lambda _: f"{begin}\n{blank}{content}\n{blank}{end}", text, count=1)


def read(text: str, name: str) -> list[list[str]]:
    """Returns the rows of a table of a page, its head first and without the rule below it."""
    lines = text.split(f"<!-- {name}: ")[1].split("<!-- end of")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines if line.startswith("|")]
    return [rows[0], *rows[2:]]


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, first: str = "---", others: str = "---:") -> str:
    """Returns a table in Markdown.

    Args:
        heads: The head of each column.
        rows: The cells.
        first: The rule below the first head, which aligns its column.
        others: The rule below the other heads.
    """
    rule = f"| {first} |{f' {others} |' * (len(heads) - 1)}"
    return "\n".join([f"| {' | '.join(heads)} |", rule, *(f"| {' | '.join(row)} |" for row in rows)])
