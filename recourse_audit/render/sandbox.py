"""The only door to jinja2: an environment in which a template can place text and do nothing else.

A template cannot reach Python's internals, change what it is given, turn escaping off or read a
file outside its folders. Loops, calls, texts and the page itself have limits, so that a mistake
such as an endless loop ends as an error and not as a machine without memory.
"""

import operator
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from types import NoneType
from typing import Any

from jinja2 import (
    BaseLoader,
    StrictUndefined,
    TemplateNotFound,
    TemplateSyntaxError,
    Undefined,
    nodes,
    pass_context,
)
from jinja2 import TemplateError as Mistake
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup, escape

__all__ = ["Mistake", "Sandbox", "TemplateNotFound", "TemplateSyntaxError"]

MOST_STEPS = 2_000_000  # of loops and calls, in one page
MOST_CHARACTERS = 2**28  # in one page, and of every text and list in it
MOST_BITS = 4096  # of a whole number

FILTERS = (
    *("abs", "capitalize", "count", "d", "default", "dictsort", "e", "escape", "first", "float"),
    *("forceescape", "groupby", "int", "items", "last", "length", "list", "lower", "map", "max"),
    *("min", "reject", "rejectattr", "select", "selectattr", "sort", "striptags", "sum", "title"),
    *("trim", "truncate", "unique", "upper", "urlencode", "wordcount"),
)
GLOBALS = ("range", "dict", "cycler", "joiner", "namespace")
# Methods that can make a long text out of a short one, or that read other objects.
GROWING = frozenset(
    {
        *("center", "encode", "expandtabs", "format", "format_map", "join", "ljust", "replace"),
        *("rjust", "translate", "zfill"),
    }
)
SIZED = (str, bytes, list, tuple)
SHOWN = (str, int, float, date, NoneType, Undefined)  # the last of which says that it is undefined


