"""Changes that somebody types become records of what is meant.

    drop A-B         every tie between two people; drop A-B:kind only those of one kind
    add A-B:kind     a new tie; where ties have a direction it leads from A to B
    savings=4000     the subject's attribute, in the user's units
    housing=own      the subject's category

Ids may contain hyphens and colons: a text is split wherever both sides are ids, and refused if it
can be read in two ways.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from recourse_audit.errors import InputError
from recourse_audit.graph.arrays import Graph, Ints
from recourse_audit.graph.columns import near_matches
from recourse_audit.graph.neighbourhoods import spans
from recourse_audit.model.preprocessing import Encoder
from recourse_audit.recourse.attributes import (
    Value,
    category_of,
    is_category,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TieChange:
    """A tie to drop or to add, as typed; `kind` is None where any kind will do."""

    text: str
    do: Literal["drop", "add"]
    source: int
    target: int
    kind: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueChange:
    """An attribute to set: a number in the user's units, or a category."""

    text: str
    name: str
    value: Value


Change = TieChange | ValueChange


def read_changes(
    texts: Sequence[str], graph: Graph, encoder: Encoder | None = None
) -> tuple[Change, ...]:
    """Read what was typed; the first text that cannot be read is an error.

    With an encoder, the columns that it takes may be set; without one, the features.
    """
    if not texts:
        return ()
    numbers = {name: number for number, name in enumerate(graph.ids.tolist())}
    changes: list[Change] = []
    for text in texts:
        word, _, rest = text.strip().partition(" ")
        if word == "drop":
            drop = _read_tie(text, "drop", rest, graph, numbers)
            arcs_of(graph, drop)
            changes.append(drop)
        elif word == "add":
            changes.append(_read_tie(text, "add", rest, graph, numbers))
        else:
            changes.append(_read_value(text, graph, encoder))
    names = [change.name for change in changes if isinstance(change, ValueChange)]
    repeated = [name for place, name in enumerate(names) if name in names[:place]]
    if repeated:
        raise InputError(f"--what-if sets {repeated[0]!r} twice; give one value")
    return tuple(changes)


def refused(text: str, why: str) -> InputError:
    """The error for a change that cannot be read or tried."""
    return InputError(f"--what-if {text!r}: {why}")


def _read_tie(
    text: str,
    do: Literal["drop", "add"],
    rest: str,
    graph: Graph,
    numbers: dict[str, int],
) -> TieChange:
    readings = list(_readings(rest, numbers, graph.ties.kinds))
    if not readings:
        kinds = ", ".join(graph.ties.kinds[:12])
        raise refused(
            text,
            f"does not name two people and a kind of tie of this graph; write {do} ID-ID:KIND "
            f"(kinds: {kinds})",
        )
    if len(readings) > 1:
        examples = " or ".join(f"{a!r} and {b!r}" for a, b, _ in readings[:3])
        raise refused(text, f"can be read in {len(readings)} ways, as about {examples}")
    (first, other, kind) = readings[0]
    source, target = numbers[first], numbers[other]
    if source == target:
        raise refused(text, "a tie from a person to themselves is never changed")
    if do == "add" and kind is None:
        if len(graph.ties.kinds) > 1:
            kinds = ", ".join(graph.ties.kinds[:12])
            raise refused(text, f"does not say which kind of tie; write {text}:KIND ({kinds})")
        kind = graph.ties.kinds[0]
    return TieChange(text=text, do=do, source=source, target=target, kind=kind)


def _readings(
    rest: str, numbers: dict[str, int], kinds: Sequence[str]
) -> Iterator[tuple[str, str, str | None]]:
    """Every way to read A-B or A-B:kind as two ids and a kind."""
    for hyphen in (place for place, letter in enumerate(rest) if letter == "-"):
        first, right = rest[:hyphen].strip(), rest[hyphen + 1 :].strip()
        if first not in numbers:
            continue
        if right in numbers:
            yield first, right, None
        for colon in (place for place, letter in enumerate(right) if letter == ":"):
            other, kind = right[:colon].strip(), right[colon + 1 :].strip()
            if other in numbers and kind in kinds:
                yield first, other, kind


def _read_value(text: str, graph: Graph, encoder: Encoder | None) -> ValueChange:
    known = graph.feature_names if encoder is None else encoder.columns
    name, equals, value = text.rpartition("=")
    if name.strip() not in known and text.partition("=")[0].strip() in known:
        name, equals, value = text.partition("=")
    name = name.strip()
    if not equals:
        raise refused(text, "is not one of drop ID-ID, add ID-ID:KIND and ATTRIBUTE=VALUE")
    if name not in known:
        raise refused(text, _why_unknown(name, graph, encoder, known))
    if is_category(graph, name):
        step = None if encoder is None else encoder.computation.categories.get(name)
        labels = category_of(graph, name, None if step is None else step.settings.all_labels).labels
        if value.strip() not in labels:
            near = near_matches(value.strip(), labels)
            raise refused(text, f"{value.strip()!r} is not a value of {name!r}; {near}")
        return ValueChange(text=text, name=name, value=value.strip())
    try:
        number = float(value.replace("_", "?"))
    except ValueError:
        number = np.nan
    if not np.isfinite(number):
        raise refused(text, f"{value.strip()!r} is not a finite number")
    return ValueChange(text=text, name=name, value=number)


def _why_unknown(name: str, graph: Graph, encoder: Encoder | None, known: Sequence[str]) -> str:
    step = None if encoder is None else encoder.computation.maker.get(name)
    if step is not None:
        parts = " and ".join(repr(part) for part in step.inputs)
        return f"{name!r} is computed from {parts}; set {parts} instead"
    if name in graph.column_names:
        return f"the model does not see {name!r}, so it changes no decision"
    return f"there is no feature {name!r}; {near_matches(name, known)}"


def arcs_of(graph: Graph, change: TieChange) -> Ints:
    """The first arcs of the ties that a change would drop; there must be at least one."""
    place = np.flatnonzero(graph.neighbours(change.source) == change.target)
    pairs = graph.neighbour_pair[graph.starts[change.source] + place]
    arcs, _ = spans(graph.pair_starts, pairs)
    arcs = arcs[graph.arc_source[arcs] == change.source] if graph.directed else arcs[::2]
    if change.kind is not None:
        arcs = arcs[graph.ties.kind[graph.arc_tie[arcs]] == graph.ties.kinds.index(change.kind)]
    if not len(arcs):
        kind = "" if change.kind is None else f" of the kind {change.kind!r}"
        way = "from the one to the other" if graph.directed else "between the two"
        raise refused(change.text, f"there is no tie{kind} {way}")
    return arcs
