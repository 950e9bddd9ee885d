"""Own data or surroundings: what the model answers when one of them is taken away or exchanged."""

from dataclasses import dataclass
from typing import Literal

from recourse_audit.records.base import Record
from recourse_audit.settings.search import FEWEST_DRAWS

LargerPart = Literal["own", "surroundings"]

# Why something was not asked; a page says it in its own language.
RANDOM_ANSWERS = "the model's answers are random"
DEPENDS_ON_OTHERS = (
    "the model's answer for a person depends on who else is asked about, and the graph is too "
    "large to ask about the whole of it for each person"
)
ONE_BY_ONE = (
    "many changes cannot be put to this model in one question, and the graph is too large to ask "
    "about the whole of it for each"
)
OTHER_ANSWER = "asked in one question with other changes, the model answers differently"
TOO_FEW_DRAWS = f"there are fewer than {FEWEST_DRAWS} usable draws of two other people"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AnswerAlone(Record):
    """What the model answers about a subject all of whose own ties are removed; loops stay.

    `value` is what is watched in `MeanAnswer`. A score model has no `probabilities`. Where the
    answer is not a number, `decision` and `probabilities` are empty and `value` is None.
    """

    decision: str
    favourable: bool
    probabilities: dict[str, float]
    value: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MeanAnswer(Record):
    """The mean of what is watched over all draws, its interval, and the share of favourable ones.

    Watched is the summed probability of the favourable classes, or the score of a score model.
    """

    mean: float
    low: float
    high: float
    favourable: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FourAnswers(Record):
    """Own or other people's data, in one's own or in other people's places."""

    as_is: MeanAnswer
    own_data_elsewhere: MeanAnswer
    others_data_here: MeanAnswer
    neither: MeanAnswer


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Part(Record):
    """A difference between the four answers: its mean over all draws, and its interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Parts(Record):
    """How the answer as it is differs from the one with neither: own + surroundings + interaction.

    `own` is what own data changes in other people's places, `surroundings` what one's own place
    changes with other people's data, and `interaction` what only both together change.
    """

    own: Part
    surroundings: Part
    interaction: Part


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OwnData(Record):
    """The answer on own data alone, and the four answers when data and places are exchanged.

    `larger` names the part that moves the answer more, and is None where the interaction leaves no
    such part or the draws do not tell. `draws` counts the pairs of other people behind the means.
    Where something was not asked, it is None and `reason` says why.
    """

    alone: AnswerAlone | None = None
    cells: FourAnswers | None = None
    parts: Parts | None = None
    larger: LargerPart | None = None
    draws: int = 0
    reason: str = ""
