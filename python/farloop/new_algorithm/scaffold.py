"""Starts a new algorithm: its file, its two lines in the registry, its page; or a crate of its own. Also from a class of Python."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from farloop import _native
from farloop.catalogue import algorithms
from farloop.errors import FarloopError, clip_text
from farloop.new_algorithm import porting
from farloop.safe_files.named_files import NamedFiles

ALGORITHMS = Path("crates/cc/src/algorithms")
REGISTRY = ALGORITHMS / "mod.rs"

MAX_NAME_LENGTH = 60
"""Characters of an algorithm's name, which is also that of files."""


def create(name: str, start: Path, *, source: Path | None = None) -> list[Path]:
    """Writes the files of a new algorithm into the checkout around `start`; the paths written.

    Args:
        name: Its name.
        start: A directory in the checkout.
        source: A file of Python with the class from which it is to begin.

    Raises:
        FarloopError: the name cannot be used, there is no checkout around `start`, or the class cannot be one in Rust.
    """
    module = check_name(name)
    checkout = find_checkout(start)
    file = checkout / ALGORITHMS / f"{module}.rs"
    page = checkout / "spec" / f"{name}.md"
    for path in (file, file.with_suffix(""), page):
        if path.exists():
            raise FarloopError(f"{path} is there already; choose another name")
    text = _fill("algorithm.rs.txt", name) if source is None else _port_file(name, source, "crate")
    registry = checkout / REGISTRY
    registered = register(_read_template(registry), module, type_name(name))
    _write({file: text, page: _fill("algorithm.md.txt", name), registry: registered})
    return [file, page, registry]


def create_crate(name: str, start: Path, directory: Path, *, source: Path) -> list[Path]:
    """Writes a crate outside of farloop's workspace that has an algorithm, begun from a class of Python; the paths written.

    Args:
        name: The algorithm's name, and the crate's.
        start: A directory in a checkout of farloop, against which the crate is built.
        directory: Where the crate goes.
        source: A file of Python with the class.

    Raises:
        FarloopError: the name cannot be used, there is no checkout around `start`, there is something in `directory`, or the class cannot
            be one in Rust.
    """
    module = check_name(name)
    checkout = find_checkout(start).resolve()
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise FarloopError(f"{directory}: is there already; expected a directory that is empty, or none")
    crates = Path(os.path.relpath(checkout / "crates", directory.resolve())).as_posix()
    places = {"CRATES": crates, "MODULE": module, "VERSION": _native.version()}
    texts = {
        directory / "Cargo.toml": _fill("crate.toml.txt", name, places),
        directory / "src" / "lib.rs": _port_file(name, source, "farloop_cc"),
        directory / "src" / "main.rs": porting.format_rust(_fill("crate.main.rs.txt", name, places)),
        directory / ".gitignore": "/target/\n",
    }
    # The versions that farloop is tested with; cargo adds the crate itself.
    _write(texts | {directory / "Cargo.lock": _read_template(checkout / "Cargo.lock")})
    return [*texts]


def check_name(name: str) -> str:
    """The Rust module of an algorithm's name.

    Raises:
        FarloopError: the name has the wrong form, or is taken.
    """
    if len(name) > MAX_NAME_LENGTH or not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z][a-z0-9]*)*", name):
        raise FarloopError(
            f"{clip_text(name)}: is no name for an algorithm; expected lower case letters and digits, "
            f"in words joined by hyphens, at most {MAX_NAME_LENGTH} characters, such as my-vegas"
        )
    if name in porting.RUST_WORDS or name in {"registry", "name", "agents", "none"}:
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


def _port_file(name: str, source: Path, api: str) -> str:
    template = files("farloop").joinpath("templates", "ported.rs.txt").read_text("utf-8")
    return porting.port_class(porting.choose_class(source, name), name, type_name(name), template, api=api)


def _fill(template: str, name: str, places: Mapping[str, str] | None = None) -> str:
    text = files("farloop").joinpath("templates", template).read_text("utf-8")
    for place, value in {"NAME": name, "TYPE": type_name(name), **(places or {})}.items():
        text = text.replace(f"@{place}@", value)
    return text


def _read_template(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise FarloopError(f"{path}: cannot be read: {error.strerror or error}") from None


def _write(texts: Mapping[Path, str]) -> None:
    try:
        for path in texts:
            path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FarloopError(f"{error.filename}: cannot be written: {error.strerror or error}") from None
    with NamedFiles() as files:
        for path, text in texts.items():
            files.write(path, text.encode())
