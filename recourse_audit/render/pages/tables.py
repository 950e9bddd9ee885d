"""Tables, lists and the facts about an audit as a page shows them; every cell is finished text."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from recourse_audit.records.bundle import Fingerprint
from recourse_audit.records.subject import SubjectReport
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
    """The audit that a page belongs to; digests are SHA-256. `prefer` is `search.prefer`."""

    classes: tuple[str, ...]
    favourable: tuple[str, ...]
    protected: tuple[str, ...]
    model: str
    graph: Mapping[str, str]
    settings: str
    seed: int
    versions: Mapping[str, str]
    prefer: Literal["paper", "whole_graph"] = "paper"


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
    )


def facts_of_report(report: SubjectReport, favourable: Collection[str] = ()) -> AuditFacts:
    """What a report alone tells of its audit; classes of which it does not tell are left open."""
    subject, near, own = report.subject, report.ego_network, report.own_data
    known = dict.fromkeys(favourable, True)
    if not favourable:
        options = report.recourse.options if report.recourse else ()
        known = {option.decision: True for option in options}
        known |= {node.decision: node.favourable for node in (near.nodes if near else ())}
        known[subject.decision] = subject.favourable
        if own is not None and own.alone is not None:
            known[own.alone.decision] = own.alone.favourable
        known.pop("", None)  # no decision
    classes = tuple(subject.probabilities) or tuple(known)
    if len(classes) == 2 and len(known) == 1:  # then the other class is the other kind
        [(name, good)] = known.items()
        known |= {other: not good for other in classes if other != name}
    told = bool(favourable) or set(classes) <= set(known)
    return AuditFacts(
        classes=classes,
        favourable=tuple(name for name, good in known.items() if good) if told else (),
        protected=(),
        model="",
        graph={},
        settings="",
        seed=0,
        versions={},
    )
