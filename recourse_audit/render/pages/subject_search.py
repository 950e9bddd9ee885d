"""The search behind a subject's counterfactuals, in the annex: coverage, ranks, and all pairs."""

from dataclasses import dataclass

from recourse_audit.records.report import SubjectReport
from recourse_audit.records.search import Counterfactual, FrontPair, SearchExtent
from recourse_audit.render.charts.objective_grid import Point, objective_grid
from recourse_audit.render.charts.svg import Picture
from recourse_audit.render.page_words import PageWords
from recourse_audit.render.pages.redaction import Level
from recourse_audit.render.pages.subject_annex import Section
from recourse_audit.render.pages.subject_axis import Watched
from recourse_audit.render.pages.subject_ties import shown_ties, ties_between
from recourse_audit.render.pages.tables import Column, Fact, Kind, Table, cells

WHOLE = 24  # ties of up to this many letters are not broken over lines


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchView:
    """How far the search looked, its counterfactuals with their ranks, and all pairs in a cloud."""

    head: Section
    facts: tuple[Fact, ...]
    table: Table
    note: str
    answers: Table | None
    cloud: Picture | None
    caption: str


def search_view(
    report: SubjectReport, shown: SubjectReport, level: Level, watched: Watched, letter: str
) -> SearchView | None:
    """The search; None where there was none, or where it found nothing to show."""
    search, words = shown.search, watched.words
    if search is None or not shown.counterfactuals:
        return None
    note = words.say("subject.search.note")
    if shown.decision.scored:
        note = f"{note} {words.say('subject.search.scores')}"
    return SearchView(
        head=Section(
            letter=letter,
            title=words.say("subject.search.title"),
            about=words.say(
                "subject.search.about",
                covered=_covered(search, words),
                pairs=words.number(search.pairs),
                front=words.number(shown.front_size),
            ),
        ),
        facts=_search_facts(shown, search, words),
        table=_ranks(report, shown, level, words),
        note=note,
        answers=_answers(shown, words),
        cloud=_cloud(shown, words),
        caption=words.say("subject.search.cloud"),
    )


def _covered(search: SearchExtent, words: PageWords) -> str:
    sample = search.sample
    nodes = words.number(search.max_nodes)
    if sample is None:
        return words.say(
            "subject.search.all", subgraphs=words.number(search.subgraphs), nodes=nodes
        )
    key = "estimate" if sample.of_is_estimate else "sample"
    return words.say(
        f"subject.search.{key}",
        drawn=words.number(sample.drawn),
        of=words.number(sample.of),
        nodes=nodes,
    )


def _search_facts(shown: SubjectReport, search: SearchExtent, words: PageWords) -> tuple[Fact, ...]:
    covered = words.say_count(
        "subject.search.within", search.max_hops, covered=_covered(search, words)
    )
    if search.sample is not None:
        bound = words.say(
            "subject.search.bound",
            confidence=words.whole_percent(search.sample.confidence),
            bound=words.percent(search.sample.bound),
        )
        covered = f"{covered} {bound}"
    asked = [words.say("subject.search.asked", count=words.number(search.queries))]
    if shown.recourse is not None:
        asked.append(
            words.say(
                "subject.search.asked_options", count=words.number(shown.recourse.evaluations)
            )
        )
    said = [(words.say("subject.search.coverage"), covered)]
    said.append(
        (
            words.say("subject.search.pairs"),
            words.say(
                "subject.search.of_them",
                pairs=words.number(search.pairs),
                front=words.number(shown.front_size),
            ),
        )
    )
    queries = words.say(
        "subject.search.total",
        total=words.number(shown.queries),
        parts=words.listed(asked),
    )
    said.append((words.say("subject.search.queries"), queries))
    if shown.repeats.calls:
        repeats = shown.repeats
        key = "differed" if repeats.differed else "same"
        value = words.say_count(
            f"subject.repeats.{key}", repeats.calls, differed=words.number(repeats.differed)
        )
        said.append((words.say("subject.repeats"), value))
    return tuple(Fact(name=name, value=value) for name, value in said)


def _ranks(report: SubjectReport, shown: SubjectReport, level: Level, words: PageWords) -> Table:
    """Each counterfactual with its objectives, its ranks and what it dominates."""
    between = ties_between(report)
    pairs = 0 if shown.search is None else shown.search.pairs
    rows = []
    for place, (one, named) in enumerate(
        zip(shown.counterfactuals, report.counterfactuals, strict=True), start=1
    ):
        beaten = [name for name, beats in one.dominates_baselines.items() if beats]
        dominated = words.out_of(one.dominates, pairs)
        names = words.listed(beaten)
        rows.append(
            cells(
                str(place),
                shown_ties(named.explanation.edges, one.explanation.edges, between, level, words),
                shown_ties(named.removed, one.removed, between, level, words),
                words.signed(one.simulatability, 6),
                words.signed(one.relevance, 6).removeprefix("+"),
                f"{words.number(one.ranks.simulatability)} + {words.number(one.ranks.relevance)}",
                words.number(one.layer),
                (dominated, words.say_count("subject.search.baselines", len(beaten), names=names))
                if beaten
                else dominated,
            )
        )
    longest = max(len(line) for row in rows for cell in row[1:3] for line in cell)
    kind: Kind = "whole" if longest <= WHOLE else "plain"
    headings = ("number", "explanation", "removed", "nu", "mu", "ranks", "layer", "dominates")
    return Table(
        caption=words.say("subject.search.table"),
        columns=tuple(
            Column(
                heading=words.say(f"subject.search.{name}"),
                kind="figures" if place > 2 else kind if place else "plain",
            )
            for place, name in enumerate(headings)
        ),
        rows=tuple(rows),
    )


def _answers(shown: SubjectReport, words: PageWords) -> Table | None:
    """The probability of each class: as decided, on own data alone, and for the first pair."""
    whole = shown.subject.probabilities
    if not whole:
        return None
    first = shown.counterfactuals[0]
    columns = [
        ("whole", whole),
        ("explanation_1", first.explanation.probabilities),
        ("counterfactual_1", first.probabilities),
    ]
    alone = shown.own_data.alone if shown.own_data is not None else None
    if alone is not None and alone.probabilities:
        columns.insert(1, ("alone", alone.probabilities))
    return Table(
        caption=words.say("subject.answers.caption"),
        columns=(
            Column(heading=words.say("subject.answers.class")),
            *(
                Column(heading=words.say(f"subject.answers.{name}"), kind="figures")
                for name, _ in columns
            ),
        ),
        rows=tuple(
            cells(name, *(words.probability(found.get(name, 0.0)) for _, found in columns))
            for name in whole
        ),
    )


def _cloud(shown: SubjectReport, words: PageWords) -> Picture | None:
    if shown.objective_grid is None:
        return None
    return objective_grid(
        shown.objective_grid,
        words,
        front=[_point(pair) for pair in shown.front],
        front_size=shown.front_size,
        choices=[_point(pair) for pair in shown.counterfactuals],
    )


def _point(pair: FrontPair | Counterfactual) -> Point:
    return pair.simulatability, abs(pair.relevance)
