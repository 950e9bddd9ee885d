"""
Who was approved with own data that are no better?
==================================================

An examiner looks for *similarly situated* people. The model itself says who is alike on own data:
those to whom it gives about the same answer with all of their own ties removed. For somebody
refused, an audit lists the nearest approved people whose answer on own data is no better, from
other groups and, as a control, from their own group.
"""

import matplotlib.pyplot as plt

import recourse_audit as ra
from recourse_audit.testing import find_sample

audit = ra.Audit.from_toml(find_sample("lending") / "audit.toml")
report = audit.explain("P0570")
comparators = report.comparators
subject = comparators.subject
print(
    f"{subject.id}, {subject.groups}: own data {subject.alone:.3f}, with ties {subject.score:.3f}"
)

# %%
# One set per protected attribute. Such pairs can always be found: with 1,800 people, somebody near
# was approved. So the question is not whether there are any, but whether they are more frequent
# outside the person's group than inside.

for each in comparators.sets:
    print(
        f"{each.attribute} ({each.group}): approved"
        f" {each.others_approved} of {each.others_of} others,"
        f" {each.own_approved} of {each.own_of} of the own group"
    )

# %%
# Each line leads from the answer on own data to the answer with ties. The subject (red) starts
# beyond the cut-off and ends below it; others (blue) and people of the own group (green) start no
# farther right, and end beyond it.

people = {person.id: person for person in comparators.people}
first = comparators.sets[0]
rows = [(subject, "tab:red")]
rows += [(people[name], "tab:blue") for name in first.others]
rows += [(people[name], "tab:green") for name in first.own]
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
for row, (person, colour) in enumerate(rows):
    axes.annotate(
        "",
        (person.score, row),
        (person.alone, row),
        arrowprops={"arrowstyle": "->", "color": colour},
    )
    axes.plot(person.alone, row, "o", color=colour)
axes.set_yticks(
    range(len(rows)), [f"{person.id}, {person.groups[first.attribute]}" for person, _ in rows]
)
axes.invert_yaxis()
axes.axvline(0.5, linestyle="--", color="0.4")
axes.set_xlim(-0.02, 1.02)
axes.set_xlabel("probability of approval: on own data (dot), with ties (arrow)")
plt.show()

# %%
# What differs, column by column:

for column in comparators.columns:
    values = [person.columns[column.name] for person, _ in rows]
    print(f"{column.name:15}", *(f"{value:>9}" for value in values))

# %%
# *No better* is about the model's answer and about nothing else. A person can be better in a column
# that the model weighs little. ``[comparators] columns`` in the settings adds columns in which
# nobody listed may be better, with a direction and a caliper in the column's unit.
#
# Comparators name third parties. They are in the auditor's copy alone, and say what the model's
# answers do, neither why nor what anybody meant.
