"""The catalogues of the group report and the board block: complete, and in their own language."""

import re
from functools import cache
from pathlib import Path

import pytest

from recourse_audit.render.i18n import LANGUAGES, PLACEHOLDER, Words
from recourse_audit.render.templates import Templates, template_folder

CATALOGUES = ("groups", "group_page")
PAGES = Path(__file__).parents[2] / "recourse_audit" / "render"
# Words that English shares with a language, and names of files and settings.
EVERYWHERE = {"audit", "toml", "p", "csv", "utc", "run", "jsonl", "decision", "recourse", "holm"}
EVERYWHERE |= {"cut", "off", "common", "actions", "classes"}
SHARED = {
    "de": frozenset(("city", "in", "median", "minus", "new", "person", "plus", "so", "test"))
    | {"tests", "was", "york"},
    "fr": frozenset(("a", "action", "calibration", "chances", "compare", "correction", "date"))
    | {"effort", "impact", "new", "on", "pages", "plus", "point", "points", "question", "test"}
    | {"tests", "verdict", "york"},
    "es": frozenset(("a", "detectable", "error", "factor", "local", "no", "york")),
}
# Nothing but placeholders and signs, or a word that happens to be the same.
SAME = {"finding.attribute", "board.card.own.row", "report.column.p_alone"}


@cache
def wording(language: str, catalogue: str) -> Words:
    return Words(language, Templates())


@pytest.mark.parametrize("catalogue", CATALOGUES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_translation_has_the_keys_forms_and_placeholders_of_the_english(
    language: str, catalogue: str
) -> None:
    words, english = wording(language, catalogue), wording("en", catalogue)
    assert list(words.keys) == list(english.keys)
    for key in english.keys:
        placeholders = [
            [set(PLACEHOLDER.findall(form)) for form in one.forms(key)] for one in (words, english)
        ]
        assert [len(words.forms(key)), placeholders[0]] == [
            len(english.forms(key)),
            placeholders[1],
        ], key


@pytest.mark.parametrize("catalogue", CATALOGUES)
@pytest.mark.parametrize("language", ["de", "fr", "es"])
def test_no_english_word_is_left_in_a_translation(language: str, catalogue: str) -> None:
    words, english = wording(language, catalogue), wording("en", catalogue)
    for key in english.keys:
        common = _words(words.forms(key)) & _words(english.forms(key))
        assert key in SAME or common <= SHARED[language] | EVERYWHERE, key


def _words(forms: tuple[str, ...]) -> set[str]:
    return set(re.findall(r"[^\W\d_]+", PLACEHOLDER.sub(" ", " ".join(forms)).lower()))


def test_every_message_has_a_use() -> None:
    """A key is written out in the code or in a template, or begins with a part that is."""
    sources = [*PAGES.rglob("*.py"), *template_folder().rglob("*.html")]
    text = " ".join(path.read_text(encoding="utf-8") for path in sources)
    begun = set(re.findall(r"[\"']([a-z_.]+\.)\{", text))
    written = set(re.findall(r"[\"']([a-z_.]+)[\"']", text))
    for catalogue in CATALOGUES:
        for key in wording("en", catalogue).keys:
            if not key.startswith("finding."):
                base = re.sub(r"\.(times|than|small)$", "", key)
                used = {key, base} & written or any(key.startswith(one) for one in begun)
                assert used, key
