"""`python -m farloop` is the `farloop` command. This file is light: an interrupt while the rest is imported must not end in a traceback."""

from __future__ import annotations

import gc
import os
import signal
import sys
import warnings
from types import FrameType

from farloop.messages import Stopped, end_without_memory, is_out_of_memory, notes, say
from farloop.running import pandas_guard

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Signals that ask the command to stop: the user, another process, a terminal that closes."""

WORDS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}


def main() -> None:
    """The `farloop` command."""
    handled = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    for number in handled:
        # Nothing has begun: there is nothing to tidy up.
        signal.signal(number, _leave)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
    # What cannot be written is replaced in texts for people; data are written as UTF-8 or as ASCII.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    # Most of what a short command makes is loaded modules, which no collection frees.
    gc.set_threshold(50_000, 20, 50)
    # Nothing here needs linear algebra; numpy would start a thread per processor for it.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Nor does anything here use Arrow's jemalloc, whose thread the C library ends the process for where little memory is left.
    os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")
    try:
        from farloop import _native

        pandas_guard.hide_pandas()
        from farloop.commands import app

        _native.end_without_memory()
    except (MemoryError, OSError, ImportError, RuntimeError, SystemError) as error:
        if not is_out_of_memory(error):
            raise
        end_without_memory()
    if not sys.warnoptions:
        # Of numpy, to who writes the arithmetic: a result says itself where it has no number.
        warnings.simplefilter("ignore", RuntimeWarning)
    for number in handled:
        signal.signal(number, _stop)
    code = 0
    try:
        code = app.run()
        sys.stdout.flush()
    except Stopped as stopped:
        code = end_command(stopped.number, notes(stopped))
    except KeyboardInterrupt as interrupted:
        code = end_command(signal.SIGINT, notes(interrupted))
    except BrokenPipeError:
        # The reader of a pipe went away, as `head` does.
        pass
    except (MemoryError, OSError, ImportError, RuntimeError, SystemError) as error:
        if is_out_of_memory(error):
            end_without_memory()
        if not isinstance(error, OSError):
            raise
        say(f"farloop: {error.filename or 'standard output'}: {error.strerror or error}")
        code = 2
    discard_output()
    having_threads = [sys.modules.get(f"farloop.{name}") for name in ("experiments.crew", "formats.job")]
    if any(module is not None and module.has_stray_thread() for module in having_threads):
        # A handler of an algorithm that never returns, or the reader of a job; all else is tidied up.
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _stop(number: int, _frame: FrameType | None) -> None:
    for other in SIGNALS:
        if signal.getsignal(other) == _stop:
            # Whoever asks a second time does not want to wait for the tidying up; the next command does it.
            signal.signal(other, _leave)
    raise Stopped(number)


def _leave(number: int, _frame: FrameType | None) -> None:
    # No next command would tidy up after these.
    if (named := sys.modules.get("farloop.safe_files.named_files")) is not None:
        named.remove_unfinished()
    say(f"farloop: {WORDS[signal.Signals(number).name]}")
    os._exit(128 + number)


def end_command(number: int, left: str) -> int:
    """Says why the command ends early, and what is left; the exit code."""
    say(f"farloop: {WORDS[signal.Signals(number).name]}; {left or 'nothing was written'}")
    return 128 + number


def discard_output() -> None:
    """Lets the interpreter's last flush of standard output go nowhere where it cannot go to its reader: it would complain."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
