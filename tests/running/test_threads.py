"""A default that costs nothing: threads that are not asked for never make a run much slower, also where somebody else is busy.

The bounds are wide, for machines that run tests are shared; scripts/threads.py measures.
"""

import contextlib
import statistics
import subprocess
import sys
import time

import pytest

import farloop
from farloop import _native
from farloop.experiments.threads import Job, simulate

SMALL_RUN = "50ms"
"""A sixth of a second on one thread."""

LARGER = "300ms"
"""A second and more: long enough to be cut where processors are free."""


BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    for _ in range(100_000): pass"
"""Ends with the process that started it, however that ends."""


@contextlib.contextmanager
def busy(loops):
    processes = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(loops)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def seconds(command, duration, *threads):
    """Wall time of a run."""
    run = ["run", "gear/fig09", "--set", f"run.duration={duration}", "--no-report", "--quiet", "--out", "out"]
    begin = time.monotonic()
    done = command(*run, *threads)
    assert done.returncode == 0, done.stderr
    return time.monotonic() - begin


@pytest.mark.long
@pytest.mark.parametrize(("duration", "loops", "repeats"), [(SMALL_RUN, 2, 3), (LARGER, 0, 1)])
def test_the_default_is_not_slower_than_one_thread(command, duration, loops, repeats):
    with busy(loops):
        rounds = [(seconds(command, duration, "--threads", "1"), seconds(command, duration)) for _ in range(repeats)]
    single, default = (statistics.median(column) for column in zip(*rounds, strict=True))
    assert default < 2 * single + 0.3, rounds


@pytest.mark.long
def test_two_threads_that_are_asked_for_get_along_with_others(command):
    """Each waits for the other at 10,000 borders: who spins or yields there waits for the others' slices, hundreds of times as long."""
    with busy(2):
        rounds = [[seconds(command, SMALL_RUN, "--threads", threads) for threads in "12"] for _ in range(3)]
    single, double = (statistics.median(column) for column in zip(*rounds, strict=True))
    assert double < 4 * single + 1, rounds


@pytest.fixture
def asked(on_scenario):
    """What the simulator is asked for: (threads, as many as pay)."""
    asked = []

    def run(real, progress, threads, trace, auto):
        asked.append((threads, auto))
        return real(progress, threads, trace, auto)

    on_scenario(run)
    return asked


def test_a_number_of_threads_is_told_apart_from_none(small, asked, monkeypatch):
    monkeypatch.setattr("farloop.experiments.threads.default_threads", lambda: 4)
    farloop.run(small)
    farloop.run(small, threads=4)
    simulate([Job("a", farloop.Scenario.load(small))], threads=1)
    assert asked == [(4, True), (4, False), (1, False)]


def test_no_more_simulations_run_side_by_side_than_there_are_threads(small, on_scenario):
    running, most = [], []

    def run(real, *arguments):
        running.append(real)
        most.append(len(running))
        time.sleep(0.2)
        result = real(*arguments)
        running.remove(real)
        return result

    on_scenario(run)
    scenario = farloop.Scenario.load(small)
    simulate([Job(str(seed), scenario.override(seed=seed)) for seed in range(6)], threads=2)
    assert len(most) == 6
    assert max(most) <= 2


def test_threads_of_a_benchmark_are_told_apart_too(monkeypatch):
    from farloop.commands import bench
    from farloop.running.progress import Silent

    asked = []
    monkeypatch.setattr(_native, "bench", lambda *arguments: asked.append(arguments[2:]) or '{"cases": []}')
    monkeypatch.setattr("farloop.experiments.threads.default_threads", lambda: 4)
    for threads in (None, 4):
        bench.measure(["D1"], Silent(), threads=threads)
    assert asked == [(4, True), (4, False)]
