"""Small reports on subjects, made by hand, and writers that turn them into letters."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from recourse_audit.records.bundle import SignOff
from recourse_audit.records.model import ProbeReport
from recourse_audit.records.recourse import (
    Action,
    Certificate,
    Move,
    Option,
    Part,
    Permitted,
    Recourse,
    RecourseStatus,
    Responsiveness,
    Robustness,
    SetAction,
    SideEffects,
    TieAction,
    survival,
)
from recourse_audit.records.search import Counterfactual, Explanation, Ranks, WholeGraph
from recourse_audit.records.subject import (
    AdjustedEffect,
    AnswerAlone,
    Caveat,
    Decision,
    DecisionLine,
    EgoNetwork,
    EgoNode,
    EgoTie,
    Grade,
    OwnColumn,
    OwnData,
    OwnTies,
    ReasonCandidate,
    SubjectReport,
)
from recourse_audit.records.texts import csv_lines
from recourse_audit.render.letter_facts import Letter
from recourse_audit.render.letters import LetterWriter
from recourse_audit.render.templates import Templates
from recourse_audit.settings import Settings, parse_settings

LANGUAGES = ("en", "de", "fr", "es")
OWN = "P0007"
TABLES: dict[str, Any] = {
    "model": {"path": "model.onnx"},
    "graph": {"nodes": "nodes.csv", "edges": "edges.csv", "features": ["savings"]},
    "decision": {"classes": ["denied", "approved"], "favourable": ["approved"]},
    "groups": {"attributes": ["origin"]},
    "recourse": {
        "ties": [
            {"kind": "guarantor", "allow": ["drop", "add"]},
            {"kind": "payment", "allow": ["drop"], "whose": "any"},
        ],
        "attributes": [
            {
                "name": "savings",
                "step": 500,
                "unit": "euros",
                "implies": [{"name": "debt_ratio", "by": -0.01}],
            },
            {"name": "loan_amount", "step": 500, "unit": "euros"},
            {"name": "origin", "step": 1},
        ],
    },
}
LETTERS: dict[str, Any] = {
    "sender": "Example Savings Bank",
    "address": ["12 Market Street", "10115 Berlin"],
    "contact": ["Customer Care", "+49 30 1234 5678"],
    "about": "Your application for a loan",
    "profile": "generic",
    "currencies": {"euros": "EUR"},
}
WORDS: dict[str, Any] = {
    "en": {"denied": "declined", "ties": {"guarantor": {"name": ["guarantor", "guarantors"]}}},
    "de": {
        "ties": {
            "guarantor": {"name": ["Bürge", "Bürgen"]},
            "payment": {"name": ["Dauerauftrag", "Daueraufträge"]},
        },
        "savings": "Ersparnisse",
        "loan_amount": "Kreditbetrag",
        "debt_ratio": "Schuldenquote",
        "denied": "abgelehnt",
    },
}
SIGNED = SignOff(name="A. Example", day="2026-11-16")
PROBES = ProbeReport(
    deterministic=True, node_order=True, tie_order=True, ties_matter=True, packing=True, depth=2
)
PROBABILITIES = {"denied": 0.918273, "approved": 0.081727}
CaveatKind = Literal["general", "confounders", "unknown_reach"]
Caveats = tuple[tuple[CaveatKind, Grade | AdjustedEffect | None], ...]


def settings(
    words: dict[str, Any] | None = None,
    data_as_of: str = "",
    codes: dict[str, str] | None = None,
    **letters: Any,
) -> Settings:
    given = LETTERS | letters
    if given["profile"] in {"", "generic"}:
        given = {"facts": {"credit": False}} | given
    tables = TABLES | {
        "letters": given,
        "reasons": {"codes": codes or {}},
        "words": WORDS if words is None else words,
        "audit": {"data_as_of": data_as_of},
    }
    return parse_settings(tables, folder=Path(), origin="audit.toml")


def writer(
    *,
    sign_off: SignOff | None = None,
    reasons: Path | None = None,
    addresses: Path | None = None,
    names: Path | None = None,
    everybody: tuple[str, ...] = (),
    **letters: Any,
) -> LetterWriter:
    given = settings(**letters)
    return LetterWriter(
        given,
        Templates(),
        sign_off=sign_off,
        reasons=reasons,
        addresses=addresses,
        names=names,
        everybody=lambda: everybody,
    )


def reasons_file(folder: Path, *texts: str, own: str = OWN, note: str = "As talked over") -> Path:
    """A file with reasons in words of staff's own, confirmed and with a note."""
    path = folder / "reasons.csv"
    rows = [(own, "yes", text, note) for text in texts]
    path.write_text("".join(csv_lines([("id", "confirm", "reason", "note"), *rows])), "utf-8")
    return path


