"""A source file is short enough to be read in one go."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAX_LINES = 600
LONGER: dict[str, str] = {}
"""Files that may be longer, and why."""


def test_no_source_file_is_longer_than_600_lines():
    listed = subprocess.run(
        ["git", "ls-files", "*.py", "*.pyi", "*.rs"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    lines = {
        name: len((ROOT / name).read_bytes().splitlines())
        for name in listed.stdout.splitlines()
        if (ROOT / name).is_file()
    }
    assert len(lines) > 400
    long = {name for name, count in lines.items() if count > MAX_LINES}
    assert not {name: lines[name] for name in long - set(LONGER)}
    assert not set(LONGER) - long, "an exception that is short enough by now"
