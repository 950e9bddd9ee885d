"""What pages say in one language: the words of one kind of page, and those that all pages share."""

from functools import cache

from recourse_audit.records.group_figures import Verdict
from recourse_audit.records.recourse import FRAGILE, STEADY, RecourseStatus, Robustness
from recourse_audit.render.templates import Templates
from recourse_audit.render.wording import Wording

COMMON = "common"
# The catalogues of each kind of page, besides the common one.
SUBJECT_WORDS = ("subject",)
GROUP_WORDS = ("groups", "group_page")
INDEX_WORDS = ("groups", "index")
LANGUAGES = ("en", "de", "fr", "es")


class PageWords(Wording):
    """The catalogues of one kind of page and of what all pages share.

    Raises
    ------
    TemplateError
        There is no catalogue for the language, or it cannot be read.
    """

    def __init__(self, language: str, templates: Templates, *catalogues: str) -> None:
        super().__init__(language, templates, *catalogues, COMMON)

    def interval(self, low: str, high: str) -> str:
        """Two ends that are worded already: 13 to 49."""
        return self.say("range", low=low, high=high)

    def out_of(self, count: int, total: int) -> str:
        """A part of a whole: 37 of 50."""
        return self.say("of", count=self.number(count), total=self.number(total))

    def status(self, status: RecourseStatus) -> str:
        """A status in a table: has an option."""
        return self.say(f"status.{status}")

    def verdict(self, verdict: Verdict, concern: float) -> str:
        """A verdict on a gap, given the gap of concern as a share: no gap of 10 points."""
        points = self.number(100 * concern)
        return self.say(f"verdict.{verdict.replace(' ', '_')}", concern=points)

    def strength(self, found: Robustness) -> str:
        """How well an option stands changes around it: holds in most tests."""
        return self.say(f"strength.{strength(found.held_share)}")


@cache
def status_name(status: RecourseStatus) -> str:
    """A status as the command line says it: has an option."""
    return english().status(status)


def english(*catalogues: str) -> PageWords:
    """The words of our own templates in English."""
    return PageWords("en", Templates(), *catalogues)


def strength(share: float) -> str:
    """The key of how well an option stands changes, by the share of tests in which it held."""
    return "steady" if share >= STEADY else "fragile" if share <= FRAGILE else "middling"
