"""`letters`: the letters of a bundle."""

from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from recourse_audit.cli.printing import BundleArgument, Sign, Templates, Workers, resumable, say
from recourse_audit.cli.report import KEPT
from recourse_audit.errors import InputError, PaperError

if TYPE_CHECKING:
    from recourse_audit.render.write_letters import WrittenLetters

MOST_NAMED = 5
MOST_REFUSED = 20
STAY_DRAFTS = "letters stay drafts until these are filled in"
BOXES = (
    "letters to these people contain characters that no font on this machine has, and print boxes "
    "instead; install a font that has them, such as Noto, and make the letters again"
)
IDS_ONLY = (
    "! reasons were compared with the ids of other people only; give their names with --names FILE "
    "to have those found, too"
)
# A letter names the day until which it holds, and dates end with the year 9999.
LAST_DAY = date(2999, 12, 31)


def letters(
    bundle: BundleArgument,
    sign_off: Annotated[
        str | None,
        Option(
            metavar="NAME",
            allow_from_autoenv=False,
            help="Who answers for the letters that are named; all others are drafts.",
        ),
    ] = None,
    ids: Annotated[
        str | None, Option(metavar="ID,ID", help="The letters to sign off, to reopen or to send.")
    ] = None,
    ids_file: Annotated[
        Path | None, Option(help="The same: one id per line, or a CSV with a column id.")
    ] = None,
    every: Annotated[
        bool, Option("--all", help="Every letter with no open issue; signed ones not sent yet.")
    ] = False,
    accept: Annotated[
        list[str] | None,
        Option(
            metavar="ISSUE",
            help="Sign off despite this: fragile, incomplete, no-reason, profile, ties-only, "
            "unchecked, unnamed, unreviewed. Repeatable. For --sent-by: sent, if sent before.",
        ),
    ] = None,
    reviewed: Annotated[
        Path | None, Option(help="CSV: id,reviewer,reviewed. Who has read which draft, and when.")
    ] = None,
    reopen: Annotated[
        bool, Option("--reopen", help="Make signed letters that are named drafts again.")
    ] = False,
    day: Annotated[
        str | None,
        Option("--date", help="When they were signed or sent, as 2026-03-31. [default: today]"),
    ] = None,
    print_to: Annotated[Path | None, Option("--print", help="Signed letters as one PDF.")] = None,
    duplex: Annotated[bool, Option("--duplex", help="Print each on a sheet of its own.")] = False,
    email_to: Annotated[Path | None, Option("--email", help="Signed letters as e-mails.")] = None,
    sent_by: Annotated[str | None, Option(metavar="NAME", help="Who sent the letters.")] = None,
    how: Annotated[str, Option(help="How they were sent: post, email or hand.")] = "",
    language: Annotated[
        str | None, Option(help="Replaces letters.language: en, de, fr or es.")
    ] = None,
    settings: Annotated[
        Path | None,
        Option(help="Take [letters], [words] and [audit] from this audit.toml, not the bundle's."),
    ] = None,
    reasons: Annotated[
        Path | None, Option(help="letters/reasons.csv, with yes in confirm. Reasons to state.")
    ] = None,
    addresses: Annotated[
        Path | None, Option(help="CSV: id, address lines, name and details. Where letters go.")
    ] = None,
    names: Annotated[
        Path | None, Option(help="CSV: id and names. Reasons that name somebody else are refused.")
    ] = None,
    templates: Templates = None,
    workers: Workers = None,
    sign: Sign = None,
) -> None:
    """Make the letters of a bundle, as HTML and PDF. Existing drafts are replaced.

    Letters are signed off by name. Those that were signed off before stay as they are.
    """
    from recourse_audit.api import Bundle
    from recourse_audit.bundle.signature import read_signer
    from recourse_audit.render.write_letters import LetterOptions

    if day is not None and sign_off is None and sent_by is None:
        raise InputError("--date is for letters that --sign-off NAME or --sent-by NAME is about")
    on, chosen = None if day is None else _date(day), _read_ids(ids, ids_file, every=every)
    if print_to is not None or email_to is not None or sent_by is not None:
        if sign_off is not None or reopen or reasons or reviewed or names:
            raise InputError("--print, --email and --sent-by take signed letters: sign first")
        if sent_by is not None and chosen is None:
            raise InputError("--sent-by needs to know who: give --ids, --ids-file or --all")
        options = LetterOptions(
            templates=templates, settings=settings, language=language, addresses=addresses
        )
        with resumable(bundle), Bundle(bundle).outbox(chosen, options) as outbox:
            if print_to is not None:
                files = outbox.print_letters(print_to, duplex=duplex)
                say(f"{', '.join(map(str, files))}: ready to print")
            if email_to is not None:
                emails = outbox.write_emails(email_to)
                unknown = [*emails.values()].count("")
                say(f"{email_to}: {len(emails):,} to be sent, {unknown:,} of them without address")
            if sent_by is not None:
                added = outbox.record_sent(
                    sent_by,
                    on or datetime.now().astimezone().date(),
                    how,
                    again="sent" in (accept or ()),
                    signer=None if sign is None else read_signer(sign),
                )
                say(f"{bundle / 'letters' / 'register.csv'}: {added:,} added")
        return
    with resumable(bundle):
        made = Bundle(bundle).write_letters(
            language=language,
            sign_off=sign_off,
            day=on,
            ids=chosen,
            accept=accept or (),
            reopen=reopen,
            reviewed=reviewed,
            settings=settings,
            reasons=reasons,
            addresses=addresses,
            names=names,
            templates=templates,
            workers=workers,
            sign=sign,
            progress=True,
        )
    say_letters(bundle, made)
    if made.refused:
        raise InputError(_refusal(bundle, made))
    if made.trouble:
        raise PaperError(made.trouble)


