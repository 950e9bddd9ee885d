"""The report on one subject as a page shows it: from its document alone, at a level of redaction.

Everything is worded and formatted here; templates lay it out and decide nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recourse_audit.records.report import Decision
from recourse_audit.records.search import Coverage
from recourse_audit.render.charts.classes import Look, looks_of
from recourse_audit.render.charts.neighbourhood import Pair
from recourse_audit.render.text import number, plain, share
from recourse_audit.render.charts.svg import Picture
from recourse_audit.render.terminal.subject import PROBE_MEANINGS, looked
from recourse_audit.render.pages.facts import AuditFacts, provenance
from recourse_audit.render.pages.reading import counterfactual_of, recourse_of
from recourse_audit.render.pages.redaction import SAID, Level, Names, people_of
from recourse_audit.render.pages.subject_caveats import CaveatView, caveat_views
from recourse_audit.render.pages.subject_recourse import (
    LEFT_TO_THE_AUDITOR,
    RecourseView,
    recourse_view,
)
from recourse_audit.render.pages.subject_search import (
    cloud_picture,
    counterfactual_table,
    explanation_facts,
    histogram_picture,
    limit_sentence,
    moves_nothing,
    neighbourhood_pictures,
    people_table,
    remark_on,
    surroundings_of,
)
from recourse_audit.render.pages.tables import Column, Fact, Table, cells
from recourse_audit.records.notes import NO_TIE_MOVES

Document = dict[str, Any]
NOTHING = "There is nothing to explain by ties."


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectView:
    """What the report on one subject shows; links are relative, and empty where there is none."""

    title: str
    subject: str
    mark: str
    mark_sign: str
    copy: str
    index_link: str
    letter_link: str
    warnings: tuple[str, ...]
    summary: str
    decision_facts: tuple[Fact, ...]
    histograms: Picture | None
    explanation: tuple[Fact, ...]
    remark: str
    nothing: str
    neighbourhood: Pair | None
    limit: str
    people: Table | None
    counterfactuals: Table | None
    cloud: Picture | None
    recourse: RecourseView | None
    caveats: tuple[CaveatView, ...]
    search_facts: tuple[Fact, ...]
    probes: Table
    provenance: tuple[Fact, ...]


def subject_view(
    document: Document,
    facts: AuditFacts,
    *,
    level: Level = "auditor",
    members: Mapping[str, str] | None = None,
    index_link: str = "../index.html",
    letter_link: str = "",
) -> SubjectView:
    """Word a subject's document for one kind of reader.

    `members` are the subject's own values of protected attributes; only the auditor sees them.
    """
    document = _plain(document)
    if moves_nothing(document):
        document = _without_counterfactuals(document)
    decision = Decision(**document["subject"])
    names = Names(level, decision.id, facts.protected)
    for one in people_of(document):
        names.name(one)
    looks = _looks(facts)
    found = [counterfactual_of(one, names) for one in document["counterfactuals"]]
    recourse = document["recourse"] and recourse_of(document["recourse"], names)
    shown = surroundings_of(document, names, looks)
    words = decision.decision or "no decision"
    return SubjectView(
        title=f"{decision.id}: {words}",
        subject=decision.id,
        mark="favourable" if decision.favourable else "unfavourable",
        mark_sign="●" if decision.favourable else "■",
        copy=SAID[level],
        index_link=index_link,
        letter_link=letter_link,
        warnings=_warnings(document, names),
        summary=_summary(decision),
        decision_facts=_decision_facts(document, decision, names, members or {}),
        histograms=histogram_picture(document, looks),
        explanation=explanation_facts(document, found, names),
        remark=remark_on(document, found),
        nothing="" if found else document.get("note") or NOTHING,
        neighbourhood=neighbourhood_pictures(shown),
        limit=limit_sentence(shown),
        people=people_table(shown),
        counterfactuals=counterfactual_table(document, found, names),
        cloud=cloud_picture(document),
        recourse=recourse_view(decision, recourse, names) if recourse else None,
        caveats=caveat_views(document, found, names),
        search_facts=_search_facts(document),
        probes=_probes(document["probes"]),
        provenance=provenance(facts),
    )


def _without_counterfactuals(document: Document) -> Document:
    """The document of a subject whose answer no tie moves: what was tried first explains nothing.

    Bundles of before this was noticed have a caution about ties, which would not be true.
    """
    note = document.get("note") or NO_TIE_MOVES
    return document | {"counterfactuals": [], "caveats": [], "cloud": None, "note": note}


def _plain(value: Any) -> Any:
    """The same document, with what would not print in a user's text written out."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {plain(name): _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _looks(facts: AuditFacts) -> dict[str, Look]:
    favourable = [plain(name) for name in facts.favourable]
    return looks_of([plain(name) for name in facts.classes], favourable)


