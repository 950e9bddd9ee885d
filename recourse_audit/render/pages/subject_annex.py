"""The sections of a subject's annex: their letters, the model's checks, and how to repeat it.

Closed on a screen, open on paper. Every section has a letter, which the page refers to.
"""

from dataclasses import dataclass
from typing import Literal

from recourse_audit.records.model import ProbeReport
from recourse_audit.records.report import SubjectReport
from recourse_audit.render.page_words import PageWords
from recourse_audit.render.pages.redaction import Level
from recourse_audit.render.pages.tables import AuditFacts, Column, Fact, Table, cells
from recourse_audit.render.text import PROBE_MEANINGS

SectionName = Literal["search", "caveats", "checks", "people", "own", "sets", "repeat"]
HASH = 8  # characters of a digest in a summary; in full inside


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The head of one section of the annex: its letter, its title, and what is in it."""

    letter: str
    title: str
    about: str


def letters_of(shown: SubjectReport, level: Level) -> dict[SectionName, str]:
    """The letter of each section that the page has."""
    own = shown.own_data
    near = shown.ego_network is not None and len(shown.ego_network.nodes) > 1
    there: dict[SectionName, bool] = {
        "search": shown.search is not None and bool(shown.counterfactuals),
        "caveats": bool(shown.caveats),
        "checks": True,
        "people": near and level != "subject",
        "own": own is not None and (own.alone is not None or bool(own.reason)),
        "sets": shown.carriers is not None,
        "repeat": True,
    }
    names = [name for name, present in there.items() if present]
    return dict(zip(names, "ABCDEFG", strict=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecksView:
    """What can be relied on in the model."""

    head: Section
    table: Table
    reach: str


def checks_view(probes: ProbeReport, words: PageWords, letter: str) -> ChecksView:
    """Every probe of the model, and whether it passed."""
    passed = len(PROBE_MEANINGS) - len(probes.failed)
    rows = tuple(
        cells(
            words.say(f"subject.probe.{name}"),
            words.say(f"subject.probe.passed.{'no' if name in probes.failed else 'yes'}"),
        )
        for name in PROBE_MEANINGS
    )
    reach = (
        words.say("subject.checks.everybody")
        if probes.depth is None
        else words.say_count("subject.checks.reach", probes.depth)
    )
    return ChecksView(
        head=Section(
            letter=letter,
            title=words.say("subject.checks.title"),
            about=words.say(
                "subject.checks.about", passed=words.out_of(passed, len(PROBE_MEANINGS))
            ),
        ),
        table=Table(
            caption=words.say("subject.checks.caption"),
            columns=(
                Column(heading=words.say("subject.checks.check")),
                Column(heading=words.say("subject.checks.passed")),
            ),
            rows=rows,
        ),
        reach=reach,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatView:
    """What a second auditor needs to repeat the audit."""

    head: Section
    facts: tuple[Fact, ...]


def repeat_view(
    shown: SubjectReport, facts: AuditFacts, words: PageWords, letter: str
) -> RepeatView:
    """Digests, seed, queries and versions."""
    versions = ", ".join(f"{name} {version}" for name, version in facts.versions.items())
    return RepeatView(
        head=Section(
            letter=letter,
            title=words.say("subject.repeat.title"),
            about=words.say_count(
                "subject.repeat.about",
                shown.queries,
                model=facts.model[:HASH],
                settings=facts.settings[:HASH],
                seed=str(facts.seed),
            ),
        ),
        facts=(
            Fact(name=words.say("subject.repeat.model"), value=facts.model, code=True),
            *(
                Fact(name=words.say("subject.repeat.graph", part=part), value=digest, code=True)
                for part, digest in facts.graph.items()
            ),
            Fact(name=words.say("subject.repeat.settings"), value=facts.settings, code=True),
            Fact(name=words.say("subject.repeat.seed"), value=str(facts.seed)),
            Fact(name=words.say("subject.repeat.versions"), value=versions),
        ),
    )


def people_head(count: int, words: PageWords, letter: str) -> Section:
    """The head of the section that lists everybody in the picture."""
    return Section(
        letter=letter,
        title=words.say("subject.people.title"),
        about=words.say_count("subject.people.about", count),
    )
