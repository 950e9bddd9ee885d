"""Candidates for the reasons of a refusal: what counts against a person, as the model shows it.

A column or a kind of tie is a candidate if the model's answer moves noticeably towards a favourable
decision without it: by at least `reasons.smallest` of its distance to the cut-off. So what the
model ignores, and a kind of tie that counts *for* a person as a whole, can be none. A person
confirms or rejects candidates; nothing here says what caused a decision.
"""

from functools import cache

from recourse_audit.audit.load import LoadedAudit
from recourse_audit.model.batching import CLOSE, noise_of
from recourse_audit.records.recourse import Option, Part, SetAction
from recourse_audit.records.subject import ReasonCandidate, SubjectReport
from recourse_audit.recourse.proxies import SAME, ProxySearch
from recourse_audit.search.pareto import round_figure

MOST_REASONS = 4


class ReasonFinder:
    """Chooses candidates from what a report knows of columns, kinds of ties and permitted moves."""

    def __init__(self, audit: LoadedAudit) -> None:
        settings = audit.settings
        self._smallest = settings.reasons.smallest
        # What rounding alone may move.
        self._noise = CLOSE * noise_of(audit.batcher)
        self._not_protected = settings.recourse.not_protected
        self._proxy = cache(ProxySearch(audit.graph, settings.groups.attributes).of)

    def find(self, report: SubjectReport) -> tuple[ReasonCandidate, ...]:
        """At most four candidates, the strongest first; none for a favourable decision."""
        own, recourse = report.own_data, report.recourse
        if own is None or recourse is None or own.distance is None or own.distance <= 0:
            return ()
        parts = [(part, effect.moves) for part, effect in own.parts.items()]
        least = max(self._smallest * own.distance, self._noise)
        strong = [(part, moves) for part, moves in parts if moves is not None and moves >= least]
        movable = {
            measured.part
            for measured in recourse.responsiveness
            if measured.best_move is not None and measured.best_move >= least
        }
        movable |= {part for option in recourse.options for part in _parts_of(option)}
        return tuple(
            ReasonCandidate(
                part=part,
                moves=moves,
                share=round_figure(moves / own.distance),
                fixed=part not in movable,
                proxy=self._find_proxy(part),
            )
            for part, moves in sorted(strong, key=lambda item: -item[1])[:MOST_REASONS]
        )

    def _find_proxy(self, part: Part) -> str:
        """The protected attribute that a column is or gives away; "" if there is none."""
        proxy = self._proxy(part.name) if part.what == "column" else None
        if proxy is None or (part.name in self._not_protected and proxy[0] != SAME):
            return ""
        return proxy[1]


def _parts_of(option: Option) -> set[Part]:
    """The columns and kinds of ties that an option changes."""
    return {
        Part(what="column", name=action.attribute)
        if isinstance(action, SetAction)
        else Part(what="ties", name=action.kind)
        for action in option.actions
    }
