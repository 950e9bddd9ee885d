"""What passes between the stages: frozen, typed facts, which are also the documents we write.

`codec` reads and writes them as JSON; each other module has the records of one stage or document.
Records have codes and figures, never sentences: `render` alone has words.
"""

from collections.abc import Callable, Sized
from dataclasses import Field, dataclass, field, fields
from typing import Annotated, Any, ClassVar, TypeVar, dataclass_transform

import pydantic

LONGEST_TEXT = 40
LEFT_OUT = "Left out if empty."
T = TypeVar("T")
# A field that documents leave out where it is empty, because only some audits have it.
Sparse = Annotated[
    T,
    pydantic.Field(exclude_if=lambda value: not value, json_schema_extra={"description": LEFT_OUT}),
]


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class Record:
    """Base of all records: whatever inherits from it is a frozen, keyword-only dataclass.

    HTML comes from a later stage, so the front door puts it in: records import none.
    """

    # A document that lacks or adds anything is refused.
    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid"}
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    html: ClassVar[Callable[["Record"], str] | None] = None

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True, repr=False)(cls)

    def __repr__(self) -> str:
        names = (each.name for each in fields(self) if each.name != "format")
        values = (f"{name}={_brief(getattr(self, name))}" for name in names)
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
        items = value.values() if isinstance(value, dict) else value
        nested = isinstance(items, tuple) and any(isinstance(item, Record) for item in items)
        return f"<{len(value)}>" if len(value) > 3 or nested else repr(value)
    return repr(value)
