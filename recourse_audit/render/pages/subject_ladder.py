"""What a decision rests on, as a ladder on the whole graph: one change per row, on one axis.

As decided, on own data alone, and without each of the subject's own ties. No waterfall: effects do
not add up.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from recourse_audit.records.report import SubjectReport
from recourse_audit.records.search import CarryingSet, Tie, WholeGraph
from recourse_audit.render.charts.strips import Strip
from recourse_audit.render.page_words import PageWords
from recourse_audit.render.pages.redaction import Level
from recourse_audit.render.pages.subject_axis import Watched
from recourse_audit.render.pages.tables import ChartRow, ChartTable, Column, Table, cells

MOST_ROWS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTie:
    """One of the subject's own ties, and what the model answers without it on the whole graph."""

    tie: Tie
    found: CarryingSet | WholeGraph


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderView:
    """The ladder, what else is to be said below it, and the ties that it has no room for."""

    chart: ChartTable | None
    sentences: tuple[str, ...]
    rest: Table | None


def ladder_view(
    shown: SubjectReport, level: Level, watched: Watched, annex: str = ""
) -> LadderView:
    """Every answer that was asked for on the whole graph; `annex` is the letter of the rest's."""
    words = watched.words
    ties = own_ties(shown) if level != "subject" else []
    first = ties[:MOST_ROWS]
    rows = [*_decided(shown, watched), *_alone(shown, watched)]
    moved = [(one, _gain(one, watched)) for one in first]
    moved.sort(key=lambda pair: -pair[1])
    rows += [
        _tie_row(one, shown, watched, apart=words.say("subject.ladder.if") if not place else "")
        for place, (one, _) in enumerate(moved)
    ]
    chart = ChartTable(
        title="",
        rows=tuple(rows),
        top=watched.sides(),
        axis=watched.figures(),
        head=(
            words.say("subject.ladder.change"),
            watched.name,
            words.say("subject.ladder.answer"),
        ),
        note=words.say("subject.ladder.note"),
    )
    return LadderView(
        chart=chart if rows else None,
        sentences=tuple(_sentences(shown, level, watched, ties, annex)),
        rest=_rest(shown, watched, ties[MOST_ROWS:]),
    )


def own_ties(shown: SubjectReport) -> list[OwnTie]:
    """Each own tie with its effect, largest moves first; of older reports those they tell of."""
    subject = shown.subject.id
    carriers = shown.carriers
    if carriers is not None and carriers.own:
        return [OwnTie(tie=one.removed[0], found=one) for one in carriers.own]
    found: dict[frozenset[str], OwnTie] = {}
    for one in carriers.front if carriers is not None else ():
        if one.size == 1 and subject in one.removed[0]:
            found[frozenset(one.removed[0])] = OwnTie(tie=one.removed[0], found=one)
    for other in shown.counterfactuals:
        if len(other.removed) == 1 and subject in other.removed[0] and other.whole_graph:
            tie = other.removed[0]
            found.setdefault(frozenset(tie), OwnTie(tie=tie, found=other.whole_graph))
    return sorted(found.values(), key=lambda one: -abs(one.found.effect))


def tie_label(shown: SubjectReport, tie: Tie, *, decided: bool = True) -> str:
    """An own tie by its kinds and its other end: payment: P0910 (approved)."""
    subject = shown.subject.id
    other = tie[1] if tie[0] == subject else tie[0]
    near = shown.ego_network
    counts = Counter[str]()
    for one in near.ties if near else ():
        if frozenset(one.ends) == frozenset(tie):
            counts[one.kind] += one.count
    kinds = ", ".join(
        kind if count == 1 else f"{kind} \N{MULTIPLICATION SIGN}{count}"
        for kind, count in counts.items()
        if kind
    )
    decision = next((node.decision for node in near.nodes if node.id == other), "") if near else ""
    named = f"{kinds}: {other}" if kinds else other
    return f"{named} ({decision})" if decision and decided else named


