"""Indexes written where a bundle has them, with pages and letters to follow links to."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from recourse_audit.records.bundle import SummaryRow
from recourse_audit.records.groups import GroupReport
from recourse_audit.render.i18n import Words
from recourse_audit.render.index import IndexPage, IndexSource, Links
from recourse_audit.render.templates import Templates
from recourse_audit.settings.letters import AuditSettings
from tests.render.stores import DIGEST, manifest_of, subject

HOSTILE = (
    "</script><script>alert(1)</script>",
    "{{7*7}}",
    "line\u2028separator",
    "../x",
    "<img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "__proto__",
    300 * "long",
    "\u202eright to left\u202c",
    "قرض",
    "🏠🏠",
)


def file_name(number: int, name: str) -> str:
    return f"{number:06d}-{re.sub('[^A-Za-z0-9_-]', '', name)[:40]}"


def page_of(
    subjects: Sequence[SummaryRow],
    links: Mapping[int, Links] | None = None,
    groups: GroupReport | None = None,
    *,
    language: str = "en",
    source: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    **changes: Any,
) -> IndexPage:
    """An index; `changes` are made to the manifest, and numbers are places."""
    settings = (source or {}).get("settings")
    return IndexPage(
        IndexSource(
            subjects=tuple(enumerate(subjects)),
            manifest=manifest_of(subjects, **changes),
            manifest_digest=DIGEST,
            links=links or {},
            groups=groups,
            **(source or {}),
        ),
        words=Words(language, Templates(), settings.words if settings else {}),
        **(options or {}),
    )


def html_of(page: IndexPage, audit: AuditSettings | None = None) -> str:
    """The index as a file."""
    return Templates().render("pages/index.html", view=page, audit=audit or AuditSettings())


def write_index(
    folder: Path,
    subjects: Sequence[SummaryRow],
    groups: GroupReport | None = None,
    language: str = "en",
    source: Mapping[str, Any] | None = None,
) -> Path:
    """An index of these subjects, with a page for everyone and a letter for everyone refused."""
    links = {
        number: Links(file=file_name(number, row.id), letter=not row.favourable)
        for number, row in enumerate(subjects)
    }
    page = page_of(subjects, links, groups, language=language, source=source)
    path = folder / "pages" / "index.html"
    (path.parent / "subjects").mkdir(parents=True)
    path.write_text(html_of(page), encoding="utf-8")
    for number, row in list(enumerate(subjects))[:200]:
        other = path.parent / "subjects" / f"{file_name(number, row.id)}.html"
        other.write_text(f"<title>Subject {number}</title>", encoding="utf-8")
    return path


def some_subjects() -> list[SummaryRow]:
    """Ten: two decisions, many statuses, efforts as text would missort them, one fragile option.

    P8 would be approved without ties, and has no option.
    """
    nothing: dict[str, Any] = {"options": 0, "cheapest_cost": None}
    nothing |= {"cheapest_held": None, "most_held": None, "tests": None}
    favourable: dict[str, Any] = {"decision": "approved", "favourable": True, "margin": 0.5}
    return [
        subject("P10", cheapest_cost=10.0, options=2),
        subject("P9", cheapest_cost=9.5, cheapest_held=25, most_held=40),
        subject("P1", cheapest_cost=2.0, options=3, margin=-0.125),
        subject("P2", status="certified_infeasible", **nothing, tried=80),
        subject("P3", status="not_found_within_budget", **nothing),
        subject("P4", status="error", margin=None, decision="", **nothing),
        subject("P5", status="already_favourable", **favourable, **nothing),
        subject("P6", cheapest_cost=2.0, cheapest_held=50, most_held=50),
        subject("P7", cheapest_cost=2.0),
        subject("P8", status="certified_infeasible", margin=-1.0, favourable_alone=True, **nothing),
    ]
