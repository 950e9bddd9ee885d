"""Findings about groups in sentences, in four languages, from one catalogue each."""

from dataclasses import dataclass

from recourse_audit.records.group_figures import Measure
from recourse_audit.records.groups import Finding, GroupReport
from recourse_audit.render.i18n import Words
from recourse_audit.render.templates import Templates
from recourse_audit.render.text import plain

CATALOGUE = "groups"
UNSEEN = 0.0005  # half of the last digit of a share
# What a finding says where it is worse for the group, better, and the same.
WORDS: dict[Measure, tuple[str, str, str]] = {
    "adverse_rate": ("refused.more", "refused.less", "refused.same"),
    "feasibility": ("option.less", "option.more", "option.same"),
    "cost": ("effort.more", "effort.less", "effort.same"),
}


def speak(
    report: GroupReport, language: str = "en", templates: Templates | None = None
) -> "Speaker":
    """What says the findings of a report in a language."""
    return Speaker(Words(language, templates or Templates()), report)


@dataclass(frozen=True, slots=True, kw_only=False)
class Speaker:
    """Says what was found in one language."""

    words: Words
    report: GroupReport

    def headline(self) -> str:
        """The finding to lead with; if none leads, how many comparisons are settled."""
        found = self.report.findings
        if not found:
            return self._say("nothing")
        if found[0].headline:
            return self.sentence(found[0])
        unsettled = [one for one in found if one.verdict == "not settled"]
        if not unsettled:
            return self.words.say_count("finding.none.of", len(found), concern=self._concern)
        said = self.words.say_count(
            "finding.none.shown", len(unsettled), all=self.words.number(len(found))
        )
        seen = [one.smallest_gap for one in unsettled if one.smallest_gap is not None]
        if not seen:
            return said
        least, most = self._size(min(seen)), self._size(max(seen))
        if least == most:
            return f"{said} {self._say('would.one', smallest=least)}"
        return f"{said} {self._say('would', smallest=least, largest=most)}"

    def sentence(self, found: Finding) -> str:
        """Who, what, how much and how sure; then what may be concluded."""
        group = self._group(found, found.group)
        what = self._say(
            _clause(found),
            group=group,
            reference=plain(found.reference),
            value=self._share(found.value),
            reference_value=self._share(found.reference_value),
        )
        gap = {"what": what, "gap": self.words.points(found.gap), "group": plain(found.group)}
        if found.interval is None:
            said = self._say("gap.plain", **gap)
        else:
            said = self._say(
                "gap",
                **gap,
                confidence=self.words.whole_percent(1 - self.report.alpha),
                low=self.words.points(found.interval.low),
                high=self.words.points(found.interval.high),
            )
        return " ".join([said, *self._conclusions(found)])

    @property
    def _concern(self) -> str:
        """The gap from the settings, with as many digits as it was written with."""
        return self.words.number(100 * self.report.concern)

    def _conclusions(self, found: Finding) -> list[str]:
        said = [self._say("shown")] if found.verdict == "gap shown" else []
        if found.no_gap:
            said.append(self._say("small", concern=self._concern, group=plain(found.group)))
        if found.verdict == "not settled":
            if found.adjusted is None or found.smallest_gap is None:
                said.append(self._say("untested"))
            else:
                said.append(self._say("open", smallest=self._size(found.smallest_gap)))
        return said

    def _group(self, found: Finding, name: str) -> str:
        attribute = plain(found.table).replace(" x ", ", ")
        return self._say("attribute", group=plain(name), attribute=attribute)

    def _share(self, share: float | None) -> str:
        return "" if share is None else self.words.percent(share)

    def _size(self, size: float) -> str:
        return self.words.points(abs(size)).lstrip("+")

    def _say(self, key: str, /, **values: str) -> str:
        return self.words.say(f"finding.{key}", **values)


def _clause(found: Finding) -> str:
    worse, better, same = WORDS[found.measure]
    if abs(found.gap) < UNSEEN:
        return same
    return worse if found.gap > 0 else better
