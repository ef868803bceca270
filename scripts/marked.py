"""Places in pages that scripts write: each between two markers, by name."""

from __future__ import annotations

import re


def placed(text: str, name: str, script: str, content: str) -> str:
    """A page with `content` between the markers of `name`, which say that `script` wrote it.

    Raises:
        ValueError: a marker is missing.
    """
    begin, end = f"<!-- {name}: written by scripts/{script} -->", f"<!-- end of {name} -->"
    pattern = re.compile(f"{re.escape(begin)}\n.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"there is no {begin} … {end}")
    return pattern.sub(lambda _: f"{begin}\n\n{content}\n\n{end}", text, count=1)
