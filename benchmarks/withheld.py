"""Attack the published files of many made-up audits: `python -m benchmarks.withheld 500 [FIRST]`.

The attacker is that of the tests; here it also goes for the costs, caveats, common options,
common actions, ties and own data of every population. The exit code is 1 if it learns anything that
is withheld.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.groups.attacker import (
    attack,
    attack_actions,
    attack_details,
    attack_own_data,
    attack_ties,
    hidden_counts,
)
from tests.groups.populations import harmful, harmful_actions, publish
from tests.groups.published import read


def main(count: int, first: int = 0) -> int:
    attacked = learnt = 0
    for seed in range(first, first + count):
        with TemporaryDirectory() as folder:
            known = read(publish(seed, (5, 11)[seed % 2], Path(folder)))
        secrets = [*attack(known), *attack_details(known), *attack_ties(known)]
        secrets += harmful(known, seed, attack_own_data(known))
        secrets += harmful_actions(known, seed, attack_actions(known))
        attacked += len(hidden_counts(known))
        learnt += len(secrets)
        if secrets:
            print(f"population {seed}: {secrets}", flush=True)
    print(f"{count} populations, {attacked:,} withheld counts attacked, {learnt} learnt")
    return int(learnt > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
