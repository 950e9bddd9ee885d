"""The page of one subject: which rows its template shows, in which order, for which reader.

In: the report from the bundle. The template takes the records of the report, redacted, and says
everything through the catalogue; the terminal prints the same sections.
"""

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from recourse_audit.audit.rollout import roll_out
from recourse_audit.records.recourse import (
    FRAGILE,
    SEARCHED,
    Action,
    MoveAction,
    Option,
    SetAction,
    Survival,
    TieAction,
    is_shared,
)
from recourse_audit.records.search import CarryingSet, Counterfactual, Tie, WholeGraph
from recourse_audit.records.subject import (
    Caveat,
    EgoNode,
    EgoTie,
    OwnColumn,
    OwnTies,
    SubjectReport,
)
from recourse_audit.render.charts import (
    LIMIT_DEPTH,
    LIMIT_NODES,
    draw_kind,
    draw_objective_grid,
    draw_roll_out,
    draw_tree,
    kind_shape,
)
from recourse_audit.render.decision_axis import Answer, AuditFacts, DecisionAxis, decision_axis
from recourse_audit.render.drawing import Axis, Part, Picture, Strip
from recourse_audit.render.i18n import Words
from recourse_audit.render.redaction import LEFT_TO_THE_AUDITOR, PROTECTED, Level, redact
from recourse_audit.settings import ReasonSettings

CHECKS = ("deterministic", "node_order", "tie_order", "ties_matter", "packing")
MOST_TIES = 8  # rows of single ties in the ladder
MOST_NODES = 12  # people in the small picture of an explanation
SMALL = 150.0
# Whether ties lead from the first person, and from the second.
ARROWS = {(True, False): "\N{RIGHTWARDS ARROW}", (False, True): "\N{LEFTWARDS ARROW}"}
ARROWS[True, True] = "\N{LEFT RIGHT ARROW}"
MUCH_SMALLER = 0.25  # one effect is much smaller than another if it is less than this share of it
Rung = OwnColumn | OwnTies | CarryingSet  # of the ladder: one thing is changed
R = TypeVar("R", OwnColumn, OwnTies, CarryingSet)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLinks:
    """Where a subject's page leads; relative, and empty where there is nothing.

    `people` are the pages of others who were audited, by id.
    """

    previous: str = ""
    next: str = ""
    letter: str = ""
    people: Mapping[str, str] = field(default_factory=dict)


