"""Documents of subjects as a store holds them, small and made by hand, and desks that answer."""

from datetime import date
from pathlib import Path
from typing import Any

from recourse_audit.render.letters.writer import LetterDesk
from recourse_audit.render.templates import Pages
from recourse_audit.render.letters.letter import Letter, Signer, SignOff
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
    "currencies": {"euros": "EUR"},
    "words": {
        "en": {"guarantor": ["guarantor", "guarantors"], "denied": "declined"},
        "de": {
            "guarantor": ["Bürge", "Bürgen"],
            "payment": ["Dauerauftrag", "Daueraufträge"],
            "savings": "Ersparnisse",
            "loan_amount": "Kreditbetrag",
            "debt_ratio": "Schuldenquote",
            "denied": "abgelehnt",
        },
    },
}
SIGNED = SignOff(name=Signer("A. Example"), day=date(2026, 11, 16))


def settings(**letters: Any) -> Settings:
    tables = TABLES | {"letters": LETTERS | letters}
    return parse_settings(tables, folder=Path(), origin="audit.toml")


def desk(
    *,
    sign_off: SignOff | None = None,
    reasons: Path | None = None,
    addresses: Path | None = None,
    **letters: Any,
) -> LetterDesk:
    given = settings(**letters)
    return LetterDesk(given, Pages(), sign_off=sign_off, reasons=reasons, addresses=addresses)


def written(document: dict[str, Any], at: LetterDesk) -> Letter:
    letter = at.letter(document)
    assert isinstance(letter, Letter)
    return letter


def drop(other: str, kind: str = "guarantor", own: str = OWN) -> dict[str, Any]:
    return {"do": "drop", "tie": [own, other], "kind": kind, "cost": 1.0}


def add(other: str, kind: str = "guarantor") -> dict[str, Any]:
    return {"do": "add", "tie": [OWN, other], "kind": kind, "cost": 1.0}


def move(name: str, before: float, after: float, **implied: tuple[float, float]) -> dict[str, Any]:
    along = [
        {"attribute": one, "from": first, "to": last, "unit": ""}
        for one, (first, last) in implied.items()
    ]
    values = {"from": before, "to": after, "unit": "from the document", "cost": 1.0}
    return {"do": "set", "attribute": name, "implied": along, **values}


def option(*actions: dict[str, Any], holds: float | None = 1.0) -> dict[str, Any]:
    share = None if holds is None else {"draws": 50, "ties": holds, "attributes": 1.0}
    return {"actions": list(actions), "holds": share, "others": {"to_unfavourable": ["P0999"]}}


def document(
    *options: dict[str, Any],
    status: str = "verified",
    ties: dict[str, int] | None = None,
    caveats: tuple[tuple[str, str | None], ...] = (("general", None),),
    removed: tuple[tuple[str, ...], ...] | None = None,
    permitted: dict[str, int] | None = None,
) -> dict[str, Any]:
    """A subject with so many ties of each kind, each with somebody else.

    Each caveat about confounders is about a counterfactual of its own, which removes the ties with
    the people that `removed` names, P1000 if it names none.
    """
    numbered = [kind for kind, count in (ties or {}).items() for _ in range(count)]
    ends = [{"ends": [OWN, f"P1{place:03}"], "kind": kind} for place, kind in enumerate(numbered)]
    nodes = [{"id": one["ends"][1], "hops": 1, "decision": "denied"} for one in ends]
    graded = [grade for kind, grade in caveats if kind == "confounders"]
    cut = removed or (("P1000",),) * len(graded)
    about = iter(range(1, len(graded) + 1))
    sets = {"savings": 3, "loan_amount": 2} if permitted is None else permitted
    return {
        "format": 1,
        "subject": {
            "id": OWN,
            "decision": "denied",
            "favourable": False,
            "probabilities": {"denied": 0.918273, "approved": 0.081727},
        },
        "counterfactuals": [
            {"removed": [[OWN, name] for name in names], "explanation": {"nodes": [OWN, *names]}}
            for names in cut
        ],
        "caveats": [
            {
                "kind": kind,
                "grade": grade,
                "about": f"counterfactual {next(about)}"
                if kind == "confounders"
                else "every counterfactual",
            }
            for kind, grade in caveats
        ],
        "recourse": {
            "status": status,
            "options": list(options),
            "certificate": {
                "max_changes": 3,
                "possible": 12,
                "permitted": {"drop": len(ends), "add": 0, "set": sets},
            },
        },
        "surroundings": {"nodes": nodes, "ties": ends},
    }
