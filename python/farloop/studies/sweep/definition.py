"""Definition of a study: a base scenario, points, constraints, collected metrics; from a file or from Python."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from farloop import _native, algorithm
from farloop.errors import FarloopError, clip_text, nearest
from farloop.results import gears
from farloop.results.seeds import read_seeds
from farloop.results.size_classes import SizeClasses
from farloop.results.size_classes import parse as parse_sizes
from farloop.scenario import Scenario, Source, figure_names
from farloop.studies.sweep import points
from farloop.studies.sweep.document import Document, Key
from farloop.studies.sweep.expressions import Expression
from farloop.studies.sweep.measures import DEFAULT, Measure, from_function, measure
from farloop.studies.sweep.points import ALGORITHM, SEED, Point, Range, Value
from farloop.studies.sweep.precision import MAX_SEEDS, MIN_SEEDS, MSER5, NONE, Target, check_warm_up

if TYPE_CHECKING:
    from farloop.results.run import Run

P = ParamSpec("P")
R = TypeVar("R")

Files = str | PathLike[str] | Iterable[str | PathLike[str]]
"""One file, or several."""

Collected = str | Callable[["Run"], Any] | Mapping[str, Callable[["Run"], Any]]
"""Something to collect: the name of a metric, a function of a run, or functions by name."""

KEYS = (
    "title", "base", "algorithm_file", "set", "grid", "list", "random", "where", "constraint", "sizes", "collect", "pareto", "until",
    "most_seeds", "warmup",
)  # fmt: skip
"""Accepted top-level keys of a study's file."""

MANY = 2000
"""With more points, a note gives their number: each takes a millisecond until the first run begins."""

OF_SCENARIOS = ("run", "network", "algorithm", "flow", "workload", "node", "link", "switch", "transport")
"""Keys at the top of a scenario that no study has."""

_RANDOM = ("samples", "seed")
_RANGE = ("from", "to", "scale")


@dataclass(frozen=True)
class Constraint:
    """A condition that points must meet, and its reason."""

    expression: Expression
    because: str = ""


@dataclass(frozen=True)
class Definition:
    """A study.

    Attributes:
        title: Title of the study.
        base: The scenario that every point changes.
        points: The points that the constraints leave.
        varied: The keys that differ between points, in their order, algorithm and seed among them if they do.
        excluded: Number of points that the constraints exclude.
        collect: The collected measures.
        pareto: The two metrics of the Pareto front; nothing where there are none.
        until: Precision that one of them must reach.
        most_seeds: The limit for that.
        warm_up: Part of each run's beginning that is cut.
        sizes: The classes of flow sizes that names of what is measured have; `None` where the study chooses none.
        algorithm_files: Files of Python with the algorithms that the base scenario knows besides.
        places: Where each key was written, for messages.
    """

    title: str
    base: Scenario
    points: list[Point]
    varied: tuple[str, ...]
    excluded: int
    collect: tuple[Measure, ...]
    pareto: tuple[Measure, Measure] | None
    until: Target | None
    most_seeds: int
    warm_up: str
    sizes: SizeClasses | None = None
    algorithm_files: tuple[Path, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict, repr=False)

    def scenario(self, point: Point) -> Scenario:
        """The scenario of a point."""
        return self.base.override(
            [f"{key}={value}" for key, value in (points.setting(*item) for item in point.items())]
        )


