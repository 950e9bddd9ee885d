"""Why ties explain nothing about a subject: one sentence for each reason."""

NO_TIES = "This person has no ties to others in the graph, so the decision rests on no tie."
NO_TIE_MOVES = (
    "No tie that was tried moves the answer: whichever ties were removed, the model's answer "
    "stayed the same to six digits. So no tie is shown as one that the decision rests on."
)
FIRST_MOVES_NOTHING = (
    "Removing the ties of the first counterfactual does not measurably move the answer, so the "
    "decision does not rest on them. Some of the other pairs do move it."
)
TIES_DO_NOT_MATTER = "There is no explanation by ties: the model's answers do not change with them."
