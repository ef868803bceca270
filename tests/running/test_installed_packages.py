"""Other packages change nothing: pandas and polars that break, and those that work."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import SMALL

OTHERS = ("pandas", "polars", "scipy", "orjson", "lxml", "numexpr", "bottleneck", "pydantic", "numba", "xarray", "dask")
"""Packages that our libraries load where they are there, and packages that are often there."""

COMMANDS = (
    ["run", "small.toml", "--out", "run"],
    ["compare", "small.toml", "--algorithms", "hpcc,dctcp", "--seeds", "1-2", "--no-report", "--out", "compared"],
    ["report", "run", "--quiet"],
    ["sweep", "study.toml", "--workers", "1", "--no-report", "--quiet", "--out", "study"],
    ["import-flows", "flows.parquet"],
    ["import-flows", "times.parquet"],
    ["import-graphml", "net.graphml", "--rate", "1Gbps", "--delay", "1us", "--kind", "switch"],
)
GRAPH = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">
<node id="a"/><node id="b"/><edge source="a" target="b"/></graph></graphml>"""


@pytest.fixture(scope="module")
def inputs():
    times = pa.array([0, 1_000], pa.duration("ns"))
    ends = {"from": ["s1", "s2"], "to": ["d1", "r1"]}
    return {"flows.parquet": ends | {"size": ["10kB", None]}, "times.parquet": ends | {"start": times}}


def outcome(directory, inputs, packages):
    """Outputs that the commands print and write with a directory of packages before all others."""
    directory.mkdir()
    for name, columns in inputs.items():
        pq.write_table(pa.table(columns), directory / name)
    (directory / "small.toml").write_text(
        SMALL.replace('"20ms"', '"4ms"').replace('"1ms"\n\n[[flow]]', '"0ms"\n\n[[flow]]')
    )
    (directory / "study.toml").write_text('base = "small.toml"\n[grid]\nalgorithm = ["dctcp", "hpcc"]\n')
    (directory / "net.graphml").write_text(GRAPH)
    environment = os.environ | {"NO_COLOR": "1", "COLUMNS": "100"}
    environment.pop("PYTHONPATH", None)
    if packages is not None:
        environment["PYTHONPATH"] = str(packages)
    printed = []
    for words in COMMANDS:
        done = subprocess.run(
            [sys.executable, "-m", "farloop", *words],
            cwd=directory,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        imports = words[0].startswith("import")
        assert done.returncode == 0 or imports, done.stderr
        assert "Traceback" not in done.stderr and "Warning" not in done.stderr
        if imports:
            printed.append((done.returncode, done.stdout, done.stderr))
    tables = {
        path.relative_to(directory): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.suffix in (".parquet", ".csv") or path.name == "summary.json"
    }
    return printed, tables


@pytest.mark.long
def test_packages_that_break_change_nothing(inputs, tmp_path):
    broken = tmp_path / "packages"
    for name in OTHERS:
        (broken / name).mkdir(parents=True)
        (broken / name / "__init__.py").write_text('raise ValueError("another numpy was expected")\n')
    assert outcome(tmp_path / "with", inputs, broken) == outcome(tmp_path / "without", inputs, None)


def test_packages_that_work_change_nothing(inputs, tmp_path):
    packages = os.environ.get("FARLOOP_DATAFRAMES")
    if packages is None:
        pytest.skip("`make test-dataframes` installs pandas and polars")
    installed = {path.name for path in Path(packages).iterdir()}
    assert {"pandas", "polars"} <= installed
    assert outcome(tmp_path / "with", inputs, packages) == outcome(tmp_path / "without", inputs, None)


def test_an_algorithm_in_python_gets_its_pandas(tmp_path):
    (tmp_path / "pandas").mkdir()
    (tmp_path / "pandas" / "__init__.py").write_text("half = 0.5\n")
    (tmp_path / "mine.py").write_text(
        "import pandas\nfrom farloop.algorithm import Algorithm, parameter\n\n\n"
        "class Mine(Algorithm):\n    keep = parameter(pandas.half, 'What is kept.')\n\n"
        "    def on_ack(self, ctx, ack):\n        pass\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "farloop", "explain", "mine.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "0.5" in done.stdout
