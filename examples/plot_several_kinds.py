"""
People, employers and schools: what does a decision rest on?
============================================================

The hiring sample has three kinds of nodes and three relations. Only people are decided on;
employers and schools are part of the graph. An option may be a move here, from one employer to
another with a vacancy nearby.
"""

import matplotlib.pyplot as plt

import recourse_audit as ra
from recourse_audit.testing import find_sample

audit = ra.Audit.from_toml(find_sample("hiring") / "audit.toml")
inspection = audit.inspect()

# %%
# The probes of a model of several kinds say how far away a node of each kind was seen to move an
# answer about a person, and which relations were. ``False`` or ``None`` means that no answer moved
# in the probes, not that none ever does.

for kind in inspection.probes.kinds:
    print(f"{kind.kind}: seen up to {kind.hops} ties away")
for relation in inspection.probes.relations:
    print(f"{relation.relation}: {relation.matters}")

# %%
# Ids carry their kind, such as ``employer:E009``; an id without it is that of a person.

report = audit.explain("P0009")
for option in report.recourse.options:
    print([action.to_dict() for action in option.actions])

# %%
# Only vacancies that the settings list are suggested. ``shared_by`` counts the people with the same
# employer: letters name an employer only if there are enough of them.
#
# What does the decision rest on? Each column of the person's own is put to the value that is usual
# among the invited, and each relation is taken away, one at a time, and the model asked again. To
# the right is towards an invitation.

reports = audit.explain_many(["P0001", "P0005", "P0009", "P0011"])
figure, axes = plt.subplots(1, 4, figsize=(9, 3.2), sharex=True, sharey=True, layout="constrained")
for place, each in zip(axes, reports, strict=True):
    parts = {part.name: figures.moves or 0.0 for part, figures in each.own_data.parts.items()}
    colours = ["tab:blue" if moves > 0 else "tab:red" for moves in parts.values()]
    place.barh(list(parts), list(parts.values()), color=colours)
    place.axvline(0, color="0.4")
    place.axvline(each.own_data.distance, color="0.4", linestyle="--")
    place.set_title(each.subject.id.partition(":")[2])
axes[0].invert_yaxis()
figure.supxlabel("log-odds towards an invitation; the dashed line is the cut-off")
plt.show()

# %%
# A bar beyond the dashed line would change the decision by itself. Bars of one person need not add
# up to anything: the model combines what it is given, and each bar leaves the rest as it is.
