"""Every letter of the lending sample is true if the person does word for word what it says.

The letters are read as a person reads them: the text of each option, by the phrases of the
sample's `[words]`. What they advise is carried out on the whole graph by the code below, which
shares nothing with the tool, and the model's file is asked. Only where a letter says that it does
not name the ties it means are those taken from the record; their kind and number are the letter's.
"""

import csv
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from recourse_audit.audit.load import open_audit
from recourse_audit.audit.report import explain
from recourse_audit.records.recourse import Option, SetAction
from recourse_audit.records.subject import SubjectReport
from recourse_audit.render.letters import LetterWriter
from recourse_audit.render.templates import Templates
from recourse_audit.settings import Settings, load_settings
from tests.render.letters import LANGUAGES, SIGNED

LENDING = Path(__file__).parents[2] / "sample_models" / "lending"
TABLES = tomllib.loads((LENDING / "audit.toml").read_text(encoding="utf-8"))
FEATURES = TABLES["graph"]["features"]
APPROVED = TABLES["decision"]["classes"].index("approved")
# Once told to move, which ended one of three ties at their address; moving left them refused.
ONCE_WRONG = ("P0337", "P0358", "P1206", "P1262")
PEOPLE = 32
# How each language says that an amount changes, and that not every tie that is meant is named.
AMOUNT = {
    "en": r"(?:raise|reduce) your (?P<name>.+?) from (?P<before>.+?) to (?P<after>.+?)",
    "de": r"(?P<name>.+?) (?:erhöhen|senken): (?P<after>.+?) statt (?P<before>.+?)",
    "fr": r"(?P<name>.+?) : (?:porter|ramener) de (?P<before>.+?) à (?P<after>.+?)",
    "es": r"(?P<name>.+?): (?:subir|bajar) de (?P<before>.+?) a (?P<after>.+?)",
}
AND = {"en": "And ", "de": "Und ", "fr": "Et ", "es": "Y "}
NOT_NAMED = {
    "en": "we do not name (it|them) here",
    "de": "nennen wir (ihn|sie) hier nicht",
    "fr": "nous ne (le|les) nommons pas ici",
    "es": "no (lo|los) nombramos aquí",
}
WAYS = {
    "en": r"There are (\d+) ways to do this",
    "de": r"Dafür gibt es (\d+) Wege",
    "fr": r"Il y a (\d+) façons de le faire",
    "es": r"Hay (\d+) maneras de hacerlo",
}


