"""What the site adds to the Markdown of pages: their weight in search, commands that wrap, pictures that are read on a phone."""

from __future__ import annotations

import re
from pathlib import Path, PurePath

from PIL import Image

SEARCH_BOOSTS = {
    "docs/questions.md": 4.0,
    "docs/tutorials/*.md": 2.0,
    "docs/guides/*.md": 2.0,
    "docs/performance.md": 0.5,
    "docs/mutation-testing.md": 0.2,
    "docs/*.md": 2.0,
    "reference/commands.md": 1.0,
    "spec/defaults.md": 0.3,
    "spec/*.md": 1.0,
    "docs/findings/*.md": 0.4,
    "gallery/*.md": 0.4,
    "reference/python.md": 0.4,
    "docs/decisions/*.md": 0.2,
    "*.md": 0.2,
}
"""Factors of a page's score in the site's search, by patterns; the first one that matches counts."""

SOURCE_BOOST = 0.01
"""The factor of the text of sources and examples: they come after every page."""

PROGRAMS = ("cp", "export", "farloop", "make", "pip", "podman", "scripts/[a-z-]+\\.sh", "sudo")
"""Words that lines of commands begin with."""

COMMAND = rf"(?:{'|'.join(PROGRAMS)}) [^\n]*"

SENTENCE = r"(?![^\n]*(?:  |[│┃|]))[A-Za-z][^\n]*"
"""A line that a command prints without columns."""

WRAPPING = re.compile(rf"^```(?:bash|text|)\n((?:(?:{COMMAND})\n)+|(?:(?:{SENTENCE})\n)+)```$", re.MULTILINE)
"""A block of commands, or of sentences that a command prints."""

PICTURE = re.compile(r"^(!\[[^\]]*\]\(([^)\s]+\.png)\))$", re.MULTILINE)
"""A picture that is a paragraph of its own."""


def search_head(page: PurePath) -> str:
    """The front matter that gives a page of the site its factor in search."""
    return f"---\nsearch:\n  boost: {search_boost(page)}\n---\n\n"


def search_boost(page: PurePath) -> float:
    """The factor of a page's score in search. Sources become pages with two suffixes, such as partition.rs.md."""
    if len(page.suffixes) > 1:
        return SOURCE_BOOST
    return next(boost for pattern, boost in SEARCH_BOOSTS.items() if page.match(pattern))


def marked_blocks(text: str) -> str:
    """The page with a class at blocks whose lines may wrap: commands, and sentences that they print (site.css)."""
    return WRAPPING.sub(lambda block: f"``` {{ .text .wraps }}\n{block[1]}```", text)


def marked_pictures(text: str, directory: Path) -> str:
    """The page with the width from which the letters of each picture can be read: half of its pixels (site.css).

    Args:
        text: The page.
        directory: Where the links of the page begin.
    """

    def marked(picture: re.Match[str]) -> str:
        file = directory / picture[2]
        if not file.is_file():
            return picture[1]
        with Image.open(file) as image:
            return f'{picture[1]}{{ .picture style="--readable: {image.width // 2}px" }}'

    return PICTURE.sub(marked, text)
