"""Constraints between keys: `network.wan_delay > 2 * network.link_delay and algorithm != "bbr"`.

An expression is read by Python's own parser; of its tree only comparisons, arithmetic, `and`, `or`, `not`, `in`, `min`, `max` and `abs` are
worked out here. Python evaluates nothing of it. Quantities with units are numbers in s, bit/s and B.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from farloop import units
from farloop.errors import FarloopError, clip_text

MAX_LENGTH = 2000
"""Characters of an expression."""

_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda element, several: element in several,
    ast.NotIn: lambda element, several: element not in several,
}
_COMBINED: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {"min": min, "max": max, "abs": abs}

ACCEPTED = (
    'expected keys, numbers, quoted texts such as "5ms", + - * / // %, comparisons, and, or, not, in, min, max, abs, '
    "and key('NAME') for a key that is no plain name"
)


@dataclass(frozen=True)
class Expression:
    """A condition on the keys of a point.

    Attributes:
        text: As it was written.
        keys: The keys that it names, in their order.
    """

    text: str
    keys: tuple[str, ...]
    _tree: ast.expr

    @classmethod
    def read(cls, text: object) -> Expression:
        """Reads an expression.

        Raises:
            FarloopError: it is none, or has something that is not accepted.
        """
        if not isinstance(text, str) or len(text) > MAX_LENGTH:
            raise FarloopError(
                f"{clip_text(repr(text))}: expected an expression (a text of at most {MAX_LENGTH} characters)"
            )
        try:
            tree = ast.parse(text.strip(), mode="eval").body
            keys = dict.fromkeys(_keys(tree))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise FarloopError(
                f"{clip_text(text)}: is no expression ({clip_text(_reason(error))}); {ACCEPTED}"
            ) from None
        return cls(text, tuple(keys), tree)

    def holds(self, value: Callable[[str], object]) -> bool:
        """Returns true if it holds where `value` gives the value of each key, as a scenario writes it.

        Raises:
            FarloopError: values cannot be compared or combined.
        """
        return bool(self.evaluate(value))

    def evaluate(self, value: Callable[[str], object]) -> Any:
        """Returns its value where `value` gives the value of each key, as a scenario writes it.

        Raises:
            FarloopError: values cannot be compared or combined.
        """
        try:
            return _value(self._tree, value)
        except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
            values = ", ".join(f"{key} = {value(key)!r}" for key in self.keys)
            where = f" for {clip_text(values)}" if values else ""
            raise FarloopError(f"{clip_text(self.text)}: cannot be worked out{where}: {error}") from None


def convert_value(value: object) -> object:
    """A value of a scenario as constraints see it: a quantity as a number in s, bit/s or B, anything else as it is."""
    if isinstance(value, str):
        for read in (units.seconds, units.rate, units.size):
            try:
                return read(value)
            except ValueError:
                continue
    return value


def _reason(error: BaseException) -> str:
    return error.msg if isinstance(error, SyntaxError) else str(error)


def _keys(node: ast.expr) -> list[str]:
    """The keys in a tree.

    Raises:
        ValueError: there is something that is not accepted.
    """
    name = _name(node)
    if name is not None:
        return [name]
    match node:
        case ast.Constant(value=bool() | int() | float() | str()):
            return []
        case ast.BoolOp(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts):
            pass
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.UAdd(), operand=operand):
            parts = [operand]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _COMBINED:
            parts = [left, right]
        case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in _COMPARED for op in ops):
            parts = [left, *others]
        case ast.Call(func=ast.Name(id=called), args=parts, keywords=[]) if called in _FUNCTIONS and parts:
            pass
        case _:
            raise ValueError(f"{clip_text(ast.unparse(node), 40)} is not accepted")
    return [key for part in parts for key in _keys(part)]


def _name(node: ast.expr) -> str | None:
    """The dotted key that a node names."""
    match node:
        case ast.Name(id=name) if name not in _FUNCTIONS:
            return name
        case ast.Attribute(value=before, attr=last):
            first = _name(before)
            return None if first is None else f"{first}.{last}"
        case ast.Call(func=ast.Name(id="key"), args=[ast.Constant(value=str(name))], keywords=[]):
            return name
    return None


def _value(node: ast.expr, value: Callable[[str], object]) -> Any:
    name = _name(node)
    if name is not None:
        return convert_value(value(name))
    match node:
        case ast.Constant(value=constant):
            return convert_value(constant)
        case ast.BoolOp(op=op, values=parts):
            if isinstance(op, ast.And):
                return all(_value(part, value) for part in parts)
            return any(_value(part, value) for part in parts)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return [_value(part, value) for part in parts]
        case ast.UnaryOp(op=op, operand=operand):
            result = _value(operand, value)
            return not result if isinstance(op, ast.Not) else -result if isinstance(op, ast.USub) else +result
        case ast.BinOp(left=left, op=op, right=right):
            return _combine_numbers(op, _value(left, value), _value(right, value))
        case ast.Compare(left=left, ops=ops, comparators=others):
            values = [_value(part, value) for part in (left, *others)]
            return all(_COMPARED[type(op)](values[i], values[i + 1]) for i, op in enumerate(ops))
        case ast.Call(func=ast.Name(id=called), args=parts):
            return _FUNCTIONS[called](*(_value(part, value) for part in parts))
    raise AssertionError("what is not accepted was refused")


def _combine_numbers(op: ast.operator, left: Any, right: Any) -> Any:
    """Arithmetic between numbers alone: a text times a number would be one of any length, a text with % a format."""
    for side in (left, right):
        if isinstance(side, bool) or not isinstance(side, int | float):
            raise TypeError(f"{clip_text(repr(side))} is no number")
    return _COMBINED[type(op)](float(left), float(right))
