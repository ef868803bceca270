"""Algorithms in Python: a class whose objects control flows, for ideas that are to run before lunch.

>>> from farloop.algorithm import Algorithm, parameter
>>> class Halver(Algorithm):
...     '''Half the window for each round trip with a mark.'''
...
...     needs = {"ecn", "accurate_ecn"}
...     keep = parameter(0.5, "What a mark leaves of the window.", low=0.0, high=1.0)
...
...     def start(self, flow):
...         self.mss, self.cwnd, self.cut_until = flow.mss, flow.initial_cwnd or flow.bdp, 0
...
...     def on_ack(self, ctx, ack):
...         if not ack.ecn_echo:
...             self.cwnd += self.mss * ack.acked / self.cwnd
...         elif ack.ack_seq > self.cut_until:
...             self.cwnd, self.cut_until = max(self.mss, self.keep * self.cwnd), ack.snd_nxt

`farloop.run(SCENARIO, algorithm=Halver)` uses it, and so does `farloop run SCENARIO --algorithm-file FILE` where something calls it by
its name. All quantities are whole numbers: times in picoseconds (`_ps`), sizes in bytes, rates in bit/s. docs/python-algorithms.md says
which handlers there are.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import os
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, ClassVar, NoReturn

from farloop import _native
from farloop._native import Ack, Context, Flow, Hop, Loss, Sent
from farloop.errors import FarloopError, clip_text, nearest
from farloop.messages import Stopped

__all__ = ["Ack", "Algorithm", "AlgorithmError", "Context", "Flow", "Hop", "Loss", "Sent", "parameter", "torture"]

NEEDS = ("ecn", "int", "accurate_ecn", "delivery_rate", "even_pacing")
"""Needs of a class: ECN marks; telemetry; every mark echoed as it came; delivery rates, which TCP alone measures; packets paced
one by one."""

_SIGNATURES = {
    "start": "start(self, flow)",
    "on_ack": "on_ack(self, ctx, ack)",
    "on_established": "on_established(self, rtt_ps)",
    "on_start": "on_start(self, ctx)",
    "on_send": "on_send(self, ctx, sent)",
    "on_loss": "on_loss(self, ctx, loss)",
    "on_idle_restart": "on_idle_restart(self, ctx, times)",
    "on_timer": "on_timer(self, ctx, number)",
}

HANDLERS = ("on_established", "on_start", "on_send", "on_loss", "on_idle_restart", "on_timer")
"""Handlers that a class may have, besides `start` and `on_ack`."""

MAX_ERROR_LENGTH = 300
"""Characters of an exception's text that a message repeats."""

_QUANTITIES = {"time": r"ps|ns|us|ms|s", "bytes": r"k?B|MB|GB|TB", "rate": r"[kMGT]?bps"}


CONTENT = "__farloop_content__"
"""Of the module of a loaded file: the bytes that were run."""


class AlgorithmError(FarloopError):
    """A class is no algorithm, or one of its handlers failed; the text names file and line."""


class Interrupted(BaseException):
    """Raised in a handler that does not return after the user has interrupted the run."""


