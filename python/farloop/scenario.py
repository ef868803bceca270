"""Scenario files: finding and reading them, and overriding their settings."""

from __future__ import annotations

import difflib
import itertools
import json
import os
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from farloop import _native, memory
from farloop._native import ScenarioError
from farloop.algorithm import Algorithm, check_class, describe_class, name_of, refuse_twins
from farloop.deprecation import forward_method
from farloop.errors import FarloopError, clip_text, require_utf8
from farloop.formats.inputs import open_input
from farloop.formats.scenario_text import TABLES, CaseSettings, from_tables, worded_for_python
from farloop.memory import Estimate

PAPERS = Path(__file__).parent / "papers"
"""The papers' figures: `PAPER/FIGURE.toml` is the scenario of one."""

KERNEL = "/kernel-"
"""Part of the names of figures that are scaled to what a testbed forwards: "gemini/kernel-fig10" is "gemini/fig10"."""

ARENA = Path(__file__).parent / "studies" / "arena" / "scenarios"
"""The arena's scenarios: NAME.toml."""

Settings = Mapping[str, Any] | Iterable[str] | str
"""Overrides: a mapping of dotted keys to values, or texts of the form "key=value", or one of those."""

MAX_FILES = 5
"""Of a directory that a message lists."""

MAX_BYTES = 16 * 2**20
"""A scenario file is smaller; what is not ended by then, such as a device, may have no end."""


