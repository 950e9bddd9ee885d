"""The first lines of a subject's page: the finding as its title, then sentences that are each true.

Texts that the report has in English, such as notes of probes, are worded anew from what they are
about; one that cannot be is quoted as it is.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from recourse_audit.records.model import (
    NO_ROOM,
    NOTES,
)
from recourse_audit.records.recourse import Option
from recourse_audit.records.report import (
    FIRST_MOVES_NOTHING,
    NO_TIE_MOVES,
    NO_TIES,
    TIES_DO_NOT_MATTER,
    SubjectReport,
)
from recourse_audit.render.page_words import PageWords
from recourse_audit.render.pages.redaction import LEFT_TO_THE_AUDITOR, Level
from recourse_audit.render.pages.subject_axis import Watched
from recourse_audit.render.pages.subject_ladder import own_ties
from recourse_audit.render.text import plain

NOTE_KEYS = {
    NO_TIES: "subject.note.no_ties",
    NO_TIE_MOVES: "subject.note.no_tie_moves",
    FIRST_MOVES_NOTHING: "subject.note.first_moves_nothing",
    TIES_DO_NOT_MATTER: "subject.note.ties_do_not_matter",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A sentence of the page, and a text in English that it quotes, if it does."""

    text: str
    quote: str = ""


def title_of(shown: SubjectReport, words: PageWords) -> str:
    """The finding: what was decided, and whether own data alone would give the same."""
    subject, decision = shown.subject.id, shown.subject.decision
    if not decision:
        return words.say("subject.title.no_decision", subject=subject)
    if shown.note == NO_TIES:
        return words.say("subject.title.no_ties", subject=subject, decision=decision)
    alone = shown.own_data.alone if shown.own_data is not None else None
    if alone is None or not alone.decision:
        return words.say("subject.title.decided", subject=subject, decision=decision)
    key = "same" if alone.decision == decision else "other"
    return words.say(
        f"subject.title.{key}", subject=subject, decision=decision, alone=alone.decision
    )


def about_of(
    shown: SubjectReport, words: PageWords, level: Level, members: Mapping[str, str]
) -> str:
    """Whom the page is about, their groups, and whose copy it is; groups are the auditor's."""
    groups = [plain(value) for value in members.values() if value] if level == "auditor" else []
    parts = [
        words.say("subject.about", subject=shown.subject.id),
        ", ".join(groups),
        words.say(f"subject.copy.{level}"),
    ]
    return " · ".join(part for part in parts if part)


def lead_of(shown: SubjectReport, watched: Watched) -> tuple[str, ...]:
    """How far from the line, what own data alone give, whether one tie decides, what can change."""
    return tuple(
        sentence
        for sentence in (
            _where(shown, watched),
            _recorded(shown, watched.words),
            _without_ties(shown, watched),
            _one_tie(shown, watched.words),
            *_options(shown, watched.words),
        )
        if sentence
    )


def _where(shown: SubjectReport, watched: Watched) -> str:
    words, line = watched.words, shown.decision
    if watched.decided is None:
        return words.say("subject.lead.no_answer")
    value = watched.figure(watched.decided)
    if line.rule == "quota":
        return _quota(shown, watched, value)
    if watched.kind == "probability":
        key = "subject.lead.probability" if watched.at_least else "subject.lead.likeliest"
    elif watched.kind == "lead":
        key = "subject.lead.lead"
    else:
        key = f"subject.lead.score_{watched.better}"
    return words.say(
        key,
        favourable=watched.favourable,
        value=value,
        line=watched.figure(watched.line),
    )


def _quota(shown: SubjectReport, watched: Watched, value: str) -> str:
    words, line = watched.words, shown.decision
    said = words.say(
        "subject.lead.quota",
        value=value,
        name=watched.name,
        places=words.number(line.places or 0),
        rank=words.number(line.rank or 0),
    )
    if watched.line is None:
        return said
    key = "in" if shown.subject.favourable else "out"
    return f"{said} {words.say(f'subject.lead.quota_{key}', line=watched.figure(watched.line))}"


