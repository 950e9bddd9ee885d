"""The words that the script of the index puts on the page, in the language of the page."""

from typing import TypedDict

from recourse_audit.render.i18n import Words
from recourse_audit.render.pages.index_words import ValueAxis

COLUMNS = ("id", "what", "effort", "holds", "value", "letter")
SAID = (
    *("all", "some", "sorted", "page", "rows", "nobody", "nobody_at_all", "or", "decision"),
    *("draft", "signed", "letter_to", "fragile"),
)


class ColumnLabels(TypedDict):
    """The title of a column, and what its two orders are called."""

    title: str
    low: str
    high: str


class Labels(TypedDict):
    """What the script says; placeholders in braces are filled in by it."""

    language: str
    columns: dict[str, ColumnLabels]
    said: dict[str, str]
    of: str
    line: float
    whole: bool
    margin: bool


def labels_of(words: Words, axis: ValueAxis) -> Labels:
    """Everything that the script says."""
    return {
        "language": words.tag,
        "columns": {
            name: {
                "title": axis.title if name == "value" else words.say(f"column.{name}"),
                "low": words.say(f"column.{name}.low"),
                "high": words.say(f"column.{name}.high"),
            }
            for name in COLUMNS
        },
        "said": {key: words.forms(f"script.{key}")[0] for key in SAID},
        "of": words.forms("of")[0],
        "line": axis.line,
        "whole": axis.whole,
        "margin": axis.of_margin,
    }
