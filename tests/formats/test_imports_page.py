"""The commands of docs/imports.md run as they stand there, and every importer has a place on it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import farloop
from farloop.commands.declarations import group_summaries

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/imports.md").read_text("utf-8")
BLOCKS = re.findall(r"^```bash\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(3))
def test_the_commands_of_the_page_run(number, tmp_path):
    assert len(BLOCKS) == 3
    shutil.copytree(ROOT / "examples/imports", tmp_path / "examples/imports")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euc", BLOCKS[number].replace("farloop run", "farloop run --no-report")],
        cwd=tmp_path,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (directory,) = (tmp_path / "out").iterdir()
    (run,) = farloop.load(directory)
    flows = run.summary["flows"]
    assert len(flows) >= 3
    assert {flow["outcome"] for flow in flows} == {"finished"}


def test_every_import_is_on_the_page():
    for command in group_summaries()["Import"]:
        assert f"`{command}`" in PAGE, command