def _recorded(shown: SubjectReport, words: PageWords) -> str:
    recorded = shown.decision.recorded
    if not recorded or recorded == shown.subject.decision:
        return ""
    return words.say("subject.lead.recorded", recorded=recorded, decision=shown.subject.decision)


def _without_ties(shown: SubjectReport, watched: Watched) -> str:
    words = watched.words
    alone = shown.own_data.alone if shown.own_data is not None else None
    if alone is None or shown.note == NO_TIES:
        return ""
    if not alone.decision:
        return words.say("subject.lead.alone_none")
    value = watched.alone(alone.value, alone.probabilities)
    if value is None:
        return words.say("subject.lead.alone_decided", decision=alone.decision)
    count = shown.carriers.own_ties if shown.carriers is not None else 0
    figure = watched.figure(value)
    if not count:
        return words.say("subject.lead.alone", value=figure)
    return words.say_count("subject.lead.alone_of", count, value=figure)


def _one_tie(shown: SubjectReport, words: PageWords) -> str:
    """Whether removing one tie alone changes the decision; nothing where not all were asked."""
    carriers = shown.carriers
    if carriers is None or not carriers.own or len(carriers.own) < carriers.own_ties:
        return ""
    flips = sum(one.found.flips for one in own_ties(shown))
    if flips:
        return words.say_count("subject.lead.one_tie", flips)
    return words.say("subject.lead.no_tie")


def _options(shown: SubjectReport, words: PageWords) -> Iterator[str]:
    recourse = shown.recourse
    if recourse is None or shown.error:
        return
    if recourse.options:
        strongest = max(recourse.options, key=_held)
        count = words.say_count("subject.lead.options", len(recourse.options))
        tests = strongest.robustness
        if tests is None:
            yield f"{count}."
            return
        weaker = "ties" if tests.ties.count <= tests.attributes.count else "data"
        several = "strongest" if len(recourse.options) > 1 else "it"
        held = words.out_of(tests.held, tests.draws)
        yield f"{count}; {words.say(f'subject.lead.{several}_{weaker}', held=held)}"
    elif recourse.status in ("certified_infeasible", "not_found_within_budget"):
        yield words.say(f"subject.lead.{recourse.status}")


def _held(option: Option) -> float:
    return -1.0 if option.robustness is None else option.robustness.held_share


def note_of(shown: SubjectReport, words: PageWords) -> Said | None:
    """Why ties explain nothing, where they do not."""
    if not shown.note:
        return None
    key = NOTE_KEYS.get(shown.note)
    return Said(text="", quote=shown.note) if key is None else Said(text=words.say(key))


def warnings_of(shown: SubjectReport, words: PageWords) -> tuple[Said, ...]:
    """What a reader must know first: what went wrong, and what the probes found."""
    said = []
    if shown.error == LEFT_TO_THE_AUDITOR:
        said.append(Said(text=words.say("subject.error.left")))
    elif shown.error:
        said.append(Said(text=words.say("subject.error"), quote=shown.error))
    said += [_probe_note(name, note, shown, words) for name, note in shown.probes.notes.items()]
    return tuple(said)


def _probe_note(name: str, note: str, shown: SubjectReport, words: PageWords) -> Said:
    if name == "repeats" and shown.repeats.differed:
        repeats = shown.repeats
        return Said(
            text=words.say(
                "subject.probe.note.repeats",
                differed=words.out_of(repeats.differed, repeats.calls),
                largest=words.amount(repeats.largest)
                if shown.decision.scored
                else words.probability(repeats.largest),
            )
        )
    if name == "whole_graph" or note == NOTES.get(name):
        return Said(text=words.say(f"subject.probe.note.{name}"))
    if name == "depth":
        if note == NO_ROOM:
            return Said(text=words.say("subject.probe.note.no_room"))
        depth = shown.probes.depth
        if depth is not None:
            return Said(text=words.say_count("subject.probe.note.declared", depth))
    return Said(text="", quote=note)
