"""The facts about an audit that pages about a subject need."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from recourse_audit.records.bundle import Fingerprint
from recourse_audit.records.subject import SubjectReport
from recourse_audit.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFacts:
    """The audit that a page belongs to; digests are SHA-256. `prefer` is `search.prefer`."""

    classes: tuple[str, ...]
    favourable: tuple[str, ...]
    protected: tuple[str, ...]
    model: str
    graph: Mapping[str, str]
    settings: str
    seed: int
    versions: Mapping[str, str]
    prefer: Literal["paper", "whole_graph"] = "paper"


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
        prefer=settings.search.prefer,
    )


def facts_of_report(report: SubjectReport, favourable: Collection[str] = ()) -> AuditFacts:
    """What a report alone tells of its audit; classes of which it does not tell are left open."""
    subject, near, own = report.subject, report.ego_network, report.own_data
    known = dict.fromkeys(favourable, True)
    if not favourable:
        options = report.recourse.options if report.recourse else ()
        known = {option.decision: True for option in options}
        known |= {node.decision: node.favourable for node in (near.nodes if near else ())}
        known[subject.decision] = subject.favourable
        if own is not None and own.alone is not None:
            known[own.alone.decision] = own.alone.favourable
        known.pop("", None)  # no decision
    classes = tuple(subject.probabilities) or tuple(known)
    if len(classes) == 2 and len(known) == 1:  # then the other class is the other kind
        [(name, good)] = known.items()
        known |= {other: not good for other in classes if other != name}
    told = bool(favourable) or set(classes) <= set(known)
    return AuditFacts(
        classes=classes,
        favourable=tuple(name for name, good in known.items() if good) if told else (),
        protected=(),
        model="",
        graph={},
        settings="",
        seed=0,
        versions={},
    )
