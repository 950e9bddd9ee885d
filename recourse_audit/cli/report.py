"""`report`: the pages of a bundle."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

from recourse_audit.cli.printing import Sign, Templates, Workers, resumable, say
from recourse_audit.errors import InputError, PaperError

if TYPE_CHECKING:
    from recourse_audit.render.write_pages import WrittenPages

KEPT = "kept as they are"


def report(
    bundle: Annotated[Path | None, Argument(help="The folder that `run` wrote.")] = None,
    level: Annotated[
        Literal["auditor", "reviewer", "subject"],
        Option(help="For whom: how much a page may say about other people."),
    ] = "auditor",
    language: Annotated[str, Option(help="Language of the pages: en, de, fr or es.")] = "en",
    auditor: Annotated[
        str, Option(metavar="NAME", help="Who answers for the audit; named on the index.")
    ] = "",
    pdf: Annotated[bool, Option("--pdf", help="Make reports on subjects as PDF too.")] = False,
    pack: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help="Add the checklist of a framework: ll144, us-credit, eu-ai-act or model-risk.",
        ),
    ] = None,
    strict: Annotated[
        bool, Option("--strict", help="Exit 2 if a pack asks for anything that is not present.")
    ] = False,
    templates: Templates = None,
    eject: Annotated[
        Path | None, Option(help="Only copy our templates into this new folder.")
    ] = None,
    workers: Workers = None,
    sign: Sign = None,
) -> None:
    """Make the pages of a bundle: reports, group report, index. Existing pages are replaced."""
    from recourse_audit.api import Bundle
    from recourse_audit.render.templates import eject as eject_templates

    if eject is not None:
        eject_templates(eject)
        say(f"Wrote {eject}. Change what you like, then run: report DIR --templates {eject}")
        return
    if bundle is None:
        raise InputError("report needs the folder that `recourse-audit run` wrote")
    if strict and not pack:
        raise InputError("--strict: needs --pack, which says what has to be present")
    with resumable(bundle):
        pages = Bundle(bundle).write_pages(
            level=level,
            language=language,
            auditor=auditor,
            pdf=pdf,
            packs=pack or (),
            templates=templates,
            workers=workers,
            sign=sign,
            progress=True,
        )
    say_pages(bundle, pages)
    for name, lacks in pages.lacks.items():
        page = bundle / "pages" / f"pack_{name}.html"
        say(f"{page}: {f'{len(lacks)} not present:' if lacks else 'all items are present'}")
        for line in lacks:
            say(f"! {name}: {line}")
    if strict and any(pages.lacks.values()):
        named = ", ".join(name for name, lacks in pages.lacks.items() if lacks)
        raise InputError(f"{bundle}: --strict: not everything is present for --pack {named}")
    if pages.trouble:
        raise PaperError(pages.trouble)


def say_pages(bundle: Path, pages: "WrittenPages") -> None:
    """Print where the pages are."""
    from recourse_audit.render.text import number

    kept = f", {KEPT}" if pages.kept else ""
    index = bundle / "pages" / "index.html"
    say(f"{index}: start here; {number(pages.subjects, 'page')}{kept}")
