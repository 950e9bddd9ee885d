"""The only door to babel: every sentence, number, amount and date that people read.

The catalogue of a language is the folder `wording/<language>/`, whose files are read without being
compiled; a key, such as `step.raise`, is in one of them only. Placeholders are in braces:
`{after}`. Where a graph has several kinds of nodes, a message `KEY.of_kinds`, which does not call
every node a person, takes the place of `KEY`. The user's own words for classes, attributes, groups
and kinds of ties come from `[words]` in the settings; a name without a word is quoted, or written
as it is where it reads well.
"""

import copy
import gettext
import io
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import cache, lru_cache
from html import unescape
from math import copysign
from types import MappingProxyType
from typing import Literal, TypeVar

from babel import Locale, UnknownLocaleError
from babel.dates import format_date
from babel.lists import format_list
from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import PoFileError, PoFileParser
from babel.numbers import format_currency, format_decimal, format_percent

from recourse_audit.errors import TemplateError
from recourse_audit.records.group_figures import Verdict
from recourse_audit.records.model import Agreement, ProbeReport
from recourse_audit.records.recourse import FRAGILE, STEADY, RecourseStatus, TieWord
from recourse_audit.render.templates import Templates, our_templates
from recourse_audit.render.text import NO_BREAK, plain
from recourse_audit.settings import LanguageWords, Settings
from recourse_audit.settings.letters import COUNT, TieWords
from recourse_audit.settings.section import near_matches

PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
MOST_PLURALS = 6  # Arabic has six
MOST_LOG_ODDS = 100.0  # single precision has no probability that is nearer to nothing
_PLURALS = re.compile(r"nplurals\s*=\s*(\d+)")
_FORM = re.compile(r"^\s*msgstr\s*\[([^\]]*)", re.MULTILINE)
_DIGITS = 2
_SPANISH_AND = re.compile(r"\by (?=h?[ií](?!e))", re.IGNORECASE)
MINUS = "\N{MINUS SIGN}"
AGREEMENT = "pages/pieces/agreement.html"
LANGUAGES = ("en", "de", "fr", "es")
BRITISH = "en_GB"  # what `en` means; American English is en_US
T = TypeVar("T")


