"""What is the same on every page of an audit: the classes, the digests, the seed, the versions."""

from collections.abc import Mapping
from dataclasses import dataclass

from recourse_audit.records.manifest import Fingerprint
from recourse_audit.render.pages.tables import Fact
from recourse_audit.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFacts:
    """The audit that a page belongs to; digests are SHA-256."""

    classes: tuple[str, ...]
    favourable: tuple[str, ...]
    protected: tuple[str, ...]
    model: str
    graph: Mapping[str, str]
    settings: str
    seed: int
    versions: Mapping[str, str]


def facts_of(fingerprint: Fingerprint, settings: Settings) -> AuditFacts:
    """Take the facts from what a bundle says it is of, and from its settings."""
    return AuditFacts(
        classes=tuple(settings.decision.classes),
        favourable=tuple(settings.decision.favourable),
        protected=tuple(settings.groups.attributes),
        model=fingerprint.model,
        graph=fingerprint.graph,
        settings=fingerprint.settings,
        seed=fingerprint.seed,
        versions=fingerprint.versions,
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
        Fact(name="Seed", value=str(facts.seed)),
        Fact(name="Versions", value=versions),
    )
