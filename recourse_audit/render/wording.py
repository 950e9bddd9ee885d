"""The only door to babel: messages from catalogues, and numbers, money and dates by language.

A catalogue is `wording/<language>/LC_MESSAGES/<catalogue>.po`, read without being compiled: there
is one for letters, one per kind of page, one for findings about groups, and one for what all pages
share. A message has a key, such as `step.raise`, and placeholders in braces, such as `{after}`.
"""

import gettext
import io
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date

from babel import Locale, UnknownLocaleError
from babel.dates import format_date
from babel.lists import format_list
from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import PoFileError, PoFileParser
from babel.numbers import format_currency, format_decimal, format_percent

from recourse_audit.errors import TemplateError
from recourse_audit.render.templates import Templates

PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
MOST_PLURALS = 6  # Arabic has six
_PLURALS = re.compile(r"nplurals\s*=\s*(\d+)")
_FORM = re.compile(r"^\s*msgstr\s*\[([^\]]*)", re.MULTILINE)
_FEW = "#,##0.##"
_DIGITS = 2
MINUS = "\N{MINUS SIGN}"
NO_BREAK = "\N{NO-BREAK SPACE}"


def catalogue_name(language: str, catalogue: str = "letters") -> str:
    """The path of a language's catalogue within the templates."""
    return f"wording/{language}/LC_MESSAGES/{catalogue}.po"


class Wording:
    """Everything that some catalogues say in one language; no key may be in two of them.

    Raises
    ------
    TemplateError
        There is no catalogue for the language, or it cannot be read.
    """

    def __init__(self, language: str, pages: Templates, *catalogues: str) -> None:
        self.language = language
        self._locale = _locale(language)
        self._catalogues = catalogues or ("letters",)
        self._forms: dict[str, tuple[str, ...]] = {}
        self._files: dict[str, str] = {}  # the name of the file that each message is in
        self._rules: dict[str, Callable[[int], int]] = {}
        for catalogue in self._catalogues:
            name, text = _catalogue(language, pages, catalogue)
            forms, self._rules[name] = _messages(name, text, self._locale)
            for key in forms:
                if key in self._files:
                    raise TemplateError(f"{name}: {key!r} is in {self._files[key]} already")
                self._files[key] = name
            self._forms |= forms

    @property
    def tag(self) -> str:
        """The language as HTML names it: es-US."""
        return self.language.replace("_", "-")

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of all messages."""
        return tuple(self._forms)

    def forms(self, key: str) -> tuple[str, ...]:
        """A message as it is in the catalogue: one text, or one per plural form."""
        return self._forms[key]

    def say(self, key: str, /, **values: object) -> str:
        """A message with its placeholders filled in."""
        return self._filled(key, self._found(key)[0], values)

    def say_count(self, key: str, count: int, /, **values: object) -> str:
        """A message in the plural form for a number, which fills in `{count}`."""
        forms = self._found(key)
        form = forms[min(self._plural(self._files[key], count), len(forms) - 1)]
        return self._filled(key, form, {**values, "count": self.number(count)})

    def number(self, value: float) -> str:
        """A number with at most two decimals, without trailing zeros."""
        return _wide_spaces(format_decimal(value, format=_FEW, locale=self._locale))

    def exact(self, value: float) -> str:
        """A number from the user's settings, with up to six decimals."""
        return self._minus(format_decimal(value, format="#,##0.######", locale=self._locale))

    def percent(self, share: float) -> str:
        """A share with one decimal: 41.2%."""
        pattern = self._locale.percent_formats[None].pattern
        pattern = pattern.replace("#,##0", "#,##0.0")
        return _wide_spaces(format_percent(share, format=pattern, locale=self._locale))

    def whole_percent(self, share: float) -> str:
        """A share without decimals: 95%."""
        return _wide_spaces(format_percent(share, locale=self._locale))

    def points(self, difference: float) -> str:
        """A difference of shares in percentage points, with its sign: -3, +21, 0.4 below one."""
        decimals = "0.0" if abs(difference) < 0.01 else "0"
        text = format_decimal(abs(100 * difference), format=decimals, locale=self._locale)
        if not any(digit in text for digit in "123456789"):
            return _wide_spaces(text)
        return f"{'+' if difference > 0 else MINUS}{_wide_spaces(text)}"

    def probability(self, chance: float) -> str:
        """Three decimals; what is just short of all or nothing is not rounded to it."""
        if 0 < chance < 0.0005:
            return f"<{NO_BREAK}{self.fixed(0.001, 3)}"
        if 0.9995 <= chance < 1:
            return f">{NO_BREAK}{self.fixed(0.999, 3)}"
        return self.fixed(chance, 3)

    def amount(self, score: float) -> str:
        """A score: whole above a thousand, otherwise with as many decimals as matter."""
        size = abs(score)
        return self.fixed(score, 0 if size >= 1000 else 1 if size >= 10 else 2 if size >= 1 else 3)

    def signed(self, value: float, decimals: int = 3) -> str:
        """A change with its sign: +0.094, a real minus."""
        text = self.fixed(abs(value), decimals)
        if not any(digit in text for digit in "123456789"):
            return text
        return f"{'+' if value > 0 else MINUS}{text}"

    def fixed(self, value: float, decimals: int) -> str:
        """A number with so many decimals, and a real minus."""
        pattern = f"#,##0.{'0' * decimals}" if decimals else "#,##0"
        return self._minus(format_decimal(value, format=pattern, locale=self._locale))

    @staticmethod
    def _minus(text: str) -> str:
        return _wide_spaces(text).replace("-", MINUS)

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

    def day(self, day: date) -> str:
        """A date in full."""
        return format_day(day, self._locale)

    def listed(self, items: Sequence[str]) -> str:
        """Several things as a sentence lists them."""
        return str(format_list(list(items), locale=self._locale)) if items else ""

    def _plural(self, file: str, count: int) -> int:
        """The number of the plural form for a number, by the rule of a file."""
        try:
            form = self._rules[file](count)
        except ArithmeticError as error:
            raise _bad_plural(file, count, str(error)) from None
        if form < 0:
            raise _bad_plural(file, count, f"it gives the form {form}")
        return form

    def _found(self, key: str) -> tuple[str, ...]:
        try:
            return self._forms[key]
        except KeyError:
            source = " or ".join(catalogue_name("en", one) for one in self._catalogues)
            raise TemplateError(
                f"{' or '.join(self._rules)}: has no message {key!r}; copy it from {source} and "
                "translate it"
            ) from None

    def _filled(self, key: str, text: str, values: Mapping[str, object]) -> str:
        missing = set(PLACEHOLDER.findall(text)) - set(values)
        if missing:
            raise TemplateError(
                f"{self._files[key]}: the message {key!r} has the unknown placeholder "
                f"{{{min(missing)}}}; it may use {', '.join(sorted(values)) or 'none'}"
            )
        return PLACEHOLDER.sub(lambda found: str(values[found[1]]), text)


