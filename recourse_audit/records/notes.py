"""Why ties explain nothing about a subject, a sentence for each reason."""

NO_TIES = "This person has no ties to others in the graph, so no tie carried the decision."
NO_TIE_MOVES = (
    "No tie that was tried moves the answer: whichever ties were removed, the model answered the "
    "same to six digits. So no tie is shown as one that carried the decision."
)
FIRST_MOVES_NOTHING = (
    "Removing the ties of the first counterfactual moves the answer by nothing measurable, so they "
    "did not carry the decision. Among the other pairs are some that move it."
)
TIES_DO_NOT_MATTER = "There is no explanation by ties: the model's answers do not change with them."
