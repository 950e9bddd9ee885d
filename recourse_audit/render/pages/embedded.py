"""Data inside a page: JSON that cannot end the element it stands in, whatever it holds."""

import json
from dataclasses import dataclass
from typing import Any

# `<` could end the element or begin a comment; two separators end a line in old scripts.
_WRITTEN_OUT = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


@dataclass(frozen=True, slots=True)
class Embedded:
    """Something that JSON can say, for a `<script type="application/json">`."""

    value: Any

    def __html__(self) -> str:
        """As short as JSON gets; none of its characters means anything to a browser."""
        text = json.dumps(
            self.value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=False
        )
        return text.translate(_WRITTEN_OUT)
