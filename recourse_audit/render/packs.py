"""Packs: what a framework asks for, item by item, and where in a bundle it is.

A pack is a dated file, `packs/NAME.toml` of the templates; nothing legal is in the code. Each item
asks a question and names pieces of evidence, of which `evidence.toml` says where each is; a bundle
has it, lacks it, or withholds it because the group report leaves it out. Present is said of
evidence, never of law. With `smallest_share` a pack also has a table of rates and impact ratios,
with the fields of New York City's Local Law 144.
"""

import tomllib
from collections.abc import Iterator
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, Field, model_validator

from recourse_audit.errors import InputError
from recourse_audit.records.group_figures import Group, Rate
from recourse_audit.records.groups import GroupTable, LeftOut
from recourse_audit.records.rates import RateName
from recourse_audit.render.groups import GroupPage
from recourse_audit.render.groups_csv import table_text
from recourse_audit.render.i18n import Words
from recourse_audit.render.index import IndexSource
from recourse_audit.render.letter_inputs import Source
from recourse_audit.render.templates import Templates
from recourse_audit.settings.letters import AuditSettings, Text
from recourse_audit.settings.section import Section, Share, near_matches

State = Literal["present", "withheld", "missing"]
STATES: tuple[State, ...] = ("present", "withheld", "missing")  # from best to worst
FIELDS = ("id", "source", "clause", "question", "state", "evidence", "do")
RATIO_FIELDS = (
    *("audit_date", "data_date", "table", "category", "applicants", "share_of_data"),
    *("measure", "count", "rate", "impact_ratio", "ratio_left_out"),
)
RATIOS = "groups_annex.html#impact"
EVIDENCE: dict[str, list[str]] = tomllib.loads(
    Path(__file__).with_name("evidence.toml").read_text(encoding="utf-8")
)


# ---------------------------------------------------------------- what a file says


def _check_code(code: str) -> str:
    if code not in EVIDENCE:
        raise ValueError(f"there is no evidence {code!r}; {near_matches(code, EVIDENCE)}")
    return code


def _check_english(texts: dict[str, str]) -> dict[str, str]:
    if "en" not in texts:
        raise ValueError("needs the English text, en")
    return texts


Code = Annotated[str, AfterValidator(_check_code)]
Texts = Annotated[dict[str, Text], AfterValidator(_check_english)]


class Item(Section):
    """One thing that a framework asks for, and all the evidence that it needs."""

    source: str
    clause: str = ""
    question: Texts
    evidence: tuple[Code, ...] = Field(min_length=1)
    do: Texts


class Pack(Section):
    """A framework as of a date: its items, what they cover, and what no bundle can hold.

    Categories with a smaller share of the data than `smallest_share` have no impact ratio.
    """

    title: Texts
    as_of: date
    note: Texts
    covers: Texts
    leaves_out: tuple[Texts, ...] = Field(min_length=1)
    sources: dict[str, Source] = Field(min_length=1)
    smallest_share: Share | None = None
    items: dict[str, Item] = Field(min_length=1)

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        for name, item in self.items.items():
            if item.source not in self.sources:
                known = near_matches(item.source, self.sources)
                raise ValueError(f"items.{name}.source: {item.source!r} is no source; {known}")
        return self


def load_pack(name: str, templates: Templates) -> Pack:
    """Read and check a pack of the templates."""
    file = f"packs/{name}.toml"
    if not templates.has(file):
        known = [each.removesuffix(".toml") for each in templates.names("packs")]
        raise InputError(
            f"--pack {name}: there is no such pack; {near_matches(name, known)} Or write {file} in "
            "a folder for --templates"
        )
    return templates.section(file, Pack)


# ---------------------------------------------------------------- what a bundle has


class Evidence(NamedTuple):
    """A piece of evidence; `place` is "" if nothing is there, and `left_out` what is withheld."""

    code: str
    place: str
    state: State
    left_out: tuple[LeftOut, ...]


class Answer(NamedTuple):
    """What the bundle has for an item; as good as the worst of its evidence."""

    name: str
    item: Item
    state: State
    evidence: tuple[Evidence, ...]


class RatioRow(NamedTuple):
    """A category with its rate; `left_out` says why it has no impact ratio."""

    table: GroupTable
    group: Group
    of_data: float
    rate: Rate
    ratio: float | None
    left_out: str


