"""The one place that turns answers into decisions: the model answers, a rule decides.

Answers are rows of log-probabilities, one column per class. Everything that speaks of a decision,
a favourable one, a margin or a change of decision asks here, so that the rule is written once.
"""

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Floats, Ints
from recourse_audit.settings import DecisionSettings

Mask = NDArray[np.bool_]
NO_DECISION = ""


class Decisions:
    """The rule of one audit: the class with the highest probability; of equals, the first.

    A row that is not a number (any entry NaN or infinite) has no decision. It is neither
    favourable nor a class of its own.
    """

    def __init__(self, settings: DecisionSettings) -> None:
        self.classes = settings.classes
        self._favourable: Mask = np.array([name in settings.favourable for name in self.classes])

    def usable(self, answers: Floats) -> Mask:
        """Which rows are numbers, so that there is a decision at all."""
        return np.asarray(np.isfinite(answers).all(axis=1))

    def classes_of(self, answers: Floats) -> Ints:
        """The number of the decided class for each row; -1 where there is no decision."""
        decided: Ints = np.where(self.usable(answers), answers.argmax(axis=1), -1)
        return decided

    def names_of(self, answers: Floats) -> list[str]:
        """The name of the decided class for each row; "" where there is no decision."""
        names = (*self.classes, NO_DECISION)
        return [names[number] for number in self.classes_of(answers).tolist()]

    def favourable(self, answers: Floats) -> Mask:
        """Which rows get a favourable decision; a row without a decision does not."""
        decided = self.classes_of(answers)
        favourable: Mask = self._favourable[decided] & (decided >= 0)
        return favourable

    def changed(self, before: Floats, after: Floats) -> Mask:
        """Which rows get another class than before; rows without a decision do not count."""
        was, now = self.classes_of(before), self.classes_of(after)
        changed: Mask = (was != now) & (was >= 0) & (now >= 0)
        return changed

    def log_odds(self, answers: Floats) -> Floats:
        """How far each row is from the decision line, in log-probability: above 0 is favourable."""
        return self._lead(answers)

    def margin(self, answers: Floats) -> Floats:
        """The same as a difference of probabilities: best favourable class minus best other."""
        return self._lead(np.exp(answers))

    def _lead(self, values: Floats) -> Floats:
        """The best favourable column minus the best other one."""
        favourable, other = values[:, self._favourable], values[:, ~self._favourable]
        lead: Floats = favourable.max(axis=1) - other.max(axis=1)
        return lead
