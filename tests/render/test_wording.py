"""Every language says everything, has the same placeholders, and promises nothing."""

import re
from datetime import date
from pathlib import Path

import pytest

from recourse_audit.errors import TemplateError
from recourse_audit.render.i18n import PLACEHOLDER, Words, catalogue_name
from recourse_audit.render.templates import Templates, template_folder
from tests.render.letters import LANGUAGES, report, writer, written

ENGLISH = Words("en", Templates())
SPACE = "\N{NO-BREAK SPACE}"
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


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_message_is_in_every_language(language: str) -> None:
    assert set(Words(language, Templates()).keys) == set(ENGLISH.keys)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_translation_has_the_placeholders_and_forms_of_the_english(language: str) -> None:
    wording = Words(language, Templates())
    for key in ENGLISH.keys:
        forms, english = wording.forms(key), ENGLISH.forms(key)
        assert len(forms) == len(english), key
        ours, theirs = (
            [set(PLACEHOLDER.findall(text)) for text in one] for one in (english, forms)
        )
        assert ours[-1] == theirs[-1], key
        # A singular may write its number as a word.
        assert ours[0] | {"count"} == theirs[0] | {"count"}, key


@pytest.mark.parametrize("language", ["de", "fr", "es"])
def test_a_translation_is_not_the_english_again(language: str) -> None:
    wording = Words(language, Templates())
    same = {key for key in ENGLISH.keys if wording.forms(key) == ENGLISH.forms(key)}
    assert same <= {"label.date", "value.no"}


def test_no_message_is_left_that_nothing_says() -> None:
    folder = Path(__file__).parents[2] / "recourse_audit" / "render"
    code = "".join(path.read_text("utf-8") for path in folder.rglob("*.py"))
    made_up = re.compile(r"(caution|option)\.\w+|\w+\.intro|options\.order\w*")
    for key in ENGLISH.keys:
        assert f'"{key}"' in code or f"'{key}'" in code or made_up.fullmatch(key), key


@pytest.mark.parametrize(
    ("language", "one", "several"),
    [
        ("en", "1 change", "2 changes, made together"),
        ("de", "1 Änderung", "2 Änderungen, alle zusammen"),
        ("fr", "1 changement", "2 changements, tous ensemble"),
        ("es", "1 cambio", "2 cambios, todos juntos"),
    ],
)
def test_numbers_choose_the_plural_form(language: str, one: str, several: str) -> None:
    wording = Words(language, Templates())
    assert wording.say_count("option.changes", 1) == one
    assert wording.say_count("option.changes", 2) == several


def test_french_counts_nothing_in_the_singular() -> None:
    assert Words("fr", Templates()).say_count("option.changes", 0) == "0 changement"
    assert ENGLISH.say_count("option.changes", 0) == "0 changes, made together"


@pytest.mark.parametrize(
    ("language", "money", "cents", "number", "day"),
    [
        ("en", "€12,500", "€0.50", "1,234.5", "November 16, 2026"),
        ("de", f"12.500{SPACE}€", f"0,50{SPACE}€", "1.234,5", "16. November 2026"),
        ("fr", f"12{SPACE}500{SPACE}€", f"0,50{SPACE}€", f"1{SPACE}234,5", "16 novembre 2026"),
        ("es", f"12.500{SPACE}€", f"0,50{SPACE}€", "1.234,5", "16 de noviembre de 2026"),
    ],
)
def test_numbers_money_and_dates_are_written_as_the_language_does(
    language: str, money: str, cents: str, number: str, day: str
) -> None:
    wording = Words(language, Templates())
    assert wording.money(12500.0, "EUR") == money
    assert wording.money(0.5, "EUR") == cents
    assert wording.number(1234.5) == number
    assert wording.day(date(2026, 11, 16)) == day


def test_a_country_uses_the_catalogue_of_its_language_and_its_own_dates() -> None:
    british = Words("en_GB", Templates())
    assert british.say("closing") == ENGLISH.say("closing")
    assert british.day(date(2026, 11, 16)) == "16 November 2026"
    by = writer(language="en_GB")
    assert '<html lang="en-GB">' in by.html(written(report(), by))


def test_a_missing_catalogue_is_one_sentence() -> None:
    with pytest.raises(TemplateError) as raised:
        Words("it", Templates())
    assert str(raised.value) == (
        "there is no catalogue for letters in 'it'; write wording/it/LC_MESSAGES/letters.po in a "
        "folder for --templates, starting from wording/en/LC_MESSAGES/letters.po"
    )


