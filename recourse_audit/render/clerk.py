"""The clerk's page, `letters/index.html`: what each letter needs before it is signed and sent.

It is made from two tables of its folder, `signing.csv` and `register.csv`, so that a letter can be
recorded as sent without making any letter again. The script of the index runs its table.
"""

import csv
from collections import Counter
from collections.abc import Callable, Iterable
from html import unescape
from io import StringIO
from typing import Any

from recourse_audit.bundle.register import SentLetter
from recourse_audit.records.bundle import CAUSES, LETTER_NOTES, MadeWith
from recourse_audit.records.texts import unguard
from recourse_audit.render.index import Embedded, code_column, natural, script_labels
from recourse_audit.render.letters import LetterWriter
from recourse_audit.render.text import plain

PAGE = "index.html"
STATES = ("work", "ready", "signed", "sent")
# Causes and notes, in the order of the legend.
FIRST = ("no-reason", "unchecked", "fixed", "review", "fragile", "unfinished")
NEEDS = tuple(dict.fromkeys((*FIRST, *LETTER_NOTES, *CAUSES)))
Letter = dict[str, Any]


class ClerkPage:
    """What the template asks for; letters that need work come first, then as they are due.

    A letter is its row of `signing.csv`, with its `state`, what it `needs` (codes), the day that it
    is `due` on, and `sent`, its row of the register.
    """

    facets = ("state", "need", "says")
    states, notes = STATES, LETTER_NOTES

    def __init__(
        self, table: str, register: Iterable[SentLetter], writer: LetterWriter, made: MadeWith
    ) -> None:
        self._writer, self.words, self.profile = writer, writer.words, writer.profile
        self.made_with, self.open_slots = made, writer.open_slots
        sent = {row["id"]: row for row in register}
        rows = csv.DictReader(StringIO(table, newline=""))
        self.letters = sorted(
            (_letter({name: unguard(row[name]) for name in row}, sent) for row in rows),
            key=lambda row: (STATES.index(row["state"]), row["due"] or "~", natural(row["id"])),
        )
        due = ("due",) if any(letter["due"] for letter in self.letters) else ()
        self.columns = ("id", "says", "todo", *due, "state", "letter")
        self.counts = Counter(letter["state"] for letter in self.letters)
        needs = Counter(need for letter in self.letters for need in letter["needs"])
        self.needs = {need: needs[need] for need in NEEDS if needs[need]}

    def html(self) -> str:
        return self._writer.pages.render("pages/letters.html", view=self, audit=self._writer.audit)

    def data(self, text: Callable[[str, Letter], object]) -> Embedded:
        """The columns of the table for its script; `text` says a column of a letter, by lines."""
        letters, columns = self.letters, {}
        for name in ("says", "todo", "due", "state", "need"):
            by_day = sorted(letters, key=lambda letter: letter["due"]) if name == "due" else letters
            lines = {
                letter["letter"]: tuple(unescape(str(text(name, letter))).strip().split("\n"))
                for letter in by_day
            }
            words = [*dict.fromkeys(word for texts in lines.values() for word in texts)]
            rows = [lines[letter["letter"]] for letter in letters]
            columns[name] = code_column(rows, words, single=name not in ("todo", "need"))
        signed = ("01"[letter["state"] in ("signed", "sent")] for letter in letters)
        return Embedded(
            value={
                "count": len(letters),
                "id": [letter["id"] for letter in letters],
                "file": [letter["letter"] for letter in letters],
                "facets": {name: columns[name] for name in self.facets},
                **columns,
                **dict.fromkeys(("page", "letter"), "1" * len(letters)),
                "signed": "".join(signed),
                "ending": "html",
            }
        )

    def labels(self) -> Embedded:
        """The words that the script puts on the page."""
        titles = {name: self.title(name) for name in self.columns}
        facets = {name: self.words.say(f"clerk.filter.{name}") for name in self.facets}
        return script_labels(self.words, titles, facets, first="state", pages="../pages/subjects/")

    def title(self, column: str) -> str:
        return self.words.say(f"column.{column}")


def _letter(row: dict[str, str], register: dict[str, SentLetter]) -> Letter:
    sent, signed = register.get(row["id"]), row["status"] == "signed"
    state = "sent" if sent else "signed" if signed else "work" if row["against"] else "ready"
    codes = {*row["against"].split("; "), *row["notes"].split("; ")}
    needs = [need for need in NEEDS if need in codes and not signed]
    due = "" if sent else row["send_by"]
    more = {"state": state, "needs": needs, "due": due, "sent": sent}
    return {**row, **more, "id": plain(row["id"])}