class SubjectPage:
    """Everything that the template of a subject's page asks for.

    `report` is what the reader may see. `members` are the subject's own values of protected
    attributes; only the auditor sees them.
    """

    checks, searched = CHECKS, SEARCHED
    left_to_the_auditor = LEFT_TO_THE_AUDITOR
    roll_out_room = (LIMIT_NODES, LIMIT_DEPTH)
    most_compared = 8  # columns beside each other

    def __init__(
        self,
        report: SubjectReport,
        facts: AuditFacts,
        *,
        words: Words | None = None,
        level: Level = "auditor",
        members: Mapping[str, str] | None = None,
        links: PageLinks | None = None,
    ) -> None:
        self.words = (words or Words()).of_kinds(several=bool(report.kinds))
        self.level = level
        self.facts = facts
        self.links = links or PageLinks()
        self._shared = [is_shared(action, facts.smallest) for action in _actions_of(report)]
        self.report = report = redact(report, level, facts.protected, self.words)
        self.axis = decision_axis(report, facts, self.words)
        self.groups = [self.words.name(value) for value in (members or {}).values() if value]
        self.shows_others = level != "subject"
        self.without_ties = report.note == "no_ties"
        self.options = report.recourse.options if report.recourse else ()
        self.columns = report.own_data.columns if report.own_data else ()
        self.tie_kinds = report.own_data.ties if report.own_data else ()
        self.reasons = facts.reasons or ReasonSettings()
        self._own = report.carriers.own if report.carriers and self.shows_others else ()
        self.kinds = report.kinds
        near = report.ego_network
        self.people = near.nodes if near is not None and len(near.nodes) > 1 else ()
        # What the search found, unless no pair moves the answer.
        self.counterfactuals = () if report.moves_nothing else report.counterfactuals
        self.caveats = report.caveats if self.counterfactuals else ()
        self.ladder_axis = self.axis
        self.ladder_axis = self._choose_ladder_axis()

    # ------------------------------------------------------------------ own data and the ladder

    @cached_property
    def column_ladder(self) -> tuple[list[OwnColumn], list[OwnColumn]]:
        """Own columns that move the answer if put at their reference, and those that do not."""
        return self._split(column for column in self.columns if column.value != column.reference)

    @cached_property
    def kind_ladder(self) -> tuple[list[OwnTies], list[OwnTies]]:
        """Kinds of ties that move the answer, as a whole or one by one, and those that do not."""
        return self._split(self.tie_kinds)

    @cached_property
    def tie_ladder(self) -> tuple[list[CarryingSet], list[CarryingSet], list[CarryingSet]]:
        """Own ties that have no row as their kind: rows, others that move the answer, the rest."""
        alone = [self.only_tie(kind) for kind in self.tie_kinds]
        moving, still = self._split(tie for tie in self._own if tie not in alone)
        by_size = sorted(moving, key=lambda tie: -abs(self._gain(tie)))
        least = abs(self._gain(by_size[MOST_TIES - 1])) if len(moving) > MOST_TIES else 0.0
        rows = [tie for tie in moving if abs(self._gain(tie)) >= least][:MOST_TIES]
        return rows, [tie for tie in moving if tie not in rows], still

    def kind_of(self, tie: CarryingSet) -> str | None:
        """The kind of a single tie; None if the report does not say, or there are several."""
        kinds = {between.kind for between in self._ties_between(*tie.removed[0])}
        return kinds.pop() if len(kinds) == 1 else None

    def only_tie(self, kind: OwnTies) -> CarryingSet | None:
        """The tie that is all there is of a kind; None if there are more, or it is not known."""
        ties = [tie for tie in self._own if self.kind_of(tie) == kind.kind]
        counts = [sum(tie.count for tie in self._ties_between(*tie.removed[0])) for tie in ties]
        return ties[0] if counts == [kind.count] else None

    def _split(self, rungs: Iterable[R]) -> tuple[list[R], list[R]]:
        """What moves the answer, the most favourable move first, and what does not."""
        known = (rung for rung in rungs if _answer(rung)[0])
        ordered = sorted(known, key=lambda rung: -(_answer(rung)[1] or self._gain(rung)))
        moving = [rung for rung in ordered if self._is_row(rung)]
        return moving, [rung for rung in ordered if rung not in moving]

    def _is_row(self, rung: Rung) -> bool:
        """Whether a change moves the answer by enough, or ties of the kind do one by one."""
        answer, _ = _answer(rung)
        moves = abs(self._gain(rung)) >= self.ladder_axis.least or (answer and answer.flips)
        by_one = isinstance(rung, OwnTies) and rung.kind in map(self.kind_of, self.tie_ladder[0])
        return bool(moves) or by_one

    def _gain(self, rung: Rung) -> float:
        """How far a change goes towards a favourable decision, on the axis of the ladder."""
        return self.axis.gain(self.ladder_axis.decided, self.after(rung)) or 0.0

    def after(self, rung: Rung) -> float | None:
        """Where a change takes the answer, on the axis of the ladder."""
        (answer, moves), axis = _answer(rung), self.ladder_axis
        if axis.kind == "log_odds":
            return None if moves is None or axis.decided is None else axis.decided + moves
        return None if answer is None else axis.value(answer)

    def _choose_ladder_axis(self) -> DecisionAxis:
        """The same axis, or one in log-odds where no change moves a probability to speak of."""
        own, axis, parts = self.report.own_data, self.axis, (self.columns, self.tie_kinds)
        moves = [rung.moves for rungs in parts for rung in rungs if rung.moves]
        visible = any(any(map(self._is_row, rungs)) for rungs in (*parts, self._own))
        if visible or axis.kind == "score" or own is None or not own.distance or not moves:
            return axis
        alone = axis.log_odds(own.alone.value if own.alone else None)
        return axis.in_log_odds(own.distance, [alone, *(move - own.distance for move in moves)])

    def draw_standing(self, column: OwnColumn, alt: str) -> Picture:
        """Where the subject stands among all, from the lowest value to the highest."""
        axis = Axis(low=0.0, high=100.0, width=SMALL)
        strip = Strip(axis, alt, height=18).span(0.0, 100.0, colour="lines")
        return strip.dot(column.percentile or 0.0, filled=False, colour="ink").picture()

    @property
    def command(self) -> str:
        """The command that asks about the first row of the ladder; empty if there is none."""
        rows, _, still = self.tie_ladder
        columns = [*self.column_ladder[0], *self.column_ladder[1]]
        rungs: list[OwnColumn | CarryingSet] = [*columns, *rows, *still]
        if self.level != "auditor" or not rungs:
            return ""
        changes = self._changes_for(rungs[0])
        tried = [word for change in changes for word in ("--what-if", change)]
        return shlex.join(
            ("recourse-audit", "explain", "audit.toml", self.report.subject.id, *tried)
        )

    def _changes_for(self, rung: OwnColumn | CarryingSet) -> list[str]:
        """A row for the command line; a tie with a direction is from the first to the second."""
        if isinstance(rung, OwnColumn):
            value = rung.reference
            return [f"{rung.name}={value if isinstance(value, str) else f'{value:.12g}'}"]
        tie = rung.removed[0]
        ways = {between.ends for between in self._ties_between(*tie) if between.directed} or {tie}
        return [f"drop {'-'.join(ends)}" for ends in sorted(ways)]

    # ------------------------------------------------------------------ ties and people

    def other_end(self, tie: Tie) -> str:
        """Whom a tie of the subject leads to."""
        return next((end for end in tie if end != self.report.subject.id), tie[0])

    def _ties_between(self, person: str, other: str) -> list[EgoTie]:
        near, ends = self.report.ego_network, frozenset((person, other))
        return [tie for tie in near.ties if frozenset(tie.ends) == ends] if near else []

    def kinds_between(self, person: str, other: str) -> str:
        """What the ties of two people are called; empty if the report does not say.

        A tie of the subject with a direction is called what it is to the subject, if it has a word.
        """
        own, counts = person == self.report.subject.id, Counter[tuple[str, str]]()
        for tie in self._ties_between(person, other):
            if tie.kind:
                counts[tie.kind, self._way(tie) if own else ""] += tie.count
        names: list[str] = []
        for (kind, way), count in counts.items():
            times = f" \N{MULTIPLICATION SIGN}{count}" if count > 1 else ""
            names.append(f"{way or self.words.tie_name(kind, count)}{times}")
        return self.words.series(names)

    def _way(self, tie: EgoTie) -> str:
        """What a tie of the subject with a direction is to them; empty without a word for it."""
        forward = tie.ends[0] == self.report.subject.id
        return self.words.tie_way(tie.kind, forward=forward) if tie.directed else ""

    def arrow(self, person: str, other: str) -> str:
        """How ties with a direction lead between two people: →, ← or ↔; empty without any."""
        starts = {tie.ends[0] for tie in self._ties_between(person, other) if tie.directed}
        return ARROWS.get((person in starts, other in starts), "")

    def has_ways(self, other: str) -> bool:
        """Whether words say which way the subject's ties to somebody lead."""
        ties = self._ties_between(self.report.subject.id, other)
        return all(self._way(tie) for tie in ties if tie.directed)

    def list_ties(self, ties: Iterable[Tie]) -> list[str]:
        signs = ((self.arrow(*tie), tie) for tie in ties)
        return [(f" {sign} " if sign else "\N{EN DASH}").join(tie) for sign, tie in signs]

    def decisions_on(self, nodes: Sequence[EgoNode]) -> list[tuple[str, int]]:
        """How many of some people were decided how, the most frequent decision first."""
        return Counter(node.decision for node in nodes if not node.kind).most_common()

    def shape(self, kind: str) -> str:
        """What the mark of a kind of nodes is called."""
        return self.words.say(f"shape.{kind_shape(self.kinds.index(kind))}")

    def draw_kind(self, kind: str) -> Picture:
        return draw_kind(self.kinds.index(kind), self.shape(kind))

    def draw_decisions(self, nodes: Sequence[EgoNode], alt: str) -> Picture:
        """How some people were decided: solid, tinted, and dashed without a decision."""
        people = [node.hops for node in self.people if node.hops and not node.kind]
        most = max(Counter(people).values(), default=1)
        counts = Counter(_is_favourable(node) for node in nodes if not node.kind)
        parts: list[tuple[Part, float]]
        parts = [("no", counts[False]), ("yes", counts[True]), ("open", counts[None])]
        return Strip(Axis(low=0.0, high=float(most), width=240), alt).bar(parts).picture()

    # ------------------------------------------------------------------ options

    def changes_of(self, actions: Iterable[Action]) -> list[tuple[Action, tuple[Tie, ...]]]:
        """The changes of an option, each with its ties; own ties of a kind are one change."""
        changes: dict[object, tuple[Action, tuple[Tie, ...]]] = {}
        for number, action in enumerate(actions):
            ties = () if isinstance(action, SetAction) else action.ties
            own = any(self.report.subject.id in tie for tie in ties)
            key = (action.do, action.kind) if own and isinstance(action, TieAction) else number
            changes[key] = (action, (*changes.get(key, (action, ()))[1], *ties))
        return list(changes.values())

    def others_in(self, ties: Iterable[Iterable[str]]) -> list[str]:
        """The other people at the ends of ties."""
        subject = self.report.subject.id
        return list(dict.fromkeys(end for tie in ties for end in tie if end != subject))

    def name(self, attribute: str) -> str:
        """The user's word for an attribute or a unit; without one its name, without underscores."""
        if attribute == PROTECTED:
            return self.words.say("subject.protected")
        return self.words.name(attribute)

    @property
    def effort_decimals(self) -> int:
        """With how many decimals every effort of the page is written."""
        costs = [f"{option.cost:g}" for option in self.options]
        return max((6 if "e" in cost else len(cost.partition(".")[2]) for cost in costs), default=0)

    def is_fragile(self, option: Option) -> bool:
        """Whether an option failed in half of its tests or more."""
        return option.robustness is not None and option.robustness.success_share <= FRAGILE

    def draw_tests(self, label: str, tests: Survival, draws: int) -> Picture:
        """In which share of tests an option worked, with its interval, and a tick at half."""
        words = self.words
        between = words.interval(words.percent(tests.low), words.percent(tests.high))
        alt = f"{label}: {words.out_of(tests.count, draws)} ({between})"
        strip = Strip(Axis(low=0.0, high=1.0, width=SMALL), alt, height=18).tick(FRAGILE)
        return strip.estimate(tests.share, tests).picture()

    @property
    def people_in_options(self) -> list[str]:
        """The others at the ends of ties that options change: no letter may name them."""
        changes = [change for option in self.options for change in self.changes_of(option.actions)]
        return self.others_in(
            [*(tie for _, ties in changes for tie in ties), *self._new_ends(shared=False)]
        )

    @property
    def shared_in_options(self) -> list[str]:
        """New ends of ties that so many people share that a letter may name them."""
        return self.others_in(self._new_ends(shared=True))

    def _new_ends(self, *, shared: bool) -> list[tuple[str, ...]]:
        """The new ends of moved ties that are shared by many, or those that are not."""
        actions = zip(_actions_of(self.report), self._shared, strict=True)
        return [
            (action.to,)
            for action, is_named in actions
            if isinstance(action, MoveAction) and is_named == shared
        ]

    # ------------------------------------------------------------------ counterfactuals

    def compare(self, pair: Counterfactual) -> str:
        """How the explanation and the whole graph disagree: the key of a sentence, or nothing.

        The whole graph may not flip where the explanation does, move the other way, or move less
        than a quarter as far, or more than four times.
        """
        whole, axis = pair.whole_graph, self.axis
        if whole is None:
            return ""
        before, after = (self.decision_inside(answer) for answer in (pair.explanation, pair))
        flips = bool(before and after) and before != after
        if flips and not whole.flips:
            return "reverses"
        inside = axis.gain(axis.value(pair.explanation), axis.value(pair)) or 0.0
        there = axis.gain(axis.decided, axis.value(whole)) or 0.0
        larger = max(abs(inside), abs(there))
        if larger >= self.axis.least and larger:
            if abs(there) < MUCH_SMALLER * larger:
                return "hardly" if abs(there) < self.axis.least else "less"
            if abs(inside) < MUCH_SMALLER * larger:
                return "more"
            if inside * there < 0:
                return "opposite"
        return "decision" if before and after and whole.flips and not flips else ""

    def decision_inside(self, answer: Answer) -> str:
        """What the rule decides on an explanation alone; empty where a copy does not tell."""
        axis = self.axis
        if axis.kind != "score" and not axis.at_least:
            likeliest = max(answer.probabilities, key=answer.probabilities.__getitem__, default="")
            return self.words.class_name(likeliest) if likeliest else ""
        favourable = axis.is_favourable(axis.value(answer))
        return "" if favourable is None else axis.favourable if favourable else axis.other

    def draw_explanation(self, ties: Sequence[Tie], removed: Sequence[Tie] = ()) -> Picture | None:
        """An explanation as a small graph; None where it is too large to be read."""
        subject, words = self.report.subject, self.words
        names = list(dict.fromkeys((subject.id, *(end for tie in ties for end in tie))))
        if len(names) > MOST_NODES:
            return None
        known = {subject.id: subject.favourable if subject.decision else None}
        known |= {node.id: _is_favourable(node) for node in self.people}
        places = {node.id: self.kinds.index(node.kind) for node in self.people if node.kind}
        gone = {frozenset(tie) for tie in removed}
        kept = [tie for tie in ties if frozenset(tie) not in gone]
        return draw_tree(
            names,
            [known.get(name) for name in names],
            [(names.index(a), names.index(b)) for a, b in ties],
            [(names.index(a), names.index(b)) for a, b in ties if frozenset((a, b)) in gone],
            kinds=[places.get(name, 0) for name in names],
            word=words.say("subject.cf.removed"),
            alt=words.say(
                "subject.cf.graph.alt",
                removed=", ".join(self.list_ties(removed)) or words.say("subject.none"),
                kept=", ".join(self.list_ties(kept)) or words.say("subject.none"),
            ),
        )

    # ------------------------------------------------------------------ evidence

    def counterfactual_of(self, caveat: Caveat) -> Counterfactual | None:
        """The counterfactual that a measured caveat is about."""
        place = caveat.counterfactual
        if caveat.kind != "confounders" or place is None or place > len(self.counterfactuals):
            return None
        return self.counterfactuals[place - 1]

    def draw_computation(self, caveat: Caveat) -> tuple[Picture | None, str]:
        """The computation behind a caveat, or the key of why it is not drawn.

        Drawn only if it has the confounders that the audit found.
        """
        pair, depth = self.counterfactual_of(caveat), self.report.probes.depth
        if pair is None or depth is None:
            return None, ""
        subject = self.report.subject.id
        nodes = list(dict.fromkeys((subject, *pair.explanation.nodes)))
        if len(nodes) > LIMIT_NODES or depth > LIMIT_DEPTH:
            return None, "too_large"
        ties = [(nodes.index(a), nodes.index(b)) for a, b in pair.explanation.edges]
        arcs = [arc for a, b in ties for arc in ((a, b), (b, a))]
        kept = {subject, *(end for tie in pair.kept for end in tie)}
        removed = [place for place, node in enumerate(nodes) if node not in kept]
        rolled = roll_out(arcs, range(len(nodes)), subject=0, removed=removed, depth=depth)
        if {nodes[place] for place in rolled.confounding_nodes} != set(caveat.variables):
            return None, "directed"
        return draw_roll_out(rolled, nodes, self.words), ""

    def draw_pairs(self, alt: str) -> Picture:
        """All pairs of the search by both objectives."""
        grid = self.report.objective_grid
        assert grid is not None
        return draw_objective_grid(
            grid,
            self.words,
            alt,
            front=[(pair.simulatability, abs(pair.relevance)) for pair in self.report.front],
            choices=[(pair.simulatability, abs(pair.relevance)) for pair in self.counterfactuals],
        )


def _answer(rung: Rung) -> tuple[WholeGraph | None, float | None]:
    """What the model answers with one thing changed, and how far it moves, where that is known."""
    return (rung, None) if isinstance(rung, CarryingSet) else (rung.answer, rung.moves)


def _actions_of(report: SubjectReport) -> list[Action]:
    options = report.recourse.options if report.recourse else ()
    return [action for option in options for action in option.actions]


def _is_favourable(node: EgoNode) -> bool | None:
    """Whether a person was decided favourably; None where there is no decision."""
    return node.favourable if node.decision else None