def test_a_language_that_is_none_is_refused() -> None:
    with pytest.raises(TemplateError, match="'qqq' is not a known language"):
        Words("qqq", Templates())


def own_catalogue(folder: Path, text: str) -> Templates:
    path = folder / catalogue_name("it", "letters.po")
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return Templates(folder)


HEAD = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n'


def test_a_catalogue_of_the_user_is_read(tmp_path: Path) -> None:
    pages = own_catalogue(tmp_path, HEAD + 'msgid "closing"\nmsgstr "Cordiali saluti"\n')
    assert Words("it", pages).say("closing") == "Cordiali saluti"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no message 'closing'; copy it from wording/en"),
        ('msgid "closing"\nmsgstr ""\n', "has no message 'closing'"),
        ('msgid "closing"\nmsgstr "{x}"\n', "has the unknown placeholder {x}; it may use none"),
        ('msgid "closing"\nmsgstr "{a.b}"\n', "has the unknown placeholder {a.b}; it may use none"),
    ],
)
def test_a_mistake_in_a_catalogue_of_the_user_is_named(
    text: str, words: str, tmp_path: Path
) -> None:
    wording = Words("it", own_catalogue(tmp_path, HEAD + text))
    with pytest.raises(TemplateError, match=re.escape(words)):
        wording.say("closing")


def test_a_catalogue_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match=r"letters\.po: is not a valid catalogue"):
        Words("it", own_catalogue(tmp_path, HEAD + 'msgid "closing\nmsgstr 3\nnonsense\n'))


def test_a_catalogue_in_another_encoding_is_not_called_missing(tmp_path: Path) -> None:
    pages = own_catalogue(tmp_path, HEAD)
    (tmp_path / catalogue_name("it", "letters.po")).write_bytes("é".encode("latin-1"))
    with pytest.raises(TemplateError, match=r"letters\.po: is not text in UTF-8"):
        Words("it", pages)


@pytest.mark.parametrize("path", PIECES, ids=lambda path: path.name)
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


PLURALS = r"nplurals=2; plural=(n != 1);"


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("nplurals=2; plural=(n/0);", r"the rule in Plural-Forms fails for 2 \(.*zero"),
        ("nplurals=2; plural=(n%(n-2));", r"the rule in Plural-Forms fails for 2 \(.*zero"),
        ("nplurals=2; plural=(0-n);", r"fails for 2 \(it gives the form -2\)"),
        ("nplurals=999999999999; plural=(n != 1);", "declares 999999 plural forms or more"),
        ("nplurals=2; plural=(" + "(" * 999 + "n" + ")" * 999 + ");", "is not a valid catalogue"),
    ],
)
def test_a_rule_for_plurals_that_fails_is_an_error(tmp_path: Path, rule: str, words: str) -> None:
    path = tmp_path / catalogue_name("en", "letters.po")
    path.parent.mkdir(parents=True)
    text = (template_folder() / catalogue_name("en", "letters.po")).read_text(encoding="utf-8")
    assert PLURALS in text
    path.write_text(text.replace(PLURALS, rule), encoding="utf-8")
    with pytest.raises(TemplateError, match=words):
        Words("en", Templates(tmp_path)).say_count("options.intro", 2)


def test_a_message_that_comes_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / catalogue_name("en", "letters.po")
    path.parent.mkdir(parents=True)
    text = (template_folder() / catalogue_name("en", "letters.po")).read_text(encoding="utf-8")
    path.write_text(f'{text}\nmsgid "step.raise"\nmsgstr "Never"\n', encoding="utf-8")
    with pytest.raises(TemplateError, match=r"line \d+: 'step.raise' is there already"):
        Words("en", Templates(tmp_path))


@pytest.mark.parametrize("form", ["-9223372036854775809", "-1", "6", "9" * 30, "x", ""])
def test_a_plural_form_that_no_language_has_is_refused(form: str, tmp_path: Path) -> None:
    name = "wording/en/LC_MESSAGES/letters.po"
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    text = Templates().text(name)
    path.write_text(text.replace("msgstr[1]", f"msgstr[{form}]", 1), encoding="utf-8")
    with pytest.raises(TemplateError, match="has no plural form"):
        Words("en", Templates(tmp_path))
