"""Changes in words, and what to mind before a letter that suggests them is signed."""

from recourse_audit.records.recourse import FRAGILE, Action, Move, SetAction, TieAction
from recourse_audit.records.report import SubjectReport
from recourse_audit.render.page_words import PageWords
from recourse_audit.render.pages.redaction import PROTECTED, Level
from recourse_audit.render.pages.tables import AuditFacts
from recourse_audit.render.status import SEARCHED


def change_words(
    action: Action, shown: SubjectReport, level: Level, words: PageWords, facts: AuditFacts
) -> str:
    """One change in words; in the subject's own copy a tie is described by its kind only."""
    if isinstance(action, SetAction):
        moved = _moved(action, words, facts)
        along = [_moved(one, words, facts) for one in action.implied]
        return (
            words.say("subject.change.along", change=moved, along=words.listed(along))
            if (along)
            else moved
        )
    own = shown.subject.id in action.tie
    kind = f"_{'kind' if action.kind else 'tie'}"
    if not own:
        one, other = action.tie
        if level == "subject":
            return words.say(f"subject.change.{action.do}_others{kind}", kind=action.kind)
        return words.say(
            f"subject.change.{action.do}_between{kind}", kind=action.kind, one=one, other=other
        )
    if level == "subject":
        return words.say(f"subject.change.{action.do}_your{kind}", kind=action.kind)
    other = next((end for end in action.tie if end != shown.subject.id), shown.subject.id)
    return words.say(f"subject.change.{action.do}{kind}", kind=action.kind, other=other)


def _moved(move: SetAction | Move, words: PageWords, facts: AuditFacts) -> str:
    name = name_words(move.attribute, words, facts)
    before, after = (_amount(one, move.unit, words, facts) for one in (move.before, move.after))
    said = words.say("subject.change.set", name=name, before=before, after=after)
    return said[:1].upper() + said[1:]


def name_words(attribute: str, words: PageWords, facts: AuditFacts) -> str:
    """The user's word for an attribute or a unit; without one its name, without underscores."""
    found = next(
        (
            facts.names[language][attribute]
            for language in (words.language, words.language.split("_", maxsplit=1)[0])
            if attribute in facts.names.get(language, {})
        ),
        None,
    )
    if found:
        return found[0]
    return words.say("subject.protected") if attribute == PROTECTED else attribute.replace("_", " ")


def _amount(value: float | str, unit: str, words: PageWords, facts: AuditFacts) -> str:
    if isinstance(value, str):
        return value
    if unit in facts.currencies:
        return words.money(value, facts.currencies[unit])
    return f"{words.number(value)} {name_words(unit, words, facts)}".strip()


def before_signing(shown: SubjectReport, level: Level, words: PageWords) -> tuple[str, ...]:
    """What to mind before the letter to this person is signed; empty where there is no letter."""
    recourse = shown.recourse
    if level == "subject" or shown.error or recourse is None or recourse.status not in SEARCHED:
        return ()
    subject = shown.subject.id
    others = dict.fromkeys(
        end
        for option in recourse.options
        for action in option.actions
        if isinstance(action, TieAction)
        for end in action.tie
        if end != subject
    )
    said = []
    if others:
        names = words.listed(list(others))
        said.append(words.say("subject.clerk.names", people=names, subject=subject))
    fragile = [
        str(place)
        for place, option in enumerate(recourse.options, start=1)
        if option.robustness is not None and option.robustness.held_share <= FRAGILE
    ]
    if fragile:
        said.append(
            words.say_count("subject.clerk.fragile", len(fragile), options=words.listed(fragile))
        )
    if not recourse.options and recourse.status != "verified":
        said.append(words.say(f"subject.clerk.{recourse.status}"))
    return (*said, words.say("subject.clerk.reasons"), words.say("subject.clerk.not_say"))