class Sandbox(ImmutableSandboxedEnvironment):
    """Compiles templates so that they count what they do; `begin` sets the counts back."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, load: Callable[[str], tuple[str, str] | None]) -> None:
        super().__init__(
            loader=_Loader(load),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        self.globals = {name: self.globals[name] for name in GLOBALS}
        self.filters = {name: self.filters[name] for name in FILTERS}
        self.filters |= {
            "join": self._join,
            " counted": pass_context(lambda _, value: self._counted(value)),
            " steps": pass_context(lambda _, values: self._steps_of(values)),
            " weighed": pass_context(lambda _, length: self._repeated(length)),
            " short": pass_context(lambda _, value: self._short(value)),
        }
        self._steps = 0
        self._characters = 0

    def begin(self) -> None:
        """Start to count for another page."""
        self._steps = self._characters = 0

    # ------------------------------------------------------------ what is compiled

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        """Parse a template, and make everything that repeats or shows something count."""
        tree = super()._parse(source, name, filename)
        for off in tree.find_all((nodes.ScopedEvalContextModifier, nodes.EvalContextModifier)):
            raise TemplateSyntaxError("escaping cannot be turned off", off.lineno, name, filename)
        for output in [*tree.find_all(nodes.Output)]:
            output.nodes = [
                one if isinstance(one, nodes.TemplateData) else _filtered(one, " counted")
                for one in output.nodes
            ]
        for filtered in [*tree.find_all(nodes.FilterBlock)]:
            filtered.filter = _filtered(filtered.filter, " counted")
        for assigned in [*tree.find_all(nodes.AssignBlock)]:
            if assigned.filter is not None:
                assigned.filter = _filtered(assigned.filter, " counted")
        for concat in [*tree.find_all(nodes.Concat)]:
            concat.nodes = [_filtered(one, " short") for one in concat.nodes]
        for loop in [*tree.find_all(nodes.For)]:
            loop.iter = _filtered(loop.iter, " steps")
        for body in [
            tree.body,
            *(loop.body for loop in tree.find_all(nodes.For)),
            *(macro.body for macro in tree.find_all(nodes.Macro)),
            *(called.body for called in tree.find_all(nodes.CallBlock)),
            *(block.body for block in tree.find_all(nodes.Block)),
        ]:
            length = _length(body)
            weighed = _filtered(nodes.Const(length, lineno=1), " weighed")
            body.insert(0, nodes.Output([weighed], lineno=1))
        return tree

    # ------------------------------------------------------------ what is counted

    def _counted(self, value: object) -> Markup:
        """What is shown, escaped; a list, a record or a function has no text of its own."""
        if not isinstance(value, SHOWN) and not hasattr(value, "__html__"):
            kind = type(value).__name__
            raise SecurityError(f"a {kind} cannot be shown as it is; if it is a list, join it")
        shown = escape(value)
        self._weighed(len(shown))
        return shown

    def _steps_of(self, values: Iterable[object]) -> Iterator[object]:
        for value in values:
            self._step()
            yield value

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise SecurityError(f"the template takes more than {MOST_STEPS:,} steps for one page")

    def _repeated(self, length: int) -> str:
        """Count one more time that a body with so much text is written."""
        self._step()
        self._weighed(length)
        return ""

    def _weighed(self, length: int) -> None:
        self._characters += length
        if self._characters > MOST_CHARACTERS:
            raise SecurityError(f"the page is longer than {MOST_CHARACTERS:,} characters")

    def _short(self, value: object) -> object:
        """Text to be joined with `~`, which counts as if it were shown."""
        shown = value if isinstance(value, str) else escape(value)
        self._weighed(len(shown))
        return shown

    def _join(self, values: Iterable[object], between: str = "") -> Markup:
        return escape(between).join(self._counted(value) for value in values)

    # ------------------------------------------------------------ what is refused

    def call(self, context: Context, called: Any, *given: Any, **named: Any) -> Any:
        """Call a macro or a function, which is one step; what a call block gives is shown."""
        self._step()
        answer = super().call(context, called, *given, **named)
        return self._counted(answer) if "caller" in named else answer

    def is_safe_attribute(self, owner: Any, name: str, value: Any) -> bool:
        """Refuse what starts with an underscore, and methods that make texts longer."""
        return not (isinstance(owner, str | bytes) and name in GROWING) and bool(
            super().is_safe_attribute(owner, name, value)
        )

    def wrap_str_format(self, value: Any) -> None:
        """Leave `format` to `is_safe_attribute`, which refuses it."""
        del value

    def call_binop(self, context: Context, name: str, left: Any, right: Any) -> Any:
        """Calculate, unless the result would be too large."""
        if name == "%" and isinstance(left, str | bytes):
            raise SecurityError("texts cannot be formatted with %")
        if name == "+" and isinstance(left, SIZED) and isinstance(right, SIZED):
            self._weighed(len(left) + len(right))
        elif name == "*":
            for one, other in ((left, right), (right, left)):
                if isinstance(one, SIZED) and isinstance(other, int):
                    self._weighed(len(one) * max(other, 0))
        if isinstance(left, int) and isinstance(right, int):
            bits = left.bit_length() * abs(right) if name == "**" else left.bit_length()
            if max(bits, right.bit_length()) > MOST_BITS:
                raise SecurityError("the number is too large")
        calculated = {"+": operator.add, "*": operator.mul, "**": operator.pow, "%": operator.mod}
        return calculated[name](left, right)


class _Loader(BaseLoader):
    """Asks for the text and the path of a template, which `load` looks for."""

    def __init__(self, load: Callable[[str], tuple[str, str] | None]) -> None:
        self._load = load

    def get_source(
        self, environment: Any, template: str
    ) -> tuple[str, str | None, Callable[[], bool] | None]:
        del environment
        found = self._load(template)
        if found is None:
            raise TemplateNotFound(template)
        return found[0], found[1], lambda: True


def _length(body: list[nodes.Node]) -> int:
    """How much text a body writes by itself."""
    texts = (text for node in body for text in _texts(node))
    return sum(len(text.data) for text in texts)


def _texts(node: nodes.Node) -> Iterator[nodes.TemplateData]:
    if isinstance(node, nodes.TemplateData):
        yield node
    yield from node.find_all(nodes.TemplateData)


def _filtered(value: Any, name: str) -> nodes.Filter:
    return nodes.Filter(value, name, [], [], None, None, lineno=value.lineno)