class Words:
    """Everything that people read in one language.

    Parameters
    ----------
    language
        Such as `en`, or `es_US`, which takes what it lacks from `es`.
    templates
        Where the catalogues are.
    own
        The user's words by language: `[words]` of the settings.
    currencies
        The codes of units that are money.

    Raises
    ------
    TemplateError
        There is no catalogue for the language, or it cannot be read.
    """

    def __init__(
        self,
        language: str = "en",
        templates: Templates | None = None,
        own: Mapping[str, LanguageWords] = MappingProxyType({}),
        currencies: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.language = language
        self._locale = _locale(language)
        self._languages = tuple(dict.fromkeys((language, language.split("_", maxsplit=1)[0])))
        self._own = [own[name] for name in self._languages if name in own]
        self._currencies = currencies
        self._has_kinds = False
        self._forms: dict[str, tuple[str, ...]] = {}
        self._files: dict[str, str] = {}  # the name of the file that each message is in
        self._rules: dict[str, Callable[[int], int]] = {}
        for catalogue in _catalogues(self._languages, templates or Templates()):
            files: dict[str, str] = {}
            for name, text in catalogue:
                forms, self._rules[name] = _messages(name, text, self._locale)
                for key in forms:
                    if key in files:
                        raise TemplateError(f"{name}: {key!r} is in {files[key]} already")
                    files[key] = name
                self._forms |= forms
            self._files |= files

    @property
    def tag(self) -> str:
        """The language as HTML names it: es-US."""
        return self.language.replace("_", "-")

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self._forms)

    def forms(self, key: str) -> tuple[str, ...]:
        """A message as it is in the catalogue: one text, or one per plural form."""
        return self._forms[key]

    def check_complete(self, file: str, english: "Words") -> None:
        """Refuse to go on without a message of a file, or a form of it."""
        for key, name in english._files.items():
            if name.endswith(f"/{file}") and key not in self._forms:
                raise TemplateError(
                    f"wording/{self.language}: lacks the message {key!r} of {file}, or one of its "
                    "plural forms; copy it from wording/en and translate it"
                )

    def of_kinds(self, *, several: bool) -> "Words":
        """The same words, for a graph of several kinds of nodes, or of one."""
        words = copy.copy(self)
        words._has_kinds = several
        return words

    def say(self, key: str, /, **values: object) -> str:
        """A message with its placeholders filled in."""
        key, forms = self._find_message(key)
        return self._filled(key, forms[0], values)

    def say_count(self, key: str, count: int, /, **values: object) -> str:
        """A message in the plural form for a number, which fills in `{count}`."""
        key, forms = self._find_message(key)
        form = forms[min(self._plural(self._files[key], count), len(forms) - 1)]
        return self._filled(key, form, {**values, "count": self.number(count)})

    def _write(self, value: float, pattern: str) -> str:
        """A number by a pattern of Babel, with a real minus and spaces of normal width."""
        text = format_decimal(value, format=pattern, locale=self._locale)
        return _wide_spaces(text).replace("-", MINUS)

    def number(self, value: float) -> str:
        """A number with at most two decimals, without trailing zeros."""
        return self._write(value, "#,##0.##")

    def exact(self, value: float) -> str:
        """A number from the user's settings, with up to six decimals."""
        return self._write(value, "#,##0.######")

    def fixed(self, value: float, decimals: int) -> str:
        return self._write(value, f"#,##0.{'0' * decimals}" if decimals else "#,##0")

    def signed(self, value: float, decimals: int = 3) -> str:
        """A change with its sign, unless it is rounded to nothing: +0.094."""
        text = self.fixed(abs(value), decimals)
        sign = "+" if value > 0 else MINUS
        return f"{sign}{text}" if set(text) & set("123456789") else text

    def points(self, difference: float) -> str:
        """A difference of shares in percentage points, with its sign: +21; 0.4 below one."""
        return self.signed(100 * difference, 1 if abs(difference) < 0.01 else 0)

    def percent(self, share: float) -> str:
        """A share with one decimal: 41.2%."""
        pattern = self._locale.percent_formats[None].pattern.replace("#,##0", "#,##0.0")
        return _wide_spaces(format_percent(share, format=pattern, locale=self._locale))

    def whole_percent(self, share: float) -> str:
        """A share without decimals: 95%."""
        return _wide_spaces(format_percent(share, locale=self._locale))

    def probability(self, chance: float) -> str:
        """Three decimals; nothing is rounded to all or nothing, which a record's zero may be."""
        if chance < 0.0005:
            return f"<{NO_BREAK}{self.fixed(0.001, 3)}"
        if chance >= 0.9995:
            return f">{NO_BREAK}{self.fixed(0.999, 3)}"
        return self.fixed(chance, 3)

    def log_odds(self, value: float) -> str:
        """A difference with its sign; of one that no probability can tell, only that it is so."""
        if abs(value) <= MOST_LOG_ODDS:
            return self.signed(value, 2)
        most = self.signed(copysign(MOST_LOG_ODDS, value), 0)
        return f"{'<' if value < 0 else '>'}{NO_BREAK}{most}"

    def amount(self, score: float) -> str:
        """A score: whole above a thousand, otherwise with as many decimals as matter."""
        size = abs(score)
        return self.fixed(score, 0 if size >= 1000 else 1 if size >= 10 else 2 if size >= 1 else 3)

    def form(self, value: float, forms: Sequence[str]) -> str:
        """The singular or the plural of a word, whichever goes with the number as it is written."""
        one = self._locale.plural_form(round(value, _DIGITS)) == "one"
        return forms[0] if one else forms[-1]

    def money(self, value: float, code: str) -> str:
        """An amount of money, without cents if it is whole."""
        whole = value == int(value)
        pattern = self._locale.currency_formats["standard"].pattern
        pattern = pattern.replace("0.00", "0") if whole else pattern
        amount = format_currency(
            value, code, format=pattern, locale=self._locale, currency_digits=not whole
        )
        return _wide_spaces(amount)

    def day(self, day: date | str, form: Literal["long", "medium"] = "long") -> str:
        """A date in full, or in a table with its month cut short; as text it is 2026-11-16."""
        day = date.fromisoformat(day) if isinstance(day, str) else day
        return str(format_date(day, format=form, locale=self._locale))

    def series(self, items: Sequence[str]) -> str:
        """Several things as a sentence lists them."""
        texts = [*map(_text, items)]
        text = str(format_list(texts, locale=self._locale)) if items else ""
        # Before the sound of i, Spanish says e for y, which is in no pattern.
        return _SPANISH_AND.sub("e ", text) if self._locale.language == "es" else text

    def interval(self, low: str, high: str) -> str:
        """Two ends that are worded already: 13 to 49."""
        return self.say("range", low=low, high=high)

    def out_of(self, count: int, total: int) -> str:
        """A part of a whole: 37 of 50."""
        return self.say("of", count=self.number(count), total=self.number(total))

    # ------------------------------------------------------------------ what records have as codes

    def probe_note(self, code: str, figures: Mapping[str, float]) -> str:
        """What a reader must know about the model or the graph before any figure."""
        short = {
            name: value if value.is_integer() else float(f"{value:.2g}")
            for name, value in figures.items()
        }
        values = {name: self.exact(value) for name, value in short.items()}
        return self.say(f"probe.{code}", **values)

    def status(self, status: RecourseStatus) -> str:
        """A status in a table: has an option."""
        return self.say(f"status.{status}")

    def verdict(self, verdict: Verdict, concern: float) -> str:
        """A verdict on a gap, given the gap of concern as a share: no gap of 10 points."""
        points = self.number(100 * concern)
        return self.say(f"verdict.{verdict.replace(' ', '_')}", concern=points)

    # ------------------------------------------------------------------ the user's own words

    def name(self, name: str) -> str:
        """An attribute, a category or a unit; without a word, with spaces for underscores."""
        return self.forms_of(name)[0]

    def forms_of(self, name: str) -> tuple[str, ...]:
        """The singular of a name, and its plural if there is one."""
        forms = self._find(lambda own: own.names.get(name))
        return (plain(name).replace("_", " "),) if forms is None else tuple(map(plain, forms))

    def forms_of_kind(self, kind: str) -> tuple[str, ...]:
        """What nodes of a kind are called; a number is called a kind, unless it has a word."""
        if kind.isdecimal() and not self.has_name(kind):
            return (self.say("kind.number", number=kind),)
        return self.forms_of(kind)

    def count_nodes(self, kind: str, count: int) -> str:
        """Nodes of a kind: 2 employers; without a plural, employer (2)."""
        forms, number = self.forms_of_kind(kind), self.number(count)
        if len(forms) == 1 and (count != 1 or kind.isdecimal()):
            return f"{forms[0]} ({number})"
        return f"{number} {self.form(count, forms)}"

    def class_name(self, name: str) -> str:
        """A class of the model; without a word, quoted."""
        word = self._find(lambda own: own.names.get(name))
        return self.say("quoted", text=plain(name)) if word is None else plain(word[0])

    def people(self, attribute: str, group: str) -> str:
        """The people of a group in a sentence: people in the South."""
        word = self._find(lambda own: own.people.get(group))
        if word is not None:
            return plain(word)
        return self.say("people.of_group", attribute=self.name(attribute), group=self.name(group))

    def change_ties(self, do: TieWord, kind: str, count: int | None) -> str:
        """What ending, adding or moving ties of a kind is called; `count` is None for all."""
        forms = self._change_forms(do, kind)
        if forms and (count in {None, 1} or COUNT in forms[-1]):
            number = self.number(count or 1)
            return plain(forms[0 if count in {None, 1} else -1]).replace(COUNT, number)
        if count is None:
            return self.say("ties.drop_all", kind=self.tie_name(kind, 2))
        return self.say_count(f"ties.{do}", count, kind=self.tie_name(kind, count))

    def tie_name(self, kind: str, count: int = 1) -> str:
        """What ties of a kind are called: standing payment; payment tie without a word."""
        if name := self._tie(kind).name:
            return plain(self.form(count, name))
        return self.say_count("ties.name", count, kind=plain(kind).replace("_", " "))

    def tie_way(self, kind: str, *, forward: bool) -> str:
        """What a tie of a kind is called at its first end, or its second; "" without a word."""
        words = self._tie(kind)
        return plain(words.forward if forward else words.backward)

    def tie_caution(self, kind: str) -> str:
        """What a person must know before they end a tie of a kind; "" where nothing is said."""
        return plain(self._tie(kind).caution)

    def reason(self, name: str) -> str | None:
        """The user's phrase for a column or a kind of tie as a reason, if they gave one."""
        return self._find(lambda own: own.reasons.get(name))

    def caution(self, attribute: str) -> str:
        """What a person must know before they change an attribute; "" where nothing is said."""
        return plain(self._find(lambda own: own.cautions.get(attribute)) or "")

    def level(self, attribute: str, level: float | str) -> str | None:
        """The user's phrase for an attribute that reaches a level, if they gave one."""
        phrases = self._find(lambda own: own.levels.get(attribute)) or {}
        return next(
            (text for name, text in phrases.items() if level in (name, _number(name))), None
        )

    def opening(self, decision: str) -> str | None:
        """The user's opening sentence of a letter about a decision, if they gave one."""
        return self._find(lambda own: own.decided.get(decision))

    def has_name(self, name: str) -> bool:
        return self._find(lambda own: own.names.get(name)) is not None

    def has_tie(self, kind: str) -> bool:
        return self._find(lambda own: own.ties.get(kind)) is not None

    def has_change(self, do: TieWord, kind: str) -> bool:
        """Whether the user gave words for ending, adding or moving a tie of a kind."""
        return bool(self._change_forms(do, kind))

    def _tie(self, kind: str) -> TieWords:
        return self._find(lambda own: own.ties.get(kind)) or TieWords()

    def _change_forms(self, do: TieWord, kind: str) -> tuple[str, ...]:
        forms: tuple[str, ...] = getattr(self._tie(kind), "end" if do == "drop" else do)
        return forms

    def value(self, value: float | str, unit: str = "") -> str:
        """A value in the user's units: €4,780, 3 years, or a category, quoted without a word."""
        if isinstance(value, str):
            return self.class_name(value)
        if unit in self._currencies:
            return self.money(value, self._currencies[unit])
        digits = self.number(value) if abs(value) >= 1 else self._write(value, "#,##0.###")
        return NO_BREAK.join(filter(None, (digits, self.form(value, self.forms_of(unit)))))

    def _find(self, look: Callable[[LanguageWords], T | None]) -> T | None:
        return next((word for own in self._own if (word := look(own)) is not None), None)

    def _plural(self, file: str, count: int) -> int:
        """The number of the plural form for a number, by the rule of a file."""
        try:
            form = self._rules[file](count)
            if form < 0:
                raise ArithmeticError(f"it gives the form {form}")
        except ArithmeticError as error:
            raise TemplateError(
                f"{file}: the rule in Plural-Forms fails for {count} ({error}); correct it"
            ) from None
        return form

    def _find_message(self, key: str) -> tuple[str, tuple[str, ...]]:
        """A message, or what is said in its place where there are several kinds of nodes."""
        variant = f"{key}.of_kinds"
        key = variant if self._has_kinds and variant in self._forms else key
        if key not in self._forms:
            raise TemplateError(
                f"wording/{self.language}: has no message {key!r}; copy it from wording/en and "
                "translate it"
            )
        return key, self._forms[key]

    def _filled(self, key: str, text: str, values: Mapping[str, object]) -> str:
        missing = set(PLACEHOLDER.findall(text)) - set(values)
        if missing:
            raise TemplateError(
                f"{self._files[key]}: the message {key!r} has the unknown placeholder "
                f"{{{min(missing)}}}; it may use {', '.join(sorted(values)) or 'none'}"
            )
        return PLACEHOLDER.sub(lambda found: _text(values[found[1]]), text)


