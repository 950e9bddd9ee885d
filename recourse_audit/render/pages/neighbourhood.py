"""The neighbourhood of a subject on a page: who is drawn, how they were decided, their ties.

Nothing here looks at a graph: the report holds everybody who is drawn.
"""

from collections import Counter
from collections.abc import Sequence

from recourse_audit.records.search import Counterfactual, Tie
from recourse_audit.records.subject import EgoNode, SubjectReport
from recourse_audit.render.charts.rings import Around, Person, rings
from recourse_audit.render.charts.strips import Axis, Part, Strip
from recourse_audit.render.charts.svg import Picture
from recourse_audit.render.i18n import Words

MOST_PEOPLE = 60  # in the picture
MOST_LABELS = 14  # of direct ties; beyond, only the ends of removed ties have labels
BAR = 240.0


class Neighbourhood:
    """The people near a subject whom its reader may see; false if there is nobody.

    `counterfactuals` are those that the page shows: whoever is in one of them is drawn.
    """

    def __init__(
        self,
        report: SubjectReport,
        words: Words,
        counterfactuals: Sequence[Counterfactual],
    ) -> None:
        self._report = report
        self._words = words
        self._counterfactuals = counterfactuals
        self.people = self._find_people()

    def __bool__(self) -> bool:
        return bool(self.people)

    def tie_label(self, tie: Tie, *, decided: bool = True) -> str:
        """An own tie by its kinds and its other end: payment: P0910 (approved)."""
        subject, near = self._report.subject.id, self._report.ego_network
        other = tie[1] if tie[0] == subject else tie[0]
        counts = Counter[str]()
        for between in near.ties if near else ():
            if frozenset(between.ends) == frozenset(tie):
                counts[between.kind] += between.count
        kinds = ", ".join(
            kind if count == 1 else f"{kind} \N{MULTIPLICATION SIGN}{count}"
            for kind, count in counts.items()
            if kind
        )
        name = f"{kinds}: {other}" if kinds else other
        decision = (
            next((node.decision for node in near.nodes if node.id == other), "") if near else ""
        )
        return f"{name} ({decision})" if decision and decided else name

    def _find_people(self) -> list[EgoNode]:
        """The subject, whoever is in a counterfactual, then the nearest, as far as drawn."""
        near = self._report.ego_network
        if near is None or len(near.nodes) < 2:
            return []
        subject = self._report.subject.id
        needed = {name for found in self._counterfactuals for name in found.explanation.nodes}
        ranked = sorted(
            near.nodes, key=lambda node: (node.id != subject, node.id not in needed, node.hops)
        )
        drawn = {node.id for node in ranked[:MOST_PEOPLE]}
        first = [node for node in near.nodes if node.id == subject]
        return first + [node for node in near.nodes if node.id in drawn and node.id != subject]

    @property
    def decided(self) -> tuple[str, str]:
        """What most neighbours were decided, and whether that is all of them, most, or mixed."""
        others = self.people[1:]
        counts = Counter(node.decision for node in others if node.decision)
        [(decision, count)] = counts.most_common(1) or [("", 0)]
        if 2 * count <= len(others):
            return decision, "mixed"
        return decision, "all" if count == len(others) else "mostly"

    def draw(self) -> Picture:
        """Everybody near, in rings around the subject; removed ties are dashed and numbered."""
        nodes, near = self.people, self._report.ego_network
        assert near is not None
        places = {node.id: place for place, node in enumerate(nodes)}
        removed: dict[tuple[int, int], list[str]] = {}
        for number, found in enumerate(self._counterfactuals, start=1):
            for tie in {frozenset(tie): tie for tie in found.removed}.values():
                if tie[0] in places and tie[1] in places:
                    a, b = sorted(places[end] for end in tie)
                    removed.setdefault((a, b), []).append(str(number))
        ends = {end for tie in removed for end in tie}
        direct = sum(node.hops == 1 for node in nodes)
        ties = {
            (min(a, b), max(a, b))
            for a, b in (
                (places[tie.ends[0]], places[tie.ends[1]])
                for tie in near.ties
                if all(end in places for end in tie.ends)
            )
        }
        around = Around(
            people=tuple(
                Person(
                    hops=node.hops,
                    favourable=is_favourable(node),
                    label=self._label(node)
                    if not place or place in ends or (node.hops == 1 and direct <= MOST_LABELS)
                    else "",
                    tip=f"{node.id}: {node.decision or self._words.say('subject.none')}",
                )
                for place, node in enumerate(nodes)
            ),
            ties=tuple(sorted(ties)),
            removed={tie: ", ".join(numbers) for tie, numbers in removed.items()},
        )
        alt = self._words.say(
            "subject.near.alt",
            subject=self._report.subject.id,
            direct=self._words.number(direct),
            others=self._words.number(len(nodes) - 1 - direct),
        )
        return rings(around, alt)

    def _label(self, node: EgoNode) -> str:
        kind = self.kinds_of(node)
        return f"{node.id}, {kind}" if kind else node.id

    def kinds_of(self, node: EgoNode) -> str:
        """The kinds of the direct ties with a neighbour."""
        if node.hops != 1:
            return ""
        label = self.tie_label((self._report.subject.id, node.id), decided=False)
        return label.removesuffix(node.id).rstrip(": ")

    @property
    def rings(self) -> list[tuple[int, list[EgoNode]]]:
        """The neighbours by distance, nearest first."""
        others = self.people[1:]
        return [
            (hops, [node for node in others if node.hops == hops])
            for hops in sorted({node.hops for node in others})
        ]

    def decisions_on(self, nodes: Sequence[EgoNode]) -> list[tuple[str, int]]:
        """How many of some people were decided how, the most frequent decision first."""
        return Counter(node.decision for node in nodes).most_common()

    def draw_decisions(self, nodes: Sequence[EgoNode], alt: str) -> Picture:
        """How some people were decided: solid, tinted, and dashed without a decision."""
        most = max(len(there) for _, there in self.rings)
        kinds: dict[Part, bool | None] = {"no": False, "yes": True, "open": None}
        parts = [
            (part, float(sum(is_favourable(node) is favourable for node in nodes)))
            for part, favourable in kinds.items()
        ]
        axis = Axis(low=0.0, high=float(most), width=BAR)
        return Strip(axis, alt).bar(parts).picture()

    def explanations_with(self, node: EgoNode) -> str:
        """The numbers of the counterfactuals whose explanation somebody is in."""
        numbers = [
            str(number)
            for number, found in enumerate(self._counterfactuals, start=1)
            if node.id in found.explanation.nodes
        ]
        return ", ".join(numbers)


def is_favourable(node: EgoNode) -> bool | None:
    """Whether a person was decided favourably; None where there is no decision."""
    return node.favourable if node.decision else None
