"""The only door to TOML: what is not valid, or says more than TOML may say, is a `ValueError`."""

import tomllib
from typing import Any

LARGEST = 2**63


def read_toml(text: str) -> dict[str, Any]:
    """The table that a text holds.

    TOML has whole numbers of 64 bits. Python reads larger ones, and cannot always print them.

    Raises
    ------
    ValueError
        The text is not valid TOML, is nested too deeply, or has a whole number that is too large.
    """
    try:
        table = tomllib.loads(text)
        check_numbers(table)
    except RecursionError:
        raise ValueError("it has lists within lists beyond all measure") from None
    return table


def check_numbers(value: object) -> None:
    """Refuse whole numbers of more than 64 bits in tables and lists."""
    if isinstance(value, dict):
        for inner in value.values():
            check_numbers(inner)
    elif isinstance(value, list):
        for inner in value:
            check_numbers(inner)
    elif isinstance(value, int) and not -LARGEST <= value < LARGEST:
        raise ValueError("it has a whole number of more than 64 bits")
