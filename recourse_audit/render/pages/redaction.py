"""Who a page names: everybody to the auditor, numbers to a reviewer, nobody to the subject.

Names are replaced in the report before anything is worded, so no finished text has to be searched
for them.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from recourse_audit.records.recourse import (
    Action,
    Certificate,
    DroppableTie,
    Move,
    Option,
    Permitted,
    Recourse,
    SetAction,
    SideEffects,
    TieAction,
)
from recourse_audit.records.search import (
    Carriers,
    CarryingSet,
    Counterfactual,
    Explanation,
    FrontPair,
    Tie,
)
from recourse_audit.records.subject import (
    Caveat,
    DecisionLine,
    EgoNetwork,
    EgoNode,
    EgoTie,
    OwnData,
    SubjectReport,
)
from recourse_audit.render.i18n import Words
from recourse_audit.render.text import printable

Level = Literal["auditor", "reviewer", "subject"]
LEVELS: tuple[Level, ...] = ("auditor", "reviewer", "subject")
SOMEBODY = "another person"
PROTECTED = "a protected attribute"
LEFT_TO_THE_AUDITOR = "Something went wrong for this subject; the auditor's copy says what."


def redacted(
    report: SubjectReport,
    level: Level,
    protected: Iterable[str] = (),
    words: Words | None = None,
) -> SubjectReport:
    """The report as one kind of reader may see it, with every text in it made plain.

    For a reviewer, other people are "person 1", "person 2" and so on, nearest first; for the
    subject each is "another person", and the ego network is left out. Protected attributes have no
    name, and what went wrong is left to the auditor. `words` say "person 1" in the language of the
    page; without them it is English. Every field of the result is filled here, so
    a field that is new in the record is empty in a redacted report until somebody decides on it.
    """
    if level == "auditor":
        return printable(report)
    return printable(_Redaction(report, level, protected, words).report())


def people_of(report: SubjectReport) -> list[str]:
    """Everybody whom a report draws or explains with: the subject first, then nearest first."""
    names = [report.subject.id]
    if report.ego_network is not None:
        names += [node.id for node in report.ego_network.nodes]
    for found in report.counterfactuals:
        names += found.explanation.nodes
    return list(dict.fromkeys(names))


class _Redaction:
    """One report on its way to one kind of reader."""

    def __init__(
        self,
        report: SubjectReport,
        level: Level,
        protected: Iterable[str],
        words: Words | None,
    ) -> None:
        self._report = report
        self._words = words
        self._level = level
        self._protected = frozenset(protected)
        self._numbers: dict[str, int] = {}
        for person in people_of(report):
            self._name(person)

    def report(self) -> SubjectReport:
        report = self._report
        found = tuple(self._counterfactual(one) for one in report.counterfactuals)
        return SubjectReport(
            format=report.format,
            subject=report.subject,
            decision=self._line(report.decision),
            search=report.search,
            explanation=None if report.explanation is None else self._explained(report.explanation),
            counterfactuals=found,
            front=tuple(self._pair(pair) for pair in report.front),
            front_size=report.front_size,
            carriers=None if report.carriers is None else self._carriers(report.carriers),
            baselines={name: self._pair(pair) for name, pair in report.baselines.items()},
            objective_grid=report.objective_grid,
            ego_network=self._ego_network(report.ego_network),
            own_data=None if report.own_data is None else self._own_data(report.own_data),
            recourse=None if report.recourse is None else self._recourse(report.recourse),
            caveats=tuple(self._caveat(one, found) for one in report.caveats),
            probes=report.probes,
            what_if=None,  # chosen by hand by the auditor, and may name anybody
            queries=report.queries,
            repeats=report.repeats,
            note=report.note,
            error=LEFT_TO_THE_AUDITOR if report.error else "",
        )

    def _name(self, person: str) -> str:
        if person == self._report.subject.id:
            return person
        words = self._words
        if self._level == "subject":
            return SOMEBODY if words is None else words.say("subject.somebody")
        number = str(self._numbers.setdefault(person, len(self._numbers) + 1))
        return f"person {number}" if words is None else words.say("subject.person", number=number)

    def _names(self, people: Iterable[str]) -> tuple[str, ...]:
        return tuple(self._name(person) for person in people)

    def _tie(self, ends: Tie) -> Tie:
        one, other = ends
        return self._name(one), self._name(other)

    def _ties(self, ties: Iterable[Tie]) -> tuple[Tie, ...]:
        return tuple(self._tie(tie) for tie in ties)

    def _attribute(self, name: str) -> str:
        return PROTECTED if name in self._protected else name

    @property
    def _hides_line(self) -> bool:
        """Under a quota the line is somebody else's value, which is not for the subject."""
        return self._level == "subject" and self._report.decision.rule == "quota"

    def _line(self, line: DecisionLine) -> DecisionLine:
        hidden = self._hides_line
        return DecisionLine(
            rule=line.rule,
            cut_off=None if hidden else line.cut_off,
            score=line.score,
            margin=None if hidden else line.margin,
            better=line.better,
            places=line.places,
            rank=line.rank,
            recorded=line.recorded,
        )

    def _explained(self, found: Explanation) -> Explanation:
        return Explanation(
            nodes=self._names(found.nodes),
            edges=self._ties(found.edges),
            simulatability=found.simulatability,
            probabilities=found.probabilities,
            score=found.score,
        )

    def _counterfactual(self, found: Counterfactual) -> Counterfactual:
        return Counterfactual(
            explanation=self._explained(found.explanation),
            removed=self._ties(found.removed),
            kept=self._ties(found.kept),
            simulatability=found.simulatability,
            relevance=found.relevance,
            signed_relevance=found.signed_relevance,
            ranks=found.ranks,
            layer=found.layer,
            dominates=found.dominates,
            dominates_baselines=found.dominates_baselines,
            probabilities=found.probabilities,
            score=found.score,
            whole_graph=found.whole_graph,  # about the subject alone
        )

    def _carriers(self, found: Carriers) -> Carriers:
        flip = found.smallest_flip
        return Carriers(
            front=tuple(self._carrying(one) for one in found.front),
            smallest_flip=None if flip is None else self._carrying(flip),
            # Tie by tie, effects tell how each of the others was decided.
            own=() if self._level == "subject" else tuple(map(self._carrying, found.own)),
            own_ties=found.own_ties,
            ties_in_reach=found.ties_in_reach,
            max_ties=found.max_ties,
            coverage=found.coverage,
            tried=found.tried,
        )

    def _carrying(self, found: CarryingSet) -> CarryingSet:
        return CarryingSet(
            removed=self._ties(found.removed),
            size=found.size,
            probabilities=found.probabilities,
            score=found.score,
            effect=found.effect,
            decision=found.decision,
            flips=found.flips,
        )

    def _pair(self, pair: FrontPair) -> FrontPair:
        return FrontPair(
            edges=self._ties(pair.edges),
            removed=self._ties(pair.removed),
            simulatability=pair.simulatability,
            relevance=pair.relevance,
        )

    def _ego_network(self, found: EgoNetwork | None) -> EgoNetwork | None:
        if found is None or self._level == "subject":
            return None
        return EgoNetwork(
            nodes=tuple(
                EgoNode(
                    id=self._name(node.id),
                    hops=node.hops,
                    decision=node.decision,
                    favourable=node.favourable,
                )
                for node in found.nodes
            ),
            ties=tuple(
                EgoTie(ends=self._tie(tie.ends), kind=tie.kind, count=tie.count)
                for tie in found.ties
            ),
            shown=found.shown,
            total=found.total,
            hops=found.hops,
            limit=found.limit,
        )

    def _own_data(self, found: OwnData) -> OwnData:
        alone = found.alone
        if alone is not None and self._hides_line:
            alone = replace(alone, value=None)
        return replace(found, alone=alone, reason="" if self._level == "subject" else found.reason)

    def _recourse(self, found: Recourse) -> Recourse:
        return Recourse(
            status=found.status,
            certificate=self._certificate(found.certificate),
            margin=None if self._hides_line else found.margin,
            options=tuple(self._option(option) for option in found.options),
            evaluations=found.evaluations,
            evaluated_on=found.evaluated_on,
            compared=found.compared,
            reason=LEFT_TO_THE_AUDITOR if found.status == "error" else found.reason,
            droppable=tuple(
                DroppableTie(tie=self._tie(one.tie), kind=one.kind) for one in found.droppable
            ),
            common_actions=found.common_actions,  # of kinds that may change; names nobody
        )

    def _certificate(self, found: Certificate) -> Certificate:
        levels: dict[str, int] = {}
        for attribute, count in found.permitted.set.items():
            name = self._attribute(attribute)
            levels[name] = levels.get(name, 0) + count
        return Certificate(
            max_changes=found.max_changes,
            tried=found.tried,
            possible=found.possible,
            exhaustive=found.exhaustive,
            complete_up_to=found.complete_up_to,
            permitted=Permitted(drop=found.permitted.drop, add=found.permitted.add, set=levels),
            left_out=replace(found.left_out, why=()),
            denied=found.denied,
            reason=found.reason,
        )

    def _option(self, found: Option) -> Option:
        others = found.side_effects
        return Option(
            actions=tuple(self._action(action) for action in found.actions),
            cost=found.cost,
            decision=found.decision,
            probabilities=found.probabilities,
            margin=found.margin,
            score=None if self._hides_line else found.score,
            verified=found.verified,
            verified_on=found.verified_on,
            minimal=found.minimal,
            source=found.source,
            robustness=found.robustness,
            side_effects=SideEffects(
                measured=others.measured,
                to_favourable=self._names(others.to_favourable),
                to_unfavourable=self._names(others.to_unfavourable),
                other=self._names(others.other),
            ),
        )

    def _action(self, action: Action) -> Action:
        if isinstance(action, TieAction):
            return TieAction(
                do=action.do, tie=self._tie(action.tie), kind=action.kind, cost=action.cost
            )
        return SetAction(
            attribute=self._attribute(action.attribute),
            before=action.before,
            after=action.after,
            unit=action.unit,
            implied=tuple(
                Move(
                    attribute=self._attribute(one.attribute),
                    before=one.before,
                    after=one.after,
                    unit=one.unit,
                )
                for one in action.implied
            ),
            cost=action.cost,
        )

    def _caveat(self, caveat: Caveat, found: tuple[Counterfactual, ...]) -> Caveat:
        """The caveat as in letters, which name nobody; a reviewer also learns whose data act."""
        place = caveat.counterfactual
        if self._level == "reviewer" and place is None and not caveat.variables:
            return caveat
        known = place is not None and 1 <= place <= len(found)
        named = self._level == "reviewer" and caveat.kind == "confounders" and known
        return Caveat(
            kind=caveat.kind,
            grade=caveat.grade,
            counterfactual=place,
            about=caveat.about,
            text=caveat.letter,
            letter=caveat.letter,
            variables=self._names(caveat.variables) if named else (),
            effect=caveat.effect,
        )