@dataclass(frozen=True)
class Scenario:
    """The text of a scenario file and the settings that replace some of it.

    Attributes:
        text: The file's content, TOML.
        file: Its name, for messages.
        overrides: Dotted keys and values as a scenario would write them, texts without quotes; later ones win.
        classes: Algorithms in Python that it may name besides those that come with farloop (`farloop.algorithm`).
        case: The `[[case]]` that some of the overrides are of; only messages depend on it.
    """

    text: str
    file: str
    overrides: tuple[tuple[str, str], ...] = field(default=())
    classes: tuple[type[Algorithm], ...] = field(default=())
    case: CaseSettings | None = field(default=None, compare=False, repr=False)

    @classmethod
    def load(cls, source: Source) -> Scenario:
        """Reads a scenario file; also takes the name of a paper's figure, such as "gear/fig09", and a scenario's tables.

        Raises:
            ScenarioError: there is no such file, or it cannot be read as UTF-8 text; or `source` is the text of a scenario, for which there
                is `from_text`; or tables have what no scenario can have.
        """
        if isinstance(source, Scenario):
            return source
        if isinstance(source, Mapping):
            return cls.from_text(from_tables(source), TABLES)
        if not isinstance(source, str | PathLike) or not isinstance(os.fspath(source), str):
            raise ScenarioError(
                f"{clip_text(repr(source))}: expected the name of a scenario file, a dictionary of its tables, or a Scenario"
            )
        name = os.fspath(source)
        if "\n" in name:
            raise ScenarioError(
                f"{clip_text(name.partition(chr(10))[0])}: is a text of several lines; "
                "expected the name of a scenario file, or a Scenario: "
                "Scenario.from_text(TEXT) makes one"
            )
        path = Path(name)
        if not os.path.exists(path) and is_figure(name):  # noqa: PTH110, it never raises
            path = PAPERS / f"{name}.toml"
        return cls(read_text(path, name), str(path))

    @classmethod
    def from_text(cls, text: str, file: str = "scenario.toml") -> Scenario:
        """A scenario from its text; `file` is what messages call it, and files that it names are looked for beside that.

        Raises:
            ScenarioError: the text is none.
        """
        if not isinstance(text, str):
            raise ScenarioError(f"{clip_text(repr(text))}: expected the text of a scenario (TOML)")
        return cls(text, str(file))

    def override(
        self,
        settings: Settings | None = None,
        *,
        algorithm: str | type[Algorithm] | None = None,
        seed: int | None = None,
    ) -> Scenario:
        """The same scenario with other settings, another algorithm for all flows, another seed.

        An algorithm is a name, or a class of `farloop.algorithm`.

        Raises:
            ScenarioError: a setting is not of the form key=value, or algorithm or seed are of another type.
            FarloopError: a class is no algorithm.
        """
        if isinstance(algorithm, type):
            known = self.with_classes([algorithm])
            return known.override(settings, algorithm=name_of(algorithm), seed=seed)
        extra = list(parse_settings(settings))
        if algorithm is not None:
            if not isinstance(algorithm, str):
                raise ScenarioError(f"algorithm: {clip_text(repr(algorithm))}: expected a name, such as hpcc")
            extra.append(("algorithm.name", algorithm))
        if seed is not None:
            if isinstance(seed, bool) or not isinstance(seed, int):
                raise ScenarioError(f"seed: {clip_text(repr(seed))}: expected a whole number")
            extra.append(("run.seed", str(seed)))
        for setting in extra:
            _encodable("set", *setting)
        return Scenario(self.text, self.file, (*self.overrides, *extra), self.classes, self.case)

    def of_case(self, case: Mapping[str, Any], text: str | None = None) -> Scenario:
        """The scenario with the settings of one of its cases, as `parsed` has it; `text` is where the case is written, if not here."""
        made = self.override(case["set"])
        place = CaseSettings.from_text(case, self.text if text is None else text)
        return Scenario(made.text, made.file, made.overrides, made.classes, place)

    def with_classes(self, classes: Iterable[type[Algorithm]]) -> Scenario:
        """The same scenario, which may name these algorithms in Python; a class that has been defined anew counts instead of the older one.

        Raises:
            FarloopError: a class is no algorithm, or two have one name.
        """
        every = (*self.classes, *map(check_class, classes))
        refuse_twins(every)
        known = {name_of(class_): class_ for class_ in every}
        return Scenario(self.text, self.file, self.overrides, tuple(known.values()), self.case)

    @property
    def algorithm_name(self) -> str:
        """The algorithm of the flows that name none of their own."""
        algorithm = self.parsed.get("algorithm", {})
        return str(algorithm.get("name", "")) if isinstance(algorithm, dict) else str(algorithm)

    @property
    def display_name(self) -> str:
        """Its file's name as the simulator takes it: UTF-8, whatever the system's names are; other bytes as backslash, x and two digits."""
        try:
            return os.fsencode(self.file).decode("utf-8", "backslashreplace")
        except UnicodeEncodeError:
            # A name from Python that this system has no bytes for.
            return self.file.encode("utf-8", "backslashreplace").decode("utf-8")

    @property
    def described_classes(self) -> list[dict[str, Any]]:
        """Its algorithms in Python as the simulator takes them."""
        return [describe_class(class_) for class_ in self.classes]

    def prepare_handle(self, *, take: bool = False) -> _native.Scenario:
        """The simulator's handle of it: parsed once, its network built once for all uses.

        Only the scenario that was used last keeps its handle, which may hold a large network. With `take` it is kept no more,
        for what takes the network anyway: a run, a check, a forecast.

        Raises:
            ScenarioError: the scenario is not valid.
        """
        global _latest
        limit = memory.limit()
        with _LATEST:
            latest, handle, limited = _latest
            # A job that was refused may be expanded once its run is forced.
            if latest is self and handle is not None and limited == (limit is not None):
                _latest = (None, None, False) if take else _latest
                return handle
        _encodable(self.file, self.text)
        with worded_for_python(self.text, self.display_name, self.case):
            handle = _native.Scenario(self.text, self.display_name, list(self.overrides), self.described_classes, limit)
        if not take:
            with _LATEST:
                _latest = (self, handle, limit is not None)
        return handle

    @cached_property
    def resolved(self) -> dict[str, Any]:
        """The whole scenario with all defaults and overrides in place.

        Raises:
            ScenarioError: the scenario is not valid.
        """
        return self._settled[0]

    @cached_property
    def parsed(self) -> dict[str, Any]:
        """The same keys as `resolved`, but no network is built: for facts that follow from keys, and for scenarios whose run is there.

        Raises:
            ScenarioError: the text or a key is not valid; what only the network tells is not checked.
        """
        parsed: dict[str, Any] = json.loads(self.prepare_handle().parsed())
        return parsed

    prepared = forward_method("Scenario", "prepared", "prepare_handle")

    def attach_resolved(self, resolved: dict[str, Any]) -> Scenario:
        """The same scenario, where it is known already what it is `resolved` to."""
        same = Scenario(self.text, self.file, self.overrides, self.classes, self.case)
        same.__dict__["resolved"] = same.__dict__["parsed"] = resolved
        return same

    @property
    def memory(self) -> Estimate:
        """Estimated memory of its run.

        Raises:
            ScenarioError: the scenario is not valid.
        """
        return self._settled[1]

    @cached_property
    def _settled(self) -> tuple[dict[str, Any], Estimate]:
        """All keys, and the memory: the network is built for both, which takes its time."""
        handle = self.prepare_handle()
        with worded_for_python(self.text, self.display_name, self.case):
            resolved, estimate = json.loads(handle.resolved()), Estimate(tuple(handle.most_memory()))
        self.__dict__.setdefault("parsed", resolved)
        return resolved, estimate

    @cached_property
    def explained(self) -> dict[str, Any]:
        """Facts of the scenario: numbers of hosts, switches, links and flows, needs of its circuits, what is most likely not meant.

        Raises:
            ScenarioError: the scenario is not valid.
        """
        handle = self.prepare_handle()
        with worded_for_python(self.text, self.display_name, self.case):
            explained: dict[str, Any] = json.loads(handle.explain())
        return explained

    @cached_property
    def forecast(self) -> dict[str, Any]:
        """Facts of its network and traffic that are known without a run.

        `network` is what `farloop.results.offered.facts` says, `jobs` what an iteration of each job comes to, `memory_bytes` what a run
        takes at most, `packet_hops` about how long it is (`None` where the gear moves no packets), `cautions` are sentences.

        Raises:
            ScenarioError: a run would refuse it.
        """
        from farloop.results import capped, collectives, offered, tables
        from farloop.results.gears import PACKETS, gear_of

        # First what leaves the network where it is, then the forecast, which takes it.
        end, resolved = float(self.explained["end_s"]), self.resolved
        forecast_tables, capped_flows, carried = self.prepare_handle(take=True).forecast()
        arrow_tables = {name: tables.to_arrow(columns) for name, columns in forecast_tables.items()}
        flows, ports = arrow_tables["flows"], arrow_tables["ports"]
        iterations = arrow_tables["iterations"]
        time_of_jobs = None if flows.num_rows else collectives.expected_time(iterations, end)
        facts = offered.facts(flows, ports, resolved, end, time_of_jobs)
        begin, until = facts["arrivals"]
        return {
            "network": facts,
            "jobs": collectives.expected_iterations(iterations, json.loads(carried)),
            "memory_bytes": self.memory.total,
            "packet_hops": offered.hops(ports, resolved, end) if gear_of(resolved) == PACKETS else None,
            "cautions": [
                *([] if facts["of_jobs"] else offered.overloads(facts["layers"], until - begin)),
                *capped.sentences([json.loads(capped_flows)]),
            ],
        }