class Algorithm:
    """Base class of algorithms.

    Attributes:
        name: Name in scenarios; by default the class's name in lower case.
        source: Where it is specified.
        needs: Features that the network must offer, of `NEEDS`.
        header_bytes: Bytes that it adds to the header of every data packet and ACK.
        random: True if it draws random numbers (`Context.random`).
        cwnd: Window in bytes of payload; `None` for no limit. Read after every handler.
        pacing_rate: Bit/s on the wire, headers included; `None` for no limit. Read after every handler.
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    needs: ClassVar[Iterable[str]] = ()
    header_bytes: ClassVar[int] = 0
    random: ClassVar[bool] = False
    cwnd: float | None = None
    pacing_rate: float | None = None

    def start(self, flow: Flow) -> None:
        """A flow starts: this object controls it, and its parameters are attributes already."""

    def on_ack(self, ctx: Context, ack: Ack) -> None:
        """An acknowledgement has arrived."""
        raise NotImplementedError("expected on_ack(self, ctx, ack)")


@dataclass(frozen=True)
class Parameter:
    """A declared parameter; on objects the attribute is its value."""

    default: bool | float | str
    doc: str
    low: float | str | None
    high: float | str | None
    choices: tuple[str, ...]

    @property
    def kind(self) -> str:
        """As `farloop explain` calls it."""
        if isinstance(self.default, bool):
            return "bool"
        if isinstance(self.default, int):
            return "integer"
        if isinstance(self.default, float):
            return "float"
        if self.choices:
            return "choice"
        kinds = [k for k, units in _QUANTITIES.items() if re.fullmatch(rf"[0-9.]+ *({units})", self.default)]
        return kinds[0] if kinds else "text"


def parameter(
    default: bool | float | str,
    doc: str,
    *,
    low: float | str | None = None,
    high: float | str | None = None,
    choices: Sequence[str] = (),
) -> Any:
    """Declares a parameter of an algorithm, which scenarios set as they set others: `[algorithm.NAME]`.

    Args:
        default: Its value where none is set. A text with a unit, such as "25us", "10kB" or "1Gbps", makes a time, a size or a rate: on
            objects a whole number of picoseconds, bytes or bit/s.
        doc: Its meaning, for `farloop explain`.
        low: The smallest value that is accepted.
        high: The largest one.
        choices: The words that are accepted, for a text.
    """
    return Parameter(default, doc, low, high, tuple(choices))


def describe_class(algorithm: type[Algorithm]) -> dict[str, Any]:
    """A class as the simulator needs it.

    Raises:
        AlgorithmError: it is no algorithm; the text names file and line.
    """
    try:
        return _describe(algorithm)
    except AlgorithmError:
        raise
    except BaseException as error:
        # Code of the class's own runs here, too: of a metaclass, of what stands for `needs`.
        _refuse(error, f"{_place(algorithm)}: {algorithm.__name__}")


def _describe(algorithm: type[Algorithm]) -> dict[str, Any]:
    place = _place(algorithm)

    def refuse(problem: str) -> AlgorithmError:
        return AlgorithmError(f"{place}: {algorithm.__name__}: {problem}")

    if algorithm.on_ack is Algorithm.on_ack:
        raise refuse("has no on_ack; expected on_ack(self, ctx, ack)")
    for name in ("start", "on_ack", *HANDLERS):
        if hasattr(algorithm, name) and not callable(getattr(algorithm, name)):
            value = clip_text(repr(getattr(algorithm, name)))
            raise refuse(f"{name} is {value}; expected a method, {_SIGNATURES[name]}")
    for name in dir(algorithm):
        if name.startswith("on_") and name not in (*HANDLERS, "on_ack"):
            raise refuse(f"{name} is no handler; {nearest(name, (*HANDLERS, 'on_ack'))}")
    needs = _needs(algorithm, refuse)
    for name in ("name", "source"):
        if not isinstance(getattr(algorithm, name), str):
            raise refuse(f"{name} is {clip_text(repr(getattr(algorithm, name)))}; expected a text in quotes")
    if not isinstance(algorithm.random, bool):
        raise refuse(f"random is {clip_text(repr(algorithm.random))}; expected True or False")
    if (
        isinstance(algorithm.header_bytes, bool)
        or not isinstance(algorithm.header_bytes, int)
        or not 0 <= algorithm.header_bytes < 1000
    ):
        raise refuse(
            f"header_bytes is {clip_text(repr(algorithm.header_bytes))}; expected a whole number from 0 to 999"
        )
    params = {
        name: value
        for base in reversed(algorithm.__mro__)
        for name, value in vars(base).items()
        if isinstance(value, Parameter)
    }
    for name, given in params.items():
        if not isinstance(given.default, bool | int | float | str):
            raise refuse(
                f"parameter {name}: the default is {clip_text(repr(given.default))}; expected a number, a text, True or False"
            )
        if not isinstance(given.doc, str):
            raise refuse(
                f"parameter {name}: the description is {clip_text(repr(given.doc))}; expected a text in quotes"
            )
    doc = (inspect.getdoc(algorithm) or "").strip()
    return {
        "class": algorithm,
        "name": algorithm.name or algorithm.__name__.lower(),
        "summary": doc.partition("\n")[0] or algorithm.__name__,
        "source": algorithm.source
        or os.fsencode(Path(place.rpartition(":")[0]).name).decode("utf-8", "backslashreplace"),
        "needs": needs,
        "header_bytes": algorithm.header_bytes,
        "random": bool(algorithm.random),
        "handles": [name for name in HANDLERS if hasattr(algorithm, name)],
        "params": [
            {
                "name": name,
                "doc": p.doc,
                "kind": p.kind,
                "default": p.default,
                "low": p.low,
                "high": p.high,
                "choices": list(p.choices),
            }
            for name, p in params.items()
        ],
    }


def _needs(algorithm: type[Algorithm], refuse: Callable[[str], AlgorithmError]) -> list[str]:
    given: object = algorithm.needs
    needs = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else None
    if needs is None:
        raise refuse(f"needs is {clip_text(repr(given))}; expected a set of texts; there is {', '.join(NEEDS)}")
    for need in needs:
        if need not in NEEDS:
            raise refuse(f"needs {clip_text(repr(need))}; {nearest(str(need), NEEDS)}")
    return [str(need) for need in needs]


def check_class(algorithm: object) -> type[Algorithm]:
    """A class that the simulator takes.

    Raises:
        AlgorithmError: it is none, or no algorithm.
    """
    if not isinstance(algorithm, type) or not issubclass(algorithm, Algorithm):
        raise AlgorithmError(f"{clip_text(repr(algorithm))}: expected a class derived from farloop.algorithm.Algorithm")
    description = describe_class(algorithm)
    try:
        _native.class_names([description])
    except (TypeError, OverflowError) as error:
        raise AlgorithmError(f"{_place(algorithm)}: {algorithm.__name__}: {_exception_text(error)}") from None
    except ValueError as error:
        raise AlgorithmError(
            f"{_place(algorithm)}: {algorithm.__name__}: {clip_text(error, MAX_ERROR_LENGTH)}"
        ) from None
    return algorithm


def torture(algorithm: type[Algorithm], sequences: int = 100) -> str:
    """Holds an algorithm to farloop's own rules: for any signals in any order, window and rate stay usable and no handler fails.

    Args:
        algorithm: The class.
        sequences: Number of random sequences of 200 signals that its objects get, inside a datacenter and across.

    Returns:
        A sentence that says what the class has withstood.

    Raises:
        AlgorithmError: a handler failed, or left no usable window or rate; the text names file and line.
    """
    description = describe_class(check_class(algorithm))
    try:
        _native.torture(description, sequences)
    except _native.HandlerError as error:
        raise explain_failure(error, [algorithm]) from error.__cause__
    often = "sequence" if sequences == 1 else "sequences"
    return f"{description['name']}: {sequences:,} random {often} of 200 signals inside and across, and no unusable window or rate"


def name_of(algorithm: type[Algorithm]) -> str:
    """Returns the name of a class in scenarios."""
    return str(describe_class(algorithm)["name"])


def load(path: Path | str) -> list[type[Algorithm]]:
    """The algorithms that a file of Python defines, in their order.

    Raises:
        AlgorithmError: the file cannot be read or run, defines none, or two of one name.
    """
    path = Path(path)
    if not os.path.isfile(path):  # noqa: PTH113, it never raises
        what = "is not a regular file" if os.path.lexists(path) else "no such file"
        raise AlgorithmError(
            f"{clip_text(path, 300)}: {what}; expected Python with a class derived from farloop.algorithm.Algorithm"
        )
    if path.suffix != ".py":
        raise AlgorithmError(f"{clip_text(path)}: expected a file of Python, whose name ends in .py")
    module = _run_file(path)
    defined = [
        v
        for v in vars(module).values()
        if isinstance(v, type) and issubclass(v, Algorithm) and v.__module__ == module.__name__
    ]
    defined = [v for v in defined if not v.__name__.startswith("_")]
    if not defined:
        raise AlgorithmError(f"{path}: defines no algorithm; expected a class derived from farloop.algorithm.Algorithm")
    classes = [check_class(v) for v in defined]
    _refuse_redefined(path, {class_.__name__ for class_ in classes})
    refuse_twins(classes)
    return classes


def refuse_twins(classes: Iterable[type[Algorithm]]) -> None:
    """Refuses two classes of one name, of which only one would run.

    A class that is defined anew, as in a notebook's cell, is no twin of the older one.

    Raises:
        AlgorithmError: there are two; the text names both places.
    """
    known: dict[str, type[Algorithm]] = {}
    for class_ in classes:
        other = known.setdefault(name_of(class_), class_)
        if (class_.__module__, class_.__qualname__) != (other.__module__, other.__qualname__):
            raise AlgorithmError(
                f'{_place(class_)}: {class_.__name__}: has the name "{clip_text(name_of(class_))}", '
                f"as {other.__name__} has ({_place(other)}); "
                "expected another `name`"
            )


def _refuse_redefined(path: Path, names: set[str]) -> None:
    """Two classes of one name in a file, of which Python keeps the second."""
    lines: dict[str, int] = {}
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.ClassDef) and node.name in names:
            if node.name in lines:
                raise AlgorithmError(
                    f"{path}:{node.lineno}: {node.name}: is defined twice, first in line {lines[node.name]}; expected another name"
                )
            lines[node.name] = node.lineno


def _run_file(path: Path) -> ModuleType:
    # A name of its own, so that two files of one name do not meet.
    name = f"farloop_algorithm_{hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:12]}"
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    try:
        # Not imported: no compiled file beside the user's, and none that is older than it.
        content = path.read_bytes()
        code = compile(content, str(path), "exec")
    except OSError as error:
        raise AlgorithmError(f"{path}: cannot be read: {error.strerror or error}") from None
    except SyntaxError as error:
        raise AlgorithmError(
            f"{path}:{error.lineno}: {clip_text(error.msg, MAX_ERROR_LENGTH)}; expected Python"
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise AlgorithmError(f"{path}: {_exception_text(error)}; expected Python") from None
    setattr(module, CONTENT, content)
    try:
        exec(code, vars(module))
    except BaseException as error:
        _refuse(error, _line(error, [str(path)]) or str(path))
    return module


def _refuse(error: BaseException, place: str) -> NoReturn:
    """User code raised something, be it what ends a process: `sys.exit(0)` would end this one as if all were done.

    Raises:
        AlgorithmError: with the place; an interrupt goes on as it is.
    """
    if isinstance(error, KeyboardInterrupt | Stopped):
        raise error
    raise AlgorithmError(f"{place}: {_exception_text(error)}") from error


def explain_failure(failed: _native.HandlerError, algorithms: Iterable[type[Algorithm]]) -> AlgorithmError:
    """Returns an error that says what went wrong in a handler, with the line of the user's file.

    Raises:
        KeyboardInterrupt: nothing went wrong; the user has interrupted it.
    """
    error = failed.__cause__
    assert error is not None
    if isinstance(error, KeyboardInterrupt | Stopped):
        raise error
    classes = list(algorithms)
    handler = str(getattr(error, "handler", ""))
    for algorithm in classes if handler else []:
        code = getattr(getattr(algorithm, handler, None), "__code__", None)
        if str(error).startswith(f"{algorithm.__name__}.") and code is not None:
            return AlgorithmError(f"{code.co_filename}:{code.co_firstlineno}: {clip_text(error, MAX_ERROR_LENGTH)}")
    line = _line(error, sorted({file for algorithm in classes for file in _files(algorithm)}))
    return AlgorithmError(f"{line or _place(classes[0])}: {_exception_text(error)}")


def _exception_text(error: BaseException) -> str:
    """Returns the message of an exception of user code: on one line, of bearable length, also where its `__str__` fails."""
    try:
        text = clip_text(error, MAX_ERROR_LENGTH)
    except Exception:
        text = ""
    name = clip_text(type(error).__name__)
    return f"{name}: {text}" if text else name


def interrupt(classes: Iterable[type[Algorithm]]) -> None:
    """Raises `Interrupted` in all threads that are in a handler of these classes.

    A thread that waits in C code, as in `time.sleep`, does not notice.
    """
    import ctypes

    files = {file for algorithm in classes for file in _files(algorithm)}
    for thread, top in sys._current_frames().items():
        frame = top
        while frame is not None and frame.f_code.co_filename not in files:
            frame = frame.f_back  # type: ignore[assignment]
        if frame is not None and thread != threading.get_ident():
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Interrupted))


def by_scope(name: str) -> tuple[str, ...]:
    """The algorithms that a name stands for: one, or of a pair such as "dctcp/bbr" that of flows inside a datacenter and that across."""
    return tuple(dict.fromkeys(name.split("/")))


def find_unused(classes: Iterable[type[Algorithm]], scenario: dict[str, Any], names: Iterable[str] = ()) -> list[str]:
    """Returns notes on algorithms that neither the resolved scenario nor the command names."""
    names_in_use = {*(side for name in names for side in by_scope(name)), *list_named(scenario)}
    return [
        f"nothing names {name}; `--algorithm {name}` lets all flows use it"
        for class_ in classes
        if (name := name_of(class_)) not in names_in_use
    ]


def list_named(scenario: dict[str, Any]) -> set[str]:
    """The algorithms that a resolved scenario names, but for those in the files that it reads."""
    names_in_use: set[str | None] = set()
    for part in ("algorithm", "workload", "flow", "job", "case"):
        entries = scenario.get(part, [])
        for table in entries if isinstance(entries, list) else [entries]:
            names_in_use |= {table.get("name")} if part == "algorithm" else {table.get("algorithm")}
    return {side for name in names_in_use if name is not None for side in by_scope(name)}


def digest(algorithm: type[Algorithm]) -> str:
    """Returns a hash of a class's behaviour: of its file, where it has one, and of what its functions compile to."""
    sha = hashlib.sha256(name_of(algorithm).encode())
    for base in algorithm.__mro__:
        if base in (Algorithm, object):
            continue
        for name, value in sorted(vars(base).items()):
            if name.startswith("__") and name.endswith("__") and name != "__init__":
                continue
            sha.update(name.encode())
            sha.update(_code_text(value).encode())
    file = Path(_file(algorithm))
    if file.is_file():
        sha.update(file.read_bytes())
    return sha.hexdigest()


