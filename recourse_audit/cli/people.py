"""`explain` and `stability`: some people, at once."""

from pathlib import Path
from typing import Annotated

import typer

from recourse_audit.cli.printing import AsJson, messages, print_json, view, write
from recourse_audit.records.codec import subject_document
from recourse_audit.render.charts.stability_curves import stability_picture
from recourse_audit.render.documents import stability_document
from recourse_audit.render.text import plain
from recourse_audit.render.terminal.progress import progress
from recourse_audit.render.terminal.stability import show_stability
from recourse_audit.render.terminal.subject import show_subject
from recourse_audit.audit.reporter import explain as explain_subjects
from recourse_audit.audit.loaded import find_subjects, load_audit
from recourse_audit.audit.stability import by_links, by_models, some_subjects


def explain(
    settings: Annotated[Path, typer.Argument(help="The audit.toml.")],
    ids: Annotated[list[str], typer.Argument(help="Ids of decision subjects.")],
    what_if: Annotated[
        list[str] | None,
        typer.Option(
            "--what-if",
            metavar="CHANGE",
            help="Try a change: 'drop A-B', 'add A-B:kind', 'savings=4000'. Several are tried "
            "together.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Explain decisions: what carried each, and what the person could change."""
    with progress(messages) as steps:
        steps.begin("Reading the graph and probing the model")
        audit = load_audit(settings)
        steps.begin("Explaining decisions", len(set(ids)))
        reports = explain_subjects(audit, ids, what_if=what_if or (), done=steps.advance)
    if as_json:
        documents = [subject_document(report, audit.probes) for report in reports]
        print_json(documents[0] if len(documents) == 1 else documents)
        for warning in audit.warnings:
            messages.print(f"! {warning}")
    else:
        for place, report in enumerate(reports):
            show_subject(view(), report, () if place else audit.warnings)
    failed = [report.decision.id for report in reports if report.error]
    if failed:
        messages.print(f"No result for {len(failed)} of {len(reports)}: {plain(', '.join(failed))}")
    stuck = [
        report.decision.id
        for report in reports
        if not report.error and report.recourse and report.recourse.status == "error"
    ]
    if stuck:
        names = plain(", ".join(stuck))
        messages.print(f"No options worked out for {len(stuck)} of {len(reports)}: {names}")
    if failed or stuck:
        raise typer.Exit(4)


def stability(
    settings: Annotated[Path, typer.Argument(help="The audit.toml.")],
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of decision subjects.")] = None,
    perturbed_model: Annotated[
        list[Path] | None,
        typer.Option(help="A perturbed copy of the model; may be given several times."),
    ] = None,
    links: Annotated[int, typer.Option(min=1, help="New ties tried for each subject.")] = 10,
    sample: Annotated[int, typer.Option(min=1, help="Subjects drawn if no id is given.")] = 20,
    options: Annotated[bool, typer.Option(help="Compare options for recourse too.")] = True,
    picture: Annotated[Path | None, typer.Option(help="Write the curves to this SVG file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Perturb the graph by new ties, or the model by copies you supply, and compare findings."""
    with progress(messages) as steps:
        steps.begin("Reading the graph and probing the model")
        audit = load_audit(settings)
        subjects = find_subjects(audit, ids) if ids else some_subjects(audit, sample)
        if perturbed_model:
            steps.begin("Explaining with perturbed models", len(perturbed_model))
            report = by_models(
                audit, subjects, perturbed_model, with_options=options, done=steps.advance
            )
        else:
            steps.begin("Explaining with new ties", links * len(subjects))
            report = by_links(audit, subjects, links, with_options=options, done=steps.advance)
    if picture is not None:
        write(picture, stability_picture(report))
    if as_json:
        print_json(stability_document(report))
    else:
        show_stability(view(), report)
