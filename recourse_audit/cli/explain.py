"""`explain`: decisions on some people, at once."""

from functools import partial
from typing import Annotated

import typer

from recourse_audit.cli.printing import (
    AsJson,
    Full,
    ModelTimeout,
    SettingsArgument,
    print_json,
    say,
    view,
    warn,
)


def explain(
    settings: SettingsArgument,
    ids: Annotated[list[str], typer.Argument(help="Ids of decision subjects.")],
    what_if: Annotated[
        list[str] | None,
        typer.Option(
            "--what-if",
            metavar="CHANGE",
            help="Try a change: 'drop A-B', 'add A-B:kind', 'savings=4000', 'housing=own'. Several "
            "are tried together.",
        ),
    ] = None,
    timeout: ModelTimeout = None,
    full: Full = False,
    as_json: AsJson = False,
) -> None:
    """Explain decisions: what each rests on, and what the person could change."""
    from recourse_audit.api import Audit
    from recourse_audit.render.i18n import words_of
    from recourse_audit.render.templates import Templates
    from recourse_audit.render.terminal.subject import show_subject
    from recourse_audit.render.text import plain

    audit = Audit.from_toml(settings, timeout=timeout, progress=True)
    reports = audit.explain_many(ids, what_if=what_if or (), progress=True)
    if as_json:
        documents = [report.to_dict() for report in reports]
        print_json(documents[0] if len(documents) == 1 else documents)
        warn(audit.warnings)
    else:
        given = audit.loaded.settings
        show = partial(
            show_subject,
            full=full,
            prefer=given.search.prefer,
            favourable=given.decision.favourable,
            words=words_of(given, "en", Templates()),
        )
        for place, report in enumerate(reports):
            show(view(), report, () if place else audit.warnings)
    failed = [report.subject.id for report in reports if report.error]
    if failed:
        say(f"No result for {len(failed)} of {len(reports)}: {plain(', '.join(failed))}")
    stuck = [
        report.subject.id for report in reports if report.status == "error" and not report.error
    ]
    if stuck:
        say(f"No options found for {len(stuck)} of {len(reports)}: {plain(', '.join(stuck))}")
    if failed or stuck:
        raise typer.Exit(4)
