"""Live runs in pages of the site: the playground in a frame, where a page says `<!-- live: PRESET | TITLE -->`.

A preset is one of crates/web/page/presets.json. The site has the playground where `make web` has built it; elsewhere the page says that it
has none, and how to run the same.
"""

from __future__ import annotations

import html
import re
import shutil
from os.path import relpath
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / "out" / "web" / "playground.html"
PAGE = "playground.html"
"""Where the site has it."""

MARK = re.compile(r"^<!-- live: (?P<preset>\S+) \| (?P<title>.+?) -->$", re.MULTILINE)


def stage(directory: Path) -> bool:
    """Puts the playground among the pages, if it is built; whether it is."""
    if not BUILT.is_file():
        return False
    directory.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(BUILT, directory / PAGE)
    return True


def link(preset: str) -> str:
    """The playground with a preset, from the top of the site."""
    return f"{PAGE}#preset={preset}"


def shown(text: str, at: Path, *, there: bool) -> str:
    """A page's text with its live runs; `at` is its place in the site, `there` whether the site has the playground."""
    up = relpath(Path(), at.parent)

    def replaced(mark: re.Match[str]) -> str:
        title = html.escape(mark["title"])
        if not there:
            return f"*{title}: a live run, which this copy of the site lacks; `make web` builds it.*"
        source = f"{up}/{PAGE}#embed&amp;preset={mark['preset']}"
        return f'<iframe class="live" src="{source}" title="{title}" loading="lazy"></iframe>'

    return MARK.sub(replaced, text)
