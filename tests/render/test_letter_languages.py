"""A letter in another language has no English in it, whatever was found and whichever profile."""

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from recourse_audit.errors import TemplateError
from recourse_audit.records.subject import SubjectReport
from recourse_audit.render.letters import LetterWriter
from recourse_audit.render.templates import Templates
from recourse_audit.settings import load_settings
from tests.render.letters import (
    LANGUAGES,
    SIGNED,
    add,
    drop,
    move,
    option,
    report,
    settings,
    writer,
    written,
)
from tests.render.test_profiles import NAMES, loaded

# Common English words that are no words of German, French or Spanish.
ENGLISH = frozenset(
    re.findall(
        r"\w+",
        "about after and any are ask because before but can changes connection could days decided "
        "decision declined does each else ending every exists first found from gave has have here "
        "how limits may more never not of our people please program promise reasons rely result "
        "tested than that the them then there these they this those to tried unchanged usually we "
        "what when which who will with worked would you your",
    )
)
# The law's own name for itself, which Spanish readers in the United States know it by.
TITLES = re.compile(r"\((Equal|Fair|Consumer) Credit [A-Z][A-Za-z ]+ Act\)")
WORDS: dict[str, Any] = {
    "ties": {kind: {"name": ["xx", "xxx"]} for kind in ("guarantor", "payment")},
    **dict.fromkeys(("savings", "loan_amount", "debt_ratio", "denied"), "xx"),
}
FOUND: dict[str, SubjectReport] = {
    "options": report(
        option(drop("P1000"), drop("P1001"), holds=0.2),
        option(drop("P1000"), move("savings", 1.0, 2.0, debt_ratio=(0.4, 0.2)), holds=0.7),
        option(add("P2000")),
        option(move("loan_amount", 2.0, 1.0)),
        option(drop("P1000", "hobby")),
        ties={"guarantor": 4},
        caveats=(("general", None), ("confounders", "reverses")),
    ),
    "staff": report(option(drop("P1000", "hobby"))),
    "none exists": report(status="certified_infeasible", ties={"guarantor": 4}),
    "nothing permitted": report(status="certified_infeasible", permitted={}),
    "none found": report(status="not_found_within_budget"),
    "not worked out": report(status="error"),
}


def english_in(text: str) -> set[str]:
    words = set(re.findall(r"[^\W\d_]+", TITLES.sub("", text).lower()))
    return words & ENGLISH


def test_the_words_are_those_of_english_letters() -> None:
    by = writer()
    text = " ".join(by.html(written(found, by)).split("</style>")[1] for found in FOUND.values())
    assert len(english_in(text)) > len(ENGLISH) / 2


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize(
    ("profile", "language"),
    [(name, one) for name, languages in NAMES.items() for one in languages if one != "en"],
)
def test_no_letter_in_another_language_has_english_in_it(
    profile: str, language: str, signed: bool
) -> None:
    known = loaded(profile)
    given: dict[str, Any] = {
        "language": language,
        "profile": profile,
        "words": {language: WORDS},
        "sender": "Xx",
        "address": ["xx"],
        "contact": ["xx"],
        "about": "",
        "data_as_of": "2026-10-31",
    }
    if signed:
        given |= {"slots": dict.fromkeys(known.slots, "xx")}
        given |= {"facts": dict.fromkeys(known.facts, True)}
    by = writer(sign_off=SIGNED if signed else None, **given)
    for name, found in FOUND.items():
        body = by.html(written(found, by)).split("</head>")[1]
        text = unescape(re.sub(r"<[^>]+>", " ", body))
        # A draft names keys of the settings, and the values that they take.
        text = re.sub(r"letters\.[\w.]+|true|false", "", text)
        assert not english_in(text), name


