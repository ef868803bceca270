"""The code of a judge as a text that only changes of what it does change: not comments, docstrings, annotations, formatting or names.

The text has the function `judge` of a figure's module, what combines the findings of several seeds, and everything of the papers and of
farloop.judging that these use. The parts stand in the order in which they are first used, so that it does not matter in which file each
is, or what it is called. What farloop measures elsewhere, and what other packages do, stands there by its name alone.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SCOPE = ("farloop.papers.", "farloop.judging.")
"""Modules whose code is part of a judge."""

PLANS = ("farloop.judging.schedule",)
"""Modules of the scope that say which runs there are: the scenarios have a digest of their own."""

ENTRIES = (("farloop.judging.over_seeds", "judge_by_seed"),)
"""What is run for every figure, besides the function `judge` of its own module."""

IGNORED_FIELDS = frozenset({"ctx", "kind", "type_comment", "type_params", "annotation", "returns"})
"""Fields of nodes that change nothing of what judges do."""

Reader = Callable[[str], str | None]
"""Gives the source of a module by its dotted name; `None` if there is no such module."""

Place = tuple[str, str]
"""A definition: its module and its name there."""


def read_checkout(module: str) -> str | None:
    """The source of a module as it stands in this checkout."""
    path = ROOT / "python" / Path(*module.split("."))
    for candidate in (path.with_name(f"{path.name}.py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate.read_text("utf-8")
    return None


def judge_text(figure: str, read: Reader = read_checkout) -> str:
    """The code that judges a figure such as "gear/fig09", in its lasting form; empty where the figure has no judge."""
    entries = [(f"farloop.papers.{figure.replace('/', '.')}", "judge"), *ENTRIES]
    modules = _Modules(read)
    if not modules.has(*entries[0]):
        return ""
    closure = _Closure(modules, entries)
    closure.write()
    # Names of members count as the code's own only where its classes have them: the first pass finds the classes.
    return _Closure(modules, entries, members=frozenset(closure.class_members())).write()


@dataclass
class _Module:
    definitions: dict[str, ast.stmt] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)


@functools.cache
def _parse(source: str) -> _Module:
    module = _Module()
    tree = ast.parse(source)
    for node in tree.body:
        module.definitions |= dict.fromkeys(_defined(node), node)
    for inner in ast.walk(tree):
        if isinstance(inner, ast.ImportFrom):
            module.imports |= {alias.asname or alias.name: f"{inner.module}.{alias.name}" for alias in inner.names}
        elif isinstance(inner, ast.Import):
            module.imports |= {alias.asname or alias.name: alias.name for alias in inner.names}
    return module


class _Modules:
    """The modules of the scope, read when somebody first asks for them."""

    def __init__(self, read: Reader) -> None:
        self._read = read
        self.get = functools.cache(self._get)

    def _get(self, name: str) -> _Module | None:
        if name in PLANS or not name.startswith(SCOPE) or (source := self._read(name)) is None:
            return None
        return _parse(source)

    def has(self, module: str, name: str) -> bool:
        known = self.get(module)
        return known is not None and name in known.definitions

    def resolve(self, module: str, name: str) -> Place | str | None:
        """The definition that a name of a module means; the dotted name of what is outside; `None` for what is neither."""
        known = self.get(module)
        if known is None:
            return None
        if name in known.definitions:
            return module, name
        if (origin := known.imports.get(name)) is None:
            return None
        package, _, inner = origin.rpartition(".")
        return self.resolve(package, inner) or origin


def _defined(node: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            yield from (inner.id for inner in ast.walk(target) if isinstance(inner, ast.Name))


class _Closure:
    """Everything that the entries use, definition by definition."""

    def __init__(self, modules: _Modules, entries: list[Place], members: frozenset[str] = frozenset()) -> None:
        self._modules = modules
        self._known_members = members
        self._places: dict[Place, int] = {entry: number for number, entry in enumerate(entries)}
        self._members: dict[str, int] = {}
        self._module = ""
        self._scopes: list[dict[str, int]] = []
        self._locals = 0

    def write(self) -> str:
        """The definitions, in the order in which they are first used; the list grows while it is written."""
        parts: list[str] = []
        while len(parts) < len(self._places):
            parts.append(self._definition(list(self._places)[len(parts)]))
        return "\n".join(parts)

    def class_members(self) -> Iterator[str]:
        """The names of the attributes and methods that the classes written so far give their instances."""
        for module, name in self._places:
            known = self._modules.get(module)
            node = known.definitions.get(name) if known else None
            if isinstance(node, ast.ClassDef):
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store):
                        yield inner.attr
                for statement in node.body:
                    yield from (member for member in _defined(statement) if not member.startswith("__"))

    def _definition(self, place: Place) -> str:
        self._module, name = place
        known = self._modules.get(self._module)
        node = known.definitions.get(name) if known else None
        if known is None or node is None:
            return ""
        self._locals = 0
        if isinstance(node, ast.Assign | ast.AnnAssign):
            return self._text(node.value)
        return self._text(node)

    def _text(self, node: object) -> str:
        if isinstance(node, list | tuple):
            return f"[{' '.join(text for item in node if (text := self._text(item)))}]"
        if not isinstance(node, ast.AST):
            return repr(node)
        special = getattr(self, f"_{type(node).__name__}", None)
        if special is not None:
            return str(special(node))
        fields = [self._text(value) for name, value in ast.iter_fields(node) if name not in IGNORED_FIELDS]
        return f"({type(node).__name__} {' '.join(fields)})"

    def _Name(self, node: ast.Name) -> str:  # noqa: N802, as the node is called
        return self._name(node.id)

    def _name(self, name: str) -> str:
        if (own := self._local(name)) is not None:
            return f"local{own}"
        meant = self._modules.resolve(self._module, name)
        if isinstance(meant, tuple):
            return f"part{self._places.setdefault(meant, len(self._places))}"
        # Where something of farloop is defined does not matter.
        return name if meant is None else meant.rpartition(".")[2] if meant.startswith("farloop.") else meant

    def _local(self, name: str) -> int | None:
        """The number of a name that a function around this place binds; they count up in a definition, from where each is first used."""
        for scope in reversed(self._scopes):
            if name in scope:
                if scope[name] < 0:
                    scope[name], self._locals = self._locals, self._locals + 1
                return scope[name]
        return None

    def _inside(self, bound: Iterable[str], *parts: object) -> list[str]:
        """Parts in a scope of their own, which binds these names."""
        self._scopes.append(dict.fromkeys(bound, -1))
        texts = [self._text(part) for part in parts]
        self._scopes.pop()
        return texts

    def _Attribute(self, node: ast.Attribute) -> str:  # noqa: N802
        if isinstance(node.value, ast.Name) and self._local(node.value.id) is None:
            # `module.name`, of a module that is part of the judge.
            meant = self._modules.resolve(self._module, node.value.id)
            if isinstance(meant, str) and isinstance(inner := self._modules.resolve(meant, node.attr), tuple):
                return f"part{self._places.setdefault(inner, len(self._places))}"
        return f"{self._text(node.value)}.{self._member(node.attr)}"

    def _member(self, name: str) -> str:
        return f"member{self._members.setdefault(name, len(self._members))}" if name in self._known_members else name

    def _keyword(self, node: ast.keyword) -> str:
        return f"{self._member(node.arg) if node.arg else '**'}={self._text(node.value)}"

    def _arg(self, node: ast.arg) -> str:
        return self._name(node.arg)

    def _FunctionDef(self, node: ast.FunctionDef) -> str:  # noqa: N802
        own = self._local(node.name)
        # Defaults are computed outside, where the function's own names mean nothing yet.
        outside = (self._text(node.decorator_list), self._text([*node.args.defaults, *node.args.kw_defaults]))
        inside = self._inside(_bound_names(node), _parameters(node.args), node.body)
        return f"(function {'' if own is None else f'local{own}'} {' '.join((*outside, *inside))})"

    def _Lambda(self, node: ast.Lambda) -> str:  # noqa: N802
        outside = self._text([*node.args.defaults, *node.args.kw_defaults])
        return f"(lambda {' '.join((outside, *self._inside(_bound_names(node), _parameters(node.args), node.body)))})"

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> str:
        results = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        names = [name for generator in node.generators for name in _stored(generator.target)]
        parts = self._inside(names, *((g.target, g.iter, g.ifs) for g in node.generators), results)
        return f"({type(node).__name__} {' '.join(parts)})"

    _ListComp = _SetComp = _GeneratorExp = _DictComp = _comprehension

    def _ClassDef(self, node: ast.ClassDef) -> str:  # noqa: N802
        body = []
        for statement in node.body:
            names = [self._member(name) for name in _defined(statement)]
            value = self._text(statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else statement)
            if names or value:
                body.append(f"{' '.join(names)}: {value}")
        outside = (self._text(part) for part in (node.bases, node.keywords, node.decorator_list))
        return f"(class {' '.join((*outside, *body))})"

    def _ExceptHandler(self, node: ast.ExceptHandler) -> str:  # noqa: N802
        name = "" if node.name is None else self._name(node.name)
        return f"(except {self._text(node.type)} {name} {self._text(node.body)})"

    def _Expr(self, node: ast.Expr) -> str:  # noqa: N802
        # A text by itself is documentation.
        return "" if isinstance(node.value, ast.Constant) else self._text(node.value)

    def _Import(self, _: ast.Import) -> str:  # noqa: N802
        return ""

    def _ImportFrom(self, _: ast.ImportFrom) -> str:  # noqa: N802
        return ""


def _parameters(arguments: ast.arguments) -> list[ast.arg | str | None]:
    """The parameters of a function; the marks tell those apart that are given by name."""
    own = [*arguments.posonlyargs, *arguments.args]
    return [*own, "*", arguments.vararg, *arguments.kwonlyargs, "**", arguments.kwarg]


def _stored(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id


@functools.cache
def _bound_names(node: ast.FunctionDef | ast.Lambda) -> tuple[str, ...]:
    """The names that a function binds for itself: parameters, what it assigns, functions in it; not what functions in it bind."""
    names = [parameter.arg for parameter in _parameters(node.args) if isinstance(parameter, ast.arg)]
    waiting: list[ast.AST] = list(node.body) if isinstance(node, ast.FunctionDef) else [node.body]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, ast.FunctionDef | ast.ClassDef):
            names.append(inner.name)
        elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            names.append(inner.id)
        elif isinstance(inner, ast.ExceptHandler) and inner.name:
            names.append(inner.name)
        if not isinstance(inner, ast.FunctionDef | ast.ClassDef | ast.Lambda | ast.comprehension):
            waiting += ast.iter_child_nodes(inner)
    return tuple(names)
