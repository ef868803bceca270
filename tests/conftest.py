"""A small scenario, and the command as users start it."""

import importlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support import in_process, live, sampling, studies

import farloop
from farloop import _native


def pytest_configure(config: pytest.Config) -> None:
    # Of several processes only the one that reports sees all tests.
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(live.Summary())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if sampling.is_full() or sampling.is_named(config.args):
        return
    kept, left = sampling.select(items, sampling.turn())
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


SMALL = """\
title = "Two flows on 1 Gbps"

[run]
duration = "20ms"
seed = 3

[network]
topology = "dumbbell"
intra_pairs = 1
cross_pairs = 1
rate = "1Gbps"
link_delay = "5us"
wan_delay = "1ms"

[algorithm]
name = "hpcc"

[[flow]]
name = "intra"
from = "s1"
to = "d1"

[[flow]]
name = "cross"
from = "s2"
to = "r1"
start = "1ms"

[[flow]]
name = "cross-short"
from = "s2"
to = "r1"
start = "5ms"
size = "100kB"
"""


class Command:
    """Runs `farloop` in a directory of its own: in this process, or in one of its own where that makes a difference.

    It does for signals, pipes, memory, what is loaded, what a process reads once at its start, and for commands at the same time.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "farloop", *arguments],
            cwd=self.directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"NO_COLOR": "1"},
            # A shell starts its background jobs with interrupts ignored, and children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )

    def __call__(self, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        return in_process.run(arguments, self.directory, **environment)

    def process(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        process = self.start(*arguments)
        out, err = process.communicate(timeout=in_process.TIMEOUT)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


@pytest.fixture(scope="session")
def result(tmp_path_factory: pytest.TempPathFactory) -> farloop.Run:
    path = tmp_path_factory.mktemp("scenario") / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return farloop.run(path)


@pytest.fixture(scope="session")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> farloop.Comparison:
    path = tmp_path_factory.mktemp("scenario") / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return farloop.compare(path, ["hpcc", "dctcp"])


@pytest.fixture(scope="session")
def scripts() -> Iterator[Callable[[str], ModuleType]]:
    """Imports a module of scripts/ by its name."""
    directory = str(Path(__file__).parent.parent / "scripts")
    sys.path.insert(0, directory)
    try:
        yield importlib.import_module
    finally:
        sys.path.remove(directory)


@pytest.fixture(scope="session")
def kernel_objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled programs for the kernel, where it can run them; otherwise the test is skipped, with the reason."""
    return live.kernel_objects(tmp_path_factory.mktemp("objects"))


@pytest.fixture
def without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Studies, and commands in this process, make their runs in this process. For tests that are not about workers."""
    monkeypatch.setattr("farloop.experiments.processes.LocalPool", studies.PoolOfOne)


@pytest.fixture
def on_scenario(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    """Has the simulator's scenarios noted in a list, and their runs made by `run(real, *arguments)`."""
    real = _native.Scenario

    def patch(run: Callable[..., Any] = lambda real, *arguments: real(*arguments)) -> list[Any]:
        made: list[Any] = []

        class Patched:
            def __init__(self, *arguments: Any) -> None:
                self.arguments, self.real = arguments, real(*arguments)
                made.append(self)

            def __getattr__(self, name: str) -> Any:
                return getattr(self.real, name)

            def run(self, *arguments: Any) -> Any:
                return run(self.real.run, *arguments)

        monkeypatch.setattr(_native, "Scenario", Patched)
        return made

    return patch
