"""From a subject's document to the letter's page: everything but writing it into a folder."""

from pathlib import Path
from typing import Any

from recourse_audit.errors import InputError
from recourse_audit.render.letters.letter_inputs import names_somebody, read_addresses, read_reasons
from recourse_audit.render.templates import Pages
from recourse_audit.render.letters.profiles import check_sign_off, load_profile, open_slots
from recourse_audit.render.letters.letter import Confirmed, Letter, SignOff, letter_of
from recourse_audit.render.letters.page import about_in, letter_page
from recourse_audit.render.letters.sentences import unworded
from recourse_audit.render.letters.source import NoLetter, Vocabulary, letter_source
from recourse_audit.render.letters.wording import Wording
from recourse_audit.settings import Settings

TEMPLATE = "letters/letter.html"


class LetterDesk:
    """Writes letters; catalogue, profile and people's files are read once, and checked.

    Attributes
    ----------
    open_slots
        Keys of the settings without which letters stay drafts.
    unworded
        Names that letters use as they are, for want of a word in their language.
    reasons, addresses
        What people gave, by id; a caller may compare the ids with those of the subjects.

    Raises
    ------
    SettingsError
        Signed off, with gaps still open or facts undeclared; or without a text of what the decision
        was about in the letters' language, where there is one in others.
    """

    def __init__(
        self,
        settings: Settings,
        pages: Pages,
        *,
        reasons: Path | None = None,
        addresses: Path | None = None,
        sign_off: SignOff | None = None,
    ) -> None:
        self._settings = settings.letters
        self._pages = pages
        self._sign_off = sign_off
        self._vocabulary = Vocabulary(settings)
        self._wording = Wording(self._settings.language, pages)
        self._profile = load_profile(self._settings, pages)
        undeclared = self._profile.undeclared(self._settings.facts)
        self.open_slots = (
            *open_slots(self._profile, self._settings),
            *(f"letters.facts.{name}" for name in undeclared),
        )
        self.unworded = unworded(settings)
        about_in(self._settings)  # refused now, not after the first letters
        if sign_off is not None:
            check_sign_off(self._profile, self._settings)
        most = self._profile.max_reasons
        self.reasons = {} if reasons is None else read_reasons(reasons, most=most)
        self.addresses = {} if addresses is None else read_addresses(addresses)

    def letter(self, document: dict[str, Any]) -> Letter | NoLetter:
        """What is said to one subject; or why nothing is."""
        source = letter_source(document, self._vocabulary)
        if isinstance(source, str):
            return source
        own = source.reference
        reasons = self.reasons.get(own, ())
        named = names_somebody(reasons, _others(document))
        if named is not None:
            raise InputError(
                f"a reason given for {own} names {named}, who is somebody else; say it without"
            )
        confirmed = Confirmed(reasons=reasons, recipient=self.addresses.get(own, ()))
        return letter_of(source, self._settings, confirmed=confirmed, sign_off=self._sign_off)

    def html(self, letter: Letter) -> str:
        """The letter as a page; `Paper` makes the PDF of it."""
        page = letter_page(letter, self._wording, self._profile, self._settings)
        return self._pages.render(TEMPLATE, view=page)


def _others(document: dict[str, Any]) -> set[str]:
    """Everybody whom the document names besides the subject."""
    nodes = (document.get("surroundings") or {}).get("nodes", ())
    others = {node["id"] for node in nodes}
    for found in document["counterfactuals"]:
        others.update(found["explanation"]["nodes"])
    for option in (document["recourse"] or {}).get("options", ()):
        others.update(name for action in option["actions"] for name in action.get("tie") or ())
    return others - {document["subject"]["id"]}
