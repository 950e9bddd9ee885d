"""Own data alone: what the model answers about somebody whose ties are all removed."""

from dataclasses import dataclass

from recourse_audit.records.base import Record

# Why something was not asked; a page says it in its own language.
RANDOM_ANSWERS = "the model's answers are random"
DEPENDS_ON_OTHERS = (
    "the model's answer for a person depends on who else is asked about, and the graph is too "
    "large to ask about the whole of it for each person"
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AnswerAlone(Record):
    """What the model answers about a subject all of whose own ties are removed; loops stay.

    `value` is the summed probability of the favourable classes, or the score of a score model,
    which has no `probabilities`. Where the answer is not a number, `decision` and `probabilities`
    are empty and `value` is None.
    """

    decision: str
    favourable: bool
    probabilities: dict[str, float]
    value: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OwnData(Record):
    """The answer on own data alone; where it was not asked, it is None and `reason` says why."""

    alone: AnswerAlone | None = None
    reason: str = ""
