"""Guesses what the columns of a graph's files mean, by their names and by what they hold."""

import re
from pathlib import Path

from recourse_audit.errors import InputError
from recourse_audit.graph.tables import Column
from recourse_audit.model.signature import Signature

ID_NAMES = ("id", "node", "node_id", "name", "person", "customer", "account")
END_NAMES = (("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("a", "b"))
KIND_NAMES = ("kind", "type", "edge_type", "tie_type", "relation", "relationship")
PROTECTED = frozenset(
    {"gender", "sex", "race", "ethnicity", "ethnic", "origin", "nationality", "nation", "age"}
    | {"citizenship", "religion", "disability", "disabled", "marital", "birth"}
)


def id_column(columns: list[Column], path: Path) -> str:
    """The likeliest of the columns without a repeated value: by name, then text before numbers."""
    unique = [column for column in columns if column.distinct == column.rows]
    if not unique:
        raise InputError(f"{path}: no column has a different value in every row, so none is an id")

    def doubt(column: Column) -> tuple[bool, bool, bool]:
        name = column.name.lower()
        return name not in ID_NAMES, not name.endswith("id"), column.numeric

    return min(unique, key=doubt).name


def end_columns(columns: list[Column], path: Path) -> tuple[str, str]:
    """The two columns with the ends of a tie: by name, else the first two."""
    names = {column.name.lower(): column.name for column in columns}
    for source, target in END_NAMES:
        if source in names and target in names:
            return names[source], names[target]
    if len(columns) < 2:
        raise InputError(f"{path}: needs two columns, the ends of each tie")
    return columns[0].name, columns[1].name


def kind_column(columns: list[Column]) -> str:
    """The column with a name for this purpose; the usual name if there is none."""
    names = {column.name.lower(): column.name for column in columns}
    return next((names[name] for name in KIND_NAMES if name in names), KIND_NAMES[0])


def tie_attributes(columns: list[Column], signature: Signature) -> list[str]:
    """The columns of numbers that a model with attributes of ties may take."""
    port = signature.port("edge_attributes")
    if port is None:
        return []
    numeric = [column.name for column in columns if column.numeric]
    width = port.inner[1]
    if isinstance(width, int) and len(numeric) > width:
        numeric = [name for name in numeric if name != "weight"][:width]
    return numeric


def feature_columns(
    columns: list[Column], identifier: str, wanted: int | None
) -> tuple[list[str], str]:
    """The columns of numbers that the model may take, and what is doubtful about that."""
    numeric = [c.name for c in columns if c.numeric and c.name != identifier]
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