@pytest.mark.parametrize(
    ("language", "one", "several"),
    [
        ("en", "We have declined your application.", "We have decided on your application: xx."),
        ("de", "Wir haben Ihren Antrag abgelehnt.", "Wir haben über Ihren Antrag entschieden: xx."),
        ("fr", "Nous avons refusé votre demande.", "une décision sur votre demande : xx."),
        ("es", "Hemos denegado su solicitud.", "Hemos tomado una decisión sobre su solicitud: xx."),
    ],
)
def test_the_first_sentence_is_the_decision(language: str, one: str, several: str) -> None:
    def first(**more: Any) -> str:
        by = writer(language=language, words={language: {"denied": "xx", **more}})
        return paragraph(by.html(written(report(), by)))

    def paragraph(html: str) -> str:
        lead = re.search(r'<section class="notice">\s*<p>(.*?)</p>', html, re.DOTALL)
        assert lead is not None
        return lead[1].replace("\N{NO-BREAK SPACE}", " ")

    assert first().startswith(f"<strong>{one}</strong> ")
    assert first(decided={"denied": "We said no."}).startswith("<strong>We said no.</strong> ")
    country = f"{language}_{language.upper()}" if language != "en" else "en_GB"
    by = writer(language=country, words={language: {"decided": {"denied": "We said no."}}})
    assert "<strong>We said no.</strong>" in by.html(written(report(), by))
    assert several in paragraph(_of_three_classes(language))


def _of_three_classes(language: str) -> str:
    given = settings(language=language, words={language: {"denied": "xx"}})
    decision = given.decision.model_copy(update={"classes": ("denied", "later", "approved")})
    by = LetterWriter(given.model_copy(update={"decision": decision}), Templates())
    return by.html(written(report(), by))


@pytest.mark.parametrize(
    "path", ["wording/fr/letters.po", *(f"profiles/{name}.toml" for name in NAMES)]
)
def test_french_has_a_space_that_does_not_break_before_a_colon(path: str) -> None:
    lines = Templates().text(path).splitlines()
    french = [line for line in lines if line.startswith(("msgstr", "fr = ")) and '"' in line]
    for line in french if "profiles" in path else french[1:]:  # the first is the header
        for found in re.finditer(r".[:;?!](?=[ \"])", line):
            assert found[0][0] == "\N{NO-BREAK SPACE}", line
    by = writer(language="fr")
    title = by.html(written(FOUND["options"], by)).partition("</title>")[0]
    assert "<title>PROJET\N{NO-BREAK SPACE}: Lettre" in title
    assert "Contact\N{NO-BREAK SPACE}:" in by.html(written(FOUND["options"], by))


def test_german_needs_no_dative_of_units() -> None:
    words = {"de": {"points": ["Punkt", "Punkte"], "savings": "Ergebnis"}}
    rule = {"name": "savings", "step": 5, "unit": "points"}
    given = settings(language="de", words=words, currencies={})
    recourse = given.recourse.model_copy(
        update={"attributes": (given.recourse.attributes[0].model_copy(update=rule),)}
    )
    by = LetterWriter(given.model_copy(update={"recourse": recourse}), Templates())
    text = by.html(written(report(option(move("savings", 67.0, 72.0))), by))
    assert "Ergebnis erhöhen: 72 Punkte statt 67 Punkte." in text.replace("\xa0", " ")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_caution_of_a_recommendation_is_true_at_both_ends(language: str) -> None:
    sample = Path(__file__).parents[2] / "sample_models" / "hiring" / "audit.toml"
    words = load_settings(sample).words[language].ties["recommends"]
    other = {"en": "other", "de": "anderen", "fr": "autre", "es": "otra"}
    assert other[language] in words.caution
    assert not re.search(r"recom|empf", words.caution, re.IGNORECASE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('msgid "closing"\nmsgstr "Atentamente,"', 'msgid "closing"\nmsgstr ""'),
        ('msgstr[1] "Hemos encontrado {count} opciones."', ""),
    ],
)
def test_a_catalogue_that_lacks_a_form_is_named_before_any_letter(
    old: str, new: str, tmp_path: Path
) -> None:
    folder = tmp_path / "wording" / "es"
    folder.mkdir(parents=True)
    text = Templates().text("wording/es/letters.po")
    assert old in text
    (folder / "letters.po").write_text(text.replace(old, new), encoding="utf-8")
    key = "closing" if "closing" in old else "options.intro"
    with pytest.raises(TemplateError, match=f"wording/es: lacks the message '{key}' of letters.po"):
        LetterWriter(settings(language="es"), Templates(tmp_path))
