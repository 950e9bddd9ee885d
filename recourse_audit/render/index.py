"""The index: what a board reads first, then all people by what has to be done for them.

The template takes the records; here is who comes first, which rows an overview has, and the columns
that the script of the page searches, filters and sorts. A column keeps a word once and refers to it
by its place, so that 20,000 people take about two megabytes.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import unescape
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args

from recourse_audit.records.bundle import Manifest, SummaryRow
from recourse_audit.records.groups import GroupReport
from recourse_audit.records.model import Agreement
from recourse_audit.records.recourse import STEADY, RecourseStatus
from recourse_audit.render.drawing import Axis, Picture, Strip
from recourse_audit.render.groups import GroupPage
from recourse_audit.render.i18n import Words, agreement_sentences, strength
from recourse_audit.render.redaction import Level
from recourse_audit.render.templates import Templates
from recourse_audit.render.text import plain, printable
from recourse_audit.settings import Settings

if TYPE_CHECKING:
    from recourse_audit.render.packs import Pack

# What has to be done for a person, most urgent first: the order of the list, and a filter.
Need = Literal["failed", "alone", "disagrees", "fragile", "other", "none", "open", "favourable"]
NEEDS: tuple[Need, ...] = get_args(Need)
_NEEDS: dict[RecourseStatus, Need] = {
    "error": "failed",
    "not_found_within_budget": "open",
    "model_disagrees": "disagrees",
    "certified_infeasible": "none",
    "already_favourable": "favourable",
}
MOST_DECIMALS = 3
EFFORTS = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # that a filter offers
SCRIPT = (
    *("all", "some", "sorted", "overview", "page", "rows", "nobody", "nobody_at_all", "or"),
    *("any", "draft", "signed", "letter_to", "fragile"),
)
# `<` could end the element or begin a comment; two separators end a line in old scripts.
_WRITTEN_OUT = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}
Ending = Literal["pdf", "html"]
# Drop, add, move, raise, lower or set; and a kind of ties, or an attribute.
Change = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """A value that JSON can express, for a `<script type="application/json">`."""

    value: Any

    def __html__(self) -> str:
        """The shortest JSON; none of its characters means anything to a browser."""
        text = json.dumps(self.value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.translate(_WRITTEN_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """The name of a person's page and letter without ending, and whether there is a letter.

    `ending` is that of the letter: HTML where no PDF can be made.
    """

    file: str
    letter: bool
    ending: Ending = "pdf"
    signed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person's row of the store, and what belongs to it.

    `changes` are those of the easiest option. `value` is what the decision goes by, or the margin
    where that is not one figure for everybody. `members` are values of protected attributes.
    """

    id: str
    row: SummaryRow
    need: Need
    changes: tuple[Change, ...]
    value: float | None
    members: Mapping[str, str]
    links: Links | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSource:
    """What an index is made from; what is about people is by number.

    `scores` are what decisions go by, `cheapest` the changes of each easiest option, `members` the
    values of protected attributes. `manifest_digest` is that of the manifest's file. `day` is when
    the audit ended, as 2026-11-17.
    """

    subjects: Iterable[tuple[int, SummaryRow]]
    manifest: Manifest
    manifest_digest: str
    links: Mapping[int, Links]
    settings: Settings | None = None
    scores: Mapping[int, float | None] = field(default_factory=dict)
    cheapest: Mapping[int, tuple[Change, ...]] = field(default_factory=dict)
    members: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    agreement: Agreement | None = None
    groups: GroupReport | None = None
    day: str = ""


def change_of(
    do: str, kind: str | None, attribute: str | None, before: object, after: object
) -> Change:
    """A kind of change from a row of the store."""
    if kind is not None:
        return do, kind
    if isinstance(before, int | float) and isinstance(after, int | float):
        return "raise" if after > before else "lower", attribute or ""
    return "set", attribute or ""


def need_of(row: SummaryRow) -> Need:
    """What has to be done; an option that failed half of its tests or more is fragile."""
    if row.status != "verified":
        need = _NEEDS[row.status]  # type: ignore[index]
        return "alone" if need == "none" and row.favourable_alone else need
    if row.cheapest_held is None or not row.tests:
        return "other"
    return "fragile" if strength(row.cheapest_held / row.tests) == "fragile" else "other"


def list_order(rows: Mapping[int, SummaryRow], labels: Mapping[int, str]) -> list[int]:
    """The numbers of subjects in the order of the list; `labels` are what it shows as ids."""
    return sorted(
        rows,
        key=lambda number: (NEEDS.index(need_of(rows[number])), natural(plain(labels[number]))),
    )


