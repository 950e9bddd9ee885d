"""Text that terminal views, pages and letters share: figures, users' own text, effects."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from recourse_audit.records.search import Counterfactual, SearchExtent

if TYPE_CHECKING:
    from rich.table import Table

    from recourse_audit.records.model import ProbeReport

T = TypeVar("T")
NO_BREAK = "\N{NO-BREAK SPACE}"
HELD_BACK = "held it back"
PROBE_MEANINGS = {
    "deterministic": "the same question gets the same answer",
    "node_order": "the order of nodes does not matter",
    "tie_order": "the order of ties does not matter",
    "ties_matter": "answers move when ties do",
    "packing": "a graph's answer does not depend on what is asked beside it",
}


def sender_degree_words(probes: "ProbeReport") -> str:
    """What the probe of `sender_degree` means for an audit."""
    if probes.sender_degree is None:
        return "what-ifs are asked one at a time"
    return "a sender's own number of ties weighs its message; many what-ifs go into one question"


def columns(*names: str, show_header: bool = True, title: str | None = None) -> "Table":
    """A table without lines for the terminal; its cells are wrapped, never cut off."""
    from rich.table import Table

    table = Table(
        box=None, pad_edge=False, show_header=show_header, title=title, title_justify="left"
    )
    for name in names:
        table.add_column(name, overflow="fold")
    return table


def plain(text: str) -> str:
    """A user's text with line breaks and control characters written out, so they do nothing.

    A space that does not break a line does no harm, and stands between a number and its unit.
    """
    return "".join(
        letter
        if letter.isprintable() or letter == NO_BREAK
        else letter.encode("unicode_escape").decode()
        for letter in text
    )


def printable(record: T) -> T:
    """The same record with every text in it made plain."""
    found = _printable(record)
    assert isinstance(found, type(record))
    return found


def _printable(value: object) -> object:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, tuple):
        return tuple(_printable(one) for one in value)
    if isinstance(value, Mapping):
        return {_printable(name): _printable(one) for name, one in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        changes = {field.name: _printable(getattr(value, field.name)) for field in fields(value)}
        return replace(value, **changes)
    return value


def share(value: float) -> str:
    """Three decimals; a share just short of all or nothing is not rounded to it."""
    if 0.9995 <= value < 1:
        return ">.999"
    return "<.001" if 0 < value < 0.0005 else f"{value:.3f}"


def number(count: int, word: str) -> str:
    """A count and its noun: 1 tie, 2,000 ties."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def coverage_words(extent: SearchExtent) -> str:
    """How much of all subgraphs a search looked at, as the start of a sentence."""
    sample = extent.sample
    if sample is None:
        return f"All {extent.subgraphs:,} subgraphs"
    about = "about " if sample.of_is_estimate else ""
    return (
        f"A uniform sample of {sample.drawn:,} of {about}{sample.of:,} subgraphs (with "
        f"{sample.confidence:.0%} confidence, the first choice is dominated through at most "
        f"{sample.bound:.2%} of them)"
    )


def beaten_baselines(found: Counterfactual) -> str:
    """The baselines whose choices a counterfactual dominates; empty if there is none."""
    names = [name for name, beats in found.dominates_baselines.items() if beats]
    if not names:
        return ""
    return f"and the baseline{'' if len(names) == 1 else 's'} {', '.join(names)}"