def _decided(shown: SubjectReport, watched: Watched) -> list[ChartRow]:
    words, value = watched.words, watched.decided
    if value is None:
        return []
    carriers = shown.carriers
    count = carriers.own_ties if carriers is not None else 0
    with_ties = words.say_count("subject.ladder.with_ties", count) if count else ""
    decision = shown.subject.decision
    alt = words.say("subject.ladder.decided.alt", value=watched.figure(value), decision=decision)
    return [
        ChartRow(
            strong=words.say("subject.ladder.decided"),
            label=with_ties,
            picture=Strip(watched.axis(), alt).dot(value, filled=False).picture(),
            figure=watched.figure(value),
            words=f" {decision}",
        )
    ]


def _alone(shown: SubjectReport, watched: Watched) -> list[ChartRow]:
    words = watched.words
    alone = shown.own_data.alone if shown.own_data is not None else None
    if alone is None or not alone.decision:
        return []
    value = watched.alone(alone.value, alone.probabilities)
    picture = None
    if value is not None:
        alt = words.say(
            "subject.ladder.alone.alt", value=watched.figure(value), decision=alone.decision
        )
        picture = Strip(watched.axis(), alt).dot(value).picture()
    return [
        ChartRow(
            strong=words.say("subject.ladder.alone"),
            label=words.say("subject.ladder.no_ties"),
            picture=picture,
            figure="" if value is None else watched.figure(value),
            words=f" {alone.decision}",
        )
    ]


def _gain(one: OwnTie, watched: Watched) -> float:
    after = watched.value(one.found)
    if watched.decided is None or after is None:
        return 0.0
    return watched.gains(watched.decided, after)


def _tie_row(one: OwnTie, shown: SubjectReport, watched: Watched, *, apart: str) -> ChartRow:
    label = tie_label(shown, one.tie)
    before, after = watched.decided, watched.value(one.found)
    picture = None
    if before is not None and after is not None:
        alt = watched.words.say(
            "subject.ladder.tie.alt", tie=label, change=watched.pair(before, after)
        )
        picture = watched.moved(before, after, alt)
    return ChartRow(
        label=label,
        picture=picture,
        figure=watched.figure(after),
        words=_outcome(one, watched, after),
        apart=apart,
        tone="yes" if one.found.flips else "",
    )


def _outcome(one: OwnTie, watched: Watched, after: float | None) -> str:
    """The change and the decision after it: (+0.094), still denied."""
    change = ""
    if after is not None and watched.decided is not None:
        said = watched.change(after - watched.decided)
        change = f" ({said})" if said[0] in "+\N{MINUS SIGN}" else ""  # too small to be seen
    return f"{change}, {then(watched.words, one.found)}"


def then(words: PageWords, found: CarryingSet | WholeGraph) -> str:
    """What the decision becomes: still denied, or then approved."""
    key = "subject.then" if found.flips else "subject.still"
    return words.say(key, decision=found.decision)


def _sentences(
    shown: SubjectReport,
    level: Level,
    watched: Watched,
    ties: Sequence[OwnTie],
    annex: str,
) -> list[str]:
    words, carriers = watched.words, shown.carriers
    said = []
    if level == "subject":
        said.append(words.say("subject.ladder.withheld"))
    elif carriers is not None and carriers.own_ties and not ties:
        said.append(words.say("subject.ladder.not_asked"))
    elif len(ties) > MOST_ROWS:
        said.append(words.say_count("subject.ladder.rest", len(ties) - MOST_ROWS, annex=annex))
    flip = carriers.smallest_flip if carriers is not None else None
    if carriers is not None and carriers.front and flip is None:
        said.append(words.say("subject.ladder.no_flip", most=words.number(carriers.max_ties)))
    elif flip is not None and flip.size > 1:
        said.append(
            words.say_count(
                "subject.ladder.flip",
                flip.size,
                decision=flip.decision,
                change=watched.pair(watched.decided, watched.value(flip)),
            )
        )
    return said


def _rest(shown: SubjectReport, watched: Watched, ties: Sequence[OwnTie]) -> Table | None:
    """The own ties that the ladder has no room for."""
    words = watched.words
    rows = tuple(
        cells(
            tie_label(shown, one.tie),
            watched.pair(watched.decided, watched.value(one.found)),
            then(words, one.found),
        )
        for one in ties
    )
    if not rows:
        return None
    return Table(
        caption=words.say("subject.sets.rest"),
        columns=(
            Column(heading=words.say("subject.sets.removed")),
            Column(heading=watched.name, kind="figures"),
            Column(heading=words.say("subject.sets.decision")),
        ),
        rows=rows,
    )