def _warnings(document: Document, names: Names) -> tuple[str, ...]:
    """What a reader has to know before anything else: failed probes, and what went wrong."""
    error = document.get("error", "")
    if error and not names.full:
        error = LEFT_TO_THE_AUDITOR
    return tuple(words for words in (error, *document["notes"].values()) if words)


def _summary(decision: Decision) -> str:
    chance = decision.probabilities.get(decision.decision)
    if chance is None:
        return "The model gave no usable answer for this subject."
    kind = "favourable" if decision.favourable else "unfavourable"
    return (
        f"The model decided {decision.decision} with probability {share(chance)} on the whole "
        f"graph. This counts as {kind}."
    )


def _decision_facts(
    document: Document, decision: Decision, names: Names, members: Mapping[str, str]
) -> tuple[Fact, ...]:
    facts = [Fact(name="Decision", value=decision.decision or "none")]
    recourse = document["recourse"]
    if recourse and recourse["margin"] is not None:
        facts.append(Fact(name="Margin", value=f"{recourse['margin']:+.3f}"))
    depth = document["probes"]["depth"]
    reach = "every node, however far" if depth is None else f"nodes within {number(depth, 'hop')}"
    facts.append(Fact(name="Reach of the model", value=reach))
    if names.full:
        facts += [
            Fact(name=plain(name).capitalize(), value=plain(value))
            for name, value in members.items()
        ]
    return tuple(facts)


def _search_facts(document: Document) -> tuple[Fact, ...]:
    search = document["search"]
    if search is None:
        return ()
    sample = search.get("sample")
    coverage = Coverage(
        kind=search["coverage"],
        drawn=sample["drawn"] if sample else search["subgraphs"],
        total=sample["of"] if sample else search["subgraphs"],
        total_is_estimate=bool(sample and sample["of_is_estimate"]),
        bound=sample["bound"] if sample else 0.0,
        confidence=sample["confidence"] if sample else 1.0,
    )
    extent = (
        f"of at most {number(search['max_nodes'], 'node')} within "
        f"{number(search['max_hops'], 'hop')}"
    )
    recourse = document["recourse"]
    evaluations = [] if not recourse else [f"{recourse['evaluations']:,} for options"]
    return (
        Fact(name="Coverage", value=f"{looked(coverage)} {extent}"),
        Fact(
            name="Pairs",
            value=f"{search['pairs']:,}, {document['front_size']:,} of them on the front",
        ),
        Fact(
            name="Queries", value=", ".join([f"{search['queries']:,} for the search", *evaluations])
        ),
    )


def _probes(probes: Mapping[str, Any]) -> Table:
    return Table(
        caption="What may be relied on in the model",
        columns=(Column(heading="Probe"), Column(heading="What it asks"), Column(heading="Passed")),
        rows=tuple(
            cells(name.replace("_", " "), meaning, "yes" if probes[name] else "NO")
            for name, meaning in PROBE_MEANINGS.items()
        ),
    )
