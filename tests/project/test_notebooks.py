"""The notebooks run as they are, cell by cell, and show something; they are kept without what they showed."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.site

REPOSITORY = Path(__file__).parents[2]
NOTEBOOKS = sorted((REPOSITORY / "docs").rglob("*.ipynb"))

RUNNER = """
# What a notebook's kernel does with cells: all in one namespace, and the value of a last expression is shown.
import ast, json, linecache, sys
import matplotlib
matplotlib.use("Agg")
names = {"__name__": "__main__"}
for i, cell in enumerate(json.load(open(sys.argv[1], encoding="utf-8"))["cells"]):
    if cell["cell_type"] != "code":
        continue
    text, file = "".join(cell["source"]), f"cell {i + 1}"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    tree = ast.parse(text, file)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, file, "exec"), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), file, "eval"), names)
        shown = value._repr_html_() if hasattr(value, "_repr_html_") else repr(value)
        print(json.dumps([i + 1, type(value).__name__, shown]))
"""

PATIENCE = 240
"""Seconds that a notebook may take on a machine that has others to serve."""


def test_there_are_notebooks():
    assert [path.stem for path in NOTEBOOKS] == ["compare-notebook", "study-notebook"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path):
    content = json.loads(path.read_text("utf-8"))
    assert (content["nbformat"], content["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in content["cells"]}) == len(content["cells"])
    for cell in content["cells"]:
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None
        for link in re.findall(r"\]\(([^)]+)\)", "".join(cell["source"]) if cell["cell_type"] == "markdown" else ""):
            assert (path.parent / link).is_file(), link


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, path],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shown = {
        kind: text for line in done.stdout.splitlines() if line.startswith("[") for _, kind, text in [json.loads(line)]
    }
    assert "Legend" in shown, "a picture"
    if path.stem == "compare-notebook":
        assert "halver" in shown["Comparison"]
        assert "<table" in shown["Comparison"]
    else:
        assert shown["Counts"] == "Counts(made=30, kept=0, lost=0)"
        assert re.search(r"Counts\(made=\d+, kept=10, lost=0\)", done.stdout), "five seeds of two points are there"
