"""Starts a new algorithm: its file, its two lines in the registry, its page."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from farloop.api import algorithms
from farloop.errors import FarloopError, shown

ALGORITHMS = Path("crates/cc/src/algorithms")
REGISTRY = ALGORITHMS / "mod.rs"

LONGEST_NAME = 60
"""Characters of an algorithm's name, which is also that of files."""

_RUST_WORDS = frozenset(
    [
        "abstract",
        "as",
        "async",
        "await",
        "become",
        "box",
        "break",
        "const",
        "continue",
        "crate",
        "do",
        "dyn",
        "else",
        "enum",
        "extern",
        "false",
        "final",
        "fn",
        "for",
        "gen",
        "if",
        "impl",
        "in",
        "let",
        "loop",
        "macro",
        "match",
        "mod",
        "move",
        "mut",
        "override",
        "priv",
        "pub",
        "ref",
        "return",
        "self",
        "static",
        "struct",
        "super",
        "trait",
        "true",
        "try",
        "type",
        "typeof",
        "unsafe",
        "unsized",
        "use",
        "virtual",
        "where",
        "while",
        "yield",
    ]
)


def create(name: str, start: Path) -> list[Path]:
    """Writes the files of a new algorithm into the checkout around `start`; the paths written.

    Raises:
        FarloopError: the name cannot be used, or there is no checkout around `start`.
    """
    module = check_name(name)
    checkout = find_checkout(start)
    source = checkout / ALGORITHMS / f"{module}.rs"
    page = checkout / "spec" / f"{name}.md"
    for path in (source, source.with_suffix(""), page):
        if path.exists():
            raise FarloopError(f"{path} is there already; choose another name")
    registry = checkout / REGISTRY
    try:
        text = register(registry.read_text("utf-8"), module, type_name(name))
        source.write_text(_fill("algorithm.rs.txt", name), encoding="utf-8")
        page.parent.mkdir(exist_ok=True)
        page.write_text(_fill("algorithm.md.txt", name), encoding="utf-8")
        registry.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FarloopError(f"{error.filename}: cannot be written: {error.strerror}") from None
    return [source, page, registry]


def check_name(name: str) -> str:
    """The Rust module of an algorithm's name.

    Raises:
        FarloopError: the name has the wrong form, or is taken.
    """
    if len(name) > LONGEST_NAME or not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z][a-z0-9]*)*", name):
        raise FarloopError(
            f"{shown(name)}: is no name for an algorithm; expected lower case letters and digits, "
            f"in words joined by hyphens, at most {LONGEST_NAME} characters, such as my-vegas"
        )
    if name in _RUST_WORDS or name in {"registry", "name", "agents", "none"}:
        raise FarloopError(f"{name}: has a meaning in Rust, in scenarios or in the registry; choose another name")
    if name in {a["name"] for a in algorithms()}:
        raise FarloopError(f"{name}: there is an algorithm of this name; see `farloop explain {name}`")
    return name.replace("-", "_")


def find_checkout(start: Path) -> Path:
    """The directory at or above `start` that holds the algorithms' sources.

    Raises:
        FarloopError: there is none.
    """
    for directory in (start, *start.parents):
        if (directory / REGISTRY).is_file():
            return directory
    raise FarloopError(f"{start}: is in no checkout of farloop; run this where its sources are")


def register(registry: str, module: str, type_: str) -> str:
    """The registry's text with the module and its entry added.

    Raises:
        FarloopError: the registry has another form than expected.
    """
    modules = list(re.finditer(r"^pub mod (\w+);\n", registry, re.MULTILINE))
    entries = re.search(r"^registry! \{\n(?:.*\n)*?(?=\}\n)", registry, re.MULTILINE)
    if not modules or entries is None:
        raise FarloopError(
            f"{REGISTRY}: has neither `pub mod` lines nor a `registry!` block; add the algorithm by hand"
        )
    # Modules stand in alphabetical order: that is how rustfmt leaves them.
    before = [m for m in modules if m[1] < module]
    at = before[-1].end() if before else modules[0].start()
    entry = f"    {type_} = {module}::{type_},\n"
    return f"{registry[:at]}pub mod {module};\n{registry[at : entries.end()]}{entry}{registry[entries.end() :]}"


def type_name(name: str) -> str:
    """The Rust type of an algorithm's name: my-vegas becomes MyVegas."""
    return "".join(word.capitalize() for word in name.split("-"))


def _fill(template: str, name: str) -> str:
    text = files("farloop").joinpath("templates", template).read_text("utf-8")
    return text.replace("@NAME@", name).replace("@TYPE@", type_name(name))
