"""What carried a decision, on a page: the neighbourhood, the counterfactuals, the cloud of pairs.

Nothing here looks at a graph: the document holds whoever is drawn.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from recourse_audit.records.search import Counterfactual, Tie
from recourse_audit.render.effects import HELD_BACK, direction, effect, held_back
from recourse_audit.render.charts.classes import Look
from recourse_audit.render.charts.objective_grid import Cloud, cloud
from recourse_audit.render.charts.histograms import Answer, histograms
from recourse_audit.render.charts.neighbourhood import Pair, neighbourhood
from recourse_audit.render.charts.ego_network import (
    LIMIT,
    Person,
    Surroundings,
    labels_of,
    limited,
)
from recourse_audit.render.text import number, share
from recourse_audit.render.charts.svg import Picture
from recourse_audit.render.pages.redaction import Names, people_of
from recourse_audit.render.pages.tables import Column, Fact, Kind, Table, cells

Document = dict[str, Any]
PEOPLE = "People by the label at their mark, the nearest first"
# Ties of at most so many letters are not broken over lines.
WHOLE = 24


def surroundings_of(
    document: Document, names: Names, looks: Mapping[str, Look]
) -> Surroundings | None:
    """Who is drawn around the subject; None where there is nobody, or where others stay unseen."""
    found = document.get("surroundings")
    if not found or not names.tells_people_apart or not document["counterfactuals"]:
        return None
    nodes = {node["id"]: node for node in found["nodes"]}
    ids = [one for one in people_of(document) if one in nodes]
    places = {one: place for place, one in enumerate(ids)}
    winner = document["counterfactuals"][0]

    def placed(ties: Sequence[Sequence[str]]) -> tuple[tuple[int, int], ...]:
        pairs = dict.fromkeys(tuple(sorted((places[a], places[b]))) for a, b in ties)
        return tuple((one, other) for one, other in pairs)

    everybody = Surroundings(
        people=tuple(
            Person(
                name=names.name(one),
                label=names.label(one),
                hops=nodes[one]["hops"],
                decision=nodes[one]["decision"] or "",
            )
            for one in ids
        ),
        ties=placed([tie["ends"] for tie in found["ties"]]),
        explanation=placed(winner["explanation"]["edges"]),
        removed=placed(winner["removed"]),
        total=found["total"],
        hops=found["hops"],
        looks=looks,
    )
    return limited(everybody)


def neighbourhood_pictures(shown: Surroundings | None) -> Pair | None:
    """The neighbourhood and the explanation, side by side."""
    return None if shown is None else neighbourhood(shown)


def people_table(shown: Surroundings | None) -> Table | None:
    """Everybody in the picture, by the label at their mark."""
    if shown is None:
        return None
    labels = labels_of(shown.people)
    explained = {end for tie in shown.explanation for end in tie} | {0}
    return Table(
        caption=PEOPLE,
        columns=(
            Column(heading="Label"),
            Column(heading="Person"),
            Column(heading="Hops away", kind="figures"),
            Column(heading="Decision"),
            Column(heading="In the explanation"),
        ),
        rows=tuple(
            cells(
                label,
                f"{person.name} (the subject)" if place == 0 else person.name,
                str(person.hops),
                person.decision or "none",
                "yes" if place in explained else "no",
            )
            for place, (label, person) in enumerate(zip(labels, shown.people, strict=True))
        ),
    )


def limit_sentence(shown: Surroundings | None) -> str:
    """What the picture leaves out, if anything."""
    if shown is None or shown.total <= len(shown.people):
        return ""
    return (
        f"A picture holds {LIMIT} people. Of the {shown.total:,} within "
        f"{number(shown.hops, 'hop')}, {len(shown.people)} are drawn: whoever is in the "
        "explanation, then the nearest."
    )


def histogram_picture(document: Document, looks: Mapping[str, Look]) -> Picture | None:
    """Class probabilities on the whole graph, the explanation and the counterfactual."""
    whole = document["subject"]["probabilities"]
    if not whole:
        return None
    answers = [Answer(graph="whole graph", probabilities=whole)]
    if document["counterfactuals"]:
        first = document["counterfactuals"][0]
        inside = first["explanation"]["probabilities"]
        answers.append(Answer(graph="explanation", probabilities=inside))
        answers.append(Answer(graph="counterfactual", probabilities=first["probabilities"]))
    return histograms(tuple(answers), looks)


def cloud_picture(document: Document) -> Picture | None:
    """All pairs of the search, the front and the counterfactuals shown."""
    found = document.get("cloud")
    if not found:
        return None
    return cloud(
        Cloud(
            simulatability=tuple(found["simulatability"]),
            relevance=tuple(found["relevance"]),
            columns=found["columns"],
            rows=found["rows"],
            counts=tuple((cell, count) for cell, count in found["counts"]),
            front=tuple(_point(pair) for pair in document["front"]),
            front_size=document["front_size"],
            choices=tuple(_point(pair) for pair in document["counterfactuals"]),
        )
    )


def _point(pair: Document) -> tuple[float, float]:
    return pair["simulatability"], abs(pair["relevance"])


def explanation_facts(
    document: Document, found: Sequence[Counterfactual], names: Names
) -> tuple[Fact, ...]:
    """The explanation in words."""
    if not found:
        return ()
    first = found[0]
    kinds = _kinds(document)
    raw = document["counterfactuals"][0]
    explained = _ties(first.explanation.edges, raw["explanation"]["edges"], kinds, names)
    removed = _ties(first.removed, raw["removed"], kinds, names)
    size = f"{number(len(first.explanation.nodes), 'node')}, "
    return (
        Fact(name="Explanation", value=size + ", ".join(explained)),
        Fact(name="The counterfactual removes", value=", ".join(removed)),
    )


def remark_on(document: Document, found: Sequence[Counterfactual]) -> str:
    """What must be said before the explanation: it moves nothing, or it stood against."""
    if not found:
        return ""
    against = direction(found[0], document["subject"]["decision"], "these ties")
    return document.get("note") or against


def moves_nothing(document: Document) -> bool:
    """Whether there are pairs, and none of them moves the answer."""
    cloud = document.get("cloud")
    return cloud is not None and cloud["relevance"][1] == 0


def counterfactual_table(
    document: Document, found: Sequence[Counterfactual], names: Names
) -> Table | None:
    """Each counterfactual with its ranks, what it dominates, and its effect."""
    if not found:
        return None
    decision = document["subject"]["decision"]
    kinds = _kinds(document)
    rows = []
    for place, (one, raw) in enumerate(zip(found, document["counterfactuals"], strict=True)):
        against = one.relevance and held_back(one, decision)
        beaten = [name for name, beats in one.dominates_picks.items() if beats]
        rows.append(
            cells(
                str(place + 1),
                tuple(_ties(one.explanation.edges, raw["explanation"]["edges"], kinds, names)),
                tuple(_ties(one.removed, raw["removed"], kinds, names)),
                f"{one.simulatability:.6f}",
                f"{one.relevance:.6f}",
                f"{one.ranks.simulatability:,} + {one.ranks.relevance:,}",
                str(one.layer),
                (
                    f"{one.dominates:,} of {document['search']['pairs']:,}",
                    *([f"and the picks by {', '.join(beaten)}"] if beaten else []),
                ),
                (effect(one, decision), *([HELD_BACK] if against else [])),
                _on_whole_graph(document, raw["removed"]),
            )
        )
    longest = max(len(line) for row in rows for cell in row[1:3] for line in cell)
    ties: Kind = "whole" if longest <= WHOLE else "plain"
    return Table(
        caption=f"Counterfactuals; effects are on the probability of {decision}",
        columns=(
            Column(heading="No."),
            Column(heading="Explanation", kind=ties),
            Column(heading="Removed", kind=ties),
            Column(heading="Simulatability ν", kind="figures"),
            Column(heading="Relevance |μ|", kind="figures"),
            Column(heading="Ranks ν + |μ|", kind="figures"),
            Column(heading="Layer", kind="figures"),
            Column(heading="Dominates", kind="figures"),
            Column(heading="Effect in the explanation", kind="figures"),
            Column(heading="Effect on the whole graph", kind="figures"),
        ),
        rows=tuple(rows),
    )


def _on_whole_graph(document: Document, removed: list[list[str]]) -> str:
    """Known where an option drops just these ties, and every one of several between two people."""
    subject = document["subject"]
    kinds = _kinds(document)
    wanted = {tuple(sorted(tie)) for tie in removed}
    count = sum(len(kinds.get(frozenset(tie), [""])) for tie in removed)
    for option in (document["recourse"] or {"options": ()})["options"]:
        drops = {
            tuple(sorted(action["tie"])) for action in option["actions"] if action["do"] == "drop"
        }
        if drops == wanted and len(option["actions"]) == count:
            before = subject["probabilities"][subject["decision"]]
            return f"{share(before)} → {share(option['probabilities'][subject['decision']])}"
    return "not asked"


def _kinds(document: Document) -> dict[frozenset[str], list[str]]:
    """The kinds of ties between two people, as far as the document knows."""
    kinds: dict[frozenset[str], list[str]] = {}
    for tie in (document.get("surroundings") or {}).get("ties", ()):
        kinds.setdefault(frozenset(tie["ends"]), []).append(tie["kind"])
    return kinds


def _ties(
    named: Sequence[Tie],
    raw: Sequence[Sequence[str]],
    kinds: Mapping[frozenset[str], list[str]],
    names: Names,
) -> list[str]:
    """Ties by their ends; to the subject by kind and count only."""
    if names.tells_people_apart:
        return [f"{one} - {other}" for one, other in named]
    counts = Counter(", ".join(kinds.get(frozenset(ends), ["any"])) or "any" for ends in raw)
    words = {"any": ""}
    return [number(count, f"{words.get(kind, kind)} tie".strip()) for kind, count in counts.items()]