def words_of(settings: Settings, language: str, templates: Templates) -> Words:
    """The words of an audit in one language."""
    words = Words(language, templates, settings.words, settings.letters.currencies)
    return words.of_kinds(several=settings.decision.subject is not None)


def probe_notes(probes: ProbeReport) -> tuple[str, ...]:
    """What a reader must know about the model and the graph before any figure, in English."""
    words = Words()
    return tuple(words.probe_note(code, figures) for code, figures in probes.notes.items())


def agreement_sentences(found: Agreement | None, words: Words | None = None) -> tuple[str, ...]:
    """How many decisions of the record and the model agree; who differs, and what explains it."""
    if found is None:
        return ()
    return tuple(our_templates().lines(AGREEMENT, "sentences", words=words or Words(), found=found))


@cache
def status_name(status: RecourseStatus) -> str:
    """A status as the command line says it: has an option."""
    return Words().status(status)


def strength(share: float) -> str:
    """The key of how well an option stands changes, by the share of tests in which it held."""
    return "steady" if share >= STEADY else "fragile" if share <= FRAGILE else "middling"


def _number(level: str) -> float | None:
    """A level of a number; None for a category."""
    try:
        return float(level)
    except ValueError:
        return None


def _text(value: object) -> str:
    """A value as text; what a macro said is escaped already, and would be once more on the page."""
    return unescape(str(value)) if hasattr(value, "__html__") else str(value)


