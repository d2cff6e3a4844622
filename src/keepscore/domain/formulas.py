"""Formulas that take composite numbers apart: exact arithmetic on the number of a sorted set. Pure.

Systems that rank by score and time keep both in one number, such as `score + (10**10 - time) / 10**10`. A formula gives back one of them:
`floor(score)`, or `10**10 - score % 1 * 10**10`. Numbers are fractions, so that nothing is rounded on the way.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from keepscore.errors import ConfigError

__all__ = ["Formula"]

#: Characters of a formula, and the largest exponent: more would take time, not tell more.
MAX_CHARACTERS, MAX_EXPONENT = 200, 64
#: What a formula calls the number of the sorted set.
VARIABLE = "score"

_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[[Fraction], int]] = {"floor": math.floor, "ceil": math.ceil, "round": round, "abs": abs}  # type: ignore[dict-item]


class Formula:
    """A formula in `score`, with numbers, + - * / // % ** and floor, ceil, round, abs.

    >>> Formula("floor(score)").of(Decimal("1500.83"))
    1500
    >>> Formula("score / 4").of(Decimal(5))
    Decimal('1.25')
    """

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            if len(text) > MAX_CHARACTERS:
                raise ValueError
            self._work = _compiled(ast.parse(text.strip(), mode="eval").body)
        except (SyntaxError, ValueError, RecursionError):
            raise ConfigError(
                f"formula {text[:MAX_CHARACTERS]!r} cannot be used: write one in {VARIABLE}, with numbers, + - * / // % ** and floor, "
                f"ceil, round, abs, at most {MAX_CHARACTERS} characters, such as 'floor({VARIABLE} / 2**32)'"
            ) from None

    def of(self, score: Decimal) -> int | Decimal:
        """Return what the formula makes of a number, or raise ValueError."""
        try:
            result = Fraction(self._work(Fraction(score)))
        except (ZeroDivisionError, OverflowError, ValueError) as exc:
            raise ValueError(f"formula {self.text!r} has no result for {score}: {exc}") from None
        if result.denominator == 1:
            return int(result)
        exact = Decimal(result.numerator) / Decimal(result.denominator)
        if Fraction(exact) != result:
            raise ValueError(f"formula {self.text!r} makes {float(result)} of {score}, which is no finite decimal: use floor or round")
        return exact


def _compiled(node: ast.expr) -> Callable[[Fraction], Any]:
    """Return what works out one part of a formula, or raise ValueError for what no formula has."""
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            number = Fraction(repr(node.value))
            return lambda score: number
        case ast.Name(id="score"):
            return lambda score: score
        case ast.UnaryOp(op=ast.USub()):
            inner = _compiled(node.operand)
            return lambda score: -inner(score)
        case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=int())) if 0 <= int(node.right.value) <= MAX_EXPONENT:  # type: ignore[attr-defined]
            base, exponent = _compiled(node.left), int(node.right.value)  # type: ignore[attr-defined]
            return lambda score: base(score) ** exponent
        case ast.BinOp() if type(node.op) in _OPERATORS:
            left, right, work = _compiled(node.left), _compiled(node.right), _OPERATORS[type(node.op)]
            return lambda score: work(left(score), right(score))
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in _FUNCTIONS:
            inner, function = _compiled(argument), _FUNCTIONS[name]
            return lambda score: function(inner(score))
    raise ValueError
