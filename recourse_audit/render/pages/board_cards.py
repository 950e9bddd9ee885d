"""What the charts of the group report say of a gap, and of what became of people."""

from recourse_audit.records.group_figures import Comparison, Group
from recourse_audit.render.charts.strips import Part
from recourse_audit.render.i18n import Words
from recourse_audit.render.pages.board_words import along, more_or_fewer, points


def gap_words(words: Words, one: Comparison) -> str:
    """A gap in points with its interval: 32 points fewer (21 to 43)."""
    if abs(one.gap) < 0.0005:
        said = words.say("board.points.none")
    else:
        said = points(words, f"board.points.{more_or_fewer(one.measure, one.gap)}", one.gap)
    if one.gap_interval is None:
        return said
    return f"{said} ({along(words, one.gap_interval, one.gap)})"


def part_words(words: Words, group: Group) -> list[str]:
    """What became of a group's audited people: 67.4% have an option, 28.4% none exists."""
    return [f"{figure} {what}" for _, _, figure, what in _parts(words, group)]


def _parts(words: Words, group: Group) -> list[tuple[Part, float, str, str]]:
    """The shares of a bar: their kind, size, figure and meaning; what is empty is left out."""
    found = group.outcomes
    assert found is not None
    assert found.feasibility.share is not None
    of = found.feasibility.of
    none, stopped = found.certified_infeasible, found.not_found_within_budget
    shares: list[tuple[Part, float, str]] = [("yes", found.feasibility.share, "yes")]
    if none is None or stopped is None:
        shares.append(("no", 1 - found.feasibility.share, "without"))
    else:
        shares += [("no", none / of, "no"), ("open", stopped / of, "open")]
    return [
        (kind, share, words.percent(share), words.say(f"board.part.{what}"))
        for kind, share, what in shares
        if share > 0
    ]
