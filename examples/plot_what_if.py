"""
How much would this person have to save?
========================================

Tries a change by hand, again and again: every level of savings, with and without some of the ties.
Whether the policy permits a change does not matter here; the model is simply asked.
"""

import matplotlib.pyplot as plt

import recourse_audit as ra
from recourse_audit.testing import find_sample

audit = ra.Audit.from_toml(find_sample("lending") / "audit.toml")
report = audit.explain("P0004")
report.subject

# %%
# A change is written as a person would say it: ``savings=9000``, ``drop P0002-P0004``. Several are
# tried together, and the answer is the model's on the whole graph. Here are the ties of this
# person.

own = [tie for tie in report.ego_network.ties if "P0004" in tie.ends]
for tie in own:
    print(tie.kind, *tie.ends)

# %%
# Now the loop. Everybody who shares an address is one change in the policy, so these ties end
# together.

at_home = [f"drop {tie.ends[0]}-{tie.ends[1]}" for tie in own if tie.kind == "address"]
levels = range(2_500, 25_001, 2_500)
curves = {
    "as it is": [],
    "after moving house": at_home,
}
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
for label, ties in curves.items():
    answers = [audit.what_if("P0004", [f"savings={level}", *ties]) for level in levels]
    chances = [answer.probabilities["approved"] for answer in answers]
    axes.plot(levels, chances, marker="o", label=label)
    first = next((at for at, each in zip(levels, answers, strict=True) if each.favourable), None)
    print(f"{label}: first level at which the answer is approved: {first}")
axes.axhline(0.5, linestyle="--", color="0.4")
axes.set_xlabel("savings, euros")
axes.set_ylabel("probability of approval")
axes.legend()
plt.show()

# %%
# With the ties as they are, no level that was tried reaches the cut-off; the curve still rises, and
# says nothing about sums beyond it. After moving house, 12,500 euros is the first level tried that
# does. With little saved, moving makes the answer worse: a tie can speak for somebody and against.
#
# Is the change one that the policy permits? The answer to a single question says so. It never says
# that the change is possible in life, or that the bank will approve: the model may be replaced, and
# other people's data move too.

answer = audit.what_if("P0004", ["savings=25000", *at_home])
answer

# %%
# ``recourse-audit explain audit.toml P0004 --what-if "savings=9000"`` asks the same from the
# command line.
