"""`letters`: the letters of a bundle."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recourse_audit.cli.printing import BundleArgument, Sign, Templates, Workers, resumable, say
from recourse_audit.cli.report import KEPT
from recourse_audit.errors import InputError, PaperError

if TYPE_CHECKING:
    from recourse_audit.render.letters.write_letters import WrittenLetters

MOST_NAMED = 5
BOXES = (
    "letters to these people contain characters that no font on this machine has, and print boxes "
    "instead; install a font that has them, such as Noto, and make the letters again"
)
IDS_ONLY = (
    "! reasons were compared with the ids of other people only; give their names with --names FILE "
    "to have those found, too"
)
ALLOWED = "names allowed by hand in reasons are recorded in"
# A letter names the day until which it holds, and dates end with the year 9999.
LAST_DAY = date(2999, 12, 31)


def letters(
    bundle: BundleArgument,
    sign_off: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Who answers for the letters; without it, drafts."),
    ] = None,
    day: Annotated[
        str | None,
        typer.Option("--date", help="The date on the letters, as 2026-03-31. [default: today]"),
    ] = None,
    language: Annotated[
        str | None, typer.Option(help="Replaces letters.language: en, de, fr or es.")
    ] = None,
    settings: Annotated[
        Path | None, typer.Option(help="Take [letters] from this audit.toml, not the bundle's.")
    ] = None,
    reasons: Annotated[
        Path | None, typer.Option(help="CSV: id,reason. Reasons that a person has confirmed.")
    ] = None,
    addresses: Annotated[
        Path | None, typer.Option(help="CSV: id and address lines. Where letters go.")
    ] = None,
    names: Annotated[
        Path | None,
        typer.Option(help="CSV: id and names. Reasons that name somebody else are refused."),
    ] = None,
    templates: Templates = None,
    workers: Workers = None,
    sign: Sign = None,
) -> None:
    """Make the letters of a bundle, as HTML and PDF. Existing letters are replaced."""
    from recourse_audit.api.bundle import Bundle

    if day is not None and sign_off is None:
        raise InputError("--date is for letters that are signed off: give --sign-off NAME too")
    with resumable(bundle):
        made = Bundle(bundle).write_letters(
            language=language,
            sign_off=sign_off,
            day=None if day is None else _date(day),
            settings=settings,
            reasons=reasons,
            addresses=addresses,
            names=names,
            templates=templates,
            workers=workers,
            sign=sign,
            progress=True,
        )
    say_letters(bundle, made, drafts=sign_off is None)
    if made.trouble:
        raise PaperError(made.trouble)


def say_letters(bundle: Path, made: "WrittenLetters", *, drafts: bool) -> None:
    """Print where the letters are and what they lack; of those kept, that was said before."""
    from recourse_audit.render.text import number

    what = number(made.letters, "draft" if drafts and not made.kept else "letter")
    kept = f", {KEPT}" if made.kept else ""
    say(f"{bundle / 'letters'}: {what} for {number(made.subjects, 'subject')}{kept}")
    if made.kept:
        return
    for names, sentence in (
        (made.open_slots, "letters stay drafts until these are filled in"),
        (made.unworded, "letters use these names as they are; give words for them in [letters]"),
        (made.unknown_ids, "these ids in your files are not subjects of this audit"),
        (made.unprintable, BOXES),
        (made.allowed, ALLOWED),
    ):
        if names:
            say(f"! {sentence}: {_listed(names)}")
    if made.ids_only:
        say(IDS_ONLY)


def _date(text: str) -> date:
    try:
        on = date.fromisoformat(text)
    except ValueError:
        on = date.max
    if on > LAST_DAY:
        raise InputError(f"--date must be a day such as 2026-03-31 (got {text!r})")
    return on


def _listed(names: Sequence[str]) -> str:
    from recourse_audit.render.text import plain

    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{plain(', '.join(names[:MOST_NAMED]))}{more}"
