"""Columns become the graph's arrays only after every value was looked at.

Whatever the format, a feature, weight or tie attribute is a finite number in every row, a tie has
a kind in every row or in none, and an id is neither empty nor used twice. The model would take a
NaN or a wrapped index without a word, so a graph with one never gets past this module.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import GraphError
from recourse_audit.graph.arrays import Floats, Strings
from recourse_audit.graph.places import Place

DEFAULT_KIND = "tie"
MOST_KINDS = np.iinfo(np.int16).max

Numbers = NDArray[np.number | np.bool_]
Kinds = tuple[NDArray[np.int16], tuple[str, ...]]


def near_matches(name: str, known: Iterable[str]) -> str:
    """Say which known names a missing one may have meant, or else which there are."""
    names = list(known)
    if not names:
        return "there is none"
    folded = {other.casefold().strip(): other for other in reversed(names)}
    close = difflib.get_close_matches(name.casefold().strip(), folded, n=3)
    if close:
        return "did you mean " + " or ".join(repr(folded[match]) for match in close) + "?"
    shown = ", ".join(repr(other) for other in names[:12])
    return f"there {'are' if len(names) > 1 else 'is'} {shown}{', …' if len(names) > 12 else ''}"


def check_column(name: str, known: Sequence[str], key: str, place: Place) -> None:
    """Refuse a column that a setting names and the file does not have."""
    if name not in known:
        hint = near_matches(name, known) if known else "it has no columns at all"
        if len(known) == 1 and ";" in known[0]:
            hint = "its fields are separated by ';', so save it with commas"
        raise GraphError(f"{place.name}: there is no column {name!r} (from graph.{key}); {hint}")


def bad_value(place: Place, index: int, column: str, shown: str | None) -> GraphError:
    """Word the complaint about a cell that should hold a finite number (None: it is empty)."""
    shown = place.text(index, column) or shown
    what = "is empty" if shown is None or not shown.strip() else f"holds {shown!r}"
    return GraphError(
        f"{place.row(index)}: column {column!r} {what} where a finite number is needed; "
        "correct the value or leave the row out"
    )


def check_finite(values: Numbers, column: str, place: Place) -> None:
    """Refuse a NaN (which may stand for an empty cell) or an infinity, naming its row."""
    if values.dtype.kind != "f":
        return
    finite = np.isfinite(values)
    if not finite.all():
        index = int(np.flatnonzero(~finite)[0])
        raise bad_value(place, index, column, str(values[index]))


def stack_features(columns: Mapping[str, Numbers], place: Place) -> Floats:
    """Join numeric columns to one matrix [N, F] of the widest floating type among them.

    Whole numbers and booleans count as float64, the type that holds the most of them exactly.
    """
    for name, values in columns.items():
        check_finite(values, name, place)
    kinds = [v.dtype if v.dtype.kind == "f" else np.dtype(float) for v in columns.values()]
    count = len(next(iter(columns.values())))
    features = np.empty((count, len(columns)), np.result_type(*kinds))
    for position, values in enumerate(columns.values()):
        features[:, position] = values
    return features


def single_precision(values: Numbers, column: str, place: Place) -> NDArray[np.float32]:
    """Turn a numeric column of the ties to float32, the type that models take."""
    check_finite(values, column, place)
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    if values.dtype.kind == "f":
        check_finite(single, column, place)
    return single


def parse_numbers(texts: Sequence[str | None], column: str, place: Place) -> NDArray[np.float64]:
    """Read texts as numbers one by one, or name the first that is none."""
    numbers = np.empty(len(texts))
    for index, text in enumerate(texts):
        try:
            numbers[index] = float((text or "").replace("_", "?"))  # 1_000 is Python, not data
        except ValueError:
            raise bad_value(place, index, column, text) from None
    return numbers


def code_kinds(
    codes: NDArray[np.integer], names: Sequence[str], wanted: Sequence[str], place: Place
) -> Kinds:
    """Number the kinds in the order the settings list them, else in alphabetical order.

    `codes[t]` is the place of tie t's kind in `names`. A tie whose kind is empty is refused when
    others have one: rules about kinds decide what a person may be told to drop, and a tie that
    matches none of them by accident would slip through.
    """
    used = [*wanted] if wanted else sorted(set(names))
    place_of = {name: position for position, name in enumerate(used)}
    for code, name in enumerate(names):
        if name and name in place_of:
            continue
        where = place.row(int(np.flatnonzero(codes == code)[0]))
        if not name:
            raise GraphError(
                f"{where}: the kind of the tie is empty; give every tie a kind, or none of them"
            )
        raise GraphError(
            f"{where}: the kind {name!r} is not listed in graph.kinds; {near_matches(name, used)}"
        )
    if len(used) > MOST_KINDS:
        raise GraphError(
            f"{place.name}: has {len(used):,} kinds of ties, more than {MOST_KINDS:,}; "
            "name a column with fewer different values in graph.kind"
        )
    translation = np.array([place_of[name] for name in names], np.int16)
    return translation[codes] if len(codes) else np.empty(0, np.int16), tuple(used)


def one_kind(count: int, wanted: Sequence[str], place: Place) -> Kinds:
    """Give every tie the same kind, for want of a column that says more."""
    if wanted:
        raise GraphError(
            f"{place.name}: the ties have no kind, but graph.kinds lists {len(wanted)}; "
            "name the column in graph.kind, or leave graph.kinds out"
        )
    return np.zeros(count, np.int16), (DEFAULT_KIND,)


def to_strings(values: Iterable[object]) -> Strings:
    """Turn ids or labels of any type into text: 7 is "7", None is empty."""
    texts = ["" if value is None else _text(value) for value in values]
    return as_strings(np.array(texts, object))


def as_strings(values: NDArray[Any]) -> Strings:
    """Turn whole numbers or texts into numpy's text, fast."""
    return cast(Strings, values.astype(np.dtypes.StringDType()))


def as_labels(texts: Strings) -> NDArray[np.generic]:
    """Text as one of the types a label may have; numpy's own hierarchy leaves text out."""
    return cast(NDArray[np.generic], texts)


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def check_ids(ids: Strings, place: Place) -> None:
    """Refuse an empty id, and one that two nodes share, naming both."""
    seen: dict[str, int] = {}
    for index, name in enumerate(ids.tolist()):
        if not name.strip():
            raise empty_id(place, index)
        if seen.setdefault(name, index) != index:
            raise repeated_id(place, name, seen[name], index)


def empty_id(place: Place, index: int) -> GraphError:
    """Word the complaint about a node that cannot be named."""
    return GraphError(f"{place.row(index)}: the id is empty; give every node an id")


def repeated_id(place: Place, name: str, first: int, second: int) -> GraphError:
    """Word the complaint about an id that stands for two nodes."""
    again = place.row(second).removeprefix(f"{place.name}, ")
    return GraphError(
        f"{place.row(first)}: the id {name!r} is used again in {again}; "
        "keep one of the two or give them different ids"
    )


def no_nodes(place: Place) -> GraphError:
    """Word the complaint about a file without a single node."""
    return GraphError(f"{place.name}: there are no nodes, so nobody to audit; add their rows")
