"""The page of one subject: which rows its template shows, in which order, for which reader.

In: the report from the bundle. The template takes the records of the report, redacted, and says
everything through the catalogue; nothing here holds a finished sentence.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from recourse_audit.audit.rollout import roll_out
from recourse_audit.records.model import NO_ROOM, NOTES
from recourse_audit.records.recourse import (
    FRAGILE,
    SEARCHED,
    Action,
    Move,
    Option,
    SetAction,
    Survival,
    TieAction,
    TogetherAction,
)
from recourse_audit.records.search import (
    CarryingSet,
    Counterfactual,
    Explanation,
    FrontPair,
    Tie,
)
from recourse_audit.records.subject import (
    AdjustedEffect,
    Caveat,
    SubjectReport,
)
from recourse_audit.render.charts.mini_graph import TreeNode, mini_graph
from recourse_audit.render.charts.objective_grid import objective_grid
from recourse_audit.render.charts.rollout import LIMIT_DEPTH, LIMIT_NODES, fits, rollout
from recourse_audit.render.charts.strips import Axis, Strip, axis_row
from recourse_audit.render.charts.svg import Picture
from recourse_audit.render.decision_axis import decision_axis
from recourse_audit.render.i18n import Words
from recourse_audit.render.pages.neighbourhood import Neighbourhood, is_favourable
from recourse_audit.render.pages.tables import AuditFacts
from recourse_audit.render.redaction import LEFT_TO_THE_AUDITOR, PROTECTED, Level, redacted
from recourse_audit.render.text import PROBE_MEANINGS, plain

MOST_TIES = 8  # rows of single ties in the ladder
FEWEST_TOGETHER = 3  # so many ties that leave the figure as it is share a row
MOST_NODES = 12  # people in the small picture of an explanation
NAMES_SHOWN = 4
SMALL = 150.0
# Effects on a probability below this say nothing; of a score, below this share of its margin.
NOTHING = 0.01
MUCH_SMALLER = 0.25  # one effect is much smaller than another if it is less than this share of it
LEAST_SHOWN = 0.0005  # smaller moves would be +0.000


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLinks:
    """Where a subject's page leads; relative, and empty where there is nothing."""

    index: str = "../index.html"
    previous: str = ""
    next: str = ""
    letter: str = ""


NO_LINKS = PageLinks()