_latest: tuple[Scenario | None, _native.Scenario | None, bool] = (None, None, False)
"""The scenario that was used last, with its handle, and whether its jobs have a limit of memory."""

_LATEST = threading.Lock()

Source = str | PathLike[str] | Mapping[str, Any] | Scenario
"""A scenario: its file, the name of a paper's figure, its tables as dictionaries, or one that is loaded."""


def parse_settings(settings: Settings | None) -> Iterable[tuple[str, str]]:
    """Settings as pairs of dotted key and text.

    Raises:
        ScenarioError: a text is not of the form key=value.
    """
    if settings is None:
        return
    if isinstance(settings, Mapping):
        for key, value in settings.items():
            if not isinstance(key, str) or not key.strip():
                raise ScenarioError(f"set: {clip_text(repr(key))}: expected a dotted key, such as run.duration")
            yield key.strip(), as_text(value)
        return
    if not isinstance(settings, Iterable):
        raise ScenarioError(
            f"set: {clip_text(repr(settings))}: expected a mapping, or texts such as run.duration=100ms"
        )
    for setting in [settings] if isinstance(settings, str) else settings:
        key, equals, value = setting.partition("=") if isinstance(setting, str) else ("", "", "")
        if not equals or not key.strip():
            raise ScenarioError(f"set: {clip_text(setting)}: expected key=value, such as run.duration=100ms")
        yield key.strip(), value.strip()


