"""Attack the group reports of many made-up audits: `python -m benchmarks.withheld 500 [FIRST]`.

The attacker is that of the tests. The exit code is 1 if it learns a count of a few people.
"""

import sys

from tests.groups.populations import attack_population


def main(count: int, first: int = 0) -> int:
    attacked = learnt = 0
    for seed in range(first, first + count):
        number, secrets = attack_population(seed)
        attacked += number
        learnt += len(secrets)
        if secrets:
            print(f"population {seed}: {secrets}", flush=True)
    print(f"{count} populations, {attacked:,} counts attacked, {learnt} learnt of a few people")
    return int(learnt > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
