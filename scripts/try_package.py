#!/usr/bin/env python3
"""Tries a wheel or a source distribution as somebody who has nothing else of farloop: `make wheels` calls it for what it built.

    scripts/try_package.py dist/farloop-*.whl [--python python3.12]

A new virtual environment in a temporary directory, `pip install PACKAGE` with the dependencies that pip finds, and then the commands, each
in a directory that has the repository's examples and nothing else of it, with a home, a search path and an environment of its own. A
source distribution is built without git: a `git` that fails stands in front of the real one.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SYSTEM = ("/usr/local/bin", "/usr/bin", "/bin")
"""Where the commands of shells are; cargo's place is added where something is to be compiled."""

STUDY = """\
title = "Two algorithms, two seeds"
base = "gear/fig09"
collect = ["throughput"]

[set]
run.duration = "5ms"

[grid]
algorithm = ["dctcp", "hpcc"]
seed = "1-2"
"""

COMPLETED = """\
eval "$(farloop --show-completion bash)"
COMP_WORDS=(farloop explain gemi) COMP_CWORD=2
_farloop_completion farloop
echo "${COMPREPLY[*]}"
"""
"""What bash does when somebody presses the tabulator after `farloop explain gemi`."""


class BrokenError(Exception):
    """The package does not do what it should; the text says what."""