def _bad_plural(file: str, count: int, reason: str) -> TemplateError:
    return TemplateError(
        f"{file}: the rule in Plural-Forms fails for {count} ({reason}); correct it"
    )


def _wide_spaces(text: str) -> str:
    """Replace narrow spaces, which few fonts have, with spaces of normal width."""
    return text.replace("\N{NARROW NO-BREAK SPACE}", "\N{NO-BREAK SPACE}")


def format_day(day: date, locale: Locale | str = "en") -> str:
    """A date in full: November 16, 2026."""
    return str(format_date(day, format="long", locale=locale))


def _locale(language: str) -> Locale:
    try:
        return Locale.parse(language)
    except (UnknownLocaleError, ValueError):
        raise TemplateError(
            f"{language!r} is not a known language; use a code such as en or de"
        ) from None


def _catalogue(language: str, pages: Templates, catalogue: str) -> tuple[str, str]:
    """The name and the text of the catalogue; that of `es` also serves for `es_US`."""
    for one in dict.fromkeys((language, language.split("_", maxsplit=1)[0])):
        name = catalogue_name(one, catalogue)
        if pages.has(name):
            return name, pages.text(name)
    raise TemplateError(
        f"there is no catalogue for {catalogue} in {language!r}; write "
        f"{catalogue_name(language, catalogue)} in a folder for --templates, starting from "
        f"{catalogue_name('en', catalogue)}"
    )


class _Catalogue(Catalog):
    """Messages by key, of which none may come twice: the second would silently win."""

    def __setitem__(self, key: str | tuple[str, ...] | list[str], message: Message) -> None:
        if key and self.get(key, message.context) is not None:
            raise ValueError(f"line {message.lineno}: {message.id!r} is there already")
        super().__setitem__(key, message)


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
