"""The annex says how people are grouped by a property of their neighbours, and only then."""

from functools import cache

import pytest

from recourse_audit.records.groups import GroupReport
from recourse_audit.render.i18n import Words
from recourse_audit.settings.letters import LanguageWords
from tests.groups.stores import drawn_people, report_on, settings
from tests.render.group_pages import ReadGroups
from tests.render.letters import LANGUAGES

NOTES = {
    "en": "People without such a tie are a group of their own",
    "de": "Menschen ohne eine solche Verbindung sind eine eigene Gruppe",
    "fr": "Les personnes sans un tel lien forment un groupe à part",
    "es": "Quienes no tienen tal vínculo forman un grupo propio",
}


@cache
def report_by(name: str, *groups: str) -> GroupReport:
    people = drawn_people(5, people=600, communities=20, attributes=("gender",))
    for number, person in enumerate(people):
        person.groups = {name: groups[number % len(groups)]}
    return report_on(people, settings(name))


@pytest.mark.parametrize("language", LANGUAGES)
def test_groups_of_none_and_of_several_are_explained(language: str) -> None:
    for special in ("no works_at", "several"):
        report = report_by("works_at.sector", "care", "retail", special)
        assert NOTES[language] in ReadGroups(report, language).text


def test_other_groups_are_not() -> None:
    for report in (
        report_by("sector", "care", "several"),
        report_by("home.town", "north", "south"),
    ):
        assert NOTES["en"] not in ReadGroups(report).text


def test_where_they_are_pooled_the_words_for_ties_tell_that_a_relation_is_meant() -> None:
    report = report_by("works_at.sector", "care", "retail")
    own = LanguageWords.model_validate({"ties": {"works_at": {"name": ["job", "jobs"]}}})
    assert NOTES["en"] in ReadGroups(report, words=Words("en", own={"en": own})).text
    assert NOTES["en"] not in ReadGroups(report).text
