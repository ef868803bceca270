"""Files that archives of all kinds of outputs share: their script, their list of packages, and how a command line is written."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import PurePosixPath
from typing import Any

RERUN, README, REQUIREMENTS, LIST = "rerun.sh", "README.md", "requirements.txt", "files.txt"
OUTPUT, AGAIN = "output", "rerun"
"""Folders: the tables of the output, and those that `rerun.sh` makes."""

Files = dict[str, bytes]
"""Contents by path in the archive."""

_PATH = re.compile(r"(?<![\w.])/(?:[^\s/=,:]+/)*[^\s/=,:]+")


def script(command: Sequence[str], folder: str = "") -> str:
    """The script that simulates again and compares.

    Args:
        command: The words of the command.
        folder: The folder in the archive in which it runs; empty for the archive itself.
    """
    line = f"(cd {shlex.quote(folder)} && {shlex.join(command)})" if folder else shlex.join(command)
    return f"""#!/bin/sh
# Simulates again, and compares every table and summary with those in {OUTPUT}/, byte for byte.
set -eu
cd "$(dirname "$0")"
{line}
count=0
while read -r name; do
    cmp "{OUTPUT}/$name" "{AGAIN}/$name"
    count=$((count + 1))
done < {LIST}
echo "$count files have the same bytes"
"""


def command_text(kept: Mapping[str, Any]) -> str:
    """The command that made an output, without the folders of its machine; empty where Python made it."""
    given = kept.get("command")
    words = [str(word) for word in given] if isinstance(given, list) else []
    return shlex.join(_PATH.sub(lambda match: PurePosixPath(match[0]).name, word) for word in words)


def requirements(kept: Mapping[str, Any], more: Iterable[str] = ()) -> str:
    """The packages that make the tables, at their versions: those of the output, and else those that are installed.

    Args:
        kept: The output's manifest.
        more: Packages that farloop needs for this output only.
    """
    remembered = {str(name): str(version) for name, version in (kept.get("packages") or {}).items()}
    lines = [f"# Python {remembered.get('python', sys.version.split()[0])}", f"farloop=={kept['farloop']}"]
    waiting, seen = ["farloop", *more], {"farloop", *more}
    while waiting:
        for requirement in _required_packages(waiting.pop()):
            if requirement not in seen:
                seen.add(requirement)
                waiting.append(requirement)
    for name in sorted(seen - {"farloop"}):
        try:
            lines.append(f"{name}=={remembered.get(name) or metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return "\n".join(lines) + "\n"


def _required_packages(package: str) -> list[str]:
    """The packages that one needs everywhere, without extras."""
    try:
        needed = metadata.requires(package) or []
    except metadata.PackageNotFoundError:
        return []
    own = [re.match(r"[A-Za-z0-9._-]+", line) for line in needed if ";" not in line]
    return [re.sub(r"[-_.]+", "-", match[0]).lower() for match in own if match]


def readme(title: str, kept: Mapping[str, Any], about: str, count: int, rows: Mapping[str, str]) -> str:
    """The page of an archive.

    Args:
        title: Its title.
        kept: The output's manifest.
        about: Its contents in a sentence: algorithms, seeds.
        count: Tables and summaries that the script compares.
        rows: Other files in the archive, by name.
    """
    command = command_text(kept)
    made = f"The output was made by\n\n```\n{command}\n```\n\n" if command else ""
    listed = "".join(f"| {name} | {what} |\n" for name, what in rows.items())
    return f"""# {title}

{made}{about}

```
pip install -r {REQUIREMENTS}    # or any farloop {kept["farloop"]} on PATH
./{RERUN}
```

The script simulates everything again into `{AGAIN}/`, and compares the {count} tables and summaries in `{OUTPUT}/` with the new ones, byte
for byte. The same version of farloop gives the same numbers on any machine, with any number of threads. Other versions of numpy or pyarrow
may write the same numbers as other bytes.

| here | what it is |
| --- | --- |
{listed}| `{OUTPUT}/` | tables and summaries (Parquet has units in its metadata) |
| `{REQUIREMENTS}` | versions of the packages |
| `{LIST}` | what `{RERUN}` compares |
"""
