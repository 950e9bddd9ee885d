"""A subject's report becomes the HTML of a letter: everything except writing it to a folder."""

from pathlib import Path

from recourse_audit.errors import InputError
from recourse_audit.records.recourse import TieAction
from recourse_audit.records.report import SubjectReport
from recourse_audit.render.letters.letter import Letter, LetterInputs, SignOff, compose_letter
from recourse_audit.render.letters.letter_inputs import find_named, read_addresses, read_reasons
from recourse_audit.render.letters.page import about_in, letter_page
from recourse_audit.render.letters.profiles import check_sign_off, load_profile, open_slots
from recourse_audit.render.letters.sentences import unworded
from recourse_audit.render.letters.source import NoLetter, Vocabulary, letter_source
from recourse_audit.render.letters.wording import Wording
from recourse_audit.render.templates import Templates
from recourse_audit.settings import Settings

TEMPLATE = "letters/letter.html"


class LetterWriter:
    """Writes letters; the catalogue, the profile and staff's files are read and checked once.

    Attributes
    ----------
    open_slots
        Keys of the settings that must be filled in before letters can be signed off.
    unworded
        Names that letters use as they are, because there is no word for them in the language.
    reasons, addresses
        What staff gave, by id; a caller may compare the ids with those of the subjects.

    Raises
    ------
    SettingsError
        The letters are signed off with slots still empty or facts undeclared; or `letters.about`
        has texts, but none in the language of the letters.
    """

    def __init__(
        self,
        settings: Settings,
        pages: Templates,
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
        about_in(self._settings)  # a missing text is refused now, not after the first letters
        if sign_off is not None:
            check_sign_off(self._profile, self._settings)
        most = self._profile.max_reasons
        self.reasons = {} if reasons is None else read_reasons(reasons, most=most)
        self.addresses = {} if addresses is None else read_addresses(addresses)

    def letter(self, report: SubjectReport) -> Letter | NoLetter:
        """What is said to one subject, or why there is no letter."""
        source = letter_source(report, self._vocabulary)
        if isinstance(source, NoLetter):
            return source
        own = source.reference
        reasons = self.reasons.get(own, ())
        named = find_named(reasons, _other_people(report))
        if named is not None:
            raise InputError(
                f"a reason given for {own} names another person, {named}; reword it without the id"
            )
        inputs = LetterInputs(reasons=reasons, recipient=self.addresses.get(own, ()))
        return compose_letter(source, self._settings, inputs=inputs, sign_off=self._sign_off)

    def html(self, letter: Letter) -> str:
        """The letter as a page, from which a PDF can be made."""
        page = letter_page(letter, self._wording, self._profile, self._settings)
        return self._pages.render(TEMPLATE, view=page)


def _other_people(report: SubjectReport) -> set[str]:
    """Everybody whom the report names besides the subject."""
    near, recourse = report.ego_network, report.recourse
    others = set() if near is None else {node.id for node in near.nodes}
    for found in report.counterfactuals:
        others.update(found.explanation.nodes)
    for option in () if recourse is None else recourse.options:
        for action in option.actions:
            if isinstance(action, TieAction):
                others.update(action.tie)
    return others - {report.subject.id}