def written(found: SubjectReport, by: LetterWriter) -> Letter:
    letter = by.letter(found)
    assert isinstance(letter, Letter)
    return letter


def drop(other: str, kind: str = "guarantor", own: str = OWN) -> TieAction:
    return TieAction(do="drop", tie=(own, other), kind=kind, cost=1.0)


def add(other: str, kind: str = "guarantor") -> TieAction:
    return TieAction(do="add", tie=(OWN, other), kind=kind, cost=1.0)


def move(name: str, before: float, after: float, **implied: tuple[float, float]) -> SetAction:
    """A change of an attribute, with a unit that no letter may use."""
    along = [
        Move(attribute=one, before=first, after=last) for one, (first, last) in implied.items()
    ]
    return SetAction(
        attribute=name,
        before=before,
        after=after,
        unit="from the report",
        implied=tuple(along),
        cost=1.0,
    )


def option(*actions: Action, holds: float | None = 1.0) -> Option:
    """An option that still works in a share of 50 draws with other people's ties changed."""
    draws = 50
    return Option(
        actions=actions,
        cost=float(len(actions)),
        decision="approved",
        probabilities={"denied": 0.418273, "approved": 0.581727},
        margin=0.163454,
        verified=True,
        verified_on="whole graph",
        minimal=True,
        source="exhaustive",
        robustness=None
        if holds is None
        else Robustness(
            draws=draws,
            ties=survival(round(holds * draws), draws),
            attributes=survival(draws, draws),
        ),
        side_effects=SideEffects(measured=True, to_unfavourable=("P0999",)),
    )


def report(
    *options: Option,
    status: RecourseStatus = "verified",
    ties: dict[str, int] | None = None,
    caveats: Caveats = (("general", None),),
    removed: tuple[tuple[str, ...], ...] | None = None,
    permitted: dict[str, int] | None = None,
) -> SubjectReport:
    """A report on a subject with a number of ties of each kind, each with a different person.

    Each caveat about confounders is about a counterfactual of its own, which removes the ties with
    the people in `removed`, or with P1000 if none are given.
    """
    numbered = [kind for kind, count in (ties or {}).items() for _ in range(count)]
    near = tuple(
        EgoTie(ends=(OWN, f"P1{place:03}"), kind=kind) for place, kind in enumerate(numbered)
    )
    confounded = sum(kind == "confounders" for kind, _ in caveats)
    cut = removed or (("P1000",),) * confounded
    return SubjectReport(
        subject=Decision(id=OWN, decision="denied", favourable=False, probabilities=PROBABILITIES),
        counterfactuals=tuple(_counterfactual(names) for names in cut),
        decision=DecisionLine(rule="argmax"),
        baselines={},
        ego_network=_ego_network(near),
        recourse=Recourse(
            status=status,
            options=options,
            certificate=Certificate(
                max_changes=3,
                possible=12,
                permitted=Permitted(
                    drop=len(near),
                    set={"savings": 3, "loan_amount": 2} if permitted is None else permitted,
                ),
            ),
        ),
        caveats=_caveats(caveats),
        probes=PROBES,
    )


