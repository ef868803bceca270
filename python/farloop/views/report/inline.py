"""JSON inside of a page's script elements."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&/\u2028\u2029"}
"""Characters that could end a script element or a line early, or begin a comment: "<!--<script>" swallows the rest of a page. JSON has them
in strings alone, and means the same by their numbers."""


def script_json(content: Any, *, default: Callable[[Any], Any] | None = None, is_data: bool = False) -> str:
    """JSON that can stand in a script element, as an expression of JavaScript, or as data that a script parses.

    Raises:
        ValueError: data have a number that is not finite, which JavaScript has and JSON has not.
    """
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=default, allow_nan=not is_data)
    return text.translate(_ESCAPES)
