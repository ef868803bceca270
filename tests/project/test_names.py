"""Values and functions are called by what they hold or do: no name is a word that fits everything."""

import ast
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EMPTY = {"found", "told", "one"}
"""Words that say nothing of a value."""

PUBLIC = {
    ("python/farloop/statistics.py", "told"),
    ("python/farloop/studies/sweep/study.py", "told"),
    ("python/farloop/kernel/doctor.py", "found"),
}
"""Names that users have: `Interval.told`, `Study.told`, and the column `found` of `farloop kernel doctor --json`."""

RUST = re.compile(r"(?<![\w.'])(?:found|told|one)\b")
LIMIT = re.compile(r"\b_?(?:MOST|LEAST|LONGEST)(?:_[A-Z0-9_]+)?\b")
"""Names of limits that are called MAX_ and MIN_ everywhere else."""

NO_CODE = re.compile(r"""r#".*?"#|'(?:\\.|[^'\\])'|"(?:[^"\\]|\\.)*"|//[^\n]*""", re.DOTALL)
"""What of Rust is no code: texts, characters, comments."""


def tracked(pattern):
    listed = subprocess.run(["git", "ls-files", pattern], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def bound(tree):
    """The names that a module gives to values, parameters, functions and classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno


def test_no_value_in_python_is_called_found_told_or_one():
    files = tracked("*.py")
    assert len(files) > 300
    empty = [
        f"{file}:{line}: {name}"
        for file in files
        for name, line in bound(ast.parse((ROOT / file).read_text("utf-8")))
        if name.strip("_").lower() in EMPTY and (file, name) not in PUBLIC
    ]
    assert not empty, "say what it is:\n" + "\n".join(empty)


def rust_code(text):
    """The lines of a file without texts and comments."""
    return NO_CODE.sub(lambda part: "\n" * part[0].count("\n"), text).splitlines()


def test_no_value_in_rust_is_called_found_told_or_one():
    files = tracked("*.rs")
    assert len(files) > 200
    empty = [
        f"{file}:{number}: {line.strip()}"
        for file in files
        for number, line in enumerate(rust_code((ROOT / file).read_text("utf-8")), 1)
        if RUST.search(line)
    ]
    assert not empty, "say what it is:\n" + "\n".join(empty)


def test_limits_are_called_max_and_min():
    names = [
        f"{file}:{line}: {name}"
        for file in tracked("*.py")
        for name, line in bound(ast.parse((ROOT / file).read_text("utf-8")))
        if LIMIT.fullmatch(name)
    ]
    for file in [*tracked("*.rs"), *tracked("*.js")]:
        lines = rust_code((ROOT / file).read_text("utf-8"))
        names += [f"{file}:{number}: {name}" for number, line in enumerate(lines, 1) for name in LIMIT.findall(line)]
    assert not names, "write MAX_ or MIN_:\n" + "\n".join(names)
    for name in ("MOST", "_LEAST", "LONGEST_NAME", "MOST_SEEDS"):
        assert LIMIT.fullmatch(name), name
    assert not LIMIT.search("ALMOST_DONE AT_MOSTLY MAX_SEEDS")


def test_empty_names_are_seen():
    tree = ast.parse("def f(one):\n    _found = [told for told in one]\nclass Told: ...\n")
    assert {name for name, _ in bound(tree) if name.strip("_").lower() in EMPTY} == {"one", "_found", "told", "Told"}
    for line in (
        "let found = 1;",
        "fn told() {}",
        "if let Some(one) = x {}",
        "|(at, found)| found",
        "f(x, &told, '\"', one)",
    ):
        assert RUST.search(rust_code(line)[0]), line
    assert not RUST.search("".join(rust_code('let s = "one\n of them"; // found\nself.told')))
