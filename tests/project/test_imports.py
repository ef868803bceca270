"""The package's modules depend on each other in one direction only, and what has a name has it alone."""

import ast
import functools
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import farloop

PACKAGE = Path(farloop.__file__).parent
TESTS = Path(__file__).parents[1]
MAX_ON_TOP = 13
"""Modules directly in the package."""

UPWARDS = {
    "farloop.results.run": {
        "farloop.output.saving",
        "farloop.views",
        "farloop.views.report",
        "farloop.views.report.shown",
    },
}
"""A result can save and print itself: the ways up that there are. They close no circle of what is loaded, only one of types."""


def modules(package):
    """Every module of a package by its dotted name; the package itself is called as its directory."""
    by_name = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        by_name[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return by_name


@functools.cache
def parse(path):
    """The tree of a file, kept while these tests run."""
    return ast.parse(path.read_text("utf-8"))


@pytest.fixture(scope="module", autouse=True)
def trees():
    """Trees are large: no test of another file needs them."""
    yield
    parse.cache_clear()


def imported(name, path, known, nodes=ast.walk):
    """The modules that a module imports, with the packages that are loaded on the way to them.

    Imports inside functions count, and those for type checkers: a reader has to know that module, whenever it is loaded. With `on_top`
    as `nodes` only those count that are loaded with the module.
    """
    names = set()
    for node in nodes(parse(path)):
        if isinstance(node, ast.Import):
            wanted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                around = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
                base = ".".join([*around[: len(around) - node.level + 1], *([base] if base else [])])
            wanted = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for dotted in wanted:
            parts = dotted.split(".")
            names |= {".".join(parts[:i]) for i in range(1, len(parts) + 1)}
    own = {".".join(name.split(".")[:i]) for i in range(1, name.count(".") + 1)}
    return (names & known) - own - {name}


def on_top(tree):
    """The statements that run when a module is loaded."""
    for node in tree.body:
        yield node
        if isinstance(node, ast.Try) or (isinstance(node, ast.If) and ast.unparse(node.test) != "TYPE_CHECKING"):
            yield from on_top(node)


def loaded(tree):
    """The statements that run at some time: those of functions too, but not those for type checkers."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        yield from loaded(node)


def room(name):
    """The folder of the package that a module stands in; the module itself where it stands in none."""
    return name.split(".")[1] if "." in name else name


def circles(edges):
    """Circles of imports, each as the modules on it in order; one for each group of modules that reach each other."""
    each, done = [], set()
    for start in sorted(edges):
        if start in done:
            continue
        # The shortest way from a module back to itself, if there is one.
        before, queue = {}, [start]
        while queue and start not in before:
            here = queue.pop(0)
            for there in sorted(edges.get(here, ())):
                if there not in before:
                    before[there] = here
                    queue.append(there)
        if start in before:
            way = [start]
            while (here := before[way[-1]]) != start:
                way.append(here)
            each.append([start, *reversed(way[1:]), start])
            done |= set(way)
    return each


def arrows(known):
    """What each module imports, but for the ways from a result up to what writes and draws it."""
    edges = {name: imported(name, path, set(known)) for name, path in known.items()}
    for above, allowed in UPWARDS.items():
        assert allowed <= edges[above], "an exception that nothing needs"
        edges[above] -= allowed
    return edges


def test_imports_form_no_circle():
    known = modules(PACKAGE)
    assert len(known) > 60
    edges = arrows(known)
    assert "farloop.api" in edges["farloop.commands.run"], "imports inside functions count"
    assert "farloop.results.run" in edges["farloop.views.report.page"], "imports for type checkers count"
    lines = [" -> ".join(circle) for circle in circles(edges)]
    assert not lines, "circles of imports:\n" + "\n".join(lines)


def test_what_is_loaded_forms_no_circle():
    """No module loads itself by way of others, also not by an import inside a function."""
    known = modules(PACKAGE)
    edges = {name: imported(name, path, set(known), loaded) for name, path in known.items()}
    assert "farloop.output.saving" in edges["farloop.results.run"], "imports inside functions count"
    lines = [" -> ".join(circle) for circle in circles(edges)]
    assert not lines, "circles of imports:\n" + "\n".join(lines)


def test_rooms_form_no_circle():
    """What is loaded with a folder's modules comes from folders below it."""
    known = modules(PACKAGE)
    edges = defaultdict(set)
    for name, path in known.items():
        for other in imported(name, path, set(known), on_top):
            if room(other) != room(name) and other in known and "." in other:
                edges[room(name)].add(room(other))
    assert {"results", "scenario"} <= edges["output"]
    assert "views" not in edges["output"], "a view is loaded where it is drawn"
    lines = [" -> ".join(circle) for circle in circles(edges)]
    assert not lines, "circles of folders:\n" + "\n".join(lines)


def test_studies_return_results_and_call_no_view():
    """Commands and `farloop.api` give them what draws."""
    known = modules(PACKAGE)
    edges = arrows(known)
    for name in known:
        if name.startswith("farloop.studies"):
            assert not {other for other in edges[name] if other.startswith(("farloop.views", "farloop.commands"))}, name


def test_few_modules_lie_outside_of_rooms():
    """A newcomer sees on one screen what there is; all else is in a folder that says what it is about."""
    names = {path.name for path in PACKAGE.glob("*.py")} - {"__init__.py", "__main__.py"}
    assert {"algorithm.py", "api.py"} <= names
    assert len(names) <= MAX_ON_TOP, sorted(names)


def test_no_test_imports_another():
    tests = {path.stem: path for path in TESTS.rglob("test_*.py")}
    assert len(tests) > 80
    for path in [*tests.values(), *(TESTS / "support").glob("*.py"), TESTS / "conftest.py"]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            others = {name.rpartition(".")[2] for name in names} & set(tests)
            assert not others, f"{path}: what several tests use is in tests/support"


def test_files_know_no_views():
    """Nothing that writes or reads results needs what draws them."""
    known = modules(PACKAGE)
    edges = arrows(known)
    views = {name for name in known if name.startswith(("farloop.views.", "farloop.commands."))}
    above = {"farloop.output.saving", "farloop.output.report_files", "farloop.output.why_files"}
    assert {"farloop.views.figures.draw", "farloop.views.report.page"} <= views & below("farloop.output.saving", edges)
    for name in known:
        if name.startswith("farloop.output.") and name not in above:
            assert not below(name, edges) & (views | above), name


def below(name, edges):
    """Everything that a module needs, itself included."""
    reached, queue = {name}, [name]
    while queue:
        for there in edges[queue.pop()] - reached:
            reached.add(there)
            queue.append(there)
    return reached


def test_a_circle_is_found_and_named(tmp_path):
    package = tmp_path / "p"
    (package / "sub").mkdir(parents=True)
    for name, text in {
        "__init__.py": "",
        "a.py": "from p import b\n",
        "b.py": "def late():\n    from p.sub import c\n",
        "sub/__init__.py": "",
        "sub/c.py": "from ..a import x\n",
        "d.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p import e\n",
        "e.py": "import p.d\n",
        "f.py": "import p.a\n",
    }.items():
        (package / name).write_text(text)
    known = modules(package)
    edges = {name: imported(name, path, set(known)) for name, path in known.items()}
    assert circles(edges) == [["p.a", "p.b", "p.sub.c", "p.a"], ["p.d", "p.e", "p.d"]]


def test_a_class_has_its_name_alone():
    """A name that stands twice has two meanings, and a reader finds the wrong one."""
    places = defaultdict(list)
    for name, path in modules(PACKAGE).items():
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name)
    assert len(places) > 20
    assert not {cls: where for cls, where in places.items() if len(where) > 1}
    last = Counter(
        name.rpartition(".")[2]
        for name in modules(PACKAGE)
        if not name.startswith(("farloop.papers.", "farloop.commands."))
    )
    # A command's file is called as the command, a view as what it shows; figures of testbeds are judged by what testbeds give; a study
    # computes what is declared for all.
    names = {"measures", "network_map", "pfc", "tables", "testbed", "why"}
    assert {name for name, count in last.items() if count > 1} == names


