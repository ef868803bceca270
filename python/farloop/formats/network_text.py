"""Networks of other simulators as the text of a scenario with `topology = "links"`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from decimal import Decimal

from farloop import _native
from farloop.errors import FarloopError, clip_text

MAX_NAME_LENGTH = 100
"""Characters of a node's or a flow's name that a scenario accepts."""

_RATES = ((10**12, "Tbps"), (10**9, "Gbps"), (10**6, "Mbps"), (10**3, "kbps"))
_TIMES = ((10**12, "s"), (10**9, "ms"), (10**6, "us"), (10**3, "ns"))


class NetworkText:
    """Nodes and links as TOML. It knows the line of the other file that each comes from, for messages.

    Args:
        path: The other file, as messages name it.
        comments: Lines at the top.
    """

    def __init__(self, path: str, comments: Iterable[str]) -> None:
        self._path = path
        self._lines = [f"# {_clean_comment(comment)}" for comment in comments]
        self._sources = [0] * len(self._lines)
        self._neighbours: dict[str, list[tuple[str, int]]] = {}
        self._kinds: dict[str, str] = {}
        self._add(0, "", "[network]", 'topology = "links"')

    def add_node(self, line: int, name: str, kind: str, datacenter: int | None) -> None:
        """Adds a host, switch or router; only a router can be in no datacenter.

        Raises:
            FarloopError: there is a node of this name.
        """
        if name in self._kinds:
            raise FarloopError(
                f"{self._path}:{line}: two nodes would be called {clip_text(name)}; expected other names"
            )
        self._kinds[name] = kind
        self._neighbours[name] = []
        self._add(line, "", "[[node]]", f'name = "{name}"', f'kind = "{kind}"')
        if datacenter is not None:
            self._add(line, f"datacenter = {datacenter}")

    def add_link(
        self, line: int, a: str, b: str, *, rate: str = "", delay: str = "", loss: Decimal = Decimal()
    ) -> None:
        """Adds a link between two nodes; rate and delay are texts with a unit, empty for the format's default."""
        self._neighbours[a].append((b, line))
        self._neighbours[b].append((a, line))
        keys = [f'a = "{a}"', f'b = "{b}"']
        keys += [f"{key} = {json.dumps(value)}" for key, value in (("rate", rate), ("delay", delay)) if value]
        if loss:
            keys.append(f"loss = {float(loss)!r}")
        self._add(line, "", "[[link]]", *keys)

    def check_text(self) -> str:
        """The text, when it is a network that a scenario can have.

        Raises:
            FarloopError: there are not two hosts, a host has no link or several, or nodes cannot reach one another; also what the simulator
                refuses, such as a rate out of range. The text names the line of the other file.
        """
        hosts = [name for name, kind in self._kinds.items() if kind == "host"]
        if len(hosts) < 2:
            raise FarloopError(f"{self._path}: {len(hosts)} hosts; flows need two")
        for host in hosts:
            links = self._neighbours[host]
            if len(links) != 1:
                here = f"{self._path}:{links[1][1]}" if links else self._path
                raise FarloopError(f"{here}: the host {clip_text(host)} has {len(links)} links; expected exactly one")
        self._check_paths()
        text = "\n".join(self._lines) + "\n"
        traffic = (
            f'[run]\nduration = "1s"\n[algorithm]\nname = "fixed"\n[[flow]]\nfrom = "{hosts[0]}"\nto = "{hosts[1]}"\n'
        )
        try:
            _native.Scenario(text + traffic, self._path).resolved()
        except _native.ScenarioError as error:
            raise FarloopError(self._relocate(str(error))) from None
        return text

    def _add(self, source: int, *lines: str) -> None:
        self._lines += lines
        self._sources += [source] * len(lines)

    def _check_paths(self) -> None:
        first = next(iter(self._kinds))
        reached, ahead = {first}, [first]
        while ahead:
            # Packets do not pass through hosts, but these are at the edge: each has one link.
            near = [name for name, _ in self._neighbours[ahead.pop()] if name not in reached]
            reached.update(near)
            ahead += near
        for name in self._kinds:
            if name not in reached:
                raise FarloopError(
                    f"{self._path}: no path leads from node {clip_text(first)} to node {clip_text(name)}; expected a connected network"
                )

    def _relocate(self, message: str) -> str:
        """A message about a line of the text, for the line that it comes from."""
        matched = re.match(rf"{re.escape(self._path)}:(\d+)(:\d+)?: ", message)
        if not matched:
            return message
        line = int(matched[1])
        source = self._sources[line - 1] if line <= len(self._sources) else 0
        where = f"{self._path}:{source}" if source else self._path
        return f"{where}: {message[matched.end() :]}"


def name_for(text: str) -> str:
    """A name that scenarios accept: other characters become hyphens."""
    return re.sub(r"[^\w-]", "-", text)[:MAX_NAME_LENGTH]


def rate_text(bits_per_second: int) -> str:
    """A rate as scenarios write it, exactly."""
    return _quantity_text(bits_per_second, _RATES, "bps")


def time_text(picoseconds: int) -> str:
    """A time as scenarios write it, exactly."""
    return _quantity_text(picoseconds, _TIMES, "ps")


def _quantity_text(number: int, units: tuple[tuple[int, str], ...], base: str) -> str:
    for factor, unit in units:
        # Up to three decimals stay readable and are exact.
        if number >= factor and number * 1000 % factor == 0:
            whole, part = divmod(number * 1000 // factor, 1000)
            return f"{whole}.{part:03}".rstrip("0").rstrip(".") + unit
    return f"{number}{base}"


def _clean_comment(comment: str) -> str:
    # A comment is one line, without what TOML forbids.
    return clip_text(comment, 1000)
