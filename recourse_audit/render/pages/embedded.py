"""Data inside a page: JSON that cannot end the element it is in, whatever it contains."""

import json
from dataclasses import dataclass
from typing import Generic, TypeVar

# `<` could end the element or begin a comment; two separators end a line in old scripts.
_WRITTEN_OUT = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Embedded(Generic[T]):
    """A value that JSON can express, for a `<script type="application/json">`."""

    value: T

    def __html__(self) -> str:
        """The shortest JSON; none of its characters means anything to a browser."""
        text = json.dumps(
            self.value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=False
        )
        return text.translate(_WRITTEN_OUT)
