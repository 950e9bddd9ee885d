"""Every language says everything, in its own grammar, and promises nothing: the whole catalogue."""

import re
from datetime import date
from functools import cache
from pathlib import Path

import pytest

from recourse_audit.errors import TemplateError
from recourse_audit.render.i18n import LANGUAGES, PLACEHOLDER, Words
from recourse_audit.render.templates import Templates, template_folder
from tests.render.letters import report, writer, written

CODE = Path(__file__).parents[2] / "recourse_audit"
SPACE = "\N{NO-BREAK SPACE}"
COUNTS = (0, 1, 2, 5, 1000)
# Nothing on paper proves, promises or names a cause; each language's words for it.
BANNED = {
    "en": r"prov(e|es|ed|en)|guarantee[sd]?|unbiased|will be approved|because of|caused",
    "de": r"beweis\w*|garantie\w*|unvoreingenommen|(wird|werden) (genehmigt|bewilligt)|wegen"
    r"|verursacht",
    "fr": r"prouv\w*|garanti(t|e|es|ssons|r)?|impartial\w*|ser(a|ez) (approuvé|accordé)\w*"
    r"|à cause d\w*|causée?s?",
    "es": r"demuestra\w*|prueban?|garantiz\w*|imparcial\w*|será (aprobad|concedid)\w+|a causa de"
    r"|debido a|causad[oa]s?",
}
ANY = re.compile(rf"\b({'|'.join(BANNED.values())})\b", re.IGNORECASE)
PIECES = [
    path
    for path in sorted(template_folder().rglob("*"))
    if path.suffix in {".html", ".po", ".toml", ".js"}
]
# Common English words that are no words of German, French or Spanish.
ENGLISH = frozenset(
    re.findall(
        r"\w+",
        "about after and any are ask because before but can changes could days decided declined "
        "does each else ending every exists first found from gave has have here how limits may "
        "more never not of our people please promise reasons rely tested than that the them "
        "then there these they this those tie ties to tried unchanged usually we what when "
        "which who will with worked would you your",
    )
)
# What a text quotes: keys of the settings, commands, and names of files and columns.
QUOTED = re.compile(r"`[^`]*`|\b\w+(\.\w+)+\b|--[\w-]+|recourse-audit \w+")
# What a language never writes.
FAULTS = {
    "en": r"\ba (?=[aeio])|\ban (?=[bcdfgjklmnpqrstvwxyz])",
    "de": r"\d+ %-|Grund für der\b|\bdes (?=[aeiou]\w+en\b)",
    "fr": r"(?<!-)\b(de|le|que) (?=[aeéèêiou]\w)|\w[;:!?](?=\s|$)|\ble le\b"
    r"|\bde les? (?!\w+(er|ir|re)\b)",
    "es": r"\by (?=h?i(?!e)\w)|\bo (?=h?o\w)|\b(a|de) el\b",
}
# A count of one goes with no plural, and no other count with a singular.
ONE_AS_MANY = re.compile(
    r"(?<!than )(?<!als )(?<!de )\b1 (people|options|ties|tests|Personen|personas|personnes)\b"
)


@cache
def words(language: str) -> Words:
    return Words(language, Templates())


def filled(language: str, key: str) -> list[str]:
    """A message as people read it, for each number class if it counts."""
    forms = words(language).forms(key)
    names = {name: "x" for form in forms for name in PLACEHOLDER.findall(form)}
    if len(forms) == 1:
        return [words(language).say(key, **names)]
    return [words(language).say_count(key, count, **names) for count in COUNTS]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_the_keys_the_forms_and_the_placeholders_of_the_english(
    language: str,
) -> None:
    english = words("en")
    assert set(words(language).keys) == set(english.keys)
    for key in english.keys:
        ours, theirs = (
            [set(PLACEHOLDER.findall(form)) for form in one.forms(key)]
            for one in (words(language), english)
        )
        assert len(ours) == len(theirs), key
        assert ours[-1] == theirs[-1], key
        # A singular may write its number as a word.
        assert ours[0] | {"count"} == theirs[0] | {"count"}, key