def _wide_spaces(text: str) -> str:
    """Replace narrow spaces, which few fonts have, with spaces of normal width."""
    return text.replace("\N{NARROW NO-BREAK SPACE}", "\N{NO-BREAK SPACE}")


def _locale(language: str) -> Locale:
    try:
        return Locale.parse(BRITISH if language == "en" else language)
    except (UnknownLocaleError, ValueError):
        raise TemplateError(
            f"{language!r} is not a known language; {near_matches(language, LANGUAGES)}"
        ) from None


def _catalogues(languages: Sequence[str], templates: Templates) -> list[list[tuple[str, str]]]:
    """The names and texts of the files of each language; what `es_US` has comes after `es`."""
    catalogues = [
        [
            (f"wording/{language}/{file}", templates.text(f"wording/{language}/{file}"))
            for file in templates.names(f"wording/{language}")
            if file.endswith(".po")
        ]
        for language in reversed(languages)
    ]
    if not any(catalogues):
        raise TemplateError(
            f"there is no catalogue for {languages[0]!r}; write the files of "
            f"wording/{languages[0]}/ in a folder for --templates, starting from wording/en/; or "
            f"{near_matches(languages[0], LANGUAGES)}"
        )
    return catalogues


class _Catalogue(Catalog):
    """Messages by key, of which none may come twice: the second would silently win."""

    def __setitem__(self, key: str | tuple[str, ...] | list[str], message: Message) -> None:
        if key and self.get(key, message.context) is not None:
            raise ValueError(f"line {message.lineno}: {message.id!r} is there already")
        super().__setitem__(key, message)


