"""The hosts that stand for the numbered ranks or nodes of other files."""

from __future__ import annotations

import re
from collections.abc import Callable

from farloop.errors import FarloopError, clip_text

_COUNTED = re.compile(r"([^{},]*)\{(\d+)\}([^{},]*)")

_DIGITS = 18
"""Of the number of rank 0's host, at most."""


def rank_names(hosts: str, count: int) -> Callable[[int], str]:
    """The name of each rank's host.

    Args:
        hosts: Names, separated by commas, or a name with the number of rank 0's host in braces, such as "h{1}".
        count: Number of ranks.

    Raises:
        FarloopError: it is neither, or has fewer names than there are ranks.
    """
    try:
        hosts.encode("utf-8")
    except UnicodeEncodeError:
        raise FarloopError(f"hosts {clip_text(hosts)}: is not UTF-8 text; expected names of hosts") from None
    if counted := _COUNTED.fullmatch(hosts.strip()):
        before, first, behind = counted.groups()
        if len(first) > _DIGITS:
            raise FarloopError(
                f"hosts {clip_text(hosts)}: {clip_text(first)} is too large; expected at most {_DIGITS} digits"
            )
        return lambda rank: f"{before}{int(first) + rank}{behind}"
    names = [host.strip() for host in hosts.split(",")]
    if "{" in hosts or not all(names):
        raise FarloopError(f"hosts {clip_text(hosts)}: expected names, separated by commas, or a name such as h{{1}}")
    if len(names) < count:
        raise FarloopError(f"hosts {clip_text(hosts)}: {len(names)} names; expected {count}, one for each rank")
    return names.__getitem__