@pytest.mark.parametrize("language", ["de", "fr", "es"])
def test_no_english_is_left_in_a_translation(language: str) -> None:
    for key in words(language).keys:
        text = QUOTED.sub(" ", PLACEHOLDER.sub(" ", " ".join(words(language).forms(key))))
        left = set(re.findall(r"[^\W\d_]+", text.lower())) & ENGLISH
        assert not left, (key, left)


def test_every_message_has_a_use() -> None:
    """A key is in the code or in a template, or begins or ends with a part that is."""
    sources = [*CODE.rglob("*.py"), *template_folder().rglob("*.html")]
    text = " ".join(path.read_text(encoding="utf-8") for path in sources)
    written = set(re.findall(r"[\"']([a-z_][\w.]*)[\"']", text))
    # f"status.{status}" in Python, "status." ~ status in a template, f"{outcome}.intro" in both.
    begun = set(re.findall(r"[\"']([a-z_]+[._][\w.]*)(?:\{|[\"'] *[~+%])", text))
    ended = set(re.findall(r"(?:\}|[~+] *[\"'])(\.[a-z][\w.]*)[\"']", text))
    unused = [
        key
        for key in words("en").keys
        if key not in written
        and not key.startswith(tuple(begun))
        and not (ended and key.endswith(tuple(ended)))
    ]
    assert unused == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_message_is_grammatical_for_every_number(language: str) -> None:
    fault = re.compile(FAULTS[language])
    for key in words(language).keys:
        for text in filled(language, key):
            plain = QUOTED.sub("x", text)
            assert not (found := fault.search(plain)), (key, found, text)
            assert not ONE_AS_MANY.search(text), (key, text)
            assert "  " not in text, key
            assert text == text.strip(), key


def test_numbers_choose_the_plural_form() -> None:
    forms = {
        language: [words(language).say_count("options.intro", count) for count in (0, 1, 2)]
        for language in LANGUAGES
    }
    assert forms["en"] == ["We found 0 options.", "We found one option.", "We found 2 options."]
    assert forms["de"][1:] == [
        "Wir haben eine Möglichkeit gefunden.",
        "Wir haben 2 Möglichkeiten gefunden.",
    ]
    assert forms["fr"][0] == forms["fr"][1]
    assert forms["es"][2] == "Hemos encontrado 2 opciones."


@pytest.mark.parametrize(
    ("language", "money", "cents", "number", "day"),
    [
        ("en", "€12,500", "€0.50", "1,234.5", "16 November 2026"),
        ("de", f"12.500{SPACE}€", f"0,50{SPACE}€", "1.234,5", "16. November 2026"),
        ("fr", f"12{SPACE}500{SPACE}€", f"0,50{SPACE}€", f"1{SPACE}234,5", "16 novembre 2026"),
        ("es", f"12.500{SPACE}€", f"0,50{SPACE}€", "1.234,5", "16 de noviembre de 2026"),
    ],
)
def test_numbers_money_and_dates_are_written_as_the_language_does(
    language: str, money: str, cents: str, number: str, day: str
) -> None:
    assert words(language).money(12500.0, "EUR") == money
    assert words(language).money(0.5, "EUR") == cents
    assert words(language).number(1234.5) == number
    assert words(language).day(date(2026, 11, 16)) == day


def test_a_country_uses_the_catalogue_of_its_language_and_its_own_dates() -> None:
    british = Words("en_GB", Templates())
    assert british.say("closing") == words("en").say("closing")
    assert british.day(date(2026, 11, 16)) == "16 November 2026"
    by = writer(language="en_GB")
    assert '<html lang="en-GB">' in by.html(written(report(), by))


def test_a_missing_catalogue_is_one_sentence() -> None:
    with pytest.raises(TemplateError) as raised:
        Words("it", Templates())
    assert str(raised.value) == (
        "there is no catalogue for 'it'; write the files of wording/it/ in a folder for "
        "--templates, starting from wording/en/; or choose from 'en', 'de', 'fr', 'es'"
    )


def test_a_language_that_is_none_is_refused() -> None:
    with pytest.raises(TemplateError, match="'qqq' is not a known language"):
        Words("qqq", Templates())


HEAD = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n'


def own_catalogue(folder: Path, text: str, language: str = "it") -> Templates:
    path = folder / "wording" / language / "letters.po"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return Templates(folder)


def english_letters() -> str:
    return Templates().text("wording/en/letters.po")


