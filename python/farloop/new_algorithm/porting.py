"""From a class of Python to the beginning of the same algorithm in Rust: parameters, needs, and tests that hold it to the class.

The body of a handler is not translated: its lines stand as comments where the same is to be done. All that needs no understanding of
them is written out, and a test has window and rate of the class after each of some random signals: it passes when all of it is done.
"""

from __future__ import annotations

import inspect
import json
import re
import shutil
import subprocess
import textwrap
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from types import FunctionType
from typing import Any

from farloop import _native
from farloop.algorithm import Algorithm, describe_class, explain_failure, load, name_of, torture
from farloop.errors import FarloopError, clip_text, nearest

SIGNALS = 60
"""Signals after which window and rate are recorded."""

SIGNATURES = {
    "on_established": "fn on_established(&mut self, _rtt: Delta)",
    "on_start": "fn on_start(&mut self, _ctx: &mut Ctx<'_>)",
    "on_send": "fn on_send(&mut self, _ctx: &mut Ctx<'_>, _sent: &Sent)",
    "on_ack": "fn on_ack(&mut self, _ctx: &mut Ctx<'_>, _ack: &Ack<'_>)",
    "on_loss": "fn on_loss(&mut self, _ctx: &mut Ctx<'_>, _loss: &Loss)",
    "on_idle_restart": "fn on_idle_restart(&mut self, _ctx: &mut Ctx<'_>, _idle: Delta, _rto: Delta)",
    "on_timer": "fn on_timer(&mut self, _ctx: &mut Ctx<'_>, _timer: TimerId)",
}
"""The handlers in Rust."""

_WANTS_ON_SEND = "\n    fn wants_on_send(&self) -> bool {\n        true\n    }\n"
"""Stands beside `on_send`, which endpoints call only where an algorithm wants it."""

_TYPES = {
    "bool": "bool",
    "integer": "u64",
    "float": "f64",
    "time": "Delta",
    "bytes": "Bytes",
    "rate": "Rate",
    "text": "String",
}

_SCALES = {
    "time": {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12},
    "bytes": {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12},
    "rate": {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12},
}
"""Of each kind of quantity its units in ps, B and bit/s."""

_MADE = {
    "time": {"Delta::from_secs": 10**12, "Delta::from_ms": 10**9, "Delta::from_us": 10**6, "Delta::from_ns": 10**3, "Delta::from_ps": 1},
    "bytes": {"Bytes::new": 1},
    "rate": {"Rate::from_gbps": 10**9, "Rate::from_mbps": 10**6, "Rate::from_bps": 1},
}  # fmt: skip
"""Constructors of a quantity in Rust, the largest unit first."""

RUST_WORDS = frozenset(
    [
        "abstract",
        "as",
        "async",
        "await",
        "become",
        "box",
        "break",
        "const",
        "continue",
        "crate",
        "do",
        "dyn",
        "else",
        "enum",
        "extern",
        "false",
        "final",
        "fn",
        "for",
        "gen",
        "if",
        "impl",
        "in",
        "let",
        "loop",
        "macro",
        "match",
        "mod",
        "move",
        "mut",
        "override",
        "priv",
        "pub",
        "ref",
        "return",
        "self",
        "static",
        "struct",
        "super",
        "trait",
        "true",
        "try",
        "type",
        "typeof",
        "unsafe",
        "unsized",
        "use",
        "virtual",
        "where",
        "while",
        "yield",
    ]
)
"""Words that mean something in Rust: no names for modules and fields."""


def choose_class(file: Path, name: str) -> type[Algorithm]:
    """The class of a file that is to become `name`: the one that is called so, or the only one.

    Raises:
        FarloopError: the file defines none, or several and none of this name.
    """
    classes = load(file)
    named = {name_of(class_): class_ for class_ in classes}
    if len(classes) > 1 and name not in named:
        raise FarloopError(
            f"{file}: defines {len(classes)} algorithms, none of them called {name}; {nearest(name, named)}"
        )
    return named.get(name, classes[0])