class Page(HTMLParser):
    """What a letter says, and the steps and remarks of each of its options."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = ""
        self.steps: list[list[str]] = []
        self.remarks: list[str] = []
        self._open: list[str] = []
        self.feed(html.partition("</head>")[2].rpartition("</html>")[0])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        name = dict(attrs).get("class") or tag
        if name == "option":
            self.steps.append([])
            self.remarks.append("")
        if tag == "li" and "option" in self._open:
            self.steps[-1].append("")
        if tag not in {"br", "meta"}:
            self._open.append(name)

    def handle_endtag(self, tag: str) -> None:
        self._open.pop()

    def handle_data(self, data: str) -> None:
        text = data.replace("\N{NO-BREAK SPACE}", " ")
        self.text += text
        if "option" in self._open and "li" in self._open:
            self.steps[-1][-1] += text
        elif "option" in self._open:
            self.remarks[-1] += text


@dataclass(frozen=True)
class Advice:
    """What an option advises: how many ties of each kind end (None: all), and amounts."""

    ends: tuple[tuple[str, int | None], ...]
    amounts: tuple[tuple[str, float, float], ...]


@cache
def phrases(language: str) -> list[tuple[re.Pattern[str], str, int | None]]:
    """The sentences that end ties, with the kind; without a number in it, all or one of them."""
    found: list[tuple[re.Pattern[str], str, int | None]] = []
    for kind, words in TABLES["words"][language]["ties"].items():
        one, *more = [words["end"]] if isinstance(words["end"], str) else words["end"]
        found.append((re.compile(re.escape(one)), kind, 1 if more else None))
        for text in more:
            found.append((re.compile(re.escape(text).replace(r"\{count\}", r"(\d+)")), kind, 0))
    return found


def read_step(step: str, language: str) -> tuple[str, int | None] | tuple[str, float, float]:
    """One step; after the first sentence comes what to mind, which changes nothing."""
    text = step.strip().removeprefix(AND[language])
    text = text[:1].lower() + text[1:]
    for pattern, kind, count in phrases(language):
        if match := re.match(rf"{pattern.pattern}\.(?= |$)", text):
            return kind, int(match[1]) if count == 0 else count
    match = re.match(rf"{AMOUNT[language]}\.(?= [A-Z]|$)", text, re.IGNORECASE)
    assert match is not None, f"nobody can do this: {step!r}"
    names = {str(word).lower(): name for name, word in TABLES["words"][language].items()}
    before, after = match["before"], match["after"]
    return names[match["name"].lower()], read_amount(before), read_amount(after)


def read_amount(text: str) -> float:
    """€4,780 and 4.780 € are the same; so are €4,780.50 and 4 780,50 €."""
    match = re.fullmatch(r"\D*(\d[\d., ]*?)(?:[.,](\d\d))?\D*", text)
    assert match is not None, f"no amount: {text!r}"
    return int(re.sub(r"\D", "", match[1])) + int(match[2] or 0) / 100


def read_advice(page: Page, language: str) -> list[Advice]:
    advice = []
    for steps in page.steps:
        read = [read_step(step, language) for step in steps]
        ends = tuple(sorted((step for step in read if len(step) == 2), key=str))
        amounts = tuple(sorted(step for step in read if len(step) == 3))
        advice.append(Advice(ends=ends, amounts=amounts))
    return advice


class Bank:
    """The sample as its files are, and the model asked about all of it."""

    def __init__(self) -> None:
        with (LENDING / "nodes.csv").open(encoding="utf-8", newline="") as file:
            people = list(csv.DictReader(file))
        with (LENDING / "edges.csv").open(encoding="utf-8", newline="") as file:
            ties = list(csv.DictReader(file))
        self.number = {row["id"]: place for place, row in enumerate(people)}
        self._x = np.array([[float(row[name]) for name in FEATURES] for row in people], np.float32)
        ends = [(self.number[row["source"]], self.number[row["target"]]) for row in ties]
        self._ends = np.array(ends, np.int64)
        self._kinds = np.array([row["kind"] for row in ties])
        self._session = onnxruntime.InferenceSession(LENDING / "gcn.onnx")

    def value(self, person: str, attribute: str) -> float:
        return float(self._x[self.number[person], FEATURES.index(attribute)])

    def own(self, person: str, kind: str) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The rows of a person's ties of a kind."""
        theirs = (self._ends == self.number[person]).any(axis=1)
        return np.flatnonzero(theirs & (self._kinds == kind))

    def between(self, person: str, other: str, kind: str) -> int:
        [row] = [row for row in self.own(person, kind) if self.number[other] in self._ends[row]]
        return int(row)

    def approved(
        self, ended: Sequence[int] = (), amounts: Sequence[tuple[str, str, float]] = ()
    ) -> set[str]:
        """Who is approved without these ties and with these amounts."""
        x = self._x.copy()
        for person, attribute, amount in amounts:
            x[self.number[person], FEATURES.index(attribute)] = amount
        ends = np.delete(self._ends, np.array(ended, np.int64), axis=0)
        arcs = np.concatenate([ends, ends[:, ::-1]]).T
        [logits] = self._session.run(None, {"x": x, "edge_index": np.ascontiguousarray(arcs)})
        return {name for name, row in self.number.items() if logits[row].argmax() == APPROVED}


@pytest.fixture(scope="module")
def bank() -> Bank:
    return Bank()


@cache
def settings() -> Settings:
    """The sample's, with next to no time spent on what no letter advises."""
    sample = load_settings(LENDING / "audit.toml")
    search = sample.search.model_copy(update={"max_nodes": 2})
    caveats = sample.caveats.model_copy(update={"draws": 0})
    recourse = sample.recourse.model_copy(update={"draws": 5})
    return sample.model_copy(update={"search": search, "caveats": caveats, "recourse": recourse})


