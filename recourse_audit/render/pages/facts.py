"""What is the same for every page of an audit: the classes, the hashes, the seed, the versions."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recourse_audit.render.pages.tables import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFacts:
    """The audit that a page belongs to; hashes are SHA-256."""

    classes: tuple[str, ...]
    favourable: tuple[str, ...]
    protected: tuple[str, ...]
    model: str
    graph: Mapping[str, str]
    settings: str
    seed: str
    versions: Mapping[str, str]


def facts_of(meta: Mapping[str, str], settings: Mapping[str, Any]) -> AuditFacts:
    """From the store's `meta` table and the settings that the bundle holds."""
    decision = settings["decision"]
    return AuditFacts(
        classes=tuple(decision["classes"]),
        favourable=tuple(decision["favourable"]),
        protected=tuple(settings["groups"]["attributes"]),
        model=meta["model"],
        graph=json.loads(meta["graph"]),
        settings=meta["settings"],
        seed=meta["seed"],
        versions=json.loads(meta["versions"]),
    )


def provenance(facts: AuditFacts) -> tuple[Fact, ...]:
    """What a second auditor needs to repeat the audit."""
    versions = ", ".join(f"{name} {version}" for name, version in facts.versions.items())
    return (
        Fact(name="Model", value=facts.model, code=True),
        *(
            Fact(name=f"Graph, {part}", value=digest, code=True)
            for part, digest in facts.graph.items()
        ),
        Fact(name="Settings", value=facts.settings, code=True),
        Fact(name="Seed", value=facts.seed),
        Fact(name="Versions", value=versions),
    )
