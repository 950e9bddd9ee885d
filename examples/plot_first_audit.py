"""
What does a first audit show?
=============================

Opens the lending sample, explains one decision, tries a change by hand, and draws how far the
easiest option of ten people leads. Nothing is written to disk.

The sample has 1,800 made-up people, and a graph network that approves or denies a loan.
"""

# %%
# An audit is a sealed ONNX model, a graph and settings. Opening it probes the model: are answers
# reproducible, does the order of nodes matter, how many hops away does a person still count?

import matplotlib.pyplot as plt

import recourse_audit as ra
from recourse_audit.testing import find_sample

audit = ra.Audit.from_toml(find_sample("lending") / "audit.toml")
audit.inspect()

# %%
# One person was refused. What would change that? Every option below was confirmed by the model on
# the whole graph.

report = audit.explain("P0004")
report

# %%
# An option is a set of changes that the policy in ``audit.toml`` permits.

for option in report.recourse.options:
    for action in option.actions:
        print(action.to_dict())
    probability = option.probabilities["approved"]
    print(f"effort {option.cost:g}, probability of approval {probability:.3f}\n")

# %%
# Changes can be tried by hand as well, permitted or not.

audit.what_if("P0004", "savings=17920")

# %%
# The same for ten people. Each line leads from the answer as it is to the answer after the easiest
# option; the dashed line is the cut-off.

reports = audit.explain_many([f"P{number:04}" for number in range(1, 41)])
refused = [each for each in reports if each.recourse.options][:10]

figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
for row, each in enumerate(refused):
    before = each.subject.probabilities["approved"]
    after = each.recourse.options[0].probabilities["approved"]
    axes.plot([before, after], [row, row], color="0.7", zorder=1)
    axes.scatter([before], [row], color="tab:red", zorder=2)
    axes.scatter([after], [row], color="tab:blue", zorder=2)
axes.axvline(0.5, linestyle="--", color="0.4")
axes.set_yticks(range(len(refused)), [each.subject.id for each in refused])
axes.set_xlabel("probability of approval: now (red), after the easiest option (blue)")
plt.show()
