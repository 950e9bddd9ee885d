"""A card of the board block: the groups that it shows, its title, and its axis of shares."""

from dataclasses import dataclass

from recourse_audit.records.group_figures import Comparison, Group, Measure
from recourse_audit.records.groups import GroupReport, GroupTable
from recourse_audit.render.i18n import Words
from recourse_audit.render.pages.board_words import EXACT, compared_often, ratio_of
from recourse_audit.render.text import plain

MOST_GROUPS = 6
SAME = 0.0005  # half of the last digit of a share


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The table that all cards are about, and the group that titles name; None without any."""

    report: GroupReport
    words: Words
    table: GroupTable
    group: str | None

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups to draw: the named one, the reference, and the largest."""
        listed = self.table.by_group
        kept = {one.name for one in sorted(listed, key=self._first)[:MOST_GROUPS]}
        shown = [one for one in listed if one.name in kept]
        return tuple(sorted(shown, key=lambda one: one.name != self.table.reference))

    @property
    def left(self) -> int:
        """How many groups are not drawn."""
        return len(self.table.by_group) - len(self.groups)

    def _first(self, group: Group) -> tuple[bool, int]:
        return group.name not in (self.group, self.table.reference), -group.decisions.people

    def comparison(self, measure: Measure) -> Comparison | None:
        """The named group against the reference in one measure."""
        found = (one for one in self.table.comparisons if one.measure == measure)
        return next((one for one in found if one.group == self.group), None)

    def named(self, name: str | None) -> Group | None:
        """The group of this name; None where there is none."""
        return next((one for one in self.table.by_group if one.name == name), None)


def title_of(shown: Shown, key: str, one: Comparison) -> str:
    """The title of a comparison: how often, if a gap is shown or large; else that none is shown."""
    if one.verdict == "gap shown" or abs(one.gap) >= shown.report.concern:
        return titled(shown, key, one.value, one.reference_value)
    return shown.words.say(f"board.card.{key}.none")


def titled(shown: Shown, key: str, value: float | None, reference: float | None) -> str:
    """How often the named group, compared with the reference: twice as often, nearly equal."""
    words, group = shown.words, plain(shown.group or "")
    ratio = ratio_of(value, reference)
    if ratio is not None and abs(ratio - 1) <= EXACT:
        return words.say(f"board.card.{key}.equal")
    difference = (value or 0.0) - (reference or 0.0)
    if abs(difference) < SAME:
        return words.say(f"board.card.{key}.equal")
    return compared_often(words, f"board.card.{key}", ratio, difference, group=group)
