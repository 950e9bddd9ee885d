"""The paper's own caution, which goes with every counterfactual."""

from recourse_audit.records.caveats import Caveat

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