@lru_cache(64)
def _messages(
    name: str, text: str, locale: Locale
) -> tuple[dict[str, tuple[str, ...]], Callable[[int], int]]:
    """The texts for each key, and the rule that picks the plural form for a number."""
    known = {str(form) for form in range(MOST_PLURALS)}
    for form in _FORM.findall(text):  # babel takes any number for a place in a list
        if form.strip() not in known:
            raise TemplateError(f"{name}: has no plural form {form[:20]!r}; number them from 0")
    plurals = [int(digits[:6]) for digits in _PLURALS.findall(text)]
    if max(plurals, default=0) > MOST_PLURALS:
        raise TemplateError(
            f"{name}: declares {max(plurals)} plural forms or more; at most {MOST_PLURALS} are used"
        )
    catalogue = _Catalogue(locale=locale)
    try:
        PoFileParser(catalogue, abort_invalid=True).parse(io.StringIO(text))
        plural = gettext.c2py(catalogue.plural_expr)
    except (PoFileError, ValueError, RecursionError) as error:
        raise TemplateError(f"{name}: is not a valid catalogue ({error}); fix that line") from None
    messages: dict[str, tuple[str, ...]] = {}
    for message in catalogue:
        texts = (message.string,) if isinstance(message.string, str) else message.string or ()
        key = message.id if isinstance(message.id, str) else message.id[0]
        if key and texts and all(texts):
            messages[key] = tuple(str(text) for text in texts)
    return messages, plural