def port_class(algorithm: type[Algorithm], name: str, type_: str, template: str, *, api: str) -> str:
    """The Rust file of a class.

    Args:
        algorithm: The class.
        name: Name of the algorithm.
        type_: Name of its type.
        template: The file with places to fill in.
        api: Where the traits are: "crate" in farloop, "farloop_cc" elsewhere.

    Raises:
        FarloopError: the class has something that Rust cannot have, or fails under the signals that every algorithm must survive.
    """
    about = describe_class(algorithm)
    params = [_Param(algorithm, type_, param) for param in about["params"]]
    torture(algorithm, 10)
    handles = {"on_ack", "on_loss", *about["handles"]}
    handled = {signal: _comment_lines(algorithm, signal, 8) for signal in SIGNATURES if signal in handles}
    places = {
        "NAME": name,
        "TYPE": type_,
        "API": f"{api}::api" if api == "crate" else api,
        "TESTING": f"{api}::testing",
        "CLASS": algorithm.__name__,
        "FILE": Path(inspect.getfile(algorithm.on_ack)).name,
        "SUMMARY": _line(about["summary"]).rstrip("."),
        "SUMMARY_TEXT": _text(_line(about["summary"]).rstrip(".")),
        "SOURCE": _line(about["source"]),
        "SOURCE_TEXT": _text(_line(about["source"])),
        "NEEDS": "".join(f"{need}: true, " for need in about["needs"])
        + (f"header_bytes: {about['header_bytes']}, " if about["header_bytes"] else ""),
        "CHOICES": "".join(param.choice() for param in params),
        "PARAMS": "".join(param.write_declaration() for param in params),
        "STATE": ", ".join(_state(algorithm)) or "nothing",
        "START": _comment_lines(algorithm, "start", 8),
        "OWN": "".join(_comment_lines(algorithm, function, 0) for function in _list_own_functions(algorithm)),
        "HANDLERS": "".join(f"\n    {SIGNATURES[signal]} {{\n{body}    }}\n" for signal, body in handled.items())
        + (_WANTS_ON_SEND if "on_send" in handled else ""),
        "COUNT": str(len(params)),
        "DEFAULTS": _defaults(type_, params),
        "RECORDED": _recorded_test(algorithm, about, type_),
        "UNITS": "@UNITS@",
        "PARAM_UNITS": "{Params, Value}" if any(".set(" in param.write_test_lines() for param in params) else "Params",
    }
    text = re.sub(r"@(\w+)@", lambda place: places[place[1]], template)
    return format_rust(_imports(text))


class _Param:
    """A parameter in Rust."""

    def __init__(self, algorithm: type[Algorithm], type_: str, about: Mapping[str, Any]) -> None:
        self.name, self.doc, self.kind = str(about["name"]), _line(about["doc"]), str(about["kind"])
        self.default, self.low, self.high, self.words = about["default"], about["low"], about["high"], about["choices"]
        if self.name in RUST_WORDS:
            raise FarloopError(
                f"{algorithm.__name__}.{self.name}: has a meaning in Rust; give the parameter another name first"
            )
        if self.kind == "integer" and any(isinstance(bound, int) and bound < 0 for bound in (self.default, self.low)):
            self.kind = "float"  # parameters in Rust have no negative whole numbers
        self.type = type_ + _camel(self.name) if self.kind == "choice" else _TYPES[self.kind]

    def choice(self) -> str:
        """The declaration of the words of a choice."""
        if self.kind != "choice":
            return ""
        words = "".join(
            f"        /// As the class has it.\n        {_camel(word)} = {_text(word)},\n" for word in self.words
        )
        return f"farloop_units::choice! {{\n    /// {self.doc}\n    pub enum {self.type} {{\n{words}    }}\n}}\n\n"

    def write_declaration(self) -> str:
        """Its line among the parameters."""
        kept = ""
        if self.low is not None or self.high is not None:
            least = {
                "float": "f64::NEG_INFINITY",
                "integer": "0",
                "time": "Delta::ZERO",
                "bytes": "Bytes::ZERO",
                "rate": "Rate::ZERO",
            }
            most = {"float": "f64::INFINITY", "integer": "u64::MAX"}
            low = least[self.kind] if self.low is None else self.value(self.low)
            high = most.get(self.kind, f"{self.type}::MAX") if self.high is None else self.value(self.high)
            kept = f", in {low} => {high}"
        source = ', from "the class in Python"'
        return f"        /// {self.doc}\n        {self.name}: {self.type} = {self.value(self.default)}{kept}{source};\n"

    def value(self, given: Any) -> str:
        """A value of it as an expression."""
        if self.kind == "bool":
            return str(given).lower()
        if self.kind == "choice":
            return f"{self.type}::{_camel(str(given))}"
        if self.kind == "text":
            return f"{_text(str(given))}.to_string()"
        if self.kind == "float":
            return repr(float(given))
        if self.kind == "integer":
            return str(int(given))
        amount = self._amount(given)
        made, unit = next(
            (made, unit) for made, unit in _MADE[self.kind].items() if amount % unit == 0 and (amount or unit == 1)
        )
        return f"{made}({amount // unit})"

    def write_test_lines(self) -> str:
        """The lines of a test that its default is there, and that what is beyond its range is refused."""
        if self.kind == "bool":
            default_test = f"        assert!({'' if self.default else '!'}defaults.{self.name});\n"
        else:
            expected = _text(str(self.default)) if self.kind == "text" else self.value(self.default)
            default_test = f"        assert_eq!(defaults.{self.name}, {expected});\n"
        beyond = [self._value_beyond(edge, step) for edge, step in ((self.low, -1), (self.high, 1)) if edge is not None]
        if self.kind == "choice":
            beyond.append('Value::Text("no such word".into())')
        return default_test + "".join(
            f'        assert!(params.set("{self.name}", &{value}).is_err());\n' for value in beyond if value
        )

    def _value_beyond(self, edge: Any, step: int) -> str | None:
        """A value beyond an edge of its range, as a scenario would say it; nothing where there is none."""
        if self.kind == "float":
            return f"Value::Float({float(edge) + step!r})"
        amount = int(edge) if self.kind == "integer" else self._amount(edge)
        if amount + step < 0:
            return None
        if self.kind == "integer":
            return f"Value::Int({amount + step})"
        return f'Value::Text("{amount + step}{next(iter(_SCALES[self.kind]))}".into())'

    def _amount(self, given: Any) -> int:
        """A quantity in ps, B or bit/s."""
        match = re.fullmatch(r"\s*([0-9.]+)\s*(\w+)\s*", str(given))
        if match is None or match[2] not in _SCALES[self.kind]:
            raise FarloopError(f"{self.name}: {clip_text(given)}: expected a number and a unit, such as 25us")
        return int(Decimal(match[1]) * _SCALES[self.kind][match[2]])


