"""A small language for `audit.toml`: arithmetic on columns, and conditions over columns.

    formula      debt / (income + 1)             numbers, columns, + - * / ** and parentheses
    condition    job = "none" and income > 0     comparisons joined by and, or, not

Text becomes a tree, or an error that says what is wrong with it. There are no calls, no attributes
and no other names than columns, and nothing here or later runs the text as code. A column whose
name is not a plain word is written in backquotes: `loan-amount`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

LONGEST, DEEPEST = 500, 40
WORDS = ("and", "or", "not")
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

ArithmeticSign = Literal["+", "-", "*", "/", "**"]


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it is written."""

    value: float


@dataclass(frozen=True, slots=True)
class Text:
    """A category, written in quotes."""

    value: str


@dataclass(frozen=True, slots=True)
class Name:
    """A column."""

    name: str


@dataclass(frozen=True, slots=True)
class Negative:
    """A value with its sign changed."""

    of: "Formula"


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two values joined by a sign."""

    sign: str
    left: "Formula"
    right: "Formula"


Formula = Number | Name | Negative | Arithmetic
Operand = Number | Text | Name


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two operands, of which at least one is a column."""

    sign: str
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Not:
    """A condition that must not hold."""

    of: "Condition"


@dataclass(frozen=True, slots=True)
class Joined:
    """Two conditions joined by "and" or "or"."""

    word: Literal["and", "or"]
    left: "Condition"
    right: "Condition"


Condition = Comparison | Not | Joined


def parse_formula(text: str) -> Formula:
    """Read arithmetic on columns.

    Raises
    ------
    ValueError
        It is not arithmetic on columns; the message says where it stops being that.
    """
    reader = _Reader(text)
    formula = reader.sum()
    reader.end()
    return formula


def parse_condition(text: str) -> Condition:
    """Read comparisons of columns, joined by and, or, not; errors as for a formula."""
    reader = _Reader(text)
    condition = reader.either()
    reader.end()
    return condition


def names_in(tree: Formula | Condition | Operand) -> Iterator[str]:
    """The columns that a formula or a condition names, as often as it names them."""
    match tree:
        case Name(name):
            yield name
        case Negative(of) | Not(of):
            yield from names_in(of)
        case Arithmetic(_, left, right) | Comparison(_, left, right) | Joined(_, left, right):
            yield from names_in(left)
            yield from names_in(right)


def comparisons_in(tree: Condition) -> Iterator[Comparison]:
    """The comparisons of a condition, from left to right."""
    match tree:
        case Comparison():
            yield tree
        case Not(of):
            yield from comparisons_in(of)
        case Joined(_, left, right):
            yield from comparisons_in(left)
            yield from comparisons_in(right)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def _tokens(text: str) -> list[_Token]:
    if len(text) > LONGEST:
        raise ValueError(f"has {len(text)} characters, and at most {LONGEST} are read")
    found, place = [], 0
    text = text.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ValueError(_stranger(text[place:].lstrip()))
        assert match.lastgroup is not None
        found.append(_Token(match.lastgroup, match[match.lastgroup]))
        place = match.end()
    return found


def _stranger(rest: str) -> str:
    if rest[0] == ".":
        return f"has {rest[:12]!r}: columns have no attributes; name a column alone"
    if rest[0] in "\"'`":
        return f"has {rest[:12]!r}: the quotes are never closed"
    return f"has {rest[0]!r}, which means nothing here"


class _Reader:
    """Reads tokens from left to right, one method per rule of the language."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._place = 0
        self._depth = 0

    def end(self) -> None:
        if self._place < len(self._tokens):
            raise ValueError(f"goes on with {self._ahead()!r} where it should end")

    def sum(self) -> Formula:
        left = self._product()
        while (sign := self._ahead()) in ("+", "-"):
            self._place += 1
            left = Arithmetic(sign, left, self._product())
        return left

    def either(self) -> Condition:
        left = self._both()
        while self._takes("or"):
            left = Joined("or", left, self._both())
        return left

    def _both(self) -> Condition:
        left = self._not()
        while self._takes("and"):
            left = Joined("and", left, self._not())
        return left

    def _not(self) -> Condition:
        if self._takes("not"):
            with _Deeper(self):
                return Not(self._not())
        if self._takes("("):
            with _Deeper(self):
                inside = self.either()
            self._close()
            return inside
        left = self._operand()
        sign = self._ahead()
        if sign not in COMPARISONS:
            raise ValueError(
                f"has {sign!r} where a comparison is needed: one of {', '.join(COMPARISONS)}"
            )
        self._place += 1
        right = self._operand()
        if not isinstance(left, Name) and not isinstance(right, Name):
            raise ValueError("compares two values; one side must be a column")
        return Comparison(sign, left, right)

    def _operand(self) -> Operand:
        minus = self._takes("-")
        token = self._next("a column, a number or a text in quotes")
        if token.kind == "number":
            return Number(-float(token.text) if minus else float(token.text))
        if minus:
            raise ValueError(f"has {token.text!r} after a minus sign, where a number is needed")
        if token.kind == "text":
            return Text(token.text[1:-1])
        return self._column(token)

    def _product(self) -> Formula:
        left = self._signed()
        while (sign := self._ahead()) in ("*", "/"):
            self._place += 1
            left = Arithmetic(sign, left, self._signed())
        return left

    def _signed(self) -> Formula:
        if self._takes("-"):
            with _Deeper(self):
                return Negative(self._signed())
        left = self._atom()
        if self._takes("**"):
            with _Deeper(self):
                return Arithmetic("**", left, self._signed())
        return left

    def _atom(self) -> Formula:
        if self._takes("("):
            with _Deeper(self):
                inside = self.sum()
            self._close()
            return inside
        token = self._next("a column or a number")
        if token.kind == "number":
            return Number(float(token.text))
        if token.kind == "text":
            raise ValueError(f"has the text {token.text}, but arithmetic needs numbers")
        return self._column(token)

    def _column(self, token: _Token) -> Name:
        if token.kind == "quoted":
            return Name(token.text[1:-1])
        if token.kind != "name" or token.text in WORDS:
            raise ValueError(f"has {token.text!r} where a column or a value is needed")
        if self._ahead() == "(":
            raise ValueError(f"calls {token.text!r}, and nothing can be called here")
        return Name(token.text)

    def _close(self) -> None:
        if not self._takes(")"):
            raise ValueError(f"has {self._ahead()!r} where a parenthesis should close")

    def _next(self, wanted: str) -> _Token:
        if self._place == len(self._tokens):
            raise ValueError(f"ends where {wanted} is needed")
        self._place += 1
        return self._tokens[self._place - 1]

    def _ahead(self) -> str:
        """The next sign or word; "the end" after the last one."""
        if self._place == len(self._tokens):
            return "the end"
        token = self._tokens[self._place]
        return token.text if token.kind in ("sign", "name") else f" {token.text}"

    def _takes(self, text: str) -> bool:
        found = self._ahead() == text
        self._place += found
        return found

    def deeper(self, by: int) -> None:
        self._depth += by
        if self._depth > DEEPEST:
            raise ValueError(f"is nested more than {DEEPEST} deep")


class _Deeper:
    """Counts how deep a reader is inside parentheses and signs."""

    def __init__(self, reader: _Reader) -> None:
        self._reader = reader

    def __enter__(self) -> None:
        self._reader.deeper(1)

    def __exit__(self, *_: object) -> None:
        self._reader.deeper(-1)
