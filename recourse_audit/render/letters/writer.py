"""One letter after another: catalogue, profile and staff's files are read and checked once."""

from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path

from recourse_audit.bundle.manifest import digest_of
from recourse_audit.errors import InputError
from recourse_audit.records.bundle import SignedLetter
from recourse_audit.records.subject import SubjectReport
from recourse_audit.render.i18n import words_of
from recourse_audit.render.letters.letter import Letter, LetterInputs, SignOff, compose_letter
from recourse_audit.render.letters.letter_inputs import (
    inputs_of,
    read_addresses,
    read_allowed,
    read_names,
    read_reasons,
    sign_off_of,
)
from recourse_audit.render.letters.other_people import (
    Everybody,
    Mention,
    OtherPerson,
    find_mentions,
    is_allowed,
    others_in,
)
from recourse_audit.render.letters.page import about_in, letter_page
from recourse_audit.render.letters.profiles import check_sign_off, load_profile, open_slots
from recourse_audit.render.letters.sentences import unworded
from recourse_audit.render.letters.source import NoLetter, Vocabulary, letter_source
from recourse_audit.render.templates import Templates
from recourse_audit.settings import Settings

TEMPLATE = "letters/letter.html"
FINGERPRINT = 16


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
    sign_off
        Who signs the letters off that are to be signed; without it, all are drafts.
    everybody
        All ids of the graph: needed where a report does not show all neighbours.

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
        names: Path | None = None,
        everybody: Callable[[], Iterable[str]] = tuple,
        sign_off: SignOff | None = None,
    ) -> None:
        self._settings = settings.letters
        self._data_as_of = settings.audit.data_as_of
        self._pages = pages
        self._sign_off = sign_off
        self._vocabulary = Vocabulary(settings)
        self._wording = words_of(settings, self._settings.language, pages)
        self._profile = load_profile(self._settings, pages)
        undeclared = self._profile.undeclared(self._settings.facts)
        self.open_slots = (
            *open_slots(self._profile, self._settings),
            *(f"letters.facts.{name}" for name in undeclared),
        )
        self.unworded = unworded(settings, self._wording, names_class=self._profile.names_class)
        about_in(self._settings)  # a missing text is refused now, not after the first letters
        if sign_off is not None:
            check_sign_off(self._profile, self._settings)
        most = self._profile.max_reasons
        self.reasons = {} if reasons is None else read_reasons(reasons, most=most)
        self._allowed = {} if reasons is None else read_allowed(reasons)
        self._names = {} if names is None else read_names(names, self._settings.name_columns)
        self._ids = everybody
        self._everybody: Everybody | None = None
        self.addresses = {} if addresses is None else read_addresses(addresses)
        made_of = (
            version("recourse-audit"),
            pages.digest(),
            settings.model_dump_json(include={"audit", "letters", "words"}),
        )
        self._made_of = "".join(made_of)

    def letter(self, report: SubjectReport, *, signed: bool = True) -> Letter | NoLetter:
        """What is said to one subject, or why there is no letter; a draft if it is not `signed`.

        Raises
        ------
        InputError
            A reason names another person.
        """
        own = report.subject.id
        allowed = self._allowed.get(own, frozenset())
        for mention in self._mentions(report):
            if not is_allowed(mention, allowed):
                raise InputError(
                    f"a reason given for {own} names another person, {mention.person}: it contains "
                    f"{mention.text!r}; reword it, or, if something else is meant, put "
                    f"{mention.text!r} into the column allow of the reasons"
                )
        return self._composed(report, self._inputs(own), self._sign_off if signed else None)

    def draft(self, report: SubjectReport, before: SignedLetter | None = None) -> Letter | NoLetter:
        """The draft of a letter, without a check of its reasons; of one signed `before`, as then.

        What staff gave for a signed letter holds until they give something else.
        """
        return self._composed(report, self._inputs(report.subject.id, before), None)

    def again(self, report: SubjectReport, before: SignedLetter) -> Letter | NoLetter:
        """A letter that was signed off before, as it would be today."""
        inputs = self._inputs(report.subject.id, before)
        return self._composed(report, inputs, sign_off_of(before))

    def fingerprint(self, draft: Letter) -> str:
        """A short digest of everything that a draft says, and of what it is said with."""
        return digest_of(f"{self._made_of}{draft!r}")[:FINGERPRINT]

    def _inputs(self, own: str, before: SignedLetter | None = None) -> LetterInputs:
        then = LetterInputs() if before is None else inputs_of(before)
        return LetterInputs(
            reasons=self.reasons.get(own, then.reasons),
            recipient=self.addresses.get(own, then.recipient),
        )

    def _composed(
        self, report: SubjectReport, inputs: LetterInputs, sign_off: SignOff | None
    ) -> Letter | NoLetter:
        source = letter_source(report, self._vocabulary)
        if isinstance(source, NoLetter):
            return source
        return compose_letter(
            source,
            self._settings,
            inputs=inputs,
            sign_off=sign_off,
            data_as_of=self._data_as_of,
        )

    def allowed(self, report: SubjectReport) -> tuple[str, ...]:
        """What looks like another person's name in the reasons, and was allowed by a person."""
        return tuple(sorted({mention.text for mention in self._mentions(report)}))

    def _mentions(self, report: SubjectReport) -> tuple[Mention, ...]:
        """Whom the reasons for a subject seem to name besides the subject."""
        own = report.subject.id
        reasons = self.reasons.get(own, ())
        if not reasons:
            return ()
        others = (
            OtherPerson(id=name, names=self._names.get(name, ())) for name in others_in(report)
        )
        me = OtherPerson(id=own, names=self._names.get(own, ()))
        found = find_mentions(reasons, others, me)
        near = report.ego_network
        if near is not None and near.shown < near.total:
            if self._everybody is None:
                self._everybody = Everybody(self._ids())
            known = {mention.person for mention in found}
            hidden = self._everybody.find(reasons, own)
            found += tuple(one for one in hidden if one.person not in known)
        return found

    def html(self, letter: Letter) -> str:
        """The letter as a page, from which a PDF can be made."""
        page = letter_page(letter, self._wording, self._profile, self._settings)
        return self._pages.render(TEMPLATE, view=page)
