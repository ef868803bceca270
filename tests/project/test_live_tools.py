"""Tests with the live kernel are not skipped in silence; no kernel is needed here."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import live

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "live-tools.sh"
INSIDE = """\
from support import live
import pytest

pytestmark = pytest.mark.live


def test_runs():
    pass


def test_lacks_a_program():
    live.needs_programs(["iperf3"])


def test_lacks_a_kernel():
    live.needs_host(["BTF: /sys/kernel/btf/vmlinux is missing"])
"""


def session(tmp_path, *words, required=False):
    shutil.copytree(ROOT / "tests" / "support", tmp_path / "support", dirs_exist_ok=True)
    shutil.copyfile(ROOT / "tests" / "conftest.py", tmp_path / "conftest.py")
    (tmp_path / "test_inside.py").write_text(INSIDE, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = live\n", encoding="utf-8")
    environment = {key: value for key, value in os.environ.items() if key != live.REQUIRED}
    environment |= {live.REQUIRED: "1"} if required else {}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)


def test_the_last_line_says_what_ran_and_why_not(tmp_path):
    done = session(tmp_path)
    assert done.returncode == 0, done.stdout
    reasons = "iperf3 is missing (1); BTF: /sys/kernel/btf/vmlinux is missing (1)"
    assert done.stdout.splitlines()[-1] == f"kernel tests: ran 1 / skipped 2, because {reasons}"
    assert "kernel tests" not in session(tmp_path, "-m", "not live").stdout


def test_where_programs_are_required_a_missing_one_fails_and_a_missing_kernel_does_not(tmp_path):
    done = session(tmp_path, required=True)
    assert done.returncode == 1
    assert "iperf3 is missing; scripts/live-tools.sh installs it" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("kernel tests: ran 2 / skipped 1, because BTF")


def test_every_live_test_says_what_it_lacks_in_these_ways():
    for name in ("kernel/test_kernel_live.py", "kernel/test_int_live.py", "testbed/test_testbed_live.py"):
        skips = [line for line in (ROOT / "tests" / name).read_text().splitlines() if "pytest.skip(" in line]
        assert not any("missing" in line or "clang" in line for line in skips), skips


def test_what_is_missing_is_installed_once_or_named(tmp_path):
    programs = ["ip", "tc", "clang", "cc", "unshare", "chrt", "setpriv"]
    for name in programs:
        (tmp_path / name).symlink_to("/bin/true")
    for name in ("sort", "tr", "id", "sh", "echo"):
        (tmp_path / name).symlink_to(shutil.which(name))
    headers = tmp_path / "bpf_helpers.h"
    apt = tmp_path / "apt-get"
    apt.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n', encoding="utf-8")
    apt.chmod(0o755)
    # The script itself looks into the directories of the system, too.
    text = SCRIPT.read_text("utf-8").replace('PATH="$PATH:/usr/sbin:/sbin"', "")
    (tmp_path / "script").write_text(text, encoding="utf-8")

    def run():
        environment = {"PATH": str(tmp_path), "HEADERS": str(headers)}
        return subprocess.run(
            ["/bin/sh", "script"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    done = run()
    assert done.returncode == 1
    if os.geteuid() == 0:
        update, install = (tmp_path / "asked").read_text().splitlines()
        assert update == "update -qq"
        assert install.startswith("install ") and install.endswith("--no-install-recommends iperf3 libbpf-dev")
        assert f"still missing: iperf3 {headers}" in done.stderr
    else:
        assert "not root on Debian" in done.stderr and "iperf3 libbpf-dev" in done.stderr
    (tmp_path / "iperf3").symlink_to("/bin/true")
    headers.touch()
    done = run()
    assert (done.returncode, done.stdout) == (0, "kernel tests: all programs are there\n")


@pytest.mark.parametrize("name", ["live-tools.sh"])
def test_ci_installs_and_requires_them(name):
    text = (ROOT / ".ci" / "run").read_text("utf-8")
    assert f"scripts/{name}" in text and f"export {live.REQUIRED}=1" in text
    assert os.access(ROOT / "scripts" / name, os.X_OK)
