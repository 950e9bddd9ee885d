"""Tables, lists and the facts about an audit as a page shows them; every cell is finished text."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from recourse_audit.records.bundle import Fingerprint
from recourse_audit.render.charts.svg import Picture
from recourse_audit.settings import Settings

Kind = Literal["plain", "figures", "whole"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A heading, and the layout of its cells: `plain`, `figures` (aligned right) or `whole`.

    Lines of `whole` cells are never broken; use it for short lines only.
    """

    heading: str
    kind: Kind = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells, each of one or several lines; the first cell of a row is its heading."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[tuple[str, ...], ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A name and a value; `code` marks values to be copied or compared letter by letter."""

    name: str
    value: str
    code: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartRow:
    """A row of a chart: what it is about, its drawing, and its figures in words.

    `strong` and `figure` are the bold beginnings of the first and the last cell. `apart` is a
    heading above the row. `tone` is a class of the style sheet: attention, open or yes.
    """

    label: str
    picture: Picture | None
    words: str
    strong: str = ""
    figure: str = ""
    apart: str = ""
    tone: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartTable:
    """A chart: a table with one drawing per row on one axis; its title is a finding.

    `top` names what lies on either side of the axis's line, `axis` has the figures at its ticks.
    """

    title: str
    rows: tuple[ChartRow, ...]
    axis: Picture | None = None
    top: Picture | None = None
    head: tuple[str, ...] = ()
    note: str = ""


def cells(*values: str | tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """A row; a cell of one line may be given as a string."""
    return tuple((value,) if isinstance(value, str) else value for value in values)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFacts:
    """The audit that a page belongs to; digests are SHA-256. `prefer` is `search.prefer`.

    `names` are the user's words for attributes and units by language, `currencies` the codes of
    units that are money.
    """

    classes: tuple[str, ...]
    favourable: tuple[str, ...]
    protected: tuple[str, ...]
    model: str
    graph: Mapping[str, str]
    settings: str
    seed: int
    versions: Mapping[str, str]
    prefer: Literal["paper", "whole_graph"] = "paper"
    names: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    currencies: Mapping[str, str] = field(default_factory=dict)


def facts_of(fingerprint: Fingerprint, settings: Settings) -> AuditFacts:
    """Take the facts from what a bundle says it is of, and from its settings."""
    return AuditFacts(
        classes=tuple(settings.decision.classes),
        favourable=tuple(settings.decision.favourable),
        protected=tuple(settings.groups.attributes),
        model=fingerprint.model,
        graph=fingerprint.graph,
        settings=fingerprint.settings,
        seed=fingerprint.seed,
        versions=fingerprint.versions,
        prefer=settings.search.prefer,
        names=settings.letters.words,
        currencies=settings.letters.currencies,
    )
