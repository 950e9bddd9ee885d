"""Reports on subjects, made without an audit: what the page of a subject is made from."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import networkx as nx

from recourse_audit.records.bundle import Fingerprint
from recourse_audit.records.model import ProbeReport
from recourse_audit.records.recourse import (
    Action,
    Certificate,
    DroppableTie,
    Option,
    Permitted,
    Recourse,
    Robustness,
    SetAction,
    SideEffects,
    TieAction,
    survival,
)
from recourse_audit.records.search import (
    Carriers,
    CarryingSet,
    Counterfactual,
    Explanation,
    FrontPair,
    ObjectiveGrid,
    Ranks,
    SearchExtent,
    SetsTried,
    Tie,
    WholeGraph,
)
from recourse_audit.records.subject import (
    AdjustedEffect,
    AnswerAlone,
    Caveat,
    Decision,
    DecisionLine,
    EgoNetwork,
    EgoNode,
    EgoTie,
    OwnData,
    SubjectReport,
)
from recourse_audit.render.decision_axis import AuditFacts
from recourse_audit.settings import ReasonSettings

DIGEST = "0123456789abcdef" * 4
CLASSES = ("denied", "approved")
PROBES = ProbeReport(
    deterministic=True, node_order=True, tie_order=True, ties_matter=True, packing=True, depth=2
)


def person(place: int) -> str:
    return f"P{place:04d}"


def facts(classes: Sequence[str] = CLASSES, protected: Sequence[str] = ("gender",)) -> AuditFacts:
    return AuditFacts(
        classes=tuple(classes),
        favourable=tuple(classes[-1:]),
        protected=tuple(protected),
        reasons=ReasonSettings(),
        made_of=Fingerprint(
            versions={"recourse-audit": "0.1.0", "python": "3.11.7"},
            model=DIGEST,
            head="",
            preprocessing="",
            graph={"nodes": DIGEST, "edges": DIGEST},
            candidates="",
            settings=DIGEST,
            seed=7,
            subjects="",
        ),
    )


def probabilities(first: float, classes: Sequence[str] = CLASSES) -> dict[str, float]:
    rest = (1 - first) / (len(classes) - 1)
    return {name: round(first if not place else rest, 6) for place, name in enumerate(classes)}


def made_report(
    graph: "nx.Graph[int] | None" = None,
    *,
    name: Callable[[int], str] = person,
    classes: Sequence[str] = CLASSES,
    kind: str = "guarantor",
    attribute: str = "savings",
    total: int | None = None,
    **changes: Any,
) -> SubjectReport:
    """Subject 0 of a graph, refused; ties 0-1 and 1-2 explain it, and 1-2 is removed."""
    graph = nx.path_graph(4) if graph is None else graph
    found = counterfactual(name, classes)
    made = SubjectReport(
        subject=Decision(
            id=name(0),
            decision=classes[0],
            favourable=False,
            probabilities=probabilities(0.9, classes),
        ),
        decision=DecisionLine(rule="argmax", margin=-0.8),
        search=SearchExtent(
            max_nodes=4, max_hops=2, subgraphs=45, pairs=148, coverage="exhaustive", queries=46
        ),
        explanation=found.explanation,
        counterfactuals=(found,),
        front=(
            FrontPair(
                edges=found.explanation.edges,
                removed=found.removed,
                simulatability=-0.006957,
                relevance=0.521894,
            ),
        ),
        front_size=1,
        baselines={},
        objective_grid=ObjectiveGrid(
            simulatability=(-0.45, 0.0),
            relevance=(0.0, 0.521894),
            columns=32,
            rows=20,
            counts=((0, 1), (31, 99), (639, 48)),
        ),
        ego_network=ego_network(graph, name, classes, kind, total),
        own_data=own_data(classes),
        recourse=recourse(name, classes, kind, attribute),
        caveats=caveats(name, classes),
        probes=PROBES,
        queries=100,
    )
    return replace(made, **changes)


def own_data(classes: Sequence[str] = CLASSES, **changes: Any) -> OwnData:
    """Refused without ties too."""
    made = OwnData(
        alone=AnswerAlone(
            decision=classes[0],
            favourable=False,
            probabilities=probabilities(0.8, classes),
            value=0.2,
        ),
    )
    return replace(made, **changes)


def ego_network(
    graph: "nx.Graph[int]",
    name: Callable[[int], str],
    classes: Sequence[str],
    kind: str,
    total: int | None = None,
) -> EgoNetwork:
    hops = nx.single_source_shortest_path_length(graph, 0)
    order = sorted(hops, key=lambda node: (hops[node], node))
    return EgoNetwork(
        nodes=tuple(
            EgoNode(
                id=name(node),
                hops=hops[node],
                decision=classes[node % len(classes)],
                favourable=bool(node % len(classes)),
            )
            for node in order
        ),
        ties=tuple(EgoTie(ends=(name(a), name(b)), kind=kind) for a, b in graph.edges),
        shown=len(order),
        total=total or len(order),
        hops=max(hops.values()),
        limit=60,
    )


def counterfactual(name: Callable[[int], str], classes: Sequence[str]) -> Counterfactual:
    return Counterfactual(
        explanation=Explanation(
            nodes=(name(0), name(1), name(2)),
            edges=((name(0), name(1)), (name(1), name(2))),
            simulatability=-0.006957,
            probabilities=probabilities(0.85, classes),
        ),
        removed=((name(1), name(2)),),
        kept=((name(0), name(1)),),
        simulatability=-0.006957,
        relevance=0.521894,
        signed_relevance=-0.521894,
        ranks=Ranks(simulatability=19, relevance=3, sum=22),
        layer=1,
        dominates=127,
        dominates_baselines={"random": True, "shapley": False},
        probabilities=probabilities(0.4, classes),
    )


def recourse(
    name: Callable[[int], str], classes: Sequence[str], kind: str, attribute: str
) -> Recourse:
    save = SetAction(attribute=attribute, before=100.0, after=600.0, unit="euros", cost=0.5)
    drop = TieAction(do="drop", tie=(name(1), name(2)), kind=kind, cost=1.0)
    return Recourse(
        status="verified",
        certificate=Certificate(
            max_changes=3,
            tried=27,
            possible=80,
            complete_up_to=2,
            permitted=Permitted(drop=2, set={attribute: 5}),
            denied=1,
        ),
        margin=-0.8,
        options=(option([save], 0.5, name, classes), option([drop], 1.0, name, classes)),
        evaluations=28,
        evaluated_on="neighbourhood",
        droppable=(DroppableTie(tie=(name(0), name(1)), kind=kind),),
    )


def option(
    actions: Sequence[Action],
    cost: float,
    name: Callable[[int], str] = person,
    classes: Sequence[str] = CLASSES,
    **changes: Any,
) -> Option:
    made = Option(
        actions=tuple(actions),
        cost=cost,
        decision=classes[-1],
        probabilities=probabilities(0.3, classes),
        margin=0.4,
        verified=True,
        verified_on="whole graph",
        minimal=True,
        source="counterfactual",
        robustness=Robustness(draws=50, ties=survival(48, 50), attributes=survival(40, 50)),
        side_effects=SideEffects(measured=True, to_favourable=(name(3),)),
    )
    return replace(made, **changes)


def caveats(name: Callable[[int], str], classes: Sequence[str]) -> tuple[Caveat, ...]:
    general = Caveat(
        kind="general",
        grade=None,
        counterfactual=None,
        about="every counterfactual",
        text="general",
    )
    confounded = Caveat(
        kind="confounders",
        grade="weakens",
        counterfactual=1,
        about="counterfactual 1",
        text="weakens",
        variables=(name(0), name(1)),
        effect=AdjustedEffect(
            unadjusted=-0.315,
            adjusted=-0.116,
            low=-0.145,
            high=-0.087,
            smallest=0.01,
            agreeing=0.85,
            negligible=0.1,
            depends_on_whom=True,
            draws=60,
            grade="weakens",
        ),
    )
    return (general, confounded)


def with_recourse(report: SubjectReport, **changes: Any) -> SubjectReport:
    """The report with parts of its recourse replaced."""
    assert report.recourse is not None
    return replace(report, recourse=replace(report.recourse, **changes))


def with_first(report: SubjectReport, **changes: Any) -> SubjectReport:
    """The report with parts of its first counterfactual replaced."""
    first, *rest = report.counterfactuals
    return replace(report, counterfactuals=(replace(first, **changes), *rest))


def whole_graph(after: float, before: float = 0.9) -> WholeGraph:
    """What the whole graph says: the probability of denied, of 0.9 as it is."""
    decision = CLASSES[0] if after >= 0.5 else CLASSES[1]
    return WholeGraph(
        probabilities=probabilities(after),
        effect=round(after - before, 6),
        decision=decision,
        favourable=decision == CLASSES[1],
        flips=decision != CLASSES[0],
    )


def carrying(ties: tuple[Tie, ...], after: float) -> CarryingSet:
    """Ties, and the probability of denied without them."""
    found = whole_graph(after)
    return CarryingSet(
        removed=ties,
        size=len(ties),
        probabilities=found.probabilities,
        effect=found.effect,
        decision=found.decision,
        favourable=found.favourable,
        flips=found.flips,
    )


def own_carriers(report: SubjectReport, *afters: float) -> SubjectReport:
    """The report with the subject's own ties to 1, 2 and so on: denied without each of them."""
    subject = report.subject.id
    own = tuple(
        carrying(((subject, person(place)),), after) for place, after in enumerate(afters, start=1)
    )
    found = Carriers(
        front=(),
        smallest_flip=None,
        own=own,
        own_ties=len(own),
        ties_in_reach=12,
        max_ties=4,
        coverage="exhaustive",
        tried=(SetsTried(size=1, tried=12, of=12, own_tried=len(own), own_of=len(own)),),
    )
    return replace(report, carriers=found)