def from_file(
    path: str | PathLike[str],
    *,
    until: str | None = None,
    most_seeds: int | None = None,
    sizes: str | None = None,
    algorithm_files: Iterable[Path] = (),
    gear: str | None = None,
    progress: Callable[[str], object] | None = None,
) -> Definition:
    """A study from its file.

    Args:
        path: The file.
        until: The precision that is asked for, in place of the file's.
        most_seeds: The limit of seeds for it, in place of the file's.
        sizes: The classes of flow sizes, in place of the file's.
        algorithm_files: Files of Python with algorithms, besides those that it names.
        gear: The gear of all runs, in place of the base's.
        progress: Gets a line for people where there are so many points that the next one takes long.

    Raises:
        FarloopError: something in it is wrong; the text names file, line, key, and what would be accepted.
        ScenarioError: the base scenario cannot be read.
    """
    document = Document.load(Path(path))
    if "base" not in document.content and any(key in document.content for key in OF_SCENARIOS):
        raise FarloopError(
            f"{path}: is a scenario, not a study; `farloop run {path}` simulates it, and a study beside it names it: "
            f'base = "{Path(path).name}"'
        )
    document.refuse_others(document.content, KEYS)
    options = {"until": until, "most_seeds": most_seeds, "sizes": sizes}
    given = {key: value for key, value in options.items() if value is not None}

    def error(key: Sequence[str | int], problem: str, name: str = "") -> FarloopError:
        option = f"--{str(key[0]).replace('_', '-')}" if key[0] in given else ""
        return _of_python((option,), problem) if option else document.error(key, problem, name)

    reader = _Reader(document.content | given, error, Path(path).parent, progress)
    return reader.definition(_base(document), Path(path).stem, algorithm_files, gear)


def from_python(
    base: Source,
    *,
    title: str | None = None,
    algorithm_file: Files | None = None,
    set: Mapping[str, Any] | None = None,
    grid: Mapping[str, Iterable[Any]] | None = None,
    listed: Iterable[Mapping[str, Any]] | None = None,
    random: Mapping[str, Any] | None = None,
    where: str | Iterable[str] | None = None,
    sizes: str | None = None,
    collect: Collected | Iterable[Collected] | None = None,
    pareto: Iterable[Collected] | None = None,
    until: str | None = None,
    most_seeds: int | None = None,
    warmup: str | None = None,
    gear: str | None = None,
) -> Definition:
    """A study from Python; each argument is what the file's key of the same name is (`listed` that of `[[list]]`).

    Where a name of an algorithm is expected, a class of `farloop.algorithm` in a file will do.

    Raises:
        FarloopError: an argument is wrong.
        ScenarioError: the base scenario cannot be read.
    """
    classes: dict[Path, None] = {}
    settings, grid, listed, random = (_names(argument, classes) for argument in (set, grid, listed, random))
    given = {
        "title": title,
        "algorithm_file": [algorithm_file] if isinstance(algorithm_file, str | PathLike) else algorithm_file,
        "set": settings,
        "grid": None
        if grid is None
        else {key: _to_plain_values(values) for key, values in _mapping(grid, "grid").items()},
        "list": None if listed is None else [dict(_mapping(point, "listed")) for point in listed],
        "random": None
        if random is None
        else {key: _to_plain_values(value) for key, value in _mapping(random, "random").items()},
        "where": where if where is None or isinstance(where, str) else list(where),
        "sizes": sizes,
        "collect": collect
        if collect is None or isinstance(collect, str | Mapping) or callable(collect)
        else list(collect),
        "pareto": None if pareto is None else list(pareto),
        "until": until,
        "most_seeds": most_seeds,
        "warmup": warmup,
    }
    scenario = Scenario.load(base)
    reader = _Reader({key: value for key, value in given.items() if value is not None}, _of_python)
    return reader.definition(scenario, Path(scenario.file).stem, classes, gear)


def _names(value: Any, files: dict[Path, None]) -> Any:
    """A value with the names of the algorithms in Python in it, whose files are noted."""
    if isinstance(value, type):
        files[algorithm.file_of(algorithm.check_class(value))] = None
        return algorithm.name_of(value)
    if isinstance(value, Mapping):
        return {key: _names(part, files) for key, part in value.items()}
    return [_names(part, files) for part in value] if isinstance(value, list | tuple) else value


def _to_plain_values(values: Any) -> Any:
    """Numbers of numpy, ranges and the like as a file would have them."""
    if isinstance(values, str | Mapping):
        return values
    if isinstance(values, Iterable):
        return [_to_plain_values(value) for value in values]
    return values.item() if callable(getattr(values, "item", None)) else values