def test_a_catalogue_of_the_user_is_read(tmp_path: Path) -> None:
    pages = own_catalogue(tmp_path, HEAD + 'msgid "closing"\nmsgstr "Cordiali saluti"\n')
    assert Words("it", pages).say("closing") == "Cordiali saluti"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no message 'closing'; copy it from wording/en"),
        ('msgid "closing"\nmsgstr ""\n', "has no message 'closing'"),
        ('msgid "closing"\nmsgstr "{x}"\n', "has the unknown placeholder {x}; it may use none"),
        ('msgid "closing"\nmsgstr "{a.b}"\n', "has the unknown placeholder {a.b}; it may use none"),
    ],
)
def test_a_mistake_in_a_catalogue_of_the_user_is_named(
    text: str, message: str, tmp_path: Path
) -> None:
    own = Words("it", own_catalogue(tmp_path, HEAD + text))
    with pytest.raises(TemplateError, match=re.escape(message)):
        own.say("closing")


def test_a_catalogue_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match=r"letters\.po: is not a valid catalogue"):
        Words("it", own_catalogue(tmp_path, HEAD + 'msgid "closing\nmsgstr 3\nnonsense\n'))


def test_a_catalogue_in_another_encoding_is_not_called_missing(tmp_path: Path) -> None:
    pages = own_catalogue(tmp_path, HEAD)
    (tmp_path / "wording/it/letters.po").write_bytes("é".encode("latin-1"))
    with pytest.raises(TemplateError, match=r"letters\.po: is not text in UTF-8"):
        Words("it", pages)


def test_a_message_that_comes_twice_is_refused(tmp_path: Path) -> None:
    text = f'{english_letters()}\nmsgid "step.raise"\nmsgstr "Never"\n'
    with pytest.raises(TemplateError, match=r"line \d+: 'step.raise' is there already"):
        Words("en", own_catalogue(tmp_path / "same", text, "en"))
    text = f'{english_letters()}\nmsgid "unknown"\nmsgstr "Never"\n'
    with pytest.raises(TemplateError, match=r"letters\.po: 'unknown' is in wording/en/common\.po"):
        Words("en", own_catalogue(tmp_path / "other", text, "en"))


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("nplurals=2; plural=(n/0);", r"the rule in Plural-Forms fails for 2 \(.*zero"),
        ("nplurals=2; plural=(n%(n-2));", r"the rule in Plural-Forms fails for 2 \(.*zero"),
        ("nplurals=2; plural=(0-n);", r"fails for 2 \(it gives the form -2\)"),
        ("nplurals=999999999999; plural=(n != 1);", "declares 999999 plural forms or more"),
        ("nplurals=2; plural=(" + "(" * 999 + "n" + ")" * 999 + ");", "is not a valid catalogue"),
    ],
)
def test_a_rule_for_plurals_that_fails_is_an_error(tmp_path: Path, rule: str, message: str) -> None:
    plurals = "nplurals=2; plural=(n != 1);"
    assert plurals in english_letters()
    pages = own_catalogue(tmp_path, english_letters().replace(plurals, rule), "en")
    with pytest.raises(TemplateError, match=message):
        Words("en", pages).say_count("options.intro", 2)


@pytest.mark.parametrize("form", ["-9223372036854775809", "-1", "6", "9" * 30, "x", ""])
def test_a_plural_form_that_no_language_has_is_refused(form: str, tmp_path: Path) -> None:
    text = english_letters().replace("msgstr[1]", f"msgstr[{form}]", 1)
    with pytest.raises(TemplateError, match="has no plural form"):
        Words("en", own_catalogue(tmp_path, text, "en"))


@pytest.mark.parametrize("path", PIECES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_piece_promises_or_names_a_cause(path: Path) -> None:
    # Texts go over several lines in catalogues and templates.
    text = re.sub(r'"?\s*\n\s*"?', " ", path.read_text(encoding="utf-8"))
    found = ANY.search(text)
    assert found is None, found


@pytest.mark.parametrize(
    "text",
    [
        "This proves it",
        "you will be approved",
        "because of your income",
        "wegen Ihrer Schulden",
        "à cause de vos dettes",
        "está garantizado",
        "debido a sus deudas",
    ],
)
def test_the_ban_finds_what_it_bans(text: str) -> None:
    assert ANY.search(text)
