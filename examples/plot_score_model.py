"""
How far do options lead on a score's own scale?
===============================================

A bank's successor model gives a score from 300 to 849 and no probability; from 620 on, a loan is
approved. A pipeline in front of it takes the raw columns. Everything that an audit says is then in
units of the score.
"""

import matplotlib.pyplot as plt

import recourse_audit as ra
from recourse_audit.testing import find_sample

audit = ra.Audit.from_toml(find_sample("lending_deployed") / "score.toml")
reports = audit.explain_many([f"A{number:04}" for number in range(1, 41)])
denied = sorted(
    (report for report in reports if not report.subject.favourable),
    key=lambda report: report.decision.score,
)
print(f"{len(denied)} of {len(reports)} people were denied")

# %%
# ``output = "score"`` in the settings declares that the number is a score. This is never guessed: a
# column of logits looks the same. Which side is better, and where it turns, is declared as well.

denied[-1].decision

# %%
# Each arrow leads from the score as it is to the score with the easiest option. A cross is somebody
# for whom every combination of up to three permitted changes was tried and none works.

figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for row, report in enumerate(denied):
    before = report.decision.score
    if report.recourse.options:
        after = report.recourse.options[0].score
        axes.annotate("", (after, row), (before, row), arrowprops={"arrowstyle": "->"})
    elif report.status == "certified_infeasible":
        axes.plot(before, row, marker="x", color="tab:red")
axes.set_yticks(range(len(denied)), [report.subject.id for report in denied])
axes.set_ylim(-0.7, len(denied) - 0.3)
axes.set_xlim(290, 680)
axes.axvline(620, linestyle="--", color="0.4")
axes.set_xlabel("score; the dashed line is the cut-off")
plt.show()

# %%
# Most options end not far beyond the line, because the easiest one is wanted and not the safest.
# How often each still works when the graph around the person changes a little is told beside it.

for report in denied:
    for option in report.recourse.options[:1]:
        share = option.robustness.success_share
        print(f"{report.subject.id}: effort {option.cost:.2f}, worked in {share:.0%} of tests")

# %%
# Effort is counted in percentiles in this policy: a step costs by how many people it passes.
