"""Tests with the live kernel: how many ran, how many did not, and why. None is skipped in silence."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest

REQUIRED = "FARLOOP_LIVE_REQUIRED"
"""Where this is set all programs are to be there, and a test that lacks one fails (.ci/run sets it where it may install them)."""


REFUSED = "the kernel refuses the program that lists connections: Operation not permitted"
"""Some kernels load congestion controls but no tracing programs, such as iterators, whatever capabilities a process has."""


def lacks_program(what: str) -> None:
    """Ends a test for want of something that can be installed."""
    if os.environ.get(REQUIRED):
        pytest.fail(f"{what}; scripts/live-tools.sh installs it, and {REQUIRED} is set", pytrace=False)
    pytest.skip(what)


def needs_programs(missing: list[str]) -> None:
    """Ends a test where programs are missing."""
    if missing:
        lacks_program(f"{missing[0]} is missing")


def needs_host(lacking: list[str]) -> None:
    """Ends a test where the host lacks something: see `doctor.missing_requirements`. Of that only libbpf and iproute2 are programs."""
    if lacking:
        end = lacks_program if lacking[0].startswith(("libbpf", "ip ", "tc ", "program ")) else pytest.skip
        end(lacking[0])


def kernel_objects(folder: Path) -> Path:
    """Where the compiled programs are: those of this checkout in `folder` where clang is there, else those that lie in the package."""
    from farloop.kernel import doctor

    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("not root on Linux")
    needs_host(doctor.missing_requirements(objects=False))
    if doctor.checks_to_build():
        root = Path(__file__).parents[2]
        subprocess.run(["make", "-s", "kernel", f"KERNEL_OBJECTS={folder}"], cwd=root, check=True)
        return folder
    if not doctor.object_file("gemini").exists():
        lacks_program("clang or libbpf-dev is missing, and no program is compiled")
    return doctor.OBJECTS


_WITH_OBJECTS = """
import pathlib, runpy, sys
from farloop.kernel import doctor
doctor.OBJECTS = pathlib.Path(sys.argv.pop(1))
runpy.run_module("farloop", run_name="__main__", alter_sys=True)
"""


def farloop(objects: Path, *words: str) -> list[str]:
    """The command with compiled programs of another directory."""
    return [sys.executable, "-c", _WITH_OBJECTS, str(objects), *words]


class Summary:
    """The last line of a session that had such tests."""

    def __init__(self) -> None:
        self.ran: set[str] = set()
        self.skipped: dict[str, str] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """A test that needs the list of connections ends where the kernel gives none."""
        try:
            return (yield)
        except Exception as error:
            if "live" in item.keywords and REFUSED in str(error):
                pytest.skip(REFUSED)
            raise

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if "live" not in report.keywords:
            return
        if report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            self.skipped[report.nodeid] = str(reason).removeprefix("Skipped: ")
        elif report.when == "call" or report.failed:
            self.ran.add(report.nodeid)

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        if line := self.line():
            config.get_terminal_writer().line(line)

    def line(self) -> str:
        """How many ran and how many did not, and why; nothing where there was none."""
        if not self.ran and not self.skipped:
            return ""
        why = Counter(self.skipped.values()).most_common()
        because = f", because {'; '.join(f'{reason} ({count})' for reason, count in why)}" if why else ""
        return f"kernel tests: ran {len(self.ran)} / skipped {len(self.skipped)}{because}"
