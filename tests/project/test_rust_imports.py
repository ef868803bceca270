"""The files of each Rust crate import each other downwards only: what a file names stands below it, so that it can be read alone.

A file imports another where its code (not its tests) names something that stands there. Declaring a module and handing its names on
(`pub use child::Name`) is no import. Who takes something from the file of the module above it imports that file.
"""

import re
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

import pytest

CRATES = Path(__file__).parents[2] / "crates"
NAMES = sorted(p.name for p in CRATES.iterdir() if (p / "src").is_dir())
# Modules that import files of their own folder and are imported by these: no other circle is accepted. Remove a module when its last
# circle is gone.
PARENTS: dict[str, list[tuple[str, ...]]] = {
    # Choosers take their trait from the file that lists them.
    "cc": [("paths",)],
    # Halves of a host's endpoints, and of a switch, take their state from the file above.
    "net": [("host", "receiver"), ("host", "sender"), ("switch",)],
}
# Types whose methods stand in one file.
ONE_HOME = [
    ("engine", "Calendar"),
    ("workload", "Population"),
    ("tcp", "Receiver"),
    ("scenario", "Section"),
    *(("net", kind) for kind in ("Simulation", "Part", "PartContext", "Hosts", "Port", "Packets")),
]

TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*)
      | (?P<text>b?r(?P<hashes>\#*)".*?"(?P=hashes) | b?"(?:\\.|[^"\\])*" | b?'(?:\\[^\n]{1,10}?|[^'\\\n])')""",
    re.VERBOSE | re.DOTALL,
)
DEFINES = r"(?<!')\b(?:struct|enum|union|trait|type|fn|const|static|mod|macro_rules!)\s+(?:mut\s+)?{name}\b"


def blank(code, begin, end):
    """`code` with everything from `begin` to `end` but line breaks made a space."""
    return code[:begin] + re.sub(r"[^\n]", " ", code[begin:end]) + code[end:]


def without_comments_and_texts(code):
    at = 0
    while match := TOKEN.search(code, at):
        end = match.end()
        if match.group() == "/*":
            depth, end = 1, match.end()
            while depth and (mark := re.compile(r"/\*|\*/").search(code, end)):
                depth, end = depth + (1 if mark.group() == "/*" else -1), mark.end()
        code, at = blank(code, match.start(), end), end
    return code


def closing(code, opening):
    """The place behind the brace that closes the one at `opening`."""
    depth = 0
    for at in range(opening, len(code)):
        depth += {"{": 1, "}": -1}.get(code[at], 0)
        if depth == 0:
            return at + 1
    raise ValueError("a brace is not closed")


def without_tests(code):
    """`code` without items that only tests see, and the names of those that are files of their own."""
    files = set()
    while match := re.search(r"#\[cfg\((?:all\()?\s*test\b[^\]]*\]", code):
        item = re.compile(r"(?:\s*#\[[^\]]*\])*\s*(?:pub(?:\([^)]*\))?\s+)?(\w+)\s+(\w+)").match(code, match.end())
        end = re.compile(r";" if item and item.group(1) == "use" else r"[;{]").search(code, match.end())
        if item and item.group(1) == "mod" and end.group() == ";":
            files.add(item.group(2))
        code = blank(code, match.start(), closing(code, end.start()) if end.group() == "{" else end.end())
    return code, files


def leaves(tree, prefix=()):
    """The paths of a `use` tree, each with the name that it gets: `a::{b, c as d}` is (a, b) as b and (a, c) as d."""
    tree = tree.strip()
    if brace := re.match(r"((?:\$?\w+\s*::\s*)*)\{(.*)\}$", tree, re.DOTALL):
        prefix += tuple(re.findall(r"\$?\w+", brace.group(1)))
        depth, part, parts = 0, "", []
        for letter in brace.group(2):
            depth += {"{": 1, "}": -1}.get(letter, 0)
            part += letter
            if letter == "," and depth == 0:
                parts.append(part[:-1])
                part = ""
        return [leaf for part in [*parts, part] if part.strip() for leaf in leaves(part, prefix)]
    path, _, name = tree.partition(" as ")
    path = prefix + tuple(re.findall(r"\$?\w+|\*", path))
    path = path[:-1] if path[-1] == "self" and len(path) > 1 else path
    return [(path, name.strip() or path[-1])]


@dataclass
class Source:
    """A file of a crate."""

    path: Path
    module: tuple
    code: str = ""
    lines: list = field(default_factory=list)
    children: set = field(default_factory=set)
    # (offset, public, path, name) of everything that `use` brings in.
    uses: list = field(default_factory=list)
    # The code without `use`.
    body: str = ""


class Crate:
    """The files of a crate, and which imports which."""

    def __init__(self, root):
        self.root = root
        sources = {}
        for path in sorted((root / "src").rglob("*.rs")):
            parts = path.relative_to(root / "src").with_suffix("").parts
            module = parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts
            assert module not in sources, f"{path} and {sources[module].path} are the same module"
            sources[module] = Source(path, module)
        tests = set()
        for source in sources.values():
            text = source.path.read_text("utf-8")
            source.lines = text.splitlines()
            source.code, files = without_tests(without_comments_and_texts(text))
            tests |= {(*source.module, name) for name in files}
            inline = re.search(r"\bmod\s+\w+\s*\{", source.code)
            assert not inline, f"{source.path}: a module inside a file needs a file of its own: {inline.group()}"
            source.children = set(re.findall(r"\bmod\s+(\w+)\s*;", source.code))
            source.body = source.code
            for use in re.finditer(r"(\bpub(?:\([^)]*\))?\s+)?\buse\s([^;]*);", source.code):
                source.uses += [(use.start(2), bool(use.group(1)), *leaf) for leaf in leaves(use.group(2))]
                source.body = blank(source.body, use.start(), use.end())
        self.files = {m: s for m, s in sources.items() if not any(m[: len(t)] == t for t in tests)}
        self.edges = {m: {} for m in self.files}
        for source in self.files.values():
            self.connect(source)

    def absolute(self, source, path):
        """`path` from the crate's root, `None` if it leads out of the crate."""
        head, *rest = path
        if head in ("crate", "$crate"):
            return tuple(rest)
        if head == "self":
            return (*source.module, *rest)
        if head == "super":
            module = source.module[:-1]
            while rest and rest[0] == "super":
                module, rest = module[:-1], rest[1:]
            return (*module, *rest)
        return (*source.module, *path) if head in source.children else None

    def targets(self, path, seen=frozenset()):
        """The modules where the item at the absolute `path` stands."""
        if path in seen:
            return set()
        module = path
        while module not in self.files:
            module = module[:-1]
        rest, source = path[len(module) :], self.files[module]
        if not rest:
            return {module}
        handed = {}
        for _, public, use, name in source.uses:
            if (target := self.absolute(source, use)) is not None and (public or name == rest[0]):
                handed.setdefault(name, []).append(target)
        if rest[0] == "*":
            reached = [self.targets(t, seen | {path}) for targets in handed.values() for t in targets]
            return {module}.union(*reached)
        if re.search(DEFINES.format(name=re.escape(rest[0])), source.code):
            return {module}
        for target in handed.get(rest[0], []):
            return self.targets((*target, *rest[1:]), seen | {path})
        for target in handed.get("*", []):
            for owner in self.targets(target, seen | {path}):
                if re.search(DEFINES.format(name=re.escape(rest[0])), self.files[owner].code):
                    return {owner}
        return {module}

    def connect(self, source):
        def edge(offset, path):
            for target in self.targets(path):
                if target != source.module:
                    line = source.code.count("\n", 0, offset) + 1
                    self.edges[source.module].setdefault(target, line)

        for offset, public, path, name in source.uses:
            target = self.absolute(source, path)
            if target is None:
                continue
            if public and target[: len(source.module)] == source.module:
                # Handed on; imported only if the code here names it, too.
                for owner in self.targets(target) if name == "*" else ():
                    for own in re.findall(DEFINES.format(name=r"(\w+)"), self.files[owner].code):
                        if owner != source.module and (at := re.search(rf"\b{own}\b", source.body)):
                            self.edges[source.module].setdefault(owner, source.code.count("\n", 0, at.start()) + 1)
                if name != "*" and (at := re.search(rf"\b{re.escape(name)}\b", source.body)):
                    edge(at.start(), target)
            else:
                edge(offset, target)
        heads = "|".join(["crate", "self", "super", *map(re.escape, sorted(source.children))])
        for match in re.finditer(rf"(?<![\w:])(?:{heads})(?:\s*::\s*\w+)+", source.body):
            path = tuple(re.findall(r"\w+", match.group()))
            if (target := self.absolute(source, path)) is not None:
                edge(match.start(), target)

    def circles(self):
        """One shortest circle through each file that stands in one, each circle once."""
        by_members = {}
        for start in self.edges:
            before, queue = {}, deque([start])
            while queue and start not in before:
                here = queue.popleft()
                for there in self.edges[here]:
                    if there not in before:
                        before[there] = here
                        queue.append(there)
            if start in before:
                circle = [start]
                while before[circle[-1]] != start:
                    circle.append(before[circle[-1]])
                by_members.setdefault(frozenset(circle), [start, *reversed(circle[1:])])
        return list(by_members.values())

    def describe(self, circle):
        rows = []
        for here, there in zip(circle, [*circle[1:], circle[0]], strict=True):
            source, line = self.files[here], self.edges[here][there]
            name = source.path.relative_to(self.root.parent)
            rows.append(f"  {name}:{line}: {source.lines[line - 1].strip()}  -> {'/'.join(there) or 'lib'}")
        return "\n".join(rows)


def is_parent_and_child(circle, parent):
    """Returns true if the circle is between a module and one file of its own folder."""
    return len(circle) == 2 and parent in circle and all(parent in (module, module[:-1]) for module in circle)


@pytest.mark.parametrize("name", NAMES)
def test_no_circle_of_files(name):
    crate = Crate(CRATES / name)
    circles = crate.circles()
    for parent in PARENTS.get(name, []):
        others = [circle for circle in circles if not is_parent_and_child(circle, parent)]
        assert len(others) < len(circles), f"{name}: {'/'.join(parent)} has no circle any more: remove it from PARENTS"
        circles = others
    shown = "\n".join(f"circle {i}:\n{crate.describe(circle)}" for i, circle in enumerate(circles, 1))
    assert not circles, f"files of {name} import each other in circles\n{shown}"


@pytest.mark.parametrize(("name", "kind"), ONE_HOME)
def test_methods_stand_in_one_file(name, kind):
    crate = Crate(CRATES / name)
    homes = [s.path.name for s in crate.files.values() if re.search(rf"\bimpl(?:<[^>]*>)?\s+{kind}\b", s.body)]
    assert len(homes) == 1, f"impl {kind} of {name} stands in {homes}"


def crate_of(tmp_path, **files):
    """A crate with these files; `a__b` stands for `a/b.rs`."""
    for name, text in files.items():
        path = tmp_path / "src" / f"{name.replace('__', '/')}.rs"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return Crate(tmp_path)


def edges(crate):
    return {("/".join(a) or "lib", "/".join(b) or "lib") for a, to in crate.edges.items() for b in to}


def test_a_circle_is_found_and_shown_with_its_lines(tmp_path):
    crate = crate_of(
        tmp_path,
        lib="mod a;\nmod b;\nmod c;\n",
        a="use crate::{b::B, c::C};\npub struct A;\n",
        b="\npub struct B;\nfn f() { let _ = crate::c::C; }\n",
        c="use super::a::A;\npub struct C;\n",
    )
    (circle, longer) = sorted(crate.circles(), key=len)
    assert sorted(map("/".join, circle)) == ["a", "c"]
    assert sorted(map("/".join, longer)) == ["a", "b", "c"]
    shown = crate.describe(longer)
    assert "src/b.rs:3: fn f() { let _ = crate::c::C; }  -> c" in shown
    assert "src/c.rs:1: use super::a::A;  -> a" in shown


def test_only_circles_of_a_parent_and_its_own_child_are_accepted(tmp_path):
    crate = crate_of(
        tmp_path,
        lib="mod a;\n",
        a="mod b;\nmod c;\npub struct A;\nfn f() { b::g() }\n",
        a__b="use super::A;\nuse super::c::C;\npub struct B;\n",
        a__c="use super::b::B;\npub struct C;\n",
    )
    accepted = {circle: is_parent_and_child(circle, ("a",)) for circle in map(tuple, map(sorted, crate.circles()))}
    assert accepted == {(("a",), ("a", "b")): True, (("a", "b"), ("a", "c")): False}


def test_tests_comments_and_texts_import_nothing(tmp_path):
    crate = crate_of(
        tmp_path,
        lib="mod a;\nmod b;\n",
        a="use crate::b::B;\n",
        b='pub struct B; // crate::a::A\n/* /* crate::a */ crate::a::A */\nconst T: &str = "crate::a::A";\n'
        "const R: &str = r#\"use crate::a::A; \"\"#;\nconst Q: char = '\"';\nfn f<'a>(x: &'a str) {}\n"
        "#[cfg(test)]\nuse crate::a::{A, C};\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n    fn g() { {} }\n}\n"
        "#[cfg(test)]\nmod more;\n",
        b__more="use crate::a::A;\n",
    )
    assert edges(crate) == {("a", "b")}
    assert crate.circles() == []


def test_names_handed_on_lead_to_where_they_stand(tmp_path):
    crate = crate_of(
        tmp_path,
        lib="pub mod deep;\nmod user;\npub use deep::{Given, inner::Other as Renamed};\npub use user::*;\npub struct Own;\n",
        deep="pub mod inner;\npub mod all;\npub use inner::Given;\npub use all::*;\n",
        deep__inner="pub struct Given;\npub struct Other;\n",
        deep__all="pub enum Every { One }\n",
        user="use crate::{Given, Renamed};\nuse crate::deep::Every;\npub struct User;\n",
    )
    assert edges(crate) == {("user", "deep/inner"), ("user", "deep/all")}


def test_the_module_above_is_a_file_like_any_other(tmp_path):
    above = "mod child;\npub use child::Child;\npub struct Above;\n"
    child = "use super::Above;\npub struct Child;\n"
    assert crate_of(tmp_path / "handed", lib=above, child=child).circles() == []
    used = crate_of(tmp_path / "used", lib=f"{above}fn f(c: Child) {{}}\n", child=child)
    assert [sorted(map("/".join, c)) for c in used.circles()] == [["", "child"]]
    called = crate_of(tmp_path / "called", lib="mod child;\nfn f() { child::g() }\npub struct Above;\n", child=child)
    assert len(called.circles()) == 1
    globbed = crate_of(tmp_path / "glob", lib=above, child="use super::*;\npub struct Child;\n")
    assert edges(globbed) == {("child", "lib")}


def test_macros_name_their_own_crate(tmp_path):
    crate = crate_of(
        tmp_path,
        lib="pub mod a;\npub mod b;\npub use b::Kind;\n",
        a="macro_rules! m { () => { $crate::Kind::One } }\n",
        b="use crate::a;\npub enum Kind { One }\n",
    )
    assert len(crate.circles()) == 1


@pytest.mark.parametrize("crate", ["net", "scenario"])
def test_every_file_of_tests_is_run(crate):
    """Cargo finds no tests by itself where a crate has one program for many files (`autotests = false`)."""
    folder = CRATES / crate / "tests"
    named = set(re.findall(r"^mod (\w+);", (folder / "suite.rs").read_text("utf-8"), re.MULTILINE))
    own = set(
        re.findall(r'^path = "tests/([\w/]+)\.rs"', (folder.parent / "Cargo.toml").read_text("utf-8"), re.MULTILINE)
    )
    files = {path.stem for path in folder.glob("*.rs")} | {path.parent.name for path in folder.glob("*/mod.rs")}
    assert files - own - named == set()
