"""Facts of this installation's build: `farloop --version`."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from farloop import _native

PACKAGE = Path(__file__).parent.parent

BUILD = "build.json"
"""In packages that scripts/build_packages.py made: the commit, and what kind of package it was. A checkout has none."""

LIBRARIES = ("numpy", "pyarrow", "matplotlib")
"""Packages whose versions decide the bytes of tables and pictures."""

_LENGTH = 12
"""Digits of a commit that are shown."""


def text() -> str:
    """The version on the first line, as scripts expect it, and the facts on the others."""
    by_name = facts()
    width = max(len(name) for name in by_name)
    return "\n".join(
        [f"farloop {_native.version()}", *(f"  {name:<{width}}  {fact}" for name, fact in by_name.items())]
    )


def facts() -> dict[str, str]:
    """Facts by name, in words: where the sources came from, how they were compiled, what runs them."""
    native = json.loads(_native.build_facts())
    programs = sorted(path.name.removesuffix(".bpf.o") for path in (PACKAGE / "kernel" / "objects").glob("*.bpf.o"))
    cpu = ", ".join(native["cpu"].split(","))
    return {
        "source": source(),
        "compiled": f"profile {native['profile']}, optimisation {native['opt_level']}, link-time optimisation {native['lto']}",
        "rustc": native["rustc"] or "unknown",
        "target": native["target"] + (f" ({cpu})" if cpu else ""),
        "features": native["features"] or "none",
        "kernel": f"programs {', '.join(programs)}" if programs else "no programs",
        "python": ", ".join(
            [
                f"{platform.python_implementation()} {platform.python_version()}",
                *(_version(library) for library in LIBRARIES),
            ]
        ),
    }


def source() -> str:
    """Where this installation came from, and of which commit, as far as that is known."""
    built = _json(PACKAGE / BUILD)
    if built:
        return f"{built.get('from', 'package')}, {_commit(str(built.get('commit', '')), bool(built.get('changed')))}"
    checkout = PACKAGE.parent.parent
    if (checkout / "crates" / "py" / "Cargo.toml").is_file():
        commit = _git(checkout, "rev-parse", "HEAD")
        changed = bool(_git(checkout, "status", "--porcelain", "--untracked-files=no"))
        return f"checkout, {_commit(commit, changed)}"
    vcs = _direct_url().get("vcs_info", {})
    if vcs.get("commit_id"):
        return f"{vcs.get('vcs', 'repository')}, {_commit(str(vcs['commit_id']), False)}"
    return "sources of an unknown commit"


def _commit(commit: str, changed: bool) -> str:
    return (f"commit {commit[:_LENGTH]}" if commit else "unknown commit") + (" with changes" if changed else "")


def _git(checkout: Path, *arguments: str) -> str:
    """Returns git's answer about a checkout; empty without git, or if git does not track it."""
    try:
        done = subprocess.run(
            ["git", "-C", str(checkout), *arguments], capture_output=True, text=True, check=False, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _direct_url() -> Mapping[str, Any]:
    """Returns the installer's record of an address that it was given instead of a name (PEP 610)."""
    try:
        return _parse(metadata.distribution("farloop").read_text("direct_url.json") or "")
    except metadata.PackageNotFoundError:
        return {}


def _version(package: str) -> str:
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return f"no {package}"


def _json(path: Path) -> Mapping[str, Any]:
    try:
        return _parse(path.read_text("utf-8"))
    except OSError:
        return {}


def _parse(content: str) -> Mapping[str, Any]:
    try:
        document = json.loads(content)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
