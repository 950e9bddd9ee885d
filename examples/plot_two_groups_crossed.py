"""
Is the gap larger where two attributes meet?
============================================

Refusals by region, by gender and by both, with intervals that allow for ties. An audit compares
pairs of attributes too, as a family of their own: more comparisons, so more evidence is asked of
each.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import recourse_audit as ra
from recourse_audit.testing import find_sample

settings = ra.load_settings(find_sample("lending") / "audit.toml")
groups = settings.groups.model_copy(update={"attributes": ("origin", "gender")})
audit = ra.Audit(settings=settings.model_copy(update={"groups": groups}))

# %%
# Refusals are those of all 1,800 people, whether their options were looked for or not. So a handful
# audited is enough here; figures about options would need far more, and the report leaves them out.

folder = tempfile.TemporaryDirectory()
bundle = audit.run(Path(folder.name) / "bundle", sample=2, workers=0)
report = bundle.groups()
for name in ("origin", "gender", "origin x gender"):
    for group in report.by_group[name].values():
        rate = group.decisions.adverse_rate
        print(f"{name:16} {group.name:13} {rate.count:4} of {rate.of:5} refused, {rate.share:.1%}")

# %%
# Each group against the reference group of its table: the gap in refusals, and its interval. Plus
# is worse for the group. Filled: a gap is shown. Open: not settled, or one of the size of concern
# is ruled out.

gaps = [
    each
    for each in report.findings
    if each.measure == "adverse_rate" and each.table in ("origin", "gender", "origin x gender")
]
figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
for row, each in enumerate(gaps):
    axes.plot([each.interval.low, each.interval.high], [row, row], color="0.4")
    filled = "tab:blue" if each.verdict == "gap shown" else "white"
    axes.scatter(each.gap, row, color=filled, edgecolor="tab:blue", zorder=2)
axes.axvline(0, color="0.7")
axes.axvline(report.concern, linestyle="--", color="0.7")
axes.set_yticks(range(len(gaps)), [f"{each.group} against {each.reference}" for each in gaps])
axes.invert_yaxis()
axes.set_xlabel("gap in refusals; dashed: the size of concern")
plt.show()

# %%
# How sure each is: the verdict, the p value corrected for all comparisons of its family, and the
# gap that this comparison would have found four times in five.

for each in gaps:
    print(
        f"{each.group}: {each.verdict}, p = {each.adjusted:.2g}, could find {each.smallest_gap:.0%}"
    )

# %%
# Southern women and southern men are both refused more often than northern men, by about as much as
# southerners together are: here the second attribute adds little that the first does not say. The
# gap is planted in this sample. The report says that it is there and how sure that is. It does not
# say why, and a figure about a group is none about a person.

folder.cleanup()