class Trial:
    """A package in an environment of its own, below a directory."""

    def __init__(self, directory: Path, python: str) -> None:
        self.work, self.home, self.programs = (directory / name for name in ("work", "home", "venv/bin"))
        self._without_git = directory / "without-git"
        for folder in (self.home, self._without_git):
            folder.mkdir()
        git = self._without_git / "git"
        git.write_text(f"#!/bin/sh\necho called >> {directory}/git-called\nexit 127\n", encoding="utf-8")
        git.chmod(0o755)
        self.git_called = directory / "git-called"
        subprocess.run([python, "-m", "venv", str(directory / "venv")], check=True)
        shutil.copytree(ROOT / "examples", self.work, ignore=shutil.ignore_patterns("target"))

    def environment(self, *, builds: bool = False) -> dict[str, str]:
        """Nothing of this one's but what a network needs, such as certificates, and where pip looks."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if name.startswith(("PIP_", "SSL_")) or "_proxy" in name.lower()
        }
        cargo = shutil.which("cargo")
        builders = [str(self._without_git), str(Path(cargo).parent)] if builds and cargo else []
        if builds:
            known = (
                "CARGO_HOME",
                "RUSTUP_HOME",
                "RUSTUP_TOOLCHAIN",
                "CARGO_PROFILE_RELEASE_LTO",
                "CARGO_PROFILE_RELEASE_CODEGEN_UNITS",
            )
            kept |= {name: os.environ[name] for name in known if name in os.environ}
            kept.setdefault("CARGO_HOME", str(Path.home() / ".cargo"))
            kept.setdefault("RUSTUP_HOME", str(Path.home() / ".rustup"))
        return kept | {
            "PATH": os.pathsep.join([str(self.programs), *builders, *SYSTEM]),
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "NO_COLOR": "1",
        }

    def install(self, package: Path) -> None:
        """Installs a package, and what it depends on."""
        pip = [
            str(self.programs / "python"),
            "-m",
            "pip",
            "--disable-pip-version-check",
            "--quiet",
            "install",
            "--no-cache-dir",
        ]
        self._done([*pip, str(package.resolve())], self.environment(builds=package.suffix != ".whl"))

    def __call__(self, *command: str) -> str:
        """What a command prints.

        Raises:
            BrokenError: it fails.
        """
        return self._done(list(command), self.environment())

    def _done(self, command: Sequence[str], environment: dict[str, str]) -> str:
        done = subprocess.run(
            command,
            cwd=self.work,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise BrokenError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout


def checks(run: Trial) -> Iterator[tuple[str, bool]]:
    """What is tried, and whether it is as it should be."""
    where = run("python", "-c", "import farloop; print(farloop.__file__)").strip()
    yield f"imported from {Path(where).parent.name} of the new environment", where.startswith(str(run.programs.parent))
    said = run("farloop", "--version")
    yield "farloop --version", said.startswith("farloop ") and "rustc" in said and "commit" in said
    yield "farloop list algorithms", "hpcc" in run("farloop", "list", "algorithms")
    yield "farloop list scenarios: the papers", "mlcc/" in run("farloop", "list", "scenarios")
    yield "farloop list arena: its scenarios", "gear-bottleneck" in run("farloop", "list", "arena")
    yield "farloop explain gear --page: the specification", "# Gear" in run("farloop", "explain", "gear", "--page")
    yield "farloop explain gear/fig09", "4 hosts" in run("farloop", "explain", "gear/fig09")
    run("farloop", "run", "backbone.toml", "--set", "run.duration=20ms", "--out", "out/backbone", "--quiet")
    yield "farloop run examples/backbone.toml", (run.work / "out/backbone/figures/network.png").is_file()
    compared = (
        "compare",
        "gear/fig09",
        "--algorithms",
        "gear,hpcc",
        "--set",
        "run.duration=5ms",
        "--out",
        "out/both",
        "--quiet",
    )
    run("farloop", *compared)
    pages = (
        run.work / "out/both/report.html",
        run.work / "out/both/claims.json",
        run.work / "out/both/runs/gear/flows.parquet",
    )
    yield "farloop compare gear/fig09", all(page.is_file() for page in pages)
    own = (
        "run",
        "python-algorithm/scenario.toml",
        "--algorithm-file",
        "python-algorithm/hpcc.py",
        "--set",
        "run.duration=1ms",
    )
    run("farloop", *own, "--out", "out/own", "--no-report", "--quiet")
    yield "an algorithm in Python", (run.work / "out/own/flows.parquet").is_file()
    (run.work / "mine.toml").write_text(STUDY, encoding="utf-8")
    run("farloop", "sweep", "mine.toml", "--workers", "2", "--out", "out/study", "--quiet")
    rows = run(
        "python",
        "-c",
        "import pyarrow.parquet as p; print(p.read_table('out/study/runs.parquet').column('status').to_pylist())",
    )
    yield "farloop sweep: workers of their own", rows.count("done") == 4
    schema = json.loads(run("farloop", "schema"))
    yield "farloop schema", "network" in schema["properties"]
    yield "farloop kernel --help", "unload" in run("farloop", "kernel", "--help")
    yield from shells(run)


def shells(run: Trial) -> Iterator[tuple[str, bool]]:
    """Completion in the shells that there are, as installed by `farloop --install-completion`."""
    yield "bash completes", "gemini-gear" in run("bash", "-c", COMPLETED)
    kept = {
        "bash": ".bash_completions/farloop.sh",
        "zsh": ".zfunc/_farloop",
        "fish": ".config/fish/completions/farloop.fish",
    }
    for shell, file in kept.items():
        # Without its choice of the shell by the processes above this one, the one that is named counts.
        run("env", "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION=1", "farloop", "--install-completion", shell)
        yield f"{shell}: {file} is written", "_FARLOOP_COMPLETE" in (run.home / file).read_text("utf-8")
        if shutil.which(shell, path=os.pathsep.join(SYSTEM)):
            check = [shell, "--no-execute" if shell == "fish" else "-n", str(run.home / file)]
            yield f"{shell}: and read by it", run(*check) == ""
    asked = {"_FARLOOP_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "farloop explain gemi"}
    yield "zsh gets words", "gemini-gear" in run("env", *(f"{k}={v}" for k, v in asked.items()), "farloop")
    asked |= {"_FARLOOP_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    yield "fish gets words", "gemini-gear" in run("env", *(f"{k}={v}" for k, v in asked.items()), "farloop")


def try_out(package: Path, python: str = sys.executable) -> list[str]:
    """Tries a package; a line for each thing that was tried, with the time that installing took first.

    Raises:
        BrokenError: something is not as it should be.
    """
    with tempfile.TemporaryDirectory(prefix="farloop-try-") as name:
        trial = Trial(Path(name), python)
        began = time.monotonic()
        trial.install(package)
        lines = [f"pip install {package.name}: {time.monotonic() - began:.0f} s"]
        if trial.git_called.exists():
            raise BrokenError(f"{package.name}: building it calls git, which a source distribution must not need")
        for what, is_so in checks(trial):
            if not is_so:
                raise BrokenError(f"{package.name}: {what}: is not so")
            lines.append(what)
        lines += ["", trial("farloop", "--version").rstrip()]
    return lines


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=Path, help="a wheel for this machine, or a source distribution")
    parser.add_argument("--python", default=sys.executable, help="the interpreter (default: the one that runs this)")
    options = parser.parse_args()
    try:
        print("\n".join(try_out(options.package, options.python)))  # noqa: T201
    except (BrokenError, OSError, subprocess.SubprocessError) as error:
        print(f"try_package: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
