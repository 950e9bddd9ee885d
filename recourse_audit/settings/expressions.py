"""Formulas and conditions of `audit.toml`, read by Python's grammar with an allow-list.

    formula      debt / (income + 1)             numbers, columns, + - * / ** and parentheses
    condition    job = "none" and income > 0     comparisons joined by and, or, not

Every number, text and column is replaced by a neutral name before `ast.parse` sees the text, so
Python only decides what belongs together: there are no calls, attributes or other names, and
nothing is ever compiled or run. A column whose name is not a plain word is written in backquotes:
`loan-amount`.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

LONGEST, DEEPEST = 500, 40
WORDS = ("and", "or", "not")
ARITHMETIC = ("+", "-", "*", "/", "**")
COMPARISONS = ("=", "!=", "<=", ">=", "<", ">")
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<text>"[^"]*"|'[^']*')
    | (?P<quoted>`[^`]+`)
    | (?P<name>[^\W\d]\w*)
    | (?P<sign>\*\*|!=|<=|>=|[-+*/()<>=,])
    )""",
    re.VERBOSE,
)
_SIGNS = {ast.Eq: "=", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_ALLOWED = (
    *(ast.Name, ast.Load, ast.UnaryOp, ast.USub, ast.Not, ast.BoolOp, ast.And, ast.Or),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.Compare, *_SIGNS),
)


@dataclass(frozen=True, slots=True)
class ColumnName:
    """A column that a formula or a condition names."""

    name: str


Operand = ColumnName | float | str


class Comparison(NamedTuple):
    """Two operands, of which at least one is a column."""

    sign: str
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Expression:
    """A formula or a condition as it was read: name `_3` of the tree is the operand at place 3."""

    tree: ast.expr
    operands: tuple[Operand, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it names, as often as it names them."""
        return tuple(operand.name for operand in self.operands if isinstance(operand, ColumnName))

    def operand(self, node: ast.expr) -> Operand:
        """The operand that a leaf of the tree stands for; in a condition, also with a minus."""
        if isinstance(node, ast.UnaryOp):
            number = self.operand(node.operand)
            assert isinstance(number, float)
            return -number
        assert isinstance(node, ast.Name)
        return self.operands[int(node.id[1:])]

    @property
    def comparisons(self) -> Iterator[Comparison]:
        """The comparisons of a condition."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Compare):
                sides = self.operand(node.left), self.operand(node.comparators[0])
                yield Comparison(_SIGNS[type(node.ops[0])], *sides)


def parse_formula(text: str) -> Expression:
    """Read arithmetic on columns.

    Raises
    ------
    ValueError
        It is not arithmetic on columns; the message says where it stops being that.
    """
    tokens = _tokens(text)
    _check_order(tokens, prefix="-", joints=ARITHMETIC, compares=False)
    return _parse(tokens)


def parse_condition(text: str) -> Expression:
    """Read comparisons of columns, joined by and, or, not; errors as for a formula."""
    tokens = _tokens(text)
    _check_order(tokens, prefix="not", joints=("and", "or"), compares=True)
    condition = _parse(tokens)
    for _, *sides in condition.comparisons:
        if not any(isinstance(side, ColumnName) for side in sides):
            raise ValueError("compares two values; one side must be a column")
    return condition


class _Token(NamedTuple):
    kind: str
    text: str

    @property
    def is_operand(self) -> bool:
        return self.kind != "sign" and not (self.kind == "name" and self.text in WORDS)

    @property
    def operand(self) -> Operand:
        if self.kind == "number":
            return float(self.text)
        inner = self.text if self.kind == "name" else self.text[1:-1]
        return inner if self.kind == "text" else ColumnName(inner)


_END = _Token("sign", "the end")


def _tokens(text: str) -> list[_Token]:
    if len(text) > LONGEST:
        raise ValueError(f"has {len(text)} characters, and at most {LONGEST} are read")
    tokens, place = [], 0
    text = text.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ValueError(_stranger(text[place:].lstrip()))
        assert match.lastgroup is not None
        tokens.append(_Token(match.lastgroup, match[match.lastgroup]))
        place = match.end()
    return tokens


def _stranger(rest: str) -> str:
    if rest[0] == ".":
        return f"has {rest[:12]!r}: columns have no attributes; name a column alone"
    if rest[0] in "\"'`":
        return f"has {rest[:12]!r}: the quotes are never closed"
    return f"has {rest[0]!r}, which means nothing here"


def _parse(tokens: Sequence[_Token]) -> Expression:
    """Tokens in a permitted order, as a tree of permitted nodes."""
    operands: list[Operand] = []
    words = []
    for token in tokens:
        if token.is_operand:
            words.append(f"_{len(operands)}")
            operands.append(token.operand)
        else:
            words.append("==" if token.text == "=" else token.text)
    tree = ast.parse(" ".join(words), mode="eval").body
    if not all(isinstance(node, _ALLOWED) for node in ast.walk(tree)):
        raise ValueError("has more than columns, values and signs in it")
    return Expression(tree, tuple(operands))


def _check_order(
    tokens: Sequence[_Token], *, prefix: str, joints: Sequence[str], compares: bool
) -> None:
    """Check that operands and signs alternate as they must, and say what does not.

    Python would refuse the same texts, with messages about a language that the user does not write.
    `prefix` may stand before a part, and `joints` join parts: operands, or comparisons of two.
    """
    rest = [_END, *tokens[::-1]]
    wanted = "a column, a number or a text in quotes" if compares else "a column or a number"

    def take() -> _Token:
        return rest.pop() if len(rest) > 1 else _END

    def check_operand() -> None:
        minus = compares and rest[-1].text == "-" and bool(take())
        token = take()
        if token is _END:
            raise ValueError(f"ends where {wanted} is needed")
        if minus and token.kind != "number":
            raise ValueError(f"has {token.text!r} after a minus sign, where a number is needed")
        if token.kind == "text" and not compares:
            raise ValueError(f"has the text {token.text}, but arithmetic needs numbers")
        if not token.is_operand:
            raise ValueError(f"has {token.text!r} where a column or a value is needed")
        if token.kind == "name" and rest[-1].text == "(":
            raise ValueError(f"calls {token.text!r}, and nothing can be called here")

    opened = 0
    while True:
        prefixes = 0
        while rest[-1].text in (prefix, "("):
            inside = take().text == "("
            opened, prefixes = opened + inside, prefixes + (not inside)
            if opened + prefixes > DEEPEST:
                raise ValueError(f"is nested more than {DEEPEST} deep")
        check_operand()
        if compares:
            sign = take()
            if sign.text not in COMPARISONS:
                raise ValueError(
                    f"has {sign.text!r} where a comparison is needed: one of "
                    f"{', '.join(COMPARISONS)}"
                )
            check_operand()
        while opened and rest[-1].text == ")":
            take()
            opened -= 1
        joint = take()
        if joint.text in joints:
            continue
        if opened:
            raise ValueError(f"has {joint.text!r} where a parenthesis should close")
        if joint is not _END:
            raise ValueError(f"goes on with {joint.text!r} where it should end")
        return
