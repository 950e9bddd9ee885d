"""Guesses which features are one category, spread over columns of 0 and 1.

Both the names and the numbers must say so: the columns share a prefix (`housing_rent`,
`housing=rent`, `housing.rent`, `housing[rent]`), hold nothing but 0 and 1, and every row has
exactly one 1 among them.
"""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from recourse_audit.graph.arrays import Floats

SEPARATORS = re.compile(r"__|[=.:_\[/ -]")
ROWS_AT_ONCE = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class OneHotBlock:
    """A category, the columns that encode it, and what each of them stands for."""

    name: str
    columns: tuple[str, ...]
    labels: tuple[str, ...]


def one_hot_blocks(
    names: Sequence[str], features: Floats, others: Iterable[str] = ()
) -> list[OneHotBlock]:
    """The blocks among features, in the order of their first columns; `others` are names in use.

    Where a longer and a shorter prefix both fit, the block with more columns is taken. The name of
    a block is its prefix, unless a column is already called that.
    """
    names = list(names)
    binary = _binary(features)
    taken: set[str] = set()
    found: list[tuple[int, OneHotBlock]] = []
    candidates = sorted(
        _groups([name for name, is_binary in zip(names, binary, strict=True) if is_binary]).items(),
        key=lambda group: (-len(group[1]), -len(group[0][0])),
    )
    known = {*names, *others}
    for (prefix, _), members in candidates:
        columns = [names.index(column) for column in members]
        if taken.isdisjoint(members) and _one_per_row(features, columns):
            taken.update(members)
            block = OneHotBlock(
                name=_free_name(prefix, known),
                columns=tuple(members),
                labels=tuple(members.values()),
            )
            known.add(block.name)
            found.append((columns[0], block))
    return [block for _, block in sorted(found, key=lambda one: one[0])]


def _groups(names: Sequence[str]) -> dict[tuple[str, str], dict[str, str]]:
    """Columns by what they have before a separator; the label is what comes after it."""
    groups: dict[tuple[str, str], dict[str, str]] = {}
    for name in names:
        for prefix, separator, label in _splits(name):
            groups.setdefault((prefix, separator), {})[name] = label
    return {
        key: members
        for key, members in groups.items()
        if len(members) > 1 and len(set(members.values())) == len(members)
    }


def _splits(name: str) -> Iterator[tuple[str, str, str]]:
    for match in SEPARATORS.finditer(name):
        prefix, label = name[: match.start()], name[match.end() :]
        label = label.removesuffix("]") if match[0] == "[" else label
        if prefix.strip() and label.strip():
            yield prefix, match[0], label


def _binary(features: Floats) -> list[bool]:
    found = np.ones(features.shape[1], bool)
    for start in range(0, len(features), ROWS_AT_ONCE):
        rows = features[start : start + ROWS_AT_ONCE]
        found &= ((rows == 0) | (rows == 1)).all(axis=0)
    return found.tolist()


def _one_per_row(features: Floats, columns: list[int]) -> bool:
    """Whether every row has exactly one 1, and not always in the same column."""
    hot = np.zeros(len(columns))
    for start in range(0, len(features), ROWS_AT_ONCE):
        rows = features[start : start + ROWS_AT_ONCE, columns]
        if not (rows.sum(axis=1) == 1).all():
            return False
        hot += rows.sum(axis=0)
    return bool((hot > 0).sum() > 1)


def _free_name(prefix: str, known: Container[str]) -> str:
    name = prefix
    while name in known:
        name = f"{name}_category"
    return name