def _mapping(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise FarloopError(
            f"{name}: {clip_text(repr(value))}: expected a mapping of keys, such as {{'network.wan_delay': ['1ms', '5ms']}}"
        )
    return value


def _of_python(key: Sequence[str | int], problem: str, name: str = "") -> FarloopError:
    return FarloopError(f"{name or '.'.join(str(part) for part in key)}: {problem}")


def _base(document: Document) -> Scenario:
    base = document.content.get("base")
    if base is None:
        raise document.error(
            ("base",),
            'missing; expected the name of a scenario file, as in base = "scenario.toml", or tables such as [base.run]',
        )
    if isinstance(base, Mapping):
        return Scenario.from_text(document.part("base"), document.file)
    if not isinstance(base, str):
        raise document.error(("base",), f"{clip_text(repr(base))}: expected the name of a scenario file")
    beside = Path(document.file).parent / base
    if not beside.is_file() and base not in figure_names():
        hint = nearest(
            base, [path.name for path in sorted(beside.parent.glob("*.toml")) if path.name != Path(document.file).name]
        )
        raise document.error(
            ("base",),
            f"{clip_text(base)}: no such file beside the study; {hint}; or name a paper's figure, such as gear/fig09",
        )
    return Scenario.load(beside if beside.is_file() else base)


class _Reader:
    """Reads the parts of a study; `error` makes an error about one of them."""

    def __init__(
        self,
        content: Mapping[str, Any],
        error: Callable[..., FarloopError],
        beside: Path | None = None,
        say: Callable[[str], object] | None = None,
    ) -> None:
        self._content, self._error, self._beside = content, error, beside or Path()
        self._say = say
        self._places: dict[str, str] = {}
        self._known: frozenset[str] = frozenset()

    def definition(self, base: Scenario, name: str, more: Iterable[Path] = (), gear: str | None = None) -> Definition:
        title = self._text("title")
        files, classes = self._algorithm_files(more)
        base = base.with_classes(classes)
        self._known = frozenset(algorithm.name_of(class_) for class_ in base.classes)
        base = base.override(
            [f"{key}={value}" for key, value in (points.setting(*item) for item in self._settings().items())]
        ).override(gears.setting(gear))
        parts = [self._call_guarded(("grid",), points.grid, self._grid()), self._list(), self._random()]
        candidates = self._call_guarded(("grid",), points.combine_points, *(part for part in parts if part))
        if gear is not None and any(gears.KEY in point for point in candidates):
            raise FarloopError(f"gear: the study itself varies {gears.KEY}; expected one of the two")
        constraints = self._constraints()
        if self._say is not None and len(candidates) > MANY:
            self._say(f"{len(candidates):,} points; their scenarios are worked out one by one before the first run")
        left = [point for point in candidates if self._holds(constraints, point, base)]
        if not left:
            raise self._error(
                ("where",) if "where" in self._content else ("constraint",), f"no point of {len(candidates)} is left"
            )
        sizes = self._sizes()
        collect = self._collect(sizes)
        until, most = self._read_until(sizes), self._most_seeds()
        if until is not None and until.measure.name not in [metric.name for metric in collect]:
            collect = (*collect, until.measure)
        return Definition(
            title=title or base_title(base) or name,
            base=base,
            points=left,
            varied=tuple(dict.fromkeys(key for point in left for key in point)),
            excluded=len(candidates) - len(left),
            collect=collect,
            pareto=self._pareto(collect),
            until=until,
            most_seeds=most,
            warm_up=self._warm_up(until),
            sizes=sizes,
            algorithm_files=files,
            places=self._places,
        )

    def _call_guarded(self, key: Key, make: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
        try:
            return make(*arguments, **named)
        except FarloopError as error:
            raise self._error(key, str(error)) from None

    def _text(self, key: str) -> str:
        value = self._content.get(key, "")
        if not isinstance(value, str):
            raise self._error((key,), f"{clip_text(repr(value))}: expected a text")
        return value

    def _table(self, key: str) -> Mapping[str, Any]:
        value = self._content.get(key, {})
        if not isinstance(value, Mapping):
            raise self._error((key,), f"{clip_text(repr(value))}: expected a table")
        return value

    def _flat(self, table: Mapping[str, Any], at: Key, leaf: Callable[[Any], bool]) -> dict[str, tuple[Key, Any]]:
        """The values of a table by dotted key, with the way to each."""
        flat: dict[str, tuple[Key, Any]] = {}
        for key, value in table.items():
            if isinstance(value, Mapping) and not leaf(value):
                inner = {f"{key}.{name}": entry for name, entry in self._flat(value, (*at, key), leaf).items()}
            else:
                inner = {str(key): ((*at, key), value)}
            for name, entry in inner.items():
                short = points.key_name(name)
                if short in flat:
                    raise self._error(entry[0], f"{short} is there already; expected each key once")
                flat[short] = entry
                self._places[short] = str(self._error(entry[0], "", short)).removesuffix(f"{short}: ").rstrip(": ")
        return flat

    def _algorithm_files(self, more: Iterable[Path]) -> tuple[tuple[Path, ...], list[type[algorithm.Algorithm]]]:
        """The files that the study and the caller name, each once, and what they define."""
        key: Key = ("algorithm_file",)
        given = self._content.get("algorithm_file", [])
        given = [given] if isinstance(given, str | PathLike) else given
        expected = 'expected a file of Python, or a list of them, such as ["mine.py"]'
        if not isinstance(given, Iterable) or isinstance(given, Mapping):
            raise self._error(key, f"{clip_text(repr(given))}: {expected}")
        loaded: dict[Path, list[type[algorithm.Algorithm]]] = {}
        for path in given:
            if not isinstance(path, str | PathLike):
                raise self._error(key, f"{clip_text(repr(path))}: {expected}")
            file = self._beside / path
            loaded[file] = self._call_guarded(key, algorithm.load, file)
        for file in more:
            loaded.setdefault(file, algorithm.load(file))
        return tuple(loaded), [class_ for classes in loaded.values() for class_ in classes]

    def _settings(self) -> Point:
        flat = self._flat(self._table("set"), ("set",), lambda _: False)
        return {key: self._call_guarded(way, points.check_value, value) for key, (way, value) in flat.items()}

    def _grid(self) -> dict[str, list[Value]]:
        return {
            key: self._call_guarded(way, _values, key, value, self._known)
            for key, (way, value) in self._flat(self._table("grid"), ("grid",), lambda _: False).items()
        }

    def _list(self) -> list[Point]:
        listed = self._content.get("list", [])
        if not isinstance(listed, list) or not all(isinstance(point, Mapping) for point in listed):
            raise self._error(("list",), f"{clip_text(repr(listed))}: expected points, each a table [[list]]")
        checked: list[Point] = []
        for i, table in enumerate(listed):
            flat = self._flat(table, ("list", i), lambda _: False)
            if not flat:
                raise self._error(("list", i), 'has no keys; expected some, such as network.wan_delay = "5ms"')
            single = {
                key: self._call_guarded(way, _read_value, key, value, self._known) for key, (way, value) in flat.items()
            }
            checked.append(single)
        return checked

    def _random(self) -> list[Point]:
        table = self._table("random")
        if not table:
            return []
        count, seed = table.get("samples"), table.get("seed", 1)
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= points.MAX_POINTS:
            raise self._error(
                ("random", "samples"),
                f"{clip_text(repr(count))}: expected a whole number from 1 to {points.MAX_POINTS}",
            )
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise self._error(
                ("random", "seed"),
                f"{clip_text(repr(seed))}: expected a whole number from 0 on, the seed of the samples",
            )
        rest = {key: value for key, value in table.items() if key not in _RANDOM}
        flat = self._flat(rest, ("random",), lambda value: "from" in value or "to" in value)
        sources = {key: self._call_guarded(way, _source, key, value, self._known) for key, (way, value) in flat.items()}
        if not sources:
            raise self._error(
                ("random",),
                'has no keys; expected some, such as network.wan_delay = { from = "1ms", to = "50ms", scale = "log" }',
            )
        return points.samples(count, seed, sources)

    def _constraints(self) -> list[tuple[Key, Constraint]]:
        where = self._content.get("where", [])
        texts = [where] if isinstance(where, str) else where
        if not isinstance(texts, list):
            raise self._error(("where",), f"{clip_text(repr(where))}: expected an expression, or a list of them")
        at: Key = ("where",)
        constraints = [(at, Constraint(self._call_guarded(at, Expression.read, text))) for text in texts]
        tables = self._content.get("constraint", [])
        if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
            raise self._error(("constraint",), f"{clip_text(repr(tables))}: expected tables [[constraint]]")
        for i, table in enumerate(tables):
            for key in table:
                if key not in ("where", "because"):
                    raise self._error(("constraint", i, key), "unknown key; accepted keys: where, because")
            because = table.get("because", "")
            if not isinstance(because, str):
                raise self._error(("constraint", i, "because"), f"{clip_text(repr(because))}: expected a text")
            way: Key = ("constraint", i, "where")
            expression = self._call_guarded(way, Expression.read, table.get("where"))
            constraints.append((way, Constraint(expression, because)))
        return constraints

    def _holds(self, constraints: Sequence[tuple[Key, Constraint]], point: Point, base: Scenario) -> bool:
        return all(
            self._call_guarded(way, constraint.expression.holds, lambda key: _look_up_key(key, point, base))
            for way, constraint in constraints
        )

    def _sizes(self) -> SizeClasses | None:
        given = self._content.get("sizes")
        return None if given is None else self._call_guarded(("sizes",), parse_sizes, given)

    def _collect(self, sizes: SizeClasses | None) -> tuple[Measure, ...]:
        wanted = self._content.get("collect", list(DEFAULT))
        names = wanted if isinstance(wanted, list) else [wanted]
        metrics = [metric for i, name in enumerate(names) for metric in self._measures(i, name, sizes)]
        if not metrics:
            raise self._error(("collect",), "there is none; expected metrics, such as p99_slowdown")
        doubled = sorted(
            {metric.name for metric in metrics if [other.name for other in metrics].count(metric.name) > 1}
        )
        if doubled:
            raise self._error(("collect",), f"{', '.join(doubled)} is there twice; expected each metric once")
        return tuple(metrics)

    def _measures(self, i: int, name: Any, sizes: SizeClasses | None) -> list[Measure]:
        if isinstance(name, Mapping) and name and all(callable(function) for function in name.values()):
            return [from_function(str(key), function) for key, function in name.items()]
        if callable(name):
            return [from_function(getattr(name, "__name__", f"function {i + 1}"), name)]
        return [self._call_guarded(("collect",), measure, name, sizes)]

    def _pareto(self, collect: Sequence[Measure]) -> tuple[Measure, Measure] | None:
        known = {metric.name: metric for metric in collect}
        wanted = self._content.get("pareto")
        if wanted is None:
            judged = [metric for metric in collect if metric.better]
            # Two of one kind, such as two slowdowns, go together most of the time.
            other = next((metric for metric in judged if metric.unit != judged[0].unit), judged[-1])
            return (judged[0], other) if len(judged) >= 2 else None
        expected = "expected two metrics that are collected"
        if not isinstance(wanted, list) or len(wanted) != 2:
            raise self._error(("pareto",), f"{clip_text(repr(wanted))}: {expected}")
        names = [
            "_".join(str(getattr(name, "__name__", name)).split()) if "/" not in str(name) else str(name)
            for name in wanted
        ]
        for name in names:
            if name not in known:
                raise self._error(("pareto",), f"{clip_text(name)}: {expected}; {nearest(name, known)}")
            if not known[name].better:
                raise self._error(("pareto",), f"{clip_text(name)}: neither more nor less of it is better")
        return known[names[0]], known[names[1]]

    def _read_until(self, sizes: SizeClasses | None) -> Target | None:
        wanted = self._content.get("until")
        return None if wanted is None else self._call_guarded(("until",), Target.read, wanted, sizes)

    def _most_seeds(self) -> int:
        most = self._content.get("most_seeds", MAX_SEEDS)
        if isinstance(most, bool) or not isinstance(most, int) or most < MIN_SEEDS:
            raise self._error(("most_seeds",), f"{clip_text(repr(most))}: expected a whole number from {MIN_SEEDS} on")
        return most

    def _warm_up(self, until: Target | None) -> str:
        rule = self._content.get("warmup", NONE if until is None else MSER5)
        return self._call_guarded(("warmup",), check_warm_up, rule)


def _seeds(value: Any) -> list[Value]:
    return list(read_seeds(str(value) if isinstance(value, int) and not isinstance(value, bool) else value))


def _values(key: str, value: Any, classes: Collection[str]) -> list[Value]:
    """The values of a key of the grid: a list, of seeds also a text such as "1-10", of one value that."""
    listed = value if isinstance(value, list) else [value]
    values = _seeds(value) if key == SEED else [points.check_value(element) for element in listed]
    if not values:
        raise FarloopError("there is no value; expected a list of them")
    seen: set[tuple[type, str]] = set()
    for element in values:
        if (type(element), repr(element)) in seen:
            raise FarloopError(f"{clip_text(repr(element))} is there twice; expected each value once")
        seen.add((type(element), repr(element)))
    if key == ALGORITHM:
        _check_algorithms(values, classes)
    return values


def _read_value(key: str, value: Any, classes: Collection[str]) -> Value:
    """The value of a key of a point in a list."""
    if key == SEED:
        seeds = _seeds(value)
        if len(seeds) != 1:
            raise FarloopError(f"{clip_text(repr(value))}: expected one seed; several are for [grid]")
        return seeds[0]
    if key == ALGORITHM:
        _check_algorithms([value], classes)
    return points.check_value(value)


def _source(key: str, value: Any, classes: Collection[str]) -> Range | list[Value]:
    if isinstance(value, Mapping):
        for name in value:
            if name not in _RANGE:
                raise FarloopError(
                    f"{clip_text(name)}: unknown key; {nearest(name, _RANGE).replace('there is', 'accepted keys:')}"
                )
        for name in ("from", "to"):
            if name not in value:
                raise FarloopError(
                    f'there is no {name}; expected a range such as {{ from = "1ms", to = "50ms", scale = "log" }}'
                )
        return Range.read(value["from"], value["to"], value.get("scale", "uniform"))
    if not isinstance(value, list):
        raise FarloopError(
            f'{clip_text(repr(value))}: expected choices, such as ["hpcc", "dctcp"], or a range such as {{ from = 0.1, to = 0.9 }}'
        )
    return _values(key, value, classes)


def _check_algorithms(names: Sequence[object], classes: Collection[str]) -> None:
    from farloop import catalogue

    for name in names:
        if not isinstance(name, str):
            raise FarloopError(f"{clip_text(repr(name))}: expected the name of an algorithm, such as hpcc")
        catalogue.check_algorithm(name, classes)


def _look_up_key(key: str, point: Point, base: Scenario) -> object:
    """The value of a key at a point, or in the base scenario."""
    name = points.key_name(key)
    if name in point:
        return point[name]
    try:
        value: Any = base.parsed
    except _native.ScenarioError as error:
        raise FarloopError(
            f"{clip_text(key)}: is not varied here, and the base scenario has no value: {error}"
        ) from None
    way: list[str] = []
    for part in points.NAMES.get(name, name).split("."):
        names = (
            list(value)
            if isinstance(value, Mapping)
            else [str(element.get("name")) for element in value]
            if isinstance(value, list)
            else []
        )
        if part not in names:
            known = [".".join([*way, sibling]) for sibling in names]
            raise FarloopError(f"{clip_text(key)}: is no key of the scenario; {nearest(key, known)}")
        value = value[part] if isinstance(value, Mapping) else value[names.index(part)]
        way.append(part)
    return value


def base_title(base: Scenario) -> str:
    """The title of a scenario; nothing where it is not valid by itself."""
    try:
        return str(base.parsed.get("title", ""))
    except _native.ScenarioError:
        return ""
