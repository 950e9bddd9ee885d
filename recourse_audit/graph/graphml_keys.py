"""The keys of a GraphML file: which values nodes and ties have, and of which types."""

from dataclasses import dataclass

WHOLE = {"int", "long", "integer"}
REAL = {"float", "double"}
TYPES = {"string", "boolean", *WHOLE, *REAL}
BOOLEAN = {"true": True, "1": True, "false": False, "0": False}
LARGEST = 2**63

Value = str | int | float | bool | None


@dataclass(slots=True, kw_only=True)
class Key:
    """The declaration of a value: its name, its type, what it is for, and where it is declared."""

    name: str
    type: str
    scope: str
    place: str
    default: str | None = None


def value_of(text: str, kind: str) -> Value:
    """A value of its declared type; None if it is empty and not text.

    Raises
    ------
    ValueError
        The text is not of that type, or a whole number takes more than 64 bits.
    """
    if kind == "string":
        return text
    plain = text.strip()
    if not plain:
        return None
    if kind == "boolean":
        if plain.lower() not in BOOLEAN:
            raise ValueError(plain)
        return BOOLEAN[plain.lower()]
    if "_" in plain:  # Python would accept 1_000
        raise ValueError(plain)
    if kind in REAL:
        return float(plain)
    number = int(plain)
    if not -LARGEST <= number < LARGEST:
        raise ValueError(plain)
    return number