def natural(name: str) -> tuple[tuple[str, int, str], ...]:
    """A sort key that ignores case and takes digits as numbers.

    The longer of two numbers is the larger, so that no id is too long to be compared.
    """
    parts = re.split(r"0*([0-9]+)", name)
    return tuple(
        (words.casefold(), len(digits), digits)
        for words, digits in zip(parts[::2], [*parts[1::2], ""], strict=True)
    )


class IndexPage:
    """Everything that the template of the index asks for.

    Only the auditor's index has ids and groups. A reviewer's lists the numbers of people, which are
    the names of their pages, and a subject's lists nobody. Without `results` it does not say how
    many people have each result, and without `sizes` not how many people there are. `paper` says
    whether there is a PDF of the page; `packs` have pages of their own.
    """

    steady_from = STEADY  # the share of tests in which an option that is called steady worked

    def __init__(
        self,
        source: IndexSource,
        *,
        words: Words | None = None,
        templates: Templates | None = None,
        level: Level = "auditor",
        results: bool = True,
        sizes: bool = True,
        paper: bool = False,
        packs: Mapping[str, "Pack"] = MappingProxyType({}),
    ) -> None:
        self.words = words or Words()
        self.source, self.settings = source, source.settings
        self.manifest = printable(source.manifest)
        self.level, self.paper, self.packs = level, paper, packs
        self.shows_results, self.shows_sizes = results, sizes
        self.is_listed = level != "subject"
        groups, own = source.groups, source.settings if level == "auditor" else None
        self.board = None if groups is None else GroupPage(groups, self.words, templates)
        self.value_axis = value_axis(source.settings, self.words)
        self.attributes = () if own is None else tuple(own.groups.attributes)
        self.everybody = tuple(self._people())
        self.total = len(self.everybody)
        self.people = self.everybody if self.is_listed else ()
        self.counts = Counter(person.need for person in self.everybody)
        # What has to be done for anybody, most urgent first.
        self.needs = tuple(need for need in NEEDS if self.counts[need])

    def _people(self) -> list[Person]:
        """Everybody: those who need a person first, then as a person would sort ids (P9, P10)."""
        source, of_margin = self.source, self.value_axis.of_margin
        people = []
        for number, row in source.subjects:
            links, name = source.links.get(number), plain(row.id)
            if self.level != "auditor":
                name = links.file if links is not None else ""
                links = links and Links(file=links.file, letter=False)
            people.append(
                Person(
                    id=name,
                    row=row,
                    need=need_of(row),
                    changes=source.cheapest.get(number, ()),
                    value=row.margin if of_margin else source.scores.get(number),
                    members=source.members.get(number, {}) if self.attributes else {},
                    links=links,
                )
            )
        return sorted(people, key=lambda one: (NEEDS.index(one.need), natural(one.id)))

    # ------------------------------------------------------------------ what the page says

    @property
    def agreement(self) -> tuple[str, ...]:
        """What is said of decisions on record; only the auditor learns about whom they differ."""
        agreement = self.source.agreement
        if agreement is None or not self.shows_sizes:
            return ()
        if self.level != "auditor":
            agreement = agreement.without_people()
        return agreement_sentences(agreement, self.words)

    @property
    def tests(self) -> tuple[int, int, int, int] | None:
        """Of how many people options were tested, in how many tests; how many have a steady one,
        and for how many every option failed half of its tests or more.
        """
        held = ((person.row.most_held, person.row.tests) for person in self.everybody)
        tests = [(count, of) for count, of in held if count is not None and of]
        if not tests:
            return None
        shares = [count / of for count, of in tests]
        fragile = sum(strength(share) == "fragile" for share in shares)
        steady = sum(share >= STEADY for share in shares)
        return len(tests), max(of for _, of in tests), steady, fragile

    def describe(self, change: Change, count: int = 1) -> str:
        """A kind of change in words: stop 2 standing payments; raise savings."""
        do, what = change
        if do in ("drop", "add", "move"):
            together = do == "drop" and what in self._together
            return self.words.change_ties(do, what, None if together else count)  # type: ignore[arg-type]
        return self.words.say(f"change.{do}", what=self.words.name(what))

    @cached_property
    def _together(self) -> frozenset[str]:
        """The kinds whose ties end together."""
        rules = self.settings.recourse.ties if self.settings is not None else ()
        return frozenset(rule.kind for rule in rules if rule.together)

    def changes(self, person: Person) -> str:
        """All changes of the easiest option: stop a payment + raise savings."""
        counted = Counter(person.changes).items()
        return " + ".join(self.describe(change, count) for change, count in counted)

    def groups(self, person: Person) -> str:
        """The groups of a person: South · women."""
        return " · ".join(self._group(person, name) for name in self.attributes)

    def _group(self, person: Person, attribute: str) -> str:
        value = person.members.get(attribute)
        return self.words.name(value) if value else self.words.say("unknown")

    def alone(self, person: Person) -> str:
        """What the model would decide without the person's ties."""
        keys = {None: "unknown", True: "index.alone.yes", False: "index.alone.no"}
        return self.words.say(keys[person.row.favourable_alone])

    def effort(self, person: Person) -> str:
        """The effort of the easiest option, with as many decimals as all others."""
        cost = person.row.cheapest_cost
        return "" if cost is None else self.words.fixed(cost, self._effort_decimals)

    def value(self, person: Person) -> str:
        """A probability, a margin or a score, as it is written."""
        value, axis = person.value, self.value_axis
        if value is None:
            return ""
        if axis.whole:
            return self.words.probability(value)
        return self.words.signed(value) if axis.of_margin else self.words.amount(value)

    def draw_value(self, person: Person) -> Picture | None:
        """A ring at the value, and the cut-off; its text alternative is the figure."""
        if person.value is None or self._drawing_axis is None:
            return None
        strip = Strip(self._drawing_axis, self.value(person), height=16)
        return strip.dot(person.value, filled=False, colour="ink").picture()

    @cached_property
    def _drawing_axis(self) -> Axis | None:
        line, values = self.value_axis.line, [0.0, 1.0]
        if not self.value_axis.whole:
            values = [line, *(one.value for one in self.people if one.value is not None)]
        low, high = min(values), max(values)
        return Axis(low=low, high=high, line=line, width=96) if low < high else None

    @cached_property
    def _effort_decimals(self) -> int:
        return decimals_of(person.row.cheapest_cost for person in self.everybody)

    # ------------------------------------------------------------------ what the script reads

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table; groups are the auditor's, ties need answers without them."""
        groups = ["groups"] if self.attributes else []
        alone = ["alone"] if self._knows_alone else []
        return ("id", *groups, "what", "effort", "holds", "value", *alone, "letter")

    @property
    def _knows_alone(self) -> bool:
        return any(person.row.favourable_alone is not None for person in self.people)

    def title(self, column: str) -> str:
        return self.value_axis.title if column == "value" else self.words.say(f"column.{column}")

    def data(self, what: Callable[[Person], object]) -> Embedded:
        """The columns of the table; `what` says what could change a person's result."""
        people = self.people
        texts: dict[tuple[object, ...], str] = {}  # many people have the same to be said of them
        said = []
        for person in people:
            row = person.row
            key = (person.need, person.changes, row.options, row.tried, row.possible)
            if key not in texts:
                texts[key] = unescape(str(what(person))).strip()
            said.append(texts[key])
        links = [person.links or Links(file="", letter=False) for person in people]
        efforts = [_short(person.row.cheapest_cost) for person in people]
        return Embedded(
            value={
                "count": len(people),
                "needs": [need for need in self.needs if people],
                "id": [person.id for person in people],
                "facets": self._facets(),
                "what": code_column([(text,) for text in said], list(dict.fromkeys(said))),
                "effort": {"decimals": self._effort_decimals, "values": efforts},
                "held": [person.row.cheapest_held for person in people],
                "tests": [person.row.tests for person in people],
                "value": {"values": [_short(person.value, 6) for person in people]},
                "file": [link.file for link in links],
                "page": "".join("01"[link.file != ""] for link in links),
                "letter": "".join("01"[link.letter] for link in links),
                "signed": "".join("01"[link.signed] for link in links),
                "ending": links[0].ending if links else "pdf",
            }
        )

    def _facets(self) -> dict[str, Any]:
        """What the table can be filtered by: words, and which of them each person has."""
        words, people, bounds = self.words, self.people, self._effort_bounds
        needs = {need: words.say(f"index.need.{need}") for need in NEEDS}
        needed = [(needs[person.need],) for person in people]
        facets = {"need": code_column(needed, [*needs.values()])}
        nothing = words.say("index.no_decision")
        decisions = (person.row.decision for person in people)
        decided = [(words.class_name(name) if name else nothing,) for name in decisions]
        facets["decision"] = code_column(decided)
        for name in self.attributes:
            groups = [(self._group(person, name),) for person in people]
            facets[f"group.{name}"] = code_column(groups)
        included = [tuple(dict.fromkeys(map(self.describe, person.changes))) for person in people]
        facets["includes"] = code_column(included, single=False)
        efforts = (person.row.cheapest_cost for person in people)
        within = [
            tuple(text for bound, text in bounds.items() if effort is not None and effort <= bound)
            for effort in efforts
        ]
        facets["effort"] = code_column(within, [*bounds.values()], single=False)
        if self._knows_alone:
            facets["alone"] = code_column([(self.alone(person),) for person in people])
        return facets

    @property
    def _effort_bounds(self) -> dict[float, str]:
        """Efforts that some people's easiest option is within, and others' is not."""
        efforts = (person.row.cheapest_cost for person in self.people)
        known = [effort for effort in efforts if effort is not None]
        return {
            bound: self.words.say("index.effort.up_to", effort=self.words.number(bound))
            for bound in EFFORTS
            if known and min(known) <= bound < max(known)
        }

    def labels(self) -> Embedded:
        """The words that the script puts on the page."""
        words, axis = self.words, self.value_axis
        names = {name: words.name(name) for name in self.attributes}
        titles = {f"group.{name}": text[:1].upper() + text[1:] for name, text in names.items()}
        titles |= {
            name: words.say(f"index.filter.{name}")
            for name in ("need", "decision", "includes", "effort", "alone")
        }
        return script_labels(
            words,
            {name: self.title(name) for name in self.columns},
            titles,
            chips=("need", "decision"),
            first="what",
            overview=True,
            line=axis.line,
            whole=axis.whole,
            margin=axis.of_margin,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueAxis:
    """What the decisions of all people go by: its name, and the cut-off.

    `whole` says whether it runs from 0 to 1, as probabilities do.
    """

    title: str
    line: float = 0.0
    whole: bool = False
    of_margin: bool = False


def value_axis(settings: Settings | None, words: Words) -> ValueAxis:
    """The probability, or the score, if one cut-off decides for everybody; otherwise the margin."""
    decision = None if settings is None else settings.decision
    if settings and decision and decision.quota is None and not decision.cut_off_by:
        line, scored = decision.cut_off, settings.model.output == "score"
        if scored and line is not None:
            return ValueAxis(title=words.say("index.score"), line=line)
        if not scored and (line is not None or len(decision.classes) <= 2):
            favourable = words.series([words.class_name(name) for name in decision.favourable])
            title = words.say("index.probability", favourable=favourable)
            return ValueAxis(title=title, line=0.5 if line is None else line, whole=True)
    return ValueAxis(title=words.say("index.margin"), of_margin=True)


def decimals_of(values: Iterable[float | None]) -> int:
    """As many decimals as the finest value needs, up to a limit, so that a column aligns."""
    known = [value for value in values if value is not None]
    for decimals in range(MOST_DECIMALS):
        if all(round(value, decimals) == value for value in known):
            return decimals
    return MOST_DECIMALS


def script_labels(
    words: Words, columns: Mapping[str, str], facets: Mapping[str, str], **more: object
) -> Embedded:
    """The words that the script of a table puts on its page, and how it differs from others."""
    orders = {
        name: {"title": title} | {end: words.say(f"column.{name}.{end}") for end in ("low", "high")}
        for name, title in columns.items()
    }
    said = {key: words.forms(f"script.{key}")[0] for key in SCRIPT}
    texts = {"columns": orders, "facets": {**facets}, "said": said, "of": words.forms("of")[0]}
    return Embedded(value={"language": words.tag, **texts, **more})


def code_column(
    rows: Sequence[tuple[str, ...]], words: Sequence[str] | None = None, *, single: bool = True
) -> dict[str, Any]:
    """The words that rows use, and for each row the place of its word, or of its combination."""
    used = {word for row in rows for word in row}
    kept = sorted(used, key=natural) if words is None else [word for word in words if word in used]
    places = {word: place for place, word in enumerate(kept)}
    if single:
        return {"words": kept, "codes": [places[word] for (word,) in rows]}
    combinations = {row: place for place, row in enumerate(dict.fromkeys(rows))}
    combos = [[places[word] for word in row] for row in combinations]
    return {"words": kept, "combos": combos, "codes": [combinations[row] for row in rows]}


def _short(value: float | None, digits: int = 12) -> float | int | None:
    """A whole number without its decimal point, to save space."""
    if value is None:
        return None
    value = round(value, digits)
    return int(value) if value == int(value) else value