@pytest.mark.parametrize(
    ("options", "absent"),
    [
        # What takes longer to load than a short run to simulate.
        (["--no-report", "--quiet"], {"matplotlib", "networkx", "plotly", "rich", "pydantic", "PIL", "jinja2"}),
        (["--no-report"], {"matplotlib", "networkx", "plotly", "pydantic", "PIL", "jinja2"}),
        (["--quiet"], {"networkx", "plotly", "rich", "pydantic", "matplotlib.pyplot"}),
    ],
)
def test_a_short_run_loads_what_it_uses(options, absent, command, small):
    code = (
        "import atexit, sys\nfrom farloop.__main__ import main\n"
        "atexit.register(lambda: print(sorted(sys.modules), file=sys.stderr))\n"
        f"sys.argv = ['farloop', 'run', 'small.toml', '--set', 'run.duration=1ms', *{options}]\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=command.directory, capture_output=True, text=True, check=True
    )
    loaded = set(ast.literal_eval(done.stderr.splitlines()[-1]))
    assert {"numpy", "pyarrow", "farloop.output.saving"} <= loaded
    assert not absent & loaded


def test_matplotlib_keeps_its_help_for_libraries():
    code = (
        "from farloop.views.figures.loading import load_without_help\nfrom matplotlib import artist\n"
        "load_without_help()\nfrom matplotlib.lines import Line2D\nassert 'color' in artist.kwdoc(Line2D)\n"
        "import mpl_toolkits.mplot3d\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    fresh = "from farloop.views.figures.loading import load_without_help\nload_without_help()\n" + code
    subprocess.run([sys.executable, "-c", fresh], check=True)
