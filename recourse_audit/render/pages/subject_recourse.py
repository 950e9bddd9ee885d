"""What could change a decision, as a page shows it: options by effort, and how they held."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from recourse_audit.records.recourse import (
    FRAGILE,
    Certificate,
    LeftOut,
    Option,
    Recourse,
    Robustness,
    SideEffects,
    Survival,
)
from recourse_audit.records.report import SubjectReport
from recourse_audit.render.charts.strips import Axis, Strip, axis_row
from recourse_audit.render.charts.svg import Picture
from recourse_audit.render.page_words import PageWords
from recourse_audit.render.pages.redaction import LEFT_TO_THE_AUDITOR, Level
from recourse_audit.render.pages.subject_axis import NARROW, SMALL, Watched
from recourse_audit.render.pages.subject_changes import change_words, name_words
from recourse_audit.render.pages.subject_findings import Said
from recourse_audit.render.pages.tables import AuditFacts
from recourse_audit.render.status import SEARCHED

NAMES_SHOWN = 4
HALVES = (0.0, 0.5, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRow:
    """In how many tests of one kind an option still worked, with its interval drawn."""

    label: str
    picture: Picture
    figure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionRow:
    """One option: its changes, its effort, the value before and after, and how it held."""

    number: str
    changes: tuple[str, ...]
    remarks: tuple[str, ...]
    effort: str
    figure: str
    words: str
    picture: Picture | None
    strength: str
    fragile: bool
    tests: tuple[TestRow, ...]
    others: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecourseView:
    """Whether something could change the decision, what, and how sure that is.

    `head` has the headings of the columns of options, `axis` and `shares` the figures below them.
    """

    heading: str
    sentences: tuple[Said, ...]
    head: tuple[str, ...]
    options: tuple[OptionRow, ...]
    axis: Picture | None
    shares: Picture | None
    tried: tuple[Said, ...]


def recourse_view(
    shown: SubjectReport, recourse: Recourse, level: Level, watched: Watched, facts: AuditFacts
) -> RecourseView:
    """The options by effort, or that there is none and how far was looked; names are redacted."""
    words = watched.words
    drawn = Axis(low=0.0, high=1.0, ticks=HALVES, width=SMALL)
    shares = axis_row(
        drawn,
        [words.whole_percent(0.0), "", words.whole_percent(1.0)],
        words.say("subject.options.shares"),
    )
    options = recourse.options
    decimals = max((_decimals(option.cost) for option in options), default=0)
    return RecourseView(
        heading=_heading(recourse, words),
        sentences=(
            *_sentences(shown, recourse, words),
            *((_others_sentence(options, words),) if options and level != "subject" else ()),
        ),
        head=tuple(
            words.say(f"subject.options.{name}")
            for name in ("number", "change", "effort", "answer", "held")
        ),
        options=tuple(
            _row(place, option, shown, level, watched, facts, drawn, decimals)
            for place, option in enumerate(options, start=1)
        ),
        axis=watched.small_figures() if options else None,
        shares=shares if options else None,
        tried=tuple(_tried(recourse, words, facts)) if recourse.status in SEARCHED else (),
    )


def _heading(recourse: Recourse, words: PageWords) -> str:
    if recourse.options:
        return words.say_count("subject.options.heading", len(recourse.options))
    return words.say(f"subject.options.heading.{recourse.status}")


def _sentences(shown: SubjectReport, recourse: Recourse, words: PageWords) -> Iterable[Said]:
    """What the heading means: how many combinations were tried, or why none was."""
    found = recourse.certificate
    match recourse.status:
        case "already_favourable":
            yield Said(text=words.say("subject.options.favourable"))
        case "model_disagrees":
            yield Said(
                text=words.say(
                    "subject.options.disagrees",
                    recorded=shown.decision.recorded or "",
                    decision=shown.subject.decision,
                )
            )
        case "error" if recourse.reason == LEFT_TO_THE_AUDITOR:
            yield Said(text=words.say("subject.error.left"))
        case "error":
            yield Said(text=words.say("subject.options.failed"), quote=recourse.reason)
        case _ if not found.possible:
            yield Said(text=words.say("subject.tried.nothing"))
        case "verified":
            yield Said(text=_covered(found, words))
        case "certified_infeasible":
            key = "all" if found.tried == found.possible else "all_but"
            yield Said(text=_counted(f"subject.options.none.{key}", found, words))
        case "not_found_within_budget":
            yield Said(text=_counted("subject.options.open", found, words))


def _counted(key: str, found: Certificate, words: PageWords) -> str:
    return words.say_count(
        key,
        found.max_changes,
        tried=words.number(found.tried),
        possible=words.number(found.possible),
        left=words.number(found.possible - found.tried),
    )


def _covered(found: Certificate, words: PageWords) -> str:
    """How far the search that found options looked."""
    if found.tried == found.possible:
        return _counted("subject.covered.all", found, words)
    key = "part" if not found.exhaustive else "most" if found.left_out.total == 0 else "most_ruled"
    return _counted(f"subject.covered.{key}", found, words)


def _tried(recourse: Recourse, words: PageWords, facts: AuditFacts) -> Iterable[Said]:
    """What was permitted, what was left out and why, and on what the model was asked."""
    found = recourse.certificate
    if found.complete_up_to and not found.exhaustive:
        yield Said(text=words.say_count("subject.tried.complete", found.complete_up_to))
    permitted = [
        words.say_count(f"subject.tried.{name}", count)
        for name, count in (("drop", found.permitted.drop), ("add", found.permitted.add))
        if count
    ]
    permitted += [
        words.say_count("subject.tried.levels", count, name=name_words(name, words, facts))
        for name, count in found.permitted.set.items()
    ]
    if permitted:
        yield Said(text=words.say("subject.tried.permitted", changes=words.listed(permitted)))
    if found.denied:
        yield Said(text=words.say_count("subject.tried.denied", found.denied))
    yield from _left_out(found.left_out, words)
    if found.reason and found.possible:
        yield Said(text="", quote=found.reason)
    asked = recourse.evaluated_on
    if asked is not None:
        place = asked.replace(" ", "_")
        yield Said(text=words.say_count(f"subject.tried.{place}", recourse.evaluations))


def _left_out(found: LeftOut, words: PageWords) -> Iterable[Said]:
    for name, count in (
        ("implications", found.implications),
        ("conditions", found.conditions),
        ("formulas", found.formulas),
    ):
        if count is None:
            yield Said(text=words.say(f"subject.left_out.{name}.many"))
        elif count:
            yield Said(text=words.say_count(f"subject.left_out.{name}", count))
    if found.why:
        yield Said(text=words.say("subject.left_out.why"), quote="; ".join(found.why))


def _row(
    place: int,
    option: Option,
    shown: SubjectReport,
    level: Level,
    watched: Watched,
    facts: AuditFacts,
    drawn: Axis,
    decimals: int,
) -> OptionRow:
    words, tests = watched.words, option.robustness
    before, after = watched.decided, watched.value(option)
    figure = watched.pair(before, after)
    picture = None
    if before is not None and after is not None:
        picture = watched.moved(before, after, f"{watched.name}: {figure}", NARROW)
    fragile = tests is not None and tests.held_share <= FRAGILE
    named = words.say("subject.tests.none") if tests is None else words.strength(tests)
    return OptionRow(
        number=str(place),
        changes=tuple(change_words(one, shown, level, words, facts) for one in option.actions),
        remarks=tuple(_remarks(option, words)),
        effort=words.signed(option.cost, decimals).removeprefix("+"),
        figure=figure if after is not None else option.decision,
        words=_beyond(option, watched),
        picture=picture,
        strength=f"▲ {named}" if fragile else named,
        fragile=fragile,
        tests=() if tests is None else _tests(tests, drawn, words),
        others=_others(option.side_effects, words) if level != "subject" else "",
    )


def _decimals(value: float) -> int:
    said = f"{value:g}"
    return len(said.partition(".")[2]) if "e" not in said else 6


def _remarks(option: Option, words: PageWords) -> Iterable[str]:
    """What the reader must know of an option that is not as options should be."""
    if not option.verified:
        yield words.say("subject.options.not_verified")
    elif option.verified_on == "neighbourhood":
        yield words.say("subject.options.neighbourhood")
    if not option.minimal:
        yield words.say("subject.options.not_minimal")


def _beyond(option: Option, watched: Watched) -> str:
    """How far beyond the line: (0.500 + 0.027); nothing where a copy does not tell the line."""
    after = watched.value(option)
    if watched.line is None or after is None:
        return ""
    beyond = after - watched.line
    sign = "+" if beyond >= 0 else "\N{MINUS SIGN}"
    amount = watched.change(abs(beyond)).removeprefix("+")
    return f"({watched.figure(watched.line)} {sign} {amount})"


def _tests(found: Robustness, drawn: Axis, words: PageWords) -> tuple[TestRow, ...]:
    return tuple(
        _test(words.say(f"subject.tests.{name}"), one, found.draws, drawn, words)
        for name, one in (("ties", found.ties), ("data", found.attributes))
    )


def _test(label: str, found: Survival, draws: int, drawn: Axis, words: PageWords) -> TestRow:
    figure = words.out_of(found.count, draws)
    between = words.interval(words.percent(found.low), words.percent(found.high))
    strip = Strip(drawn, f"{label}: {figure} ({between})", height=18)
    steady = found.low > FRAGILE
    return TestRow(
        label=label,
        picture=strip.interval(found.share, found.low, found.high, filled=steady).picture(),
        figure=figure,
    )


def _others_sentence(options: Sequence[Option], words: PageWords) -> Said:
    """Whether any option changes somebody else's decision, as far as that was measured."""
    effects = [option.side_effects for option in options]
    if any(_touched(one) for one in effects):
        return Said(text=words.say("subject.others.some"))
    if all(one.measured for one in effects):
        return Said(text=words.say("subject.others.nobody"))
    return Said(text=words.say("subject.others.not_measured"))


def _touched(found: SideEffects) -> tuple[str, ...]:
    return (*found.to_favourable, *found.to_unfavourable, *found.other)


def _others(found: SideEffects, words: PageWords) -> str:
    """Whose other decisions an option changes; empty if nobody's."""
    said = []
    for name, people in (
        ("better", found.to_favourable),
        ("worse", found.to_unfavourable),
        ("other", found.other),
    ):
        if people:
            listed = list(people[:NAMES_SHOWN])
            more = len(people) - NAMES_SHOWN
            if more > 0:
                listed.append(words.say_count("subject.others.more", more))
            said.append(words.say(f"subject.others.{name}", people=words.listed(listed)))
    return " ".join(said)
