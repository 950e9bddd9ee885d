"""The words of every caveat: one text for the auditor, which names variables, one for a letter.

Both come from one record. The paper's general caution goes with every counterfactual.
"""

from recourse_audit.records.caveats import AdjustedEffect, Caveat, Grade
from recourse_audit.records.search import Tie

# Smaller moves would be +0.000.
LEAST_SHOWN = 0.0005
HEADLINES: dict[Grade, str] = {
    "holds": "The effect holds: on average it keeps its direction and at least half of its size.",
    "weakens": "The effect weakens: on average it keeps its direction, but less than half of its "
    "size.",
    "no_effect": "No effect to speak of: on average the move is below {smallest:.3g} either way.",
    "reverses": "The effect reverses: on average it goes the other way.",
    "not_settled": "Not settled: {draws} draws do not show whether the effect holds.",
}
TOO_SMALL = (
    "Not settled: with the features as they are, the move is below {smallest:.3g}, too small to "
    "hold or reverse."
)
# Of reports before format 6, whose grades counted directions and are not about the mean.
FORMER_HEADLINES: dict[Grade, str] = {
    "holds": "The effect holds.",
    "weakens": "The effect weakens.",
    "no_effect": "No effect to speak of.",
    "reverses": "The effect reverses.",
    "not_settled": "Not settled.",
}
_OTHERWISE = "With other information about you and the people you are connected with, "
LETTERS: dict[Grade, str] = {
    "holds": f"{_OTHERWISE}this kind of change worked in the same direction on average, and at "
    "least half as strongly.",
    "weakens": f"{_OTHERWISE}this kind of change worked less than half as strongly on average, so "
    "it may count for less than it seems.",
    "no_effect": f"{_OTHERWISE}this kind of change made hardly any difference on average. Please "
    "do not rely on it alone.",
    "reverses": f"{_OTHERWISE}this kind of change had the opposite effect on average. Please do "
    "not rely on it alone.",
    "not_settled": "We checked how far this depends on other information about you and the people "
    "you are connected with, but the result was not clear.",
}
LETTER_DEPENDS = "This was not the case every time we checked."
LETTER_UNMEASURED = "We could not check how far this depends on other information."
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
    removed: tuple[Tie, ...],
    watched: str,
    confounders: tuple[str, ...],
    effect: AdjustedEffect | None,
) -> Caveat:
    """What the confounders of one counterfactual do to its effect, if that was measured.

    `watched` names what the effect is on: the probability of a class, or the score.
    """
    names = _listed(confounders)
    ties = _listed(tuple(f"{a}-{b}" for a, b in removed))
    act = f"The features of {names} act on the answer both through what is removed and around it"
    about = f"counterfactual {number}"
    if effect is None:
        return Caveat(
            kind="confounders",
            grade=None,
            counterfactual=number,
            about=about,
            text=f"{act}; how much of the effect of removing {ties} is theirs was not measured.",
            letter=LETTER_UNMEASURED,
            variables=confounders,
        )
    return Caveat(
        kind="confounders",
        grade=effect.grade,
        counterfactual=number,
        about=about,
        text=f"{_headline(effect)} Removing {ties} moves the {watched} by "
        f"{_moved(effect.unadjusted)} with the features as they are. {act}: when they are redrawn "
        f"from the population, the move is {effect.adjusted:+.3f} on average (95 % interval "
        f"{effect.low:+.3f} to {effect.high:+.3f}). {_shares(effect)}",
        letter=_letter(effect),
        variables=confounders,
        effect=effect,
    )


def _headline(effect: AdjustedEffect) -> str:
    if effect.smallest is None:
        return FORMER_HEADLINES[effect.grade]
    small = abs(effect.unadjusted) < effect.smallest
    words = TOO_SMALL if effect.grade == "not_settled" and small else HEADLINES[effect.grade]
    return words.format(smallest=effect.smallest, draws=effect.draws)


def _moved(move: float) -> str:
    """A move with its sign; a small one with as many decimals as it has."""
    if move == 0:
        return "no measurable amount"
    return f"{move:+.3f}" if abs(move) >= LEAST_SHOWN else f"{move:+.6f}".rstrip("0")


def _shares(effect: AdjustedEffect) -> str:
    """In how many draws the move goes which way; all of them, if it depends on whom."""
    same = f"in the same direction in {_share(effect.agreeing)} of {effect.draws} draws"
    if effect.smallest is None or effect.negligible is None:
        return f"It goes {same}."
    beyond = f"exceeds {effect.smallest:.3g}"
    if effect.unadjusted == 0:
        larger = _share(1 - effect.negligible)
        return f"It {beyond} in either direction in {larger} of {effect.draws} draws."
    if not effect.depends_on_whom:
        return f"It {beyond} {same}."
    opposite = _share(1 - effect.agreeing - effect.negligible)
    return (
        f"It depends on whom: the move {beyond} {same}, in the opposite direction in {opposite}, "
        f"and in neither in {_share(effect.negligible)}."
    )


def _share(share: float) -> str:
    # What is left of 1 may be a little less than nothing.
    return f"{100 * max(share, 0.0):.0f} %"


def _letter(effect: AdjustedEffect) -> str:
    """What a letter says; of an effect that holds, also that it does not always."""
    words = LETTERS[effect.grade]
    whom = effect.grade == "holds" and effect.depends_on_whom
    return f"{words} {LETTER_DEPENDS}" if whom else words


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def general_caveats(*, depth_known: bool) -> tuple[Caveat, ...]:
    """The caveats that go with every counterfactual, whatever was measured."""
    return (CAUTION,) if depth_known else (CAUTION, UNBOUNDED)