@pytest.fixture(scope="module")
def reports(bank: Bank) -> list[SubjectReport]:
    """Refused people from all over the sample, and those whose letters were once wrong."""
    refused = sorted(set(bank.number) - bank.approved())
    people = [*refused[:: len(refused) // PEOPLE][:PEOPLE], *ONCE_WRONG]
    return list(explain(open_audit(settings()), people))


@cache
def writer(language: str) -> LetterWriter:
    letters = settings().letters.model_copy(update={"language": language})
    given = settings().model_copy(update={"letters": letters})
    return LetterWriter(given, Templates(), sign_off=SIGNED)


def letter_to(report: SubjectReport, language: str = "en") -> str:
    letter = writer(language).letter(report)
    assert letter is not None
    return writer(language).html(letter)


def advice_in_record(option: Option, bank: Bank, person: str) -> Advice:
    """The same of an option of the record, to be compared with the letter's."""
    ends: Counter[str] = Counter()
    amounts = []
    for action in option.actions:
        if isinstance(action, SetAction):
            amounts.append((action.attribute, float(action.before), float(action.after)))
        else:
            ends[action.kind] += len(action.ties)
    return Advice(ends=tuple(sorted(ends.items())), amounts=tuple(sorted(amounts)))


def ways(advice: Advice, report: SubjectReport, page: Page, bank: Bank) -> Iterator[list[int]]:
    """The ties that end, in each way of doing what an option says."""
    person = report.subject.id
    counted = {kind: len(bank.own(person, kind)) if n is None else n for kind, n in advice.ends}
    if all(count == len(bank.own(person, kind)) for kind, count in counted.items()):
        yield [row for kind in counted for row in bank.own(person, kind)]
        return
    assert re.search(NOT_NAMED["en"], page.text), f"{person} cannot know which ties are meant"
    assert report.recourse is not None
    meant = Advice(ends=tuple(sorted(counted.items())), amounts=advice.amounts)
    for option in report.recourse.options:
        if advice_in_record(option, bank, person) == meant:
            ties = [
                (tie, action.kind)
                for action in option.actions
                if not isinstance(action, SetAction)
                for tie in action.ties
            ]
            others = [((set(tie) - {person}).pop(), kind) for tie, kind in ties]
            yield [bank.between(person, other, kind) for other, kind in others]


def check_letter(html: str, report: SubjectReport, bank: Bank) -> int:
    """How many options a letter advises, all of which work; an error about one that does not."""
    person, page = report.subject.id, Page(html)
    advised = read_advice(page, "en")
    for advice, remark in zip(advised, page.remarks, strict=True):
        for attribute, before, _ in advice.amounts:
            assert before == pytest.approx(bank.value(person, attribute)), (person, attribute)
        amounts = [(person, attribute, after) for attribute, _, after in advice.amounts]
        tried = list(ways(advice, report, page, bank))
        several = re.search(WAYS["en"], remark)
        assert len(tried) == (int(several[1]) if several else 1), (
            f"{person} was not tested: {advice}"
        )
        for ended in tried:
            assert person in bank.approved(ended, amounts), f"{person} stays refused: {advice}"
    return len(advised)


def test_what_letters_advise_works_if_people_do_it_literally(
    reports: list[SubjectReport], bank: Bank
) -> None:
    advised = [check_letter(letter_to(report), report, bank) for report in reports]
    assert sum(map(bool, advised)) >= PEOPLE // 4


def test_in_every_language_letters_advise_the_same(reports: list[SubjectReport]) -> None:
    for report in reports:
        english = Page(letter_to(report))
        for language in LANGUAGES[1:]:
            page = Page(letter_to(report, language))
            assert read_advice(page, language) == read_advice(english, "en")
            unnamed = re.search(NOT_NAMED[language], page.text)
            assert bool(unnamed) == bool(re.search(NOT_NAMED["en"], english.text))


@pytest.mark.parametrize(
    ("phrase", "other"),
    [
        (r"stop a standing payment", "stop 2 standing payments"),
        (r"take over a joint loan", "move to another address"),
        (r"move to another address", "stop a standing payment"),
        (r"to €\d+,", "to €9,999,"),
        (r"To protect other people we do not name (it|them) here\.", ""),
        (r"Stop a standing payment", "Pay less often"),
    ],
)
def test_a_letter_that_says_something_else_is_noticed(
    phrase: str, other: str, reports: list[SubjectReport], bank: Bank
) -> None:
    noticed = 0
    for report in reports:
        html = letter_to(report)
        changed = re.sub(phrase, other, html, flags=re.IGNORECASE if phrase.islower() else 0)
        try:
            check_letter(changed, report, bank)
        except (AssertionError, ValueError):
            noticed += 1
    assert noticed


@pytest.mark.long
def test_all_letters_of_the_sample_are_true(bank: Bank) -> None:
    refused = sorted(set(bank.number) - bank.approved())
    with_options = 0
    for report in explain(open_audit(settings()), refused):
        with_options += bool(check_letter(letter_to(report), report, bank))
    assert with_options > len(refused) / 3
