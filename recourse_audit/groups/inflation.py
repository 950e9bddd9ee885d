"""By how much ties between people make the shares of groups less sure."""

from collections.abc import Callable

from recourse_audit.records.group_figures import Comparison, Measure


class Inflation:
    """By how much ties inflate the variance of a group's shares, from its comparisons.

    The reference group is in several; the largest counts. Groups that are compared with nobody
    have none.
    """

    def __init__(
        self,
        label: Callable[[int], str],
        reference: int | None,
        compared: tuple[Comparison, ...],
    ) -> None:
        self._label = label
        self._reference = reference
        self._compared = compared

    def of(self, cell: int, measure: Measure) -> float | None:
        name = self._label(cell)
        found = [
            one.precision.inflation
            for one in self._compared
            if one.measure == measure
            and one.precision is not None
            and (one.group == name or cell == self._reference)
        ]
        return max(found, default=None)
