"""Indexes written where a bundle has them, with pages and letters to follow links to."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from recourse_audit.render.pages.index import GroupVerdict, GroupVerdicts, index_view
from recourse_audit.render.pages.index_rows import Links
from recourse_audit.render.templates import Templates
from tests.render.stores import manifest_of, store_of, subject

HOSTILE = (
    "</script><script>alert(1)</script>",
    "{{7*7}}",
    "line\u2028separator",
    "../x",
    "<img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "__proto__",
    300 * "long",
)
VERDICTS = GroupVerdicts(
    page="groups.html",
    rows=(GroupVerdict(attribute="group", flags=3, no_flags=0, insufficient=1),),
)


def file_name(number: int, name: str) -> str:
    return f"{number:06d}-{re.sub('[^A-Za-z0-9_-]', '', name)[:40]}"


def write_index(folder: Path, subjects: Sequence[Mapping[str, Any]]) -> Path:
    """An index of these subjects, with a page for everyone and a letter for everyone refused."""
    links = {
        number: Links(
            file=file_name(number, facts["id"]), page=True, letter=not facts["favourable"]
        )
        for number, facts in enumerate(subjects)
    }
    store = store_of(subjects)
    view = index_view(store, manifest=manifest_of(store), links=links, groups=VERDICTS)
    path = folder / "pages" / "index.html"
    (path.parent / "subjects").mkdir(parents=True)
    path.write_text(Templates().render("pages/index.html", view=view), encoding="utf-8")
    for number, facts in list(enumerate(subjects))[:200]:
        page = path.parent / "subjects" / f"{file_name(number, facts['id'])}.html"
        page.write_text(f"<title>Subject {number}</title>", encoding="utf-8")
    return path


def some_subjects() -> list[dict[str, Any]]:
    """Ten: two decisions, every status, costs as text would missort them, a grade missing."""
    nothing: dict[str, Any] = {"options": 0, "cheapest_cost": None}
    favourable: dict[str, Any] = {"decision": "approved", "favourable": True, "margin": 0.5}
    return [
        subject("P10", cheapest_cost=10.0, options=2),
        subject("P9", cheapest_cost=9.5, caveat_grade="weakens"),
        subject("P1", cheapest_cost=2.0, options=3, margin=-0.125),
        subject("P2", status="certified_infeasible", **nothing),
        subject("P3", status="not_found_within_budget", caveat_grade=None, **nothing),
        subject("P4", status="error", caveat_grade=None, margin=None, decision="", **nothing),
        subject("P5", status="already_favourable", caveat_grade=None, **favourable, **nothing),
        subject("P6", cheapest_cost=2.0, caveat_grade="reverses"),
        subject("P7", cheapest_cost=2.0),
        subject("P8", status="certified_infeasible", margin=-1.0, **nothing),
    ]
