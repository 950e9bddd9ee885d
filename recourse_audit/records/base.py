"""What every record can do: show itself in one line, as plain data, and in a notebook."""

from collections.abc import Callable, Sized
from dataclasses import fields
from typing import Any, ClassVar

LONGEST_TEXT = 40


class Record:
    """Base of all records: frozen, slotted, keyword-only dataclasses with a short repr.

    HTML comes from a later stage, so the front door puts it in here: a record imports no
    rendering.
    """

    __slots__ = ()

    # A document that lacks or adds anything is refused.
    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid"}

    html: ClassVar[Callable[["Record"], str] | None] = None

    def __repr__(self) -> str:
        names = (field.name for field in fields(self))  # type: ignore[arg-type]
        values = (f"{name}={_brief(getattr(self, name))}" for name in names if name != "format")
        return f"{type(self).__name__}({', '.join(values)})"

    def to_dict(self) -> dict[str, Any]:
        """The record as plain data, under the names that its JSON has."""
        from recourse_audit.records.codec import plain_data

        return plain_data(self)

    def _repr_html_(self) -> str | None:
        """What a notebook shows: the view of the terminal, if the record has one."""
        return None if Record.html is None else Record.html(self)


def _brief(value: object) -> str:
    """A value in a few characters: long texts are cut, and collections are counted."""
    if isinstance(value, str):
        return repr(value if len(value) <= LONGEST_TEXT else f"{value[: LONGEST_TEXT - 1]}…")
    if isinstance(value, Record):
        return f"{type(value).__name__}(…)"
    if isinstance(value, Sized):
        return f"<{len(value)}>" if len(value) > 3 or _holds_records(value) else repr(value)
    return repr(value)


def _holds_records(value: object) -> bool:
    items = value.values() if isinstance(value, dict) else value
    return isinstance(items, tuple) and any(isinstance(item, Record) for item in items)
