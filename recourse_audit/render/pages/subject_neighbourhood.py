"""The neighbourhood of a subject on a page: rings, how others were decided, and everybody in words.

Nothing here looks at a graph: the report holds everybody who is drawn.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from recourse_audit.records.report import EgoNetwork, EgoNode, SubjectReport
from recourse_audit.records.search import Tie
from recourse_audit.render.charts.rings import Around, Person, rings
from recourse_audit.render.charts.strips import Axis, Part, Strip
from recourse_audit.render.charts.svg import Picture
from recourse_audit.render.page_words import PageWords
from recourse_audit.render.pages.redaction import Level
from recourse_audit.render.pages.subject_ladder import tie_label
from recourse_audit.render.pages.tables import ChartRow, ChartTable, Column, Table, cells

LIMIT = 60
MOST_LABELS = 14  # of direct ties; beyond, only the ends of removed ties have labels
BAR = 240.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourhoodView:
    """Who is around the subject: a drawing, bars by distance, and everybody in a table."""

    heading: str
    picture: Picture
    bars: ChartTable
    note: str
    people: Table


def neighbourhood_view(
    shown: SubjectReport, level: Level, words: PageWords, annex: str
) -> NeighbourhoodView | None:
    """The neighbourhood; None if nobody is near, or nobody may be shown."""
    found = shown.ego_network
    if found is None or level == "subject" or len(found.nodes) < 2:
        return None
    nodes = _drawn(found, shown)
    others = nodes[1:]
    bars = tuple(
        _bar(hops, [node for node in others if node.hops == hops], nodes, words)
        for hops in sorted({node.hops for node in others})
    )
    return NeighbourhoodView(
        heading=_heading(others, words),
        picture=rings(_around(nodes, found, shown, words), _alt(shown, nodes, words)),
        bars=ChartTable(title="", rows=bars),
        note=_note(found, nodes, shown, words, annex),
        people=_people(nodes, shown, words),
    )


def _drawn(found: EgoNetwork, shown: SubjectReport) -> list[EgoNode]:
    """The subject, whoever is in a counterfactual, then the nearest: as many as a picture holds."""
    subject = shown.subject.id
    needed = {name for one in shown.counterfactuals for name in one.explanation.nodes}
    ranked = sorted(
        found.nodes,
        key=lambda node: (node.id != subject, node.id not in needed, node.hops),
    )[:LIMIT]
    kept = {node.id for node in ranked}
    first = [node for node in found.nodes if node.id == subject]
    return first + [node for node in found.nodes if node.id in kept and node.id != subject]


def _heading(others: Sequence[EgoNode], words: PageWords) -> str:
    counts = Counter(node.decision for node in others if node.decision)
    [(decision, count)] = counts.most_common(1) or [("", 0)]
    if 2 * count > len(others):
        key = "all" if count == len(others) else "mostly"
        return words.say(f"subject.near.{key}", decision=decision)
    return words.say("subject.near.mixed")


def _favourable(node: EgoNode) -> bool | None:
    return node.favourable if node.decision else None


def _around(
    nodes: Sequence[EgoNode], found: EgoNetwork, shown: SubjectReport, words: PageWords
) -> Around:
    places = {node.id: place for place, node in enumerate(nodes)}
    removed: dict[tuple[int, int], list[str]] = {}
    for number, one in enumerate(shown.counterfactuals, start=1):
        for tie in _unique(one.removed):
            if tie[0] in places and tie[1] in places:
                a, b = sorted(places[end] for end in tie)
                removed.setdefault((a, b), []).append(str(number))
    ends = {end for tie in removed for end in tie}
    direct = sum(node.hops == 1 for node in nodes)
    ties = {
        tuple(sorted(places[end] for end in tie.ends))
        for tie in found.ties
        if all(end in places for end in tie.ends)
    }
    return Around(
        people=tuple(
            Person(
                hops=node.hops,
                favourable=_favourable(node),
                label=_label(node, shown)
                if not place or place in ends or (node.hops == 1 and direct <= MOST_LABELS)
                else "",
                tip=_tip(node, words),
            )
            for place, node in enumerate(nodes)
        ),
        ties=tuple(sorted((a, b) for a, b in ties)),
        removed={tie: ", ".join(numbers) for tie, numbers in removed.items()},
    )


def _unique(ties: Sequence[Tie]) -> list[Tie]:
    return list({frozenset(tie): tie for tie in ties}.values())


def _label(node: EgoNode, shown: SubjectReport) -> str:
    """The id, and of a direct tie its kind."""
    if node.hops != 1:
        return node.id
    kinds = tie_label(shown, (shown.subject.id, node.id), decided=False)
    kind = kinds.removesuffix(node.id).rstrip(": ")
    return f"{node.id}, {kind}" if kind else node.id


def _tip(node: EgoNode, words: PageWords) -> str:
    return f"{node.id}: {node.decision or words.say('subject.none')}"


def _bar(
    hops: int, there: Sequence[EgoNode], nodes: Sequence[EgoNode], words: PageWords
) -> ChartRow:
    """How those at one distance were decided: solid, tinted, and dashed without a decision."""
    counts = Counter(node.decision for node in there)
    parts: list[tuple[Part, float]] = [
        ("no", float(sum(_favourable(node) is False for node in there))),
        ("yes", float(sum(_favourable(node) is True for node in there))),
        ("open", float(sum(_favourable(node) is None for node in there))),
    ]
    most = max(Counter(node.hops for node in nodes[1:]).values())
    said = ", ".join(
        words.say(
            "subject.near.decided",
            count=words.number(count),
            decision=decision or words.say("subject.near.without"),
        )
        for decision, count in counts.most_common()
    )
    axis = Axis(low=0.0, high=float(most), width=BAR)
    label = (
        words.say("subject.near.direct")
        if hops == 1
        else words.say_count("subject.near.away", hops)
    )
    return ChartRow(
        strong=label,
        label=f" {words.number(len(there))}",
        picture=Strip(axis, f"{label}: {said}").bar(parts).picture(),
        words=said,
    )


def _alt(shown: SubjectReport, nodes: Sequence[EgoNode], words: PageWords) -> str:
    direct = sum(node.hops == 1 for node in nodes)
    return words.say(
        "subject.near.alt",
        subject=shown.subject.id,
        direct=words.number(direct),
        others=words.number(len(nodes) - 1 - direct),
    )


def _note(
    found: EgoNetwork,
    nodes: Sequence[EgoNode],
    shown: SubjectReport,
    words: PageWords,
    annex: str,
) -> str:
    said = [words.say_count("subject.near.reach", found.hops, total=words.number(found.total))]
    if found.total > len(nodes):
        said.append(words.say_count("subject.near.drawn", len(nodes)))
    if any(one.removed for one in shown.counterfactuals):
        said.append(words.say("subject.near.dashed"))
    said.append(words.say("subject.near.annex", annex=annex))
    return " ".join(said)


def _people(nodes: Sequence[EgoNode], shown: SubjectReport, words: PageWords) -> Table:
    """Everybody in the picture, nearest first."""
    explained: dict[str, list[str]] = {}
    for number, one in enumerate(shown.counterfactuals, start=1):
        for name in one.explanation.nodes:
            explained.setdefault(name, []).append(str(number))
    return Table(
        caption=words.say("subject.people.caption"),
        columns=(
            Column(heading=words.say("subject.people.person")),
            Column(heading=words.say("subject.people.hops"), kind="figures"),
            Column(heading=words.say("subject.people.tie")),
            Column(heading=words.say("subject.people.decision")),
            Column(heading=words.say("subject.people.explanations")),
        ),
        rows=tuple(
            cells(
                f"{node.id} ({words.say('subject.people.subject')})" if not place else node.id,
                words.number(node.hops),
                _label(node, shown).removeprefix(node.id).lstrip(", "),
                node.decision or words.say("subject.none"),
                ", ".join(explained.get(node.id, ())),
            )
            for place, node in enumerate(nodes)
        ),
    )
