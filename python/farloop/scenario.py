"""Scenario files: finding and reading them, and overriding their settings."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from farloop import _native
from farloop._native import ScenarioError

PAPERS = Path(__file__).parent / "scenarios"
"""The scenarios of the papers: `<paper>/<figure>.toml`."""

Settings = Mapping[str, Any] | Iterable[str]
"""Overrides: a mapping of dotted keys to values, or texts of the form "key=value"."""


@dataclass(frozen=True)
class Scenario:
    """The text of a scenario file and the settings that replace some of it.

    Attributes:
        text: The file's content, TOML.
        file: Its name, for messages.
        overrides: Dotted keys and values as a scenario would write them, texts without quotes; later ones win.
    """

    text: str
    file: str
    overrides: tuple[tuple[str, str], ...] = field(default=())

    @classmethod
    def load(cls, source: str | PathLike[str] | Scenario) -> Scenario:
        """Reads a scenario file; also takes the name of a paper's figure, such as "gear/fig09".

        Raises:
            ScenarioError: there is no such file, or it cannot be read as UTF-8 text.
        """
        if isinstance(source, Scenario):
            return source
        path = Path(source)
        if not path.exists() and str(source) in figure_names():
            path = PAPERS / f"{source}.toml"
        try:
            return cls(path.read_bytes().decode("utf-8"), str(path))
        except FileNotFoundError:
            raise ScenarioError(f"{path}: no such file{_nearest_scenario(str(source))}") from None
        except IsADirectoryError:
            raise ScenarioError(f"{path}: is a directory; expected a scenario file (TOML)") from None
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            raise ScenarioError(f"{path}:{line}: is not UTF-8 text; expected a scenario file (TOML)") from None
        except OSError as error:
            raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from None

    def override(
        self, settings: Settings | None = None, *, algorithm: str | None = None, seed: int | None = None
    ) -> Scenario:
        """The same scenario with other settings, another algorithm for all flows, another seed.

        Raises:
            ScenarioError: a setting is not of the form key=value.
        """
        extra = list(parse_settings(settings))
        if algorithm is not None:
            extra.append(("algorithm.name", algorithm))
        if seed is not None:
            extra.append(("run.seed", str(seed)))
        return Scenario(self.text, self.file, (*self.overrides, *extra))

    @cached_property
    def resolved(self) -> dict[str, Any]:
        """The whole scenario with all defaults and overrides in place.

        Raises:
            ScenarioError: the scenario is not valid.
        """
        resolved: dict[str, Any] = json.loads(_native.resolve(self.text, self.file, list(self.overrides)))
        return resolved


def parse_settings(settings: Settings | None) -> Iterable[tuple[str, str]]:
    """Settings as pairs of dotted key and text.

    Raises:
        ScenarioError: a text is not of the form key=value.
    """
    if settings is None:
        return
    if isinstance(settings, Mapping):
        for key, value in settings.items():
            yield key, as_text(value)
        return
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise ScenarioError(f"--set {setting}: expected key=value, such as run.duration=100ms")
        yield key.strip(), value.strip()


def as_text(value: Any) -> str:
    """A value as a scenario file would write it, texts without quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def figure_names() -> list[str]:
    """The papers' scenarios, as "paper/figure"."""
    return sorted(str(p.relative_to(PAPERS).with_suffix("")) for p in PAPERS.glob("*/*.toml"))


def _nearest_scenario(name: str) -> str:
    known = figure_names()
    wanted = name.removesuffix(".toml").removeprefix("papers/")
    close = difflib.get_close_matches(wanted, known, n=1)
    if close:
        return f"; did you mean {close[0]}?"
    return f"; the scenarios of the papers are {', '.join(known)}" if known else ""
