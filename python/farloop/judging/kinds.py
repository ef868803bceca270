"""Kinds of causes, each with the keys that an entry of `causes.toml` owes to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from farloop.errors import clip_text
from farloop.formats.toml_table import TomlTable

ROLES = ("turns", "keeps", "shows")
"""Of a reading: it turns the statement, it keeps every other one that holds, it shows something else."""

PROGRAMS = ("farloop ", ".venv/bin/python scripts/")
"""Accepted starts of a command."""

MIN_SEEDS = 20
"""Seeds behind an interval."""


@dataclass(frozen=True)
class Shown:
    """A command that shows something about a cause.

    Attributes:
        what: Description of the command.
        command: The command line, to be run in a checkout.
        gives: Its literal output.
        seconds: Roughly the processor time that it takes on one core.
        calibrated: The reading was chosen by what it gives, so that it confirms nothing.
        role: One of `ROLES`.
    """

    what: str
    command: str
    gives: str
    seconds: float
    calibrated: bool = False
    role: str = "shows"

    @classmethod
    def read(cls, entry: TomlTable) -> Shown:
        """A [[cause.reading]].

        Raises:
            FarloopError: a key is absent or not as expected.
        """
        entry.only("what", "command", "gives", "seconds", "calibrated", "role")
        command = entry.text("command")
        if not command.startswith(PROGRAMS):
            raise entry.refused("command", f"{clip_text(command)}: expected it to begin with {' or '.join(PROGRAMS)}")
        return cls(
            entry.text("what"),
            command,
            entry.text("gives"),
            entry.number("seconds", "the processor time that the command takes, above 0", above=0),
            entry.flag("calibrated", False),
            entry.one_of("role", ROLES) if "role" in entry.values else "shows",
        )


@dataclass(frozen=True)
class Kind(ABC):
    """What an entry says in the keys of its kind.

    Attributes:
        NAME: The word for it in files and tables.
        KEYS: The keys that only this kind has.
    """

    NAME: ClassVar[str]
    KEYS: ClassVar[tuple[str, ...]] = ()

    @classmethod
    @abstractmethod
    def read(cls, entry: TomlTable, readings: Sequence[Shown]) -> Kind:
        """The kind's part of a [[cause]].

        Raises:
            FarloopError: a key is absent or not as expected, or the readings do not support the kind.
        """

    @abstractmethod
    def describe(self) -> str:
        """The keys in a line for readers; empty where the kind has none."""


@dataclass(frozen=True)
class NotPublished(Kind):
    """A setting is nowhere published. A plausible value of it turns the statement and costs no other one that holds.

    Attributes:
        setting: The setting.
        searched: Sections, references and code that do not have it.
        range: Plausible values.
        range_source: Where the range comes from; older than the runs.
    """

    NAME = "setting not published"
    KEYS = ("setting", "searched", "range", "range_source")

    setting: str
    searched: tuple[str, ...]
    range: str
    range_source: str

    @classmethod
    def read(cls, entry: TomlTable, readings: Sequence[Shown]) -> NotPublished:
        """Reads the keys of the kind."""
        own = cls(
            entry.text("setting"),
            _read_texts(entry, "searched", "two or more sections, references or programs in which it was looked for"),
            entry.text("range"),
            entry.text("range_source"),
        )
        if not any(r.role == "turns" and not r.calibrated for r in readings):
            expected = (
                'expected one with role = "turns" that is not calibrated: a value in the range turns the statement'
            )
            raise entry.refused("reading", expected)
        if not any(r.role == "keeps" for r in readings):
            expected = 'expected one with role = "keeps": with the same value no other statement is lost'
            raise entry.refused("reading", expected)
        return own

    def describe(self) -> str:
        """The keys in a line for readers."""
        return f"{self.setting}: not in {', '.join(self.searched)}. Plausible: {self.range} ({self.range_source})."


@dataclass(frozen=True)
class CannotFollow(Kind):
    """The text contradicts itself, or a bound for every algorithm and setting contradicts the number.

    Attributes:
        quotes: Passages that contradict each other; none where there is a bound.
        bound: The bound with its arithmetic; empty where there are quotes.
    """

    NAME = "cannot follow from the text"
    KEYS = ("quotes", "bound")

    quotes: tuple[str, ...]
    bound: str

    @classmethod
    def read(cls, entry: TomlTable, readings: Sequence[Shown]) -> CannotFollow:
        """Reads the keys of the kind."""
        if not {"quotes", "bound"} & entry.values.keys():
            raise entry.refused(
                "quotes", "expected two or more passages with their sections, or bound with its arithmetic"
            )
        passages = "two or more passages, each with its section"
        quotes = _read_texts(entry, "quotes", passages) if "quotes" in entry.values else ()
        bound = entry.text("bound") if "bound" in entry.values else ""
        if any(r.role == "turns" for r in readings):
            raise entry.refused("reading", f'one has role = "turns", which refutes {cls.NAME}; expected another kind')
        return cls(quotes, bound)

    def describe(self) -> str:
        """The keys in a line for readers."""
        return " / ".join([*self.quotes, *([self.bound] if self.bound else [])])


@dataclass(frozen=True)
class Simplification(Kind):
    """farloop leaves something out, or does it otherwise than the text.

    Attributes:
        simplification: What that is.
        repair: The repair, or what it would cost.
    """

    NAME = "simplification of farloop"
    KEYS = ("simplification", "repair")

    simplification: str
    repair: str

    @classmethod
    def read(cls, entry: TomlTable, readings: Sequence[Shown]) -> Simplification:
        """Reads the keys of the kind."""
        return cls(entry.text("simplification"), entry.text("repair"))

    def describe(self) -> str:
        """The keys in a line for readers."""
        return f"{self.simplification} Repair: {self.repair}"


@dataclass(frozen=True)
class TooClose(Kind):
    """The interval of the mean over many seeds contains the edge of what is accepted.

    Attributes:
        bound: The edge.
        interval: The 95 % interval of the mean.
        seeds: The number of seeds.
    """

    NAME = "too close to tell"
    KEYS = ("bound", "interval", "seeds")

    bound: float
    interval: tuple[float, float]
    seeds: int

    @classmethod
    def read(cls, entry: TomlTable, readings: Sequence[Shown]) -> TooClose:
        """Reads the keys of the kind."""
        bound = entry.number("bound", "the accepted edge, a number")
        low, high = entry.pair("interval", "the lower and the upper end of the 95 % interval of the mean")
        seeds = entry.values.get("seeds")
        if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < MIN_SEEDS:
            raise entry.refused("seeds", f"expected {MIN_SEEDS} or more, the number of seeds behind the interval")
        if not low <= bound <= high:
            raise entry.refused("interval", f"{low:g} to {high:g}: expected one that contains the bound, {bound:g}")
        return cls(bound, (low, high), seeds)

    def describe(self) -> str:
        """The keys in a line for readers."""
        low, high = self.interval
        return f"{low:g} to {high:g} over {self.seeds} seeds (95 %), accepted edge {self.bound:g}."


@dataclass(frozen=True)
class Open(Kind):
    """No cause is known; the readings are what was tried."""

    NAME = "open"

    @classmethod
    def read(cls, entry: TomlTable, readings: Sequence[Shown]) -> Open:
        """Reads the keys of the kind."""
        return cls()

    def describe(self) -> str:
        """The keys in a line for readers."""
        return ""


KINDS: dict[str, type[Kind]] = {
    kind.NAME: kind for kind in (NotPublished, CannotFollow, Simplification, TooClose, Open)
}
"""All kinds by their names."""


def read_kind(entry: TomlTable, readings: Sequence[Shown]) -> Kind:
    """The kind of a [[cause]], with what the entry owes to it.

    Raises:
        FarloopError: there is no such kind, a key is absent, not as expected or of another kind, or the readings do not support the kind.
    """
    kind = KINDS[entry.one_of("kind", tuple(KINDS))]
    for key in entry.values:
        if key not in kind.KEYS and (others := [other.NAME for other in KINDS.values() if key in other.KEYS]):
            raise entry.refused(key, f"no key of {kind.NAME}; expected it only with {' or '.join(others)}")
    return kind.read(entry, readings)


KEYS = tuple(dict.fromkeys(key for kind in KINDS.values() for key in kind.KEYS))
"""The keys of all kinds."""


def _read_texts(entry: TomlTable, key: str, expected: str) -> tuple[str, ...]:
    texts = entry.texts(key, expected)
    if len(texts) < 2:
        raise entry.refused(key, f"has {len(texts)}; expected {expected}")
    return texts
