"""`report` and `letters`: what people read, made from a finished bundle."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from recourse_audit.cli.printing import messages, today
from recourse_audit.errors import InputError, PaperError
from recourse_audit.render.letters.write_letters import Mailed, Mailing, mail
from recourse_audit.render.templates import eject as eject_templates
from recourse_audit.render.text import number, plain
from recourse_audit.render.batch import Work
from recourse_audit.render.terminal.progress import Steps, progress
from recourse_audit.render.pages.write_pages import Edition, Published, publish
from recourse_audit.render.letters.letter import Signer as SignedBy
from recourse_audit.render.letters.letter import SignOff
from recourse_audit.render.pages.redaction import Level
from recourse_audit.bundle.signature import Signer, read_signer

Templates = Annotated[
    Path | None,
    typer.Option(help="A folder laid out like ours (see --eject): its files come before ours."),
]
Processes = Annotated[int | None, typer.Option(min=1, help="One a core if not given.")]
Sign = Annotated[Path | None, typer.Option(help="Sign with this Ed25519 private key (PEM).")]
MOST_NAMED = 5
KEPT = "kept as they are"
BOXES = (
    "letters to these have characters that no font of this machine has, and print boxes for them; "
    "install a font that has them, such as Noto, and make the letters again"
)
# A letter names the day until which it holds, and there are no days after the year 9999.
LAST_DAY = date(2999, 12, 31)


def report(
    bundle: Annotated[Path | None, typer.Argument(help="The folder that `run` wrote.")] = None,
    level: Annotated[
        Level, typer.Option(help="For whom: what others' data a page may hold.")
    ] = "auditor",
    pdf: Annotated[bool, typer.Option("--pdf", help="Reports on subjects as PDF too.")] = False,
    templates: Templates = None,
    eject: Annotated[
        Path | None, typer.Option(help="Only copy our templates into this new folder.")
    ] = None,
    workers: Processes = None,
    sign: Sign = None,
) -> None:
    """Make the pages of a bundle: reports, group summary, index. Those there are replaced."""
    if eject is not None:
        eject_templates(eject)
        messages.print(f"Wrote {eject}. Change what you like, then: report DIR --templates {eject}")
        return
    if bundle is None:
        raise InputError("report needs the folder that `recourse-audit run` wrote")
    edition = Edition(level=level, templates=templates, pdf=pdf)
    signer = None if sign is None else read_signer(sign)
    _end(publish_pages(bundle, edition, workers, signer))


def letters(
    bundle: Annotated[Path, typer.Argument(help="The folder that `run` wrote.")],
    sign_off: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Who answers for the letters; drafts without."),
    ] = None,
    day: Annotated[
        str | None, typer.Option("--date", help="On the letters, as 2026-03-31; today's if absent.")
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
    templates: Templates = None,
    workers: Processes = None,
    sign: Sign = None,
) -> None:
    """Make the letters of a bundle, as HTML and PDF. Those there are replaced."""
    if day is not None and sign_off is None:
        raise InputError("--date is for letters that are signed off: give --sign-off NAME too")
    mailing = Mailing(
        templates=templates,
        settings=settings,
        reasons=reasons,
        addresses=addresses,
        sign_off=None if sign_off is None else _signed_off(sign_off, day),
    )
    signer = None if sign is None else read_signer(sign)
    _end(write_letters(bundle, mailing, workers, signer))


def publish_pages(
    bundle: Path,
    edition: Edition,
    workers: int | None,
    signer: Signer | None,
    *,
    again: bool = True,
) -> Published:
    """Make pages, and say where they are."""
    with _interruptible(bundle), progress(messages) as steps:
        made = publish(bundle, edition, _work("Making pages", steps, workers, signer, again))
    kept = f", {KEPT}" if made.kept else ""
    pages = number(made.subjects, "page")
    messages.print(f"{bundle / 'pages' / 'index.html'}: open this; {pages}{kept}")
    return made


def write_letters(
    bundle: Path,
    mailing: Mailing,
    workers: int | None,
    signer: Signer | None,
    *,
    again: bool = True,
) -> Mailed:
    """Make letters, and say where they are and what they lack; of those kept it was said before."""
    with _interruptible(bundle), progress(messages) as steps:
        made = mail(bundle, mailing, _work("Writing letters", steps, workers, signer, again))
    drafts = mailing.sign_off is None and not made.kept
    what = number(made.letters, "draft" if drafts else "letter")
    kept = f", {KEPT}" if made.kept else ""
    messages.print(f"{bundle / 'letters'}: {what} for {number(made.subjects, 'subject')}{kept}")
    if not made.kept:
        _tell_gaps(made)
    return made


@contextmanager
def _interruptible(bundle: Path) -> Iterator[None]:
    """Ctrl-C is answered with what becomes of the work."""
    try:
        yield
    except KeyboardInterrupt:
        messages.print(f"interrupted; the same command continues, from what is in {bundle}")
        raise typer.Exit(130) from None


def _work(
    doing: str, steps: Steps, workers: int | None, signer: Signer | None, again: bool
) -> Work:
    return Work(
        workers=workers or os.cpu_count() or 1,
        signer=signer,
        again=again,
        begin=lambda total: steps.begin(doing, total),
        done=steps.advance,
    )


def _signed_off(name: str, day: str | None) -> SignOff:
    if not name.strip():
        raise InputError("--sign-off needs the name of a person")
    try:
        on = date.fromisoformat(day) if day is not None else today()
    except ValueError:
        on = date.max
    if on > LAST_DAY:
        raise InputError(f"--date must be a day such as 2026-03-31 (got {day!r})")
    return SignOff(name=SignedBy(plain(name.strip())), day=on)


def _tell_gaps(made: Mailed) -> None:
    for names, sentence in (
        (made.open_slots, "letters stay drafts until these are filled in"),
        (made.unworded, "letters use these names as they are; give words for them in [letters]"),
        (made.strangers, "these ids of your files are nobody's in this audit"),
        (made.unprintable, BOXES),
    ):
        if names:
            messages.print(f"! {sentence}: {_listed(names)}")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{plain(', '.join(names[:MOST_NAMED]))}{more}"


def _end(made: Mailed | Published) -> None:
    if made.trouble:
        raise PaperError(made.trouble)
