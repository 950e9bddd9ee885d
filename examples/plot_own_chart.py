"""
Do people farther below the cut-off need more effort?
=====================================================

A chart of one's own, from a bundle. A bundle is a folder with everything that was found; reading it
asks no model, so a colleague without the model can draw the same chart.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import recourse_audit as ra
from recourse_audit.testing import find_sample

audit = ra.Audit.from_toml(find_sample("lending_deployed") / "score.toml")
folder = tempfile.TemporaryDirectory()
audit.run(Path(folder.name) / "bundle", sample=20, workers=0)

# %%
# From here on, nothing but the folder is used.

bundle = ra.open_bundle(Path(folder.name) / "bundle")
bundle

# %%
# One report after the other, in the order of the table of people.

points = [
    (
        report.decision.margin,
        report.recourse.options[0].cost,
        len(report.recourse.options[0].actions),
    )
    for report in bundle
    if report.recourse.options
]
without = [report.decision.margin for report in bundle if report.status == "certified_infeasible"]
bundle.statuses

# %%
# Each dot is somebody's easiest option; its colour is the number of changes in it. Ticks below are
# people for whom every combination that the policy permits was tried, and none works.

margins, efforts, changes = zip(*points, strict=True)
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
dots = axes.scatter(margins, efforts, c=changes, cmap="viridis", vmin=1, vmax=3)
axes.plot(without, [-0.5] * len(without), "|", color="tab:red", markersize=12)
figure.colorbar(dots, ticks=[1, 2, 3], label="changes")
axes.set_xlabel("score minus cut-off")
axes.set_ylabel("effort of the easiest option")
plt.show()

# %%
# On the whole, effort grows with the distance. But at about 300 points below the cut-off it ranges
# from some 4 to more than 16, and for others there no option exists: the distance alone does not
# tell what a person can do. Twenty people are few, and effort is what the policy says it is.
#
# The same figures come as a table, for whoever prefers one.

table = bundle.to_arrow()
print(table.column_names)
table.slice(0, 3).to_pylist()[0]

# %%
# ``bundle.verify()`` says whether anything in the folder was changed since.

print(bundle.verify().problems)
folder.cleanup()
