"""`explain`: decisions on some people, at once."""

from typing import Annotated

import typer
from typer import Argument, Option

from recourse_audit.cli.printing import (
    AsJson,
    Full,
    ModelTimeout,
    SettingsArgument,
    english,
    print_json,
    say,
    view,
    warn,
)


def explain(
    settings: SettingsArgument,
    ids: Annotated[list[str], Argument(help="Ids of decision subjects.")],
    what_if: Annotated[
        list[str] | None,
        Option(
            metavar="CHANGE",
            help="Try a change: 'drop A-B', 'add A-B:kind', 'move A-B:kind to C', 'savings=4000', "
            "'housing=own'. Several are tried together.",
        ),
    ] = None,
    timeout: ModelTimeout = None,
    full: Full = False,
    as_json: AsJson = False,
) -> None:
    """Explain decisions on people, and what could change them."""
    from recourse_audit.api import Audit
    from recourse_audit.render.decision_axis import facts_of
    from recourse_audit.render.terminal import show_subject
    from recourse_audit.render.text import plain

    audit = Audit.from_toml(settings, timeout=timeout, progress=True)
    reports = audit.explain_many(ids, what_if=what_if or (), progress=True)
    if as_json:
        documents = [report.to_dict() for report in reports]
        print_json(documents[0] if len(documents) == 1 else documents)
        warn(audit.warnings)
    else:
        given = audit.loaded.settings
        words, facts = english(given), facts_of(given)
        for place, report in enumerate(reports):
            warnings = () if place else audit.warnings
            show_subject(view(), report, warnings, full=full, facts=facts, words=words)
    # A model that answers for one node per query is not asked about everybody for this alone.
    if audit.loaded.recorded is not None and not audit.loaded.batcher.one_row_per_query:
        problem = audit.inspect().disagreement
        warn((problem,) * bool(problem))
    failed = [report for report in reports if report.error]
    stuck = [report for report in reports if report.status == "error" and not report.error]
    for lack, people in (("No result", failed), ("No options found", stuck)):
        if people:
            names = plain(", ".join(report.subject.id for report in people))
            say(f"{lack} for {len(people)} of {len(reports)}: {names}")
    if failed or stuck:
        raise typer.Exit(4)
