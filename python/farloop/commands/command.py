"""Behaviour that all commands share: they end with a message and an exit code, not with a traceback, and print JSON alike."""

from __future__ import annotations

import functools
import json
import re
import signal
import sys
from collections.abc import Callable, Mapping
from typing import NoReturn, ParamSpec, TypeVar

import typer

from farloop import _native
from farloop.errors import FarloopError, InvariantError, clip_text
from farloop.messages import Stopped, end_without_memory, is_out_of_memory, notes, printable, say

EXIT_INVARIANT = 1
EXIT_DIFFERENT = 1
"""Two outputs differ: as `diff` and `cmp` say it."""
EXIT_USAGE = 2
EXIT_IMPRECISE = 3
"""All was simulated, but the precision of `farloop sweep --until` was not reached within the limit of seeds."""

P = ParamSpec("P")
R = TypeVar("R")


def handle_errors(command: Callable[P, R]) -> Callable[P, R]:
    """Turns errors into a message on standard error and an exit code."""

    @functools.wraps(command)
    def run_guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except InvariantError as error:
            _fail(error, EXIT_INVARIANT)
        except (FarloopError, _native.ScenarioError) as error:
            _fail(error, EXIT_USAGE, _option_of_algorithms(kwargs))
        except KeyboardInterrupt as error:
            # Of an algorithm in Python: signals raise `Stopped`. Typer would end without a word.
            stopped = Stopped(signal.SIGINT)
            for text in getattr(error, "__notes__", []):
                stopped.add_note(text)
            raise stopped from None
        except UnicodeEncodeError as error:
            # Bytes of a command line that are no UTF-8, which Python carries as surrogates.
            _fail(FarloopError(f"{clip_text(ascii(error.object))}: is not UTF-8 text; expected that"), EXIT_USAGE)
        except (SystemExit, GeneratorExit) as error:
            # No command ends itself like this: what it was to write is not there, whatever code comes with it.
            _fail(
                FarloopError(f"ended by {type(error).__name__} before it was done; nothing was written"), EXIT_INVARIANT
            )
        except OverflowError as error:
            # Numbers of Python have no end; the simulator's have.
            _fail(FarloopError(f"a number is too large: {error}"), EXIT_USAGE)
        except RecursionError:
            _fail(FarloopError("a file nests too deeply; expected fewer brackets in one another"), EXIT_USAGE)
        except (MemoryError, RuntimeError, ImportError, SystemError) as error:
            if not is_out_of_memory(error):
                raise
            end_without_memory()

    return run_guarded


def _option_of_algorithms(options: Mapping[str, object]) -> str:
    """Returns the option that names algorithms, of those that the user gave; the key of scenarios sets the same as `--set`."""
    given = (name for name in ("algorithms", "candidates", "algorithm") if options.get(name))
    return next((f"--{name}" for name in given), "--set: algorithm.name")


def _fail(error: BaseException, code: int, algorithms: str = "") -> NoReturn:
    # The argument `set` of functions is an option here, and so are names of algorithms.
    message = str(error)
    if algorithms:
        message = re.sub("^set: algorithm.name: (?=there is no algorithm)", f"{algorithms}: ", message)
    message = re.sub("^set: ", "--set: ", message)
    say(f"farloop: {message}" if "\n" not in message else message)
    if note := notes(error):
        say(f"farloop: {note}")
    raise typer.Exit(code)


def print_line(text: str) -> None:
    """Prints a line for people."""
    typer.echo(printable(text))


def print_json(content: object) -> None:
    """Prints JSON, in ASCII where standard output is not UTF-8; what a terminal would obey is escaped, as JSON can."""
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(content, indent=2, ensure_ascii=not unicode)
    typer.echo("".join(c if len(printable(c)) == 1 else json.dumps(c)[1:-1] for c in text))


def print_file(text: str) -> None:
    """Prints what is to become a file of a format that is UTF-8 wherever it is written."""
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(text)
    else:
        buffer.write(text.encode("utf-8"))
        buffer.flush()


def ready_to_draw(report: bool) -> None:
    """Before anything loads matplotlib."""
    if report:
        from farloop.views.figures.loading import load_without_help

        load_without_help()