class SubjectPage:
    """Everything that the template of a subject's page asks for.

    `report` is what the reader may see. `members` are the subject's own values of protected
    attributes; only the auditor sees them.
    """

    def __init__(
        self,
        report: SubjectReport,
        facts: AuditFacts,
        *,
        words: Words | None = None,
        level: Level = "auditor",
        members: Mapping[str, str] | None = None,
        links: PageLinks = NO_LINKS,
    ) -> None:
        self.words = words or Words()
        self.level = level
        self.facts = facts
        self.links = links
        self.report = redacted(report, level, facts.protected, self.words)
        self.axis = decision_axis(self.report, facts, self.words)
        self.groups = [plain(value) for value in (members or {}).values() if value]
        self.shows_others = level != "subject"
        self.without_ties = report.note == "no_ties"
        self.left_to_the_auditor = LEFT_TO_THE_AUDITOR
        self.probe_names = tuple(PROBE_MEANINGS)
        self.near = Neighbourhood(self.report, self.words, self.counterfactuals)
        self.roll_out_room = (LIMIT_NODES, LIMIT_DEPTH)

    # ------------------------------------------------------------------ the first lines

    @property
    def has_tie_effects(self) -> bool:
        """Whether it is known of every own tie what removing it alone does."""
        carriers = self.report.carriers
        return carriers is not None and 0 < carriers.own_ties == len(carriers.own)

    @property
    def strongest(self) -> Option:
        """The option that worked in the most tests."""
        assert self.report.recourse is not None
        return max(
            self.report.recourse.options,
            key=lambda option: option.robustness.held_share if option.robustness else -1.0,
        )

    def probe_key(self, name: str, note: str) -> str:
        """The message for a note of the probes; empty for one that can only be quoted."""
        if name == "repeats" and self.report.repeats.differed:
            return name
        if name == "whole_graph" or note == NOTES.get(name):
            return name
        if name == "depth" and note == NO_ROOM:
            return "no_room"
        return "declared" if name == "depth" and self.report.probes.depth is not None else ""

    # ------------------------------------------------------------------ the ladder

    @property
    def moving_ties(self) -> list[CarryingSet]:
        """The own ties whose removal can be seen in the answer, the largest moves first."""
        still = self.still_ties
        return [tie for tie in self._own_ties if not any(tie is other for other in still)]

    @property
    def still_ties(self) -> list[CarryingSet]:
        """The own ties that leave the figure as it is, if there are several: they share a row."""
        axis = self.axis
        still = [
            tie
            for tie in self._own_ties
            if not tie.flips and axis.figure(axis.value(tie)) == axis.figure(axis.decided)
        ]
        return still if len(still) >= FEWEST_TOGETHER else []

    @property
    def ladder_ties(self) -> list[CarryingSet]:
        """The own ties that move the answer farthest, the most favourable move first."""

        def loss(tie: CarryingSet) -> float:
            return -(self.axis.gain(self.axis.decided, self.axis.value(tie)) or 0.0)

        return sorted(self.moving_ties[:MOST_TIES], key=loss)

    @property
    def further_ties(self) -> Sequence[CarryingSet]:
        """The own ties that the ladder has no room for."""
        return self.moving_ties[MOST_TIES:]

    @property
    def _own_ties(self) -> Sequence[CarryingSet]:
        carriers = self.report.carriers
        return carriers.own if carriers is not None and self.shows_others else ()

    # ------------------------------------------------------------------ options

    def tie_words(self, action: TieAction | TogetherAction) -> str:
        """A tie that is ended or added, or all ties of a kind that end together, to this reader."""
        own = all(self.report.subject.id in tie for tie in action.ties)
        who = ("" if own else "_between") if self.shows_others else ("_your" if own else "_others")
        do = "drop_all" if isinstance(action, TogetherAction) else action.do
        key = f"subject.change.{do}{who}_{'kind' if action.kind else 'tie'}"
        one, other = action.ties[0]
        return self.words.say(
            key,
            kind=action.kind,
            one=one,
            other=self.other_end((one, other)) if own else other,
            others=self.words.listed([self.other_end(tie) for tie in action.ties]),
        )

    def other_end(self, tie: Tie) -> str:
        """Whom a tie of the subject leads to."""
        return next((end for end in tie if end != self.report.subject.id), tie[0])

    def is_tie(self, action: Action) -> bool:
        """Whether a change is about a tie."""
        return isinstance(action, TieAction | TogetherAction)

    def name(self, attribute: str) -> str:
        """The user's word for an attribute or a unit; without one its name, without underscores."""
        if attribute == PROTECTED:
            return self.words.say("subject.protected")
        return self.words.name(attribute)

    def move_words(self, move: SetAction | Move) -> str:
        """An attribute before and after, in the user's units."""
        before, after = (self.words.value(value, move.unit) for value in (move.before, move.after))
        said = self.words.say(
            "subject.change.set", name=self.name(move.attribute), before=before, after=after
        )
        return said[:1].upper() + said[1:]

    def list_moves(self, moves: Sequence[Move]) -> str:
        """What moves along with a change."""
        return self.words.listed([self.move_words(move) for move in moves])

    @property
    def effort_decimals(self) -> int:
        """With how many decimals every effort of the page is written."""
        costs = (
            [f"{option.cost:g}" for option in self.report.recourse.options]
            if self.report.recourse
            else []
        )
        return max((6 if "e" in cost else len(cost.partition(".")[2]) for cost in costs), default=0)

    def is_fragile(self, option: Option) -> bool:
        """Whether an option failed in half of its tests or more."""
        return option.robustness is not None and option.robustness.held_share <= FRAGILE

    def draw_tests(self, label: str, tests: Survival, draws: int) -> Picture:
        """In which share of tests an option worked, with its interval."""
        words = self.words
        between = words.interval(words.percent(tests.low), words.percent(tests.high))
        alt = f"{label}: {words.out_of(tests.count, draws)} ({between})"
        strip = Strip(self._shares, alt, height=18)
        steady = tests.low > FRAGILE
        return strip.interval(tests.share, tests.low, tests.high, filled=steady).picture()

    @property
    def _shares(self) -> Axis:
        return Axis(low=0.0, high=1.0, ticks=(0.0, 0.5, 1.0), width=SMALL)

    def draw_shares(self) -> Picture:
        """The figures below the tests of options."""
        words = self.words
        figures = [words.whole_percent(0.0), "", words.whole_percent(1.0)]
        return axis_row(self._shares, figures, words.say("subject.options.shares"))

    def list_people(self, people: Sequence[str]) -> str:
        """The first few names, and how many more there are."""
        listed = list(people[:NAMES_SHOWN])
        if len(people) > NAMES_SHOWN:
            listed.append(self.words.say_count("subject.others.more", len(people) - NAMES_SHOWN))
        return self.words.listed(listed)

    def changes_others(self, option: Option) -> bool:
        """Whether an option changes the decision on somebody else."""
        effects = option.side_effects
        return bool(effects.to_favourable or effects.to_unfavourable or effects.other)

    @property
    def changes_anyone(self) -> bool:
        """Whether any option does."""
        assert self.report.recourse is not None
        return any(map(self.changes_others, self.report.recourse.options))

    @property
    def has_letter(self) -> bool:
        """Whether a clerk signs a letter about this report, and may read what to mind."""
        recourse = self.report.recourse
        searched = recourse is not None and recourse.status in SEARCHED
        return searched and self.shows_others and not self.report.error

    @property
    def searched(self) -> bool:
        """Whether options were searched for."""
        return self.report.recourse is not None and self.report.recourse.status in SEARCHED

    @property
    def people_in_options(self) -> list[str]:
        """The others at the ends of ties that options change: no letter may name them."""
        options = self.report.recourse.options if self.report.recourse else ()
        ends = [
            end
            for option in options
            for action in option.actions
            if not isinstance(action, SetAction)
            for tie in action.ties
            for end in tie
        ]
        return [end for end in dict.fromkeys(ends) if end != self.report.subject.id]

    # ------------------------------------------------------------------ counterfactuals

    @property
    def counterfactuals(self) -> tuple[Counterfactual, ...]:
        """What the search found; nothing for the subject, whom it would tell about other people."""
        if self.report.moves_nothing or not self.shows_others:
            return ()
        return self.report.counterfactuals

    def list_ties(self, ties: Iterable[Tie]) -> list[str]:
        """Ties by their ends."""
        return ["\N{EN DASH}".join(tie) for tie in ties]

    def direction(self, gain: float | None, otherwise: float | None) -> str:
        """Which way a removal goes, by the whole graph if that is known."""
        way = otherwise if gain is None else gain
        return "nowhere" if not way else "towards" if way > 0 else "away"

    def counts(self, gain: float | None) -> str:
        """Whether removed ties count for the subject or against, if it is worth a sentence."""
        if gain is None or abs(gain) < self._least_effect:
            return ""
        return "against" if gain > 0 else "for"

    def compare(self, found: Counterfactual) -> str:
        """How the explanation and the whole graph disagree: the key of a sentence, or nothing."""
        inside = [self.decision_inside(answer) for answer in (found.explanation, found)]
        whole = found.whole_graph
        if all(inside) and inside[0] != inside[1] and whole and not whole.flips:
            return "reverses"
        return self._disagreement(found)

    def _disagreement(self, found: Counterfactual) -> str:
        """Whether the whole graph moves the other way, or less than a quarter as far, or flips."""
        whole, axis = found.whole_graph, self.axis
        if whole is None:
            return ""
        inside = axis.gain(axis.value(found.explanation), axis.value(found)) or 0.0
        there = axis.gain(axis.decided, axis.value(whole)) or 0.0
        larger = max(abs(inside), abs(there))
        if larger >= self._least_effect and larger:
            if abs(there) < MUCH_SMALLER * larger:
                return "hardly" if abs(there) < self._least_effect else "less"
            if abs(inside) < MUCH_SMALLER * larger:
                return "more"
            if inside * there < 0:
                return "opposite"
        before, after = (self.decision_inside(answer) for answer in (found.explanation, found))
        known = bool(before and after)
        return "decision" if known and (before != after) != whole.flips else ""

    @property
    def _least_effect(self) -> float:
        """The smallest effect that is worth a sentence."""
        line = self.report.decision
        return NOTHING * abs(line.margin or 0.0) if line.scored else NOTHING

    def decision_inside(self, answer: Explanation | Counterfactual) -> str:
        """What the rule decides on an explanation alone; empty where a copy does not tell."""
        axis = self.axis
        if axis.kind != "score" and not axis.at_least:
            return max(answer.probabilities, key=answer.probabilities.__getitem__, default="")
        favourable = axis.is_favourable(axis.value(answer))
        return "" if favourable is None else axis.favourable if favourable else axis.other

    def draw_explanation(self, found: Counterfactual) -> Picture | None:
        """The explanation as a small graph; None where it is too large to be read."""
        report, words = self.report, self.words
        ends = [end for tie in found.explanation.edges for end in tie]
        names = list(dict.fromkeys((report.subject.id, *ends)))
        if len(names) > MOST_NODES:
            return None
        near = report.ego_network
        known = {node.id: is_favourable(node) for node in (near.nodes if near else ())}
        known.setdefault(report.subject.id, report.subject.favourable)
        place = {name: number for number, name in enumerate(names)}
        gone = {frozenset(tie) for tie in found.removed}
        kept = [tie for tie in found.explanation.edges if frozenset(tie) not in gone]
        alt = words.say(
            "subject.cf.graph.alt",
            removed=", ".join(self.list_ties(found.removed)),
            kept=", ".join(self.list_ties(kept)) or words.say("subject.none"),
        )
        return mini_graph(
            [
                TreeNode(name=name, favourable=known.get(name), subject=not number)
                for number, name in enumerate(names)
            ],
            [(place[a], place[b]) for a, b in found.explanation.edges],
            [(place[a], place[b]) for a, b in found.removed if a in place and b in place],
            word=words.say("subject.cf.removed"),
            alt=alt,
        )

    def caveats_on(self, number: int) -> list[Caveat]:
        """The measured caveats on one counterfactual."""
        return [
            caveat
            for caveat in self.report.caveats
            if caveat.kind == "confounders" and caveat.counterfactual == number
        ]

    def count_draws(self, share: float, effect: AdjustedEffect) -> str:
        """A share of draws as a count; what is left of 1 may be a little less than nothing."""
        return self.words.out_of(round(max(share, 0.0) * effect.draws), effect.draws)

    # ------------------------------------------------------------------ the annex

    @property
    def sections(self) -> dict[str, str]:
        """The letter of each section of the annex; empty for those that the page lacks."""
        own, report = self.report.own_data, self.report
        present = {
            "search": report.search is not None and bool(self.counterfactuals),
            "caveats": bool(self.caveats),
            "checks": True,
            "people": bool(self.near),
            "own": own is not None and (own.alone is not None or bool(own.reason)),
            "sets": report.carriers is not None and self.shows_others,
            "repeat": True,
        }
        letters = iter("ABCDEFG")
        return {name: next(letters) if there else "" for name, there in present.items()}

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """What must be said beside the counterfactuals that the page shows."""
        return self.report.caveats if self.counterfactuals else ()

    def counterfactual_of(self, caveat: Caveat) -> Counterfactual | None:
        """The counterfactual that a measured caveat is about."""
        place = caveat.counterfactual
        if caveat.kind != "confounders" or place is None or place > len(self.counterfactuals):
            return None
        return self.counterfactuals[place - 1]

    def move_size(self, move: float) -> str:
        """A move with its sign; a small one with as many decimals as it has."""
        if move == 0:
            return self.words.say("subject.caveat.nothing")
        return self.words.signed(move, 3 if abs(move) >= LEAST_SHOWN else 6)

    def draw_roll_out(self, caveat: Caveat) -> tuple[Picture | None, str]:
        """The computation behind a caveat, or the key of why it is not drawn.

        Drawn only if it has the confounders that the audit found.
        """
        found, depth = self.counterfactual_of(caveat), self.report.probes.depth
        if found is None or depth is None:
            return None, ""
        subject = self.report.subject.id
        nodes = [subject, *(node for node in found.explanation.nodes if node != subject)]
        if not fits(nodes, depth):
            return None, "too_large"
        number = {node: place for place, node in enumerate(nodes)}
        arcs = [
            (number[one], number[other])
            for a, b in found.explanation.edges
            for one, other in ((a, b), (b, a))
        ]
        kept = {subject, *(end for tie in found.kept for end in tie)}
        removed = [number[node] for node in nodes if node not in kept]
        rolled = roll_out(arcs, range(len(nodes)), subject=0, removed=removed, depth=depth)
        if {nodes[place] for place in rolled.confounding_nodes} != set(caveat.variables):
            return None, "directed"
        return rollout(rolled, nodes, self.words), ""

    @property
    def answers(self) -> list[tuple[str, Mapping[str, float]]]:
        """The probability of each class: as decided, on own data alone, for the first pair."""
        first = self.counterfactuals[0]
        columns: list[tuple[str, Mapping[str, float]]] = [
            ("whole", self.report.subject.probabilities),
            ("explanation_1", first.explanation.probabilities),
            ("counterfactual_1", first.probabilities),
        ]
        alone = self.report.own_data.alone if self.report.own_data is not None else None
        if alone is not None and alone.probabilities:
            columns.insert(1, ("alone", alone.probabilities))
        return columns

    def draw_pairs(self) -> Picture | None:
        """All pairs of the search by both objectives."""
        report = self.report
        if report.objective_grid is None:
            return None

        def place(pair: FrontPair | Counterfactual) -> tuple[float, float]:
            return pair.simulatability, abs(pair.relevance)

        return objective_grid(
            report.objective_grid,
            self.words,
            front=[place(pair) for pair in report.front],
            front_size=report.front_size,
            choices=[place(pair) for pair in self.counterfactuals],
        )
