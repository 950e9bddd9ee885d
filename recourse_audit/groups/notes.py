"""Why a gap was not tested, as codes; `render` has the words."""

from recourse_audit.records.group_figures import WhyUntested

FEWEST_TIED = 100
FEWEST_EFFECTIVE = 10

NO_TIES: WhyUntested = "no_ties"  # fewer than FEWEST_TIED people have ties
UNLIKE: WhyUntested = "unlike"  # the labels clump as no redrawn labels do
FEW_CASES: WhyUntested = "few_cases"  # by chance, less than one would be expected in a group
ALIKE: WhyUntested = "alike"  # everybody is alike
FEW_EFFECTIVE: WhyUntested = "few_effective"  # a group counts for fewer than FEWEST_EFFECTIVE
