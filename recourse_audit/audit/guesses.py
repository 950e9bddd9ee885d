"""What columns may mean, from their names and their numbers alone: ids, ties, features, codes."""

import math
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from recourse_audit.errors import InputError
from recourse_audit.graph.columns import Column, ColumnSummary
from recourse_audit.graph.graph import Floats
from recourse_audit.model.roles import Signature
from recourse_audit.settings.inputs import EncodingSettings

ID_NAMES = ("id", "node", "node_id", "name", "person", "customer", "account")
END_NAMES = (("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("a", "b"))
KIND_NAMES = ("kind", "type", "edge_type", "tie_type", "relation", "relationship")
PROTECTED = frozenset(
    {"gender", "sex", "race", "ethnicity", "ethnic", "origin", "nationality", "nation", "age"}
    | {"citizenship", "religion", "disability", "disabled", "marital", "birth"}
)
# How far from 0 and 1 the mean and the standard deviation of a standardised column may be.
NEARLY = 0.1
# In how many rows unrelated columns would break the order of a thermometer, for it to count.
EXPECTED_BY_CHANCE = 5
SEPARATORS = re.compile(r"__|[=.:_\[/ -]")


def guess_tie_columns(
    columns: list[ColumnSummary], path: Path, signature: Signature | None
) -> dict[str, object]:
    """The columns of ties that are no default, as settings."""
    names = {column.name.lower(): column.name for column in columns}
    ends = next((pair for pair in END_NAMES if names.keys() >= {*pair}), None)
    if ends is None and len(columns) < 2:
        raise InputError(f"{path}: needs two columns, the ends of each tie")
    source, target = (
        (columns[0].name, columns[1].name) if ends is None else (names[ends[0]], names[ends[1]])
    )
    given: dict[str, object] = {}
    if (source, target) != END_NAMES[0]:
        given |= {"source": source, "target": target}
    if signature is None:  # of one relation, which is a kind
        return given
    kind = next((names[name] for name in KIND_NAMES if name in names), KIND_NAMES[0])
    if kind != KIND_NAMES[0]:  # a column that is named must be there, the usual one need not
        given["kind"] = kind
    port = signature.port("edge_attributes")
    numeric = [c.name for c in columns if c.numeric and c.name not in (source, target)]
    width = None if port is None else port.inner[1]
    if isinstance(width, int) and len(numeric) > width:
        numeric = [name for name in numeric if name != "weight"][:width]
    if port is not None and numeric:
        given["edge_attributes"] = numeric
    return given


def guess_id(columns: list[ColumnSummary], path: Path) -> str:
    """The likeliest of the columns without a repeated value: by name, then text before numbers."""
    unique = [column for column in columns if column.distinct == column.rows]
    if not unique:
        raise InputError(f"{path}: no column has a different value in every row, so none is an id")

    def doubt(column: ColumnSummary) -> tuple[bool, bool, bool]:
        name = column.name.lower()
        return name not in ID_NAMES, not name.endswith("id"), column.numeric

    return min(unique, key=doubt).name


def guess_features(
    columns: list[ColumnSummary], unused: Container[str], wanted: int | None
) -> tuple[list[str], str]:
    """The columns of numbers that the model may take, and what is doubtful about that."""
    numeric = [c.name for c in columns if c.numeric and c.name not in unused]
    plain = [name for name in numeric if not is_protected(name)]
    if wanted is None:
        return plain, "the model does not say how many features it takes; these are numbers"
    if len(plain) == wanted:
        return plain, f"the model takes {wanted} features, and that many columns hold numbers"
    if len(numeric) == wanted:
        return numeric, (
            f"the model takes {wanted} features, and that many columns hold numbers, protected "
            "attributes included"
        )
    return plain[:wanted], (
        f"the model takes {wanted} features and {len(plain)} columns hold numbers; name the "
        "right ones, in the model's order"
    )


def is_protected(name: str) -> bool:
    """Whether a word of a column's name is that of a protected attribute."""
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    return not PROTECTED.isdisjoint(words)


def find_encodings(
    names: Sequence[str], features: Floats, others: Iterable[str] = ()
) -> list[EncodingSettings]:
    """The categories that features encode, in the order of their first columns.

    Both the names and the numbers must say so: the columns share a prefix (`housing_rent`,
    `housing=rent`, `housing.rent`, `housing[rent]`) and hold nothing but 0 and 1. Either every row
    has exactly one 1 among them (one-hot), or whoever has a 1 has it in all columns before as well
    (thermometer), for more people than would by chance. Where a longer and a shorter prefix both
    fit, the category with more columns is taken. Its name is the prefix, unless a column is
    already called that; `others` are names in use.
    """
    place = {name: number for number, name in enumerate(names)}
    binary = ((features == 0) | (features == 1)).all(axis=0)
    groups: dict[tuple[str, str], dict[str, str]] = {}
    for name in (name for name in names if binary[place[name]]):
        for match in SEPARATORS.finditer(name):
            prefix, label = name[: match.start()], name[match.end() :]
            label = label.removesuffix("]") if match[0] == "[" else label
            if prefix.strip() and label.strip():
                groups.setdefault((prefix, match[0]), {})[name] = label
    used: set[str] = set()
    known = {*names, *others}
    encodings: list[EncodingSettings] = []
    order = sorted(groups.items(), key=lambda group: (-len(group[1]), -len(group[0][0])))
    for (name, _), members in order:
        if len({*members.values()}) < max(2, len(members)) or not used.isdisjoint(members):
            continue
        coded = _read_codes(members, features[:, [place[member] for member in members]])
        if coded is not None:
            used.update(members)
            while name in known:
                name = f"{name}_category"  # noqa: PLW2901
            known.add(name)
            encodings.append(EncodingSettings.model_validate({"name": name, **coded}))
    return sorted(encodings, key=lambda encoding: place[encoding.columns[0]])


def _read_codes(members: Mapping[str, str], rows: Floats) -> dict[str, object] | None:
    """The kind, columns and labels of a category in columns of 0 and 1; None if it is none."""
    if (rows.sum(axis=1) == 1).all() and rows.any(axis=0).sum() > 1:
        return {"kind": "one_hot", "columns": [*members], "labels": [*members.values()]}
    order = np.argsort(-rows.sum(axis=0), kind="stable")
    lower, upper = rows[:, order[:-1]], rows[:, order[1:]]
    by_chance = ((1 - lower.mean(axis=0)) * upper.mean(axis=0)).sum() * len(rows)
    if (upper > lower).any() or by_chance < EXPECTED_BY_CHANCE:
        return None
    columns = [[*members][at] for at in order.tolist()]
    labels = [members[column] for column in columns]
    below = [] if rows[:, order[0]].all() else [f"below {labels[0]}"]
    return {"kind": "thermometer", "columns": columns, "labels": [*below, *labels]}


def find_standardised(names: Sequence[str], features: Floats) -> list[str]:
    """The features whose units are lost: fractions with mean 0 and standard deviation 1, nearly."""
    if not features.size:
        return []
    near = (np.abs(features.mean(axis=0)) < NEARLY) & (np.abs(features.std(axis=0) - 1) < NEARLY)
    near &= (features != np.round(features)).any(axis=0)
    return [name for name, is_near in zip(names, near.tolist(), strict=True) if is_near]


def guess_step(values: Column) -> int | float:
    """About a tenth of the range of most people, as 1, 2 or 5 times a power of ten."""
    numbers = values[np.isfinite(values)].astype(np.float64)
    low, high = np.quantile(numbers, [0.05, 0.95]) if len(numbers) else (0.0, 0.0)
    size = (high - low) / 10 or 1.0
    power = 10.0 ** math.floor(math.log10(size))
    step = next(nice * power for nice in (1, 2, 5, 10) if size <= nice * power * 1.5)
    whole = bool((numbers == np.round(numbers)).all())
    return max(round(step), 1) if whole else float(f"{step:.1g}")