def with_grounds(
    found: SubjectReport,
    columns: dict[str, float] | None = None,
    ties: dict[str, float] | None = None,
    *,
    fixed: tuple[str, ...] = (),
    proxies: dict[str, str] | None = None,
    alone: bool | None = None,
) -> SubjectReport:
    """The same report with how far the answer moves without columns and kinds, of a distance of 2.

    What moves it by a tenth of that or more is a candidate; `fixed` ones have no permitted change.
    """
    assert found.recourse is not None
    answer = WholeGraph(
        probabilities={"denied": 0.5, "approved": 0.5},
        effect=-0.4,
        decision="denied",
        favourable=False,
        flips=False,
    )
    own = OwnData(
        alone=None
        if alone is None
        else AnswerAlone(decision="approved", favourable=alone, probabilities={}),
        distance=2.0,
        columns=tuple(
            OwnColumn(name=name, value=1.0, reference=2.0, answer=answer, moves=moves)
            for name, moves in (columns or {}).items()
        ),
        ties=tuple(
            OwnTies(kind=kind, count=3, answer=answer, moves=moves)
            for kind, moves in (ties or {}).items()
        ),
    )
    parts = [(Part(what="column", name=name), moves) for name, moves in (columns or {}).items()]
    parts += [(Part(what="ties", name=kind), moves) for kind, moves in (ties or {}).items()]
    candidates = tuple(
        ReasonCandidate(
            part=part,
            moves=moves,
            share=moves / 2.0,
            fixed=part.name in fixed,
            proxy=(proxies or {}).get(part.name, ""),
        )
        for part, moves in sorted(parts, key=lambda item: -item[1])
        if moves >= 0.2
    )
    responsiveness = tuple(
        Responsiveness(
            part=part,
            moves=3,
            tried=3,
            flips=1,
            share=1 / 3,
            interval=None,
            best_answer=0.6,
            best_move=1.0,
        )
        for part, _ in parts
        if part.name not in fixed
    )
    recourse = replace(found.recourse, responsiveness=responsiveness)
    return replace(found, own_data=own, reasons=candidates[:4], recourse=recourse)


def with_subject(found: SubjectReport, **changes: Any) -> SubjectReport:
    """The same report with another subject."""
    return replace(found, subject=replace(found.subject, **changes))


def with_ties(found: SubjectReport, *ties: EgoTie) -> SubjectReport:
    """The same report with other ties around the subject."""
    assert found.ego_network is not None
    return replace(found, ego_network=replace(found.ego_network, ties=ties))


def _counterfactual(names: tuple[str, ...]) -> Counterfactual:
    ties = tuple((OWN, name) for name in names)
    return Counterfactual(
        explanation=Explanation(
            nodes=(OWN, *names), edges=ties, simulatability=0.9, probabilities=PROBABILITIES
        ),
        removed=ties,
        kept=(),
        simulatability=0.9,
        relevance=0.3,
        signed_relevance=0.3,
        ranks=Ranks(simulatability=1, relevance=1, sum=2),
        layer=1,
        dominates=0,
        dominates_baselines={},
        probabilities=PROBABILITIES,
    )


def _ego_network(ties: tuple[EgoTie, ...]) -> EgoNetwork:
    others = [EgoNode(id=tie.ends[1], hops=1, decision="denied", favourable=False) for tie in ties]
    own = EgoNode(id=OWN, hops=0, decision="denied", favourable=False)
    count = len(others) + 1
    return EgoNetwork(nodes=(own, *others), ties=ties, shown=count, total=count, hops=2, limit=60)


def _caveats(caveats: Caveats) -> tuple[Caveat, ...]:
    """What `about` says is for people: nothing may depend on it."""
    made: list[Caveat] = []
    number = 0
    for kind, found in caveats:
        number += kind == "confounders"
        effect = found if isinstance(found, AdjustedEffect) else None
        made.append(
            Caveat(
                kind=kind,
                grade=found.grade if isinstance(found, AdjustedEffect) else found,
                effect=effect,
                counterfactual=number if kind == "confounders" else None,
                about="in words",
                text="general",
            )
        )
    return tuple(made)