def _defaults(type_: str, params: Iterable[_Param]) -> str:
    lines = "".join(param.write_test_lines() for param in params)
    mutable = "mut " if ".set(" in lines else "_"
    return (
        lines
        and f"        let (defaults, {mutable}params) = ({type_}Params::default(), {type_}Params::default());\n{lines}"
    )


def _recorded_test(algorithm: type[Algorithm], about: dict[str, Any], type_: str) -> str:
    """The test that has what the class did; nothing where it draws random numbers, which are others in Rust."""
    if about["random"]:
        return ""
    try:
        controls = _native.recorded(about, SIGNALS)
    except _native.HandlerError as error:
        raise explain_failure(error, [algorithm]) from error.__cause__
    largest = (1 << 64) - 1
    rows = "".join(
        f"        ({', '.join('u64::MAX' if number == largest else str(number) for number in pair)}),\n"
        for pair in controls
    )
    kind = about["name"]
    return f"""
    /// Window in bytes and rate in bit/s of the class after each of {SIGNALS} random signals; `u64::MAX` is no limit.
    const RECORDED: [(u64, u64); {SIGNALS}] = [
{rows}    ];

    #[test]
    #[ignore = "the handlers are not translated yet: delete this line when they are"]
    fn it_does_what_the_class_does() {{
        let flow = flow(false);
        let mut sender = {type_}::sender(&{type_}Params::default(), &flow);
        let controls = torture(&mut sender, &flow, &signals(1, RECORDED.len()), "{kind}");
        for (i, (control, expected)) in controls.iter().zip(RECORDED).enumerate() {{
            assert_eq!((control.cwnd.get(), control.pacing.as_bps()), expected, "after signal {{i}}");
        }}
    }}
"""


def _list_own_functions(algorithm: type[Algorithm]) -> list[str]:
    """Names of the functions of a class that are no handlers."""
    known = {*SIGNATURES, "start"}
    return [name for base in algorithm.__mro__[:-1] if base is not Algorithm for name, value in vars(base).items()
            if isinstance(value, FunctionType) and name not in known]  # fmt: skip


def _state(algorithm: type[Algorithm]) -> list[str]:
    """Attributes that the functions of a class set on its objects, in their order."""
    names: dict[str, None] = {}
    for name in ("start", *SIGNATURES, *_list_own_functions(algorithm)):
        function = getattr(algorithm, name, None)
        if isinstance(function, FunctionType):
            for attribute in re.findall(r"\bself\.(\w+)(?=(?:\s*,\s*self\.\w+)*\s*[-+*/]?=(?!=))", _source(function)):
                names[attribute] = None
    return list(names)


def _source(function: FunctionType) -> str:
    try:
        return textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return ""


def _comment_lines(algorithm: type[Algorithm], name: str, indent: int) -> str:
    """The lines of a function as comments; of one that the class has not, nothing."""
    function = getattr(algorithm, name, None)
    if not isinstance(function, FunctionType) or function is getattr(Algorithm, name, None):
        return ""
    lines = _source(function).rstrip().splitlines()
    return "".join(f"{' ' * indent}// {line}".rstrip() + "\n" for line in lines) + ("\n" if not indent else "")


def _imports(text: str) -> str:
    """The text with the quantities imported that it uses."""
    used = [
        quantity
        for quantity in ("Bytes", "Delta", "Rate")
        if re.search(rf"\b{quantity}\b", text.replace("@UNITS@", ""))
    ]
    return text.replace("@UNITS@", used[0] if len(used) == 1 else f"{{{', '.join(used)}}}")


def _camel(word: str) -> str:
    return "".join(part.capitalize() for part in re.split(r"[^0-9A-Za-z]+", word)) or "Empty"


def _line(text: object) -> str:
    """A text on one line, as a comment can have it."""
    return " ".join(clip_text(text, 400).split())


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def format_rust(text: str) -> str:
    """The text as rustfmt leaves it, where there is one."""
    program = shutil.which("rustfmt")
    if program is None:
        return text
    options: Iterable[str] = ["--edition", "2024", "--config", "max_width=120,use_small_heuristics=Max"]
    done = subprocess.run([program, *options], input=text, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 and done.stdout else text