class PackPage:
    """What the template of a pack asks for: a pack, and what a bundle has of it.

    `sent` counts the letters in the register. `paper` says whether there is a PDF of the page.
    """

    def __init__(
        self,
        name: str,
        pack: Pack,
        source: IndexSource,
        audit: AuditSettings,
        words: Words,
        *,
        sent: int = 0,
        paper: bool = False,
    ) -> None:
        self.name, self.pack, self.source, self.audit = name, pack, source, audit
        self.words, self.sent, self.paper = words, sent, paper
        self.groups = None if source.groups is None else GroupPage(source.groups, words)
        scored = source.settings is not None and source.settings.model.output == "score"
        self.measure: RateName = "scoring_rate" if scored else "selection_rate"
        self.letters = sum(link.letter for link in source.links.values())
        self.signed = sum(link.signed for link in source.links.values())

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """Every item in the order of the pack."""
        return tuple(self._answer(name, item) for name, item in self.pack.items.items())

    def _answer(self, name: str, item: Item) -> Answer:
        evidence = tuple(map(self._look, item.evidence))
        return Answer(name, item, max((e.state for e in evidence), key=STATES.index), evidence)

    def _look(self, code: str) -> Evidence:
        place, path, *parts = EVIDENCE[self.measure if code == "output_rate" else code]
        value: Any = self
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else value and getattr(value, name)
        left_out = tuple(
            each
            for each in (self.groups.report.left_out if self.groups else ())
            if each.part in parts and (" x " in each.table) == (code == "crossed")
        )
        state: State = "present" if value else "missing"
        state = "withheld" if left_out or self._is_pooled(code) else state
        if self.ratios and place == RATIOS:
            place = f"pack_{self.name}.html#ratios"
        return Evidence(code, place if value else "", state, left_out)

    def _is_pooled(self, code: str) -> bool:
        """Whether small categories are pooled, among them perhaps people without a value."""
        return any(
            any(group.pooled for group in table.by_group)
            and (code == "all_categories" or not any("unknown" in g.kinds for g in table.by_group))
            for table in (self.groups.singles if self.groups else ())
            if code in ("all_categories", "unknown")
        )

    def language(self, texts: dict[str, str]) -> str:
        """The language in which a text of the pack is given: that of the page, or English."""
        base = self.words.language.split("_", maxsplit=1)[0]
        return base if base in texts else "en"

    def to_do(self, item: Item, state: State) -> str:
        """What to do about an item, in the language of the page; nothing if it is present."""
        if state == "withheld":
            return self.words.say("pack.do.withheld")
        return "" if state == "present" else item.do[self.language(item.do)]

    @property
    def lacks(self) -> tuple[str, ...]:
        """What is not present, a line for each item, with what to do about it."""
        lacking = (answer for answer in self.answers if answer.state != "present")
        return tuple(f"{n} ({state}): {self.to_do(item, state)}" for n, item, state, _ in lacking)

    @cached_property
    def ratios(self) -> tuple[RatioRow, ...]:
        """Every category of every attribute, and of two crossed, with its rate and impact ratio."""
        least = self.pack.smallest_share
        tables = self.groups.all_tables if self.groups else ()
        return () if least is None else tuple(r for t in tables for r in self._rows_of(t, least))

    def _rows_of(self, table: GroupTable, least: float) -> Iterator[RatioRow]:
        """The categories of a table; those of a known value are compared with the largest rate."""
        assert self.groups is not None
        rated = {each.table: each.by_group for each in self.groups.report.rates.tables}
        total = sum(group.decisions.people for group in table.by_group)
        rows: list[tuple[Group, float, Rate, str]] = []
        for group in table.by_group:
            rate = rated.get(table.name, {}).get(group.name, {}).get(self.measure)
            part = group.decisions.people / total
            kind = next((kind for kind in group.kinds if kind != "known"), "")
            if rate is not None:
                nobody = "nobody" if rate.share is None else ""
                rows.append((group, part, rate, kind or ("small" if part < least else nobody)))
        best = max((rate.share or 0.0 for *_, rate, why in rows if not why), default=0.0)
        for group, part, rate, why in rows:
            left_out = why or ("" if best else "nobody")
            ratio = None if left_out else (rate.share or 0.0) / best
            yield RatioRow(table, group, part, rate, ratio, left_out)

    def files(self) -> dict[str, str]:
        """The checklist as CSV, and the table of impact ratios if the pack has one."""
        rows = (
            (
                *(name, self.pack.sources[item.source].cite, item.clause),
                *(item.question[self.language(item.question)], state),
                "; ".join(f"{each.code} {each.state} {each.place}" for each in evidence),
                self.to_do(item, state),
            )
            for name, item, state, evidence in self.answers
        )
        files = {f"pack_{self.name}.csv": table_text(FIELDS, rows)}
        if self.pack.smallest_share is not None:
            dates = (self.source.day, self.audit.data_as_of)
            ratios = (
                (*dates, table.name, group.name, rate.of, of_data, self.measure, rate.count, *rest)
                for table, group, of_data, rate, *ends in self.ratios
                for rest in [(rate.share, *ends)]
            )
            files[f"pack_{self.name}_ratios.csv"] = table_text(RATIO_FIELDS, ratios)
        return files