def _code_text(value: object) -> str:
    if isinstance(value, FunctionType):
        return _code_text(value.__code__) + repr(value.__defaults__)
    if isinstance(value, CodeType):
        return f"{value.co_code.hex()}{''.join(map(_constant, value.co_consts))}{value.co_names}"
    return repr(value) if isinstance(value, bool | int | float | str | tuple | Parameter) else type(value).__name__


def _constant(value: object) -> str:
    """A constant of a function. The order of a set is another one in every process."""
    if isinstance(value, CodeType):
        return _code_text(value)
    return f"{{{', '.join(sorted(map(repr, value)))}}}" if isinstance(value, frozenset) else repr(value)


def file_of(algorithm: type[Algorithm]) -> Path:
    """The file from which other processes can load a class.

    Raises:
        AlgorithmError: there is none: it was written in a notebook's cell, at a prompt, or in the script that runs.
    """
    path = Path(_file(algorithm))
    problem = "is in no file that other processes could load"
    if algorithm.__module__ == "__main__" and path.is_file():
        problem = "is in the script that runs, which every process would run again"
    elif path.is_file() and any(
        name_of(class_) == name_of(algorithm) and digest(class_) == digest(algorithm) for class_ in load(path)
    ):
        return path
    raise AlgorithmError(
        f"{algorithm.__name__}: {problem}; expected a class in a file of its own, as algorithm_file names one"
    )


