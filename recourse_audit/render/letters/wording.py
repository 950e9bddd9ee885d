"""The only door to babel: messages from catalogues, and numbers, money and dates as a language
writes them.

A catalogue is `wording/<language>/LC_MESSAGES/letters.po`, read as it is. A message is found by a
key such as `step.raise`; what it leaves open stands in braces, as `{after}`.
"""

import gettext
import io
import re
from collections.abc import Callable, Sequence
from datetime import date

from babel import Locale, UnknownLocaleError
from babel.dates import format_date
from babel.lists import format_list
from babel.messages.pofile import PoFileError, read_po
from babel.numbers import format_currency, format_decimal

from recourse_audit.errors import TemplateError
from recourse_audit.render.templates import Pages

GAP = re.compile(r"\{([^{}]*)\}")
_FEW = "#,##0.##"
_DIGITS = 2


def catalogue_name(language: str) -> str:
    """Where the catalogue of a language is, within the templates."""
    return f"wording/{language}/LC_MESSAGES/letters.po"


class Wording:
    """All that is said in one language.

    Raises
    ------
    TemplateError
        Without a catalogue for the language, or if it cannot be read.
    """

    def __init__(self, language: str, pages: Pages) -> None:
        self.language = language
        self._locale = _locale(language)
        self._name, text = _catalogue(language, pages)
        self._forms, self._form = _messages(self._name, text, self._locale)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of all messages."""
        return tuple(self._forms)

    def forms(self, key: str) -> tuple[str, ...]:
        """A message as it is in the catalogue: one text, or one for each plural form."""
        return self._forms[key]

    def say(self, key: str, /, **values: str) -> str:
        """A message, with its gaps filled."""
        return self._filled(key, self._found(key)[0], values)

    def say_count(self, key: str, count: int, /, **values: str) -> str:
        """A message in the plural form that goes with a number, which fills `{count}`."""
        forms = self._found(key)
        form = forms[min(self._form(count), len(forms) - 1)]
        return self._filled(key, form, {**values, "count": self.number(count)})

    def number(self, value: float) -> str:
        """At most two digits after the sign for decimals, and none that are 0."""
        return _broad(format_decimal(value, format=_FEW, locale=self._locale))

    def form(self, value: float, forms: Sequence[str]) -> str:
        """Of a word for one and for several, the one that goes with a number as it is written."""
        one = self._locale.plural_form(round(value, _DIGITS)) == "one"
        return forms[0] if one else forms[-1]

    def money(self, value: float, code: str) -> str:
        """An amount of a currency; without cents where there are none."""
        whole = value == int(value)
        pattern = self._locale.currency_formats["standard"].pattern
        pattern = pattern.replace("0.00", "0") if whole else pattern
        amount = format_currency(
            value, code, format=pattern, locale=self._locale, currency_digits=not whole
        )
        return _broad(amount)

    def day(self, day: date) -> str:
        """A date in full: 16 November 2026."""
        return str(format_date(day, format="long", locale=self._locale))

    def listed(self, items: Sequence[str]) -> str:
        """Several things as a sentence names them."""
        return str(format_list(list(items), locale=self._locale)) if items else ""

    def _found(self, key: str) -> tuple[str, ...]:
        try:
            return self._forms[key]
        except KeyError:
            raise TemplateError(
                f"{self._name}: has no message {key!r}; copy it from {catalogue_name('en')} and "
                "translate it"
            ) from None

    def _filled(self, key: str, text: str, values: dict[str, str]) -> str:
        missing = set(GAP.findall(text)) - set(values)
        if missing:
            raise TemplateError(
                f"{self._name}: the message {key!r} has the gap {{{min(missing)}}}, which nothing "
                f"fills; known here: {', '.join(sorted(values)) or 'none'}"
            )
        return GAP.sub(lambda gap: values[gap[1]], text)


def _broad(text: str) -> str:
    """Narrow spaces, which few fonts have, as those of the usual breadth."""
    return text.replace("\N{NARROW NO-BREAK SPACE}", "\N{NO-BREAK SPACE}")


def _locale(language: str) -> Locale:
    try:
        return Locale.parse(language)
    except (UnknownLocaleError, ValueError):
        raise TemplateError(
            f"letters.language: nothing is known about the language {language!r}; use a code such "
            "as en, de, fr or es"
        ) from None


def _catalogue(language: str, pages: Pages) -> tuple[str, str]:
    """Name and text of the catalogue; that of `es` serves for `es_US` too."""
    for one in dict.fromkeys((language, language.split("_", maxsplit=1)[0])):
        name = catalogue_name(one)
        if pages.has(name):
            return name, pages.text(name)
    raise TemplateError(
        f"there is no catalogue for letters in {language!r}; write {catalogue_name(language)} in a "
        f"folder for --templates, starting from {catalogue_name('en')}"
    )


def _messages(
    name: str, text: str, locale: Locale
) -> tuple[dict[str, tuple[str, ...]], Callable[[int], int]]:
    """What each key stands for, and which of its forms goes with a number."""
    try:
        catalogue = read_po(io.StringIO(text), locale=locale, abort_invalid=True)
        plural = gettext.c2py(catalogue.plural_expr)
    except (PoFileError, ValueError) as error:
        raise TemplateError(f"{name}: is no catalogue ({error}); mend that line") from None
    messages: dict[str, tuple[str, ...]] = {}
    for message in catalogue:
        texts = (message.string,) if isinstance(message.string, str) else message.string or ()
        key = message.id if isinstance(message.id, str) else message.id[0]
        if key and texts and all(texts):
            messages[key] = tuple(str(text) for text in texts)
    return messages, plural
