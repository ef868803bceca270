"""The command in the process of the tests: the same entry, exit code and output as a process of its own, without the time to start one.

What a command leaves in a process, the next test must not see; what the tests have put there, the command must not see. So `run` gives the
command what a new process has, and puts everything back.
"""

import contextlib
import copy
import faulthandler
import gc
import logging
import os
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from farloop import __main__, _native

TIMEOUT = 600
"""Seconds after which a command counts as one that never ends; a machine with other work may be slow."""


class Overtime(BaseException):
    """The command has not ended by itself."""


class ImmediateExit(BaseException):
    """The command has ended its process at once, by `os._exit`."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def run(arguments: tuple[str, ...], directory: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Runs `python -m farloop` with these arguments, in this directory and with these variables of the environment."""
    argv = [str(Path(__main__.__file__)), *arguments]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with contextlib.ExitStack() as stack:
            for state in (
                _signals(),
                _collector(),
                _environment(environment),
                _directory(directory),
                _modules(argv, directory),
                _loggers(),
                _settings_of_matplotlib(),
                _exits(),
                _streams(out, err),
                _warnings(),
            ):
                stack.enter_context(state)
            code = _exit_code()
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8").replace("\r\n", "\n").replace("\r", "\n"))
    return subprocess.CompletedProcess([sys.executable, "-m", "farloop", *arguments], code, *texts)


def _exit_code() -> int:
    try:
        __main__.main()
    except ImmediateExit as end:
        return end.code
    except Overtime:
        raise subprocess.TimeoutExpired(sys.argv, TIMEOUT) from None
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        sys.stderr.write(f"{end.code}\n")
        return 1
    except Exception:
        # As the interpreter does at its end.
        traceback.print_exc()
        return 1
    return 0


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (*__main__.SIGNALS, signal.SIGALRM)}
    # A shell starts its background jobs with interrupts ignored, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(TIMEOUT)
    # Compiled code hears no signal: then the whole process ends.
    faulthandler.dump_traceback_later(TIMEOUT + 60, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.alarm(0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _give_up(_number: int, _frame: object) -> None:
    raise Overtime


@contextlib.contextmanager
def _collector() -> Iterator[None]:
    threshold, enabled = gc.get_threshold(), gc.isenabled()
    gc.enable()
    try:
        yield
    finally:
        gc.set_threshold(*threshold)
        (gc.enable if enabled else gc.disable)()


@contextlib.contextmanager
def _environment(more: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update({"NO_COLOR": "1"} | more)
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        for name, value in before.items():
            if os.environ.get(name) != value:
                os.environ[name] = value


@contextlib.contextmanager
def _directory(directory: Path) -> Iterator[None]:
    # By its descriptor: the test may have removed it.
    before = os.open(".", os.O_RDONLY)
    os.chdir(directory)
    try:
        yield
    finally:
        os.fchdir(before)
        os.close(before)


@contextlib.contextmanager
def _modules(argv: list[str], directory: Path) -> Iterator[None]:
    """Modules of the test's own files are forgotten: the next test may have others at the same place.

    The command does not see the algorithms that a test before has loaded from files.
    """
    of_files = {name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith("farloop_algorithm_")}
    argv_before, path, finders, known = sys.argv, list(sys.path), list(sys.meta_path), set(sys.modules)
    sys.argv = argv
    sys.path.insert(0, str(directory))
    try:
        yield
    finally:
        sys.argv, sys.path[:], sys.meta_path[:] = argv_before, path, finders
        installed = tuple({sys.prefix, sys.base_prefix, str(Path(__main__.__file__).parent)})
        for name in set(sys.modules) - known:
            file = getattr(sys.modules[name], "__file__", None)
            if file is not None and not file.startswith(installed):
                del sys.modules[name]
        sys.modules.update(of_files)


@contextlib.contextmanager
def _loggers() -> Iterator[None]:
    root = logging.getLogger()
    named = [logger for logger in logging.root.manager.loggerDict.values() if isinstance(logger, logging.Logger)]
    before = [
        (logger, logger.level, list(logger.handlers), logger.propagate, logger.disabled) for logger in (root, *named)
    ]
    # Those of pytest; without any, warnings go to standard error.
    root.handlers[:] = []
    try:
        yield
    finally:
        for logger, level, handlers, propagate, disabled in before:
            logger.setLevel(level)
            logger.handlers[:] = handlers
            logger.propagate, logger.disabled = propagate, disabled


@contextlib.contextmanager
def _settings_of_matplotlib() -> Iterator[None]:
    loaded = sys.modules.get("matplotlib")
    before = None if loaded is None else dict.copy(loaded.rcParams)
    try:
        yield
    finally:
        if loaded is not None and before is not None:
            dict.update(loaded.rcParams, copy.copy(before))


@contextlib.contextmanager
def _exits() -> Iterator[None]:
    """Nothing ends the process of the tests, and no signal of memory that is used up is caught in it."""
    process, real, signals = os.getpid(), os._exit, _native.end_without_memory

    def leave(code: int) -> None:
        if os.getpid() != process:
            real(code)
        raise ImmediateExit(code)

    os._exit = leave  # type: ignore[assignment]
    _native.end_without_memory = lambda: None
    try:
        yield
    finally:
        os._exit, _native.end_without_memory = real, signals


@contextlib.contextmanager
def _streams(out: IO[bytes], err: IO[bytes]) -> Iterator[None]:
    """Descriptors 0 to 2 and the streams of `sys`: compiled code and child processes write to the descriptors."""
    before = sys.stdin, sys.stdout, sys.stderr
    for stream in before[1:]:
        stream.flush()
    kept = [os.dup(number) for number in range(3)]
    with Path(os.devnull).open("rb") as nothing:
        for number, file in enumerate((nothing, out, err)):
            os.dup2(file.fileno(), number)
    # As the interpreter opens them where they are no terminals.
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    ours: list[Any] = [sys.stdout, sys.stderr]
    try:
        yield
    finally:
        for stream in ours:
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        sys.stdin, sys.stdout, sys.stderr = before
        for number, copied in enumerate(kept):
            os.dup2(copied, number)
            os.close(copied)


@contextlib.contextmanager
def _warnings() -> Iterator[None]:
    """The filters that the interpreter begins with; what they let through goes to standard error."""
    with warnings.catch_warnings():
        warnings.resetwarnings()
        for category in (ResourceWarning, ImportWarning, PendingDeprecationWarning, DeprecationWarning):
            warnings.simplefilter("ignore", category)
        warnings.filterwarnings("default", category=DeprecationWarning, module="__main__")
        warnings.showwarning = _show_warning
        yield


def _show_warning(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
    (file or sys.stderr).write(warnings.formatwarning(message, category, filename, lineno, line))