def source_of(algorithm: type[Algorithm]) -> Path | None:
    """The file of Python that a class is written in; `None` at a prompt, in a notebook, and in the script that runs."""
    path = Path(_file(algorithm))
    return path if algorithm.__module__ != "__main__" and path.suffix == ".py" and path.is_file() else None


def _file(algorithm: type[Algorithm]) -> str:
    code = getattr(getattr(algorithm, "on_ack", None), "__code__", None)
    if code is not None:
        return str(code.co_filename)
    return str(getattr(sys.modules.get(algorithm.__module__), "__file__", None) or algorithm.__module__)


def _files(algorithm: type[Algorithm]) -> set[str]:
    """Where what a class does is written, its own and what it has of others."""
    own = [base for base in algorithm.__mro__ if base not in (Algorithm, object)]
    functions = [value for base in own for value in vars(base).values() if isinstance(value, FunctionType)]
    return {_file(algorithm), *(function.__code__.co_filename for function in functions)}


def _place(algorithm: type[Algorithm]) -> str:
    """File and line of a class, as well as they are known."""
    try:
        return f"{inspect.getsourcefile(algorithm) or _file(algorithm)}:{inspect.getsourcelines(algorithm)[1]}"
    except (OSError, TypeError):
        code = getattr(getattr(algorithm, "on_ack", None), "__code__", None)
        return f"{_file(algorithm)}:{code.co_firstlineno}" if code is not None else _file(algorithm)


def _line(error: BaseException, files: Sequence[str]) -> str:
    """The last line of one of these files that an error passed; empty where there is none."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename in files]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