def as_text(value: Any) -> str:
    """A value as a scenario file would write it, texts without quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def figure_names() -> list[str]:
    """The papers' scenarios that the simulator reproduces, as "paper/figure"."""
    return [name for name in _all_figures() if KERNEL not in name]


def kernel_figure_names() -> list[str]:
    """The papers' figures at a scale for testbeds, as "paper/kernel-figure"."""
    return [name for name in _all_figures() if KERNEL in name]


def is_figure(name: str) -> bool:
    """Returns true if farloop carries a scenario of that name, of either kind."""
    return name in _all_figures()


def _all_figures() -> list[str]:
    # Beside its figures a paper's directory has causes.toml (farloop.judging.causes).
    scenarios = (path for path in PAPERS.glob("*/*.toml") if path.name != "causes.toml")
    return sorted(str(path.relative_to(PAPERS).with_suffix("")) for path in scenarios)


def arena_names() -> list[str]:
    """The arena's scenarios."""
    return sorted(path.stem for path in ARENA.glob("*.toml"))


def read_text(path: Path, name: str) -> str:
    """The text of a file; `name` is what the user called it.

    Raises:
        ScenarioError: it cannot be read as UTF-8 text.
    """
    try:
        with open_input(path) as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise ScenarioError(f"{path}: has more than {MAX_BYTES >> 20} MiB; expected a scenario file (TOML)")
        return content.decode("utf-8")
    except FileNotFoundError:
        raise ScenarioError(f"{clip_text(path)}: no such file; {_nearest_scenario(name)}") from None
    except IsADirectoryError:
        raise ScenarioError(f"{path}: is a directory; expected a scenario file (TOML)") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ScenarioError(f"{path}:{line}: is not UTF-8 text; expected a scenario file (TOML)") from None
    except OSError as error:
        raise ScenarioError(f"{clip_text(path)}: cannot be read: {error.strerror}") from None
    except ScenarioError:
        raise
    except ValueError as error:
        raise ScenarioError(f"{clip_text(repr(name))}: no such file: {error}") from None


def _nearest_scenario(name: str) -> str:
    """Returns the end of a message with similar names: beside it, or among the papers' figures."""
    path = Path(name)
    if near := nearest_file(path):
        return f"did you mean {clip_text(near)}?"
    figures = difflib.get_close_matches(name.removesuffix(".toml").removeprefix("papers/"), figure_names(), n=1)
    hint = f"did you mean {figures[0]}? " if figures else ""
    beside = [p.name for p in _files_beside(path)][:MAX_FILES]
    there = f"expected a scenario file (here: {clip_text(', '.join(beside))})" if beside else "expected a scenario file"
    return f"{hint}{there} or a paper's figure (`farloop list scenarios`)"


def nearest_file(path: Path) -> Path | None:
    """The TOML file in the same directory whose name is nearest, if one is near enough to be meant."""
    # Without the suffix, which would make all names alike.
    near = difflib.get_close_matches(
        path.name.removesuffix(".toml"), [p.stem for p in _files_beside(path)], n=1, cutoff=0.65
    )
    return path.with_name(f"{near[0]}.toml") if near else None


def _files_beside(path: Path) -> list[Path]:
    """The TOML files in its directory."""
    try:
        return sorted(p for p in itertools.islice(path.parent.glob("*.toml"), 1000) if p.is_file())
    except (OSError, ValueError):
        return []


def _encodable(what: str, *texts: str) -> None:
    """Refuses what came from outside and is not UTF-8, such as bytes of another encoding in a file's name."""
    for text in texts:
        try:
            require_utf8(clip_text(ascii(what)), text)
        except FarloopError as error:
            raise ScenarioError(str(error)) from None