def say_letters(bundle: Path, made: "WrittenLetters") -> None:
    """Print where the letters are and what they lack; of those kept, that was said before."""
    from recourse_audit.render.i18n import Words
    from recourse_audit.render.text import number, plain

    people = number(made.subjects, "subject")
    if made.kept:
        say(f"{bundle / 'letters'}: {number(made.letters, 'letter')} for {people}, {KEPT}")
        return
    signed = len(made.signed) + made.signed_before
    what = number(made.letters - signed, "draft")
    if signed:
        before = f" ({made.signed_before:,} of them before)" if made.signed_before else ""
        what = f"{number(signed, 'letter')} signed off{before}, {what}"
    say(f"{bundle / 'letters'}: {what} for {people}")
    if made.signed:
        profile = made.profile
        say(f"profile {profile.title}, as of {profile.as_of}, covers: {profile.covers.strip()}")
        say(f"! it leaves to you, and is not legal advice: {profile.leaves_out.strip()}")
    for own, causes in list(made.refused.items())[:MOST_REFUSED]:
        say(f"! not signed off: {plain(own)} ({', '.join(causes)})")
    if len(made.refused) > MOST_REFUSED:
        say(f"! and {len(made.refused) - MOST_REFUSED:,} more")
    words = Words()
    for cause in sorted({cause for causes in made.refused.values() for cause in causes}):
        say(f"! {cause}: {words.say(f'cause.{cause}.todo')}")
    for names, sentence in (
        *((own, words.say(f"note.{note}").removesuffix(".")) for note, own in made.notes.items()),
        (made.open_slots, STAY_DRAFTS),
        (made.unworded, "letters use these names as they are; give words for them in [words]"),
        (made.unknown_ids, "these ids in the addresses are not subjects of this audit"),
        (made.unaddressed, "letters to these people have no address, because the file lacks them"),
        (made.unprintable, BOXES),
    ):
        if names:
            more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            say(f"! {sentence}: {plain(', '.join(names[:MOST_NAMED]))}{more}")
    if made.ids_only:
        say(IDS_ONLY)


def _refusal(bundle: Path, made: "WrittenLetters") -> str:
    count = len(made.refused)
    stay = "1 letter was not signed off and stays a draft"
    if count > 1:
        stay = f"{count:,} letters were not signed off and stay drafts"
    causes = sorted({cause for causes in made.refused.values() for cause in causes})
    return (
        f"{stay}; {bundle / 'letters' / 'signing.csv'} says why: give what is missing (--reasons, "
        "--addresses, --reviewed), or name letters with --ids and accept each cause with "
        f"{' '.join(f'--accept {cause}' for cause in causes)}"
    )


def _read_ids(ids: str | None, file: Path | None, *, every: bool) -> "tuple[str, ...] | str | None":
    """The ids that were given in one of three ways; an id with a comma must be in a file."""
    from recourse_audit.render.letter_inputs import read_ids

    if sum((ids is not None, file is not None, every)) > 1:
        raise InputError("give one of --ids, --ids-file and --all")
    if every:
        return "all"
    if file is not None:
        return read_ids(file)
    return None if ids is None else tuple(name.strip() for name in ids.split(",") if name.strip())


def _date(text: str) -> date:
    try:
        on = date.fromisoformat(text)
    except ValueError:
        on = date.max
    if on > LAST_DAY:
        raise InputError(f"--date must be a day such as 2026-03-31 (got {text!r})")
    return on
