"""The words of every caveat: one text for the auditor, which names variables, one for a letter.

Both come from one record. The paper's general caution goes with every counterfactual.
"""

from recourse_audit.records.caveats import AdjustedEffect, Caveat, Grade
from recourse_audit.records.search import Counterfactual

GRADES: dict[Grade, str] = {
    "holds": "The effect holds",
    "weakens": "The effect weakens",
    "reverses": "The effect reverses",
}
LETTERS: dict[Grade, str] = {
    "holds": "We checked whether this depends on other information about you and the people you "
    "are connected with. It mostly does not.",
    "weakens": "How much this matters depends on other information about you and the people you "
    "are connected with, so it may count for less than it seems.",
    "reverses": "With other information about you and the people you are connected with, the same "
    "change had the opposite effect. Please do not rely on it alone.",
}
CAUTION = Caveat(
    kind="general",
    grade=None,
    counterfactual=None,
    about="every counterfactual",
    text="Removing these ties changes what the model answers on a small part of the graph. That "
    "makes them a part of how the answer came about, not its only or true cause: other variables "
    "in the model's own computation act on the same answer.",
    letter="These connections are a part of how the answer came about. They are not its only "
    "cause, and perhaps not its true one.",
)
UNBOUNDED = Caveat(
    kind="unknown_reach",
    grade=None,
    counterfactual=None,
    about="every counterfactual",
    text="Every node reaches every other in this model, so which of its variables confound a "
    "counterfactual cannot be listed, and no effect was adjusted for them. Declare model.depth if "
    "it is known.",
    letter="We could not check whether this depends on other information.",
)


def confounder_caveat(
    number: int,
    shown: Counterfactual,
    watched: str,
    confounders: tuple[str, ...],
    effect: AdjustedEffect | None,
) -> Caveat:
    """What the confounders of one counterfactual do to its effect, if that was measured.

    `watched` names what the effect is on: the probability of a class, or the score.
    """
    names = _listed(confounders)
    ties = _listed(tuple(f"{a}-{b}" for a, b in shown.removed))
    act = f"The features of {names} act on the answer both through what is removed and around it"
    about = f"counterfactual {number}"
    if effect is None:
        return Caveat(
            kind="confounders",
            grade=None,
            counterfactual=number,
            about=about,
            text=f"{act}; how much of the effect of removing {ties} is theirs was not measured.",
            letter=LETTERS["weakens"],
            variables=confounders,
        )
    moved = "no measurable change" if effect.unadjusted == 0 else f"{effect.unadjusted:+.3f}"
    return Caveat(
        kind="confounders",
        grade=effect.grade,
        counterfactual=number,
        about=about,
        text=f"{GRADES[effect.grade]}. Removing {ties} moves the {watched} by "
        f"{moved} with the features as they are. {act}: when they are redrawn from the population, "
        f"the move is {effect.adjusted:+.3f} on average (95 % interval {effect.low:+.3f} to "
        f"{effect.high:+.3f}), in the same direction in {effect.agreeing:.0%} of {effect.draws} "
        "draws.",
        letter=LETTERS[effect.grade],
        variables=confounders,
        effect=effect,
    )


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def general_caveats(*, depth_known: bool) -> tuple[Caveat, ...]:
    """The caveats that go with every counterfactual, whatever was measured."""
    return (CAUTION,) if depth_known else (CAUTION, UNBOUNDED)
