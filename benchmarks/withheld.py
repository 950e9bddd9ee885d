"""Attack the published files of many made-up audits: `python -m benchmarks.withheld 500 [FIRST]`.

The attacker is that of the tests; here it also goes for the costs, caveats, common options, common
actions, ties and own data of every population, and, with `--outcomes`, for how decisions turned out
instead. The exit code is 1 if it learns anything that is withheld.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.groups.attacker import (
    Secret,
    attack,
    attack_actions,
    attack_details,
    attack_own_data,
    attack_ties,
    hidden_counts,
)
from tests.groups.outcome_attacker import OutcomeSystem, attack_outcomes
from tests.groups.populations import (
    harmful,
    harmful_actions,
    harmful_outcomes,
    publish,
    publish_outcomes,
)
from tests.groups.published import read
from tests.groups.published_outcomes import read_turned_out


def attack_everything(seed: int, smallest: int, folder: Path) -> tuple[int, list[Secret]]:
    """How many withheld counts of a population were attacked, and what was learnt."""
    known = read(publish(seed, smallest, folder))
    secrets = [*attack(known), *attack_details(known), *attack_ties(known)]
    secrets += harmful(known, seed, attack_own_data(known))
    secrets += harmful_actions(known, seed, attack_actions(known))
    return len(hidden_counts(known)), secrets


def attack_turned_out(seed: int, smallest: int, folder: Path) -> tuple[int, list[Secret]]:
    """The same with outcomes; what is said of enough people anyway is not counted as learnt."""
    written, people = publish_outcomes(seed, smallest, folder)
    known = read(written)
    turned = read_turned_out(written, known)
    # Under an even seed the attacker knows from which score on a decision is favourable.
    line = None if seed % 2 else 0.5
    learnt = harmful_outcomes(known, people, attack_outcomes(known, turned, line))
    return len(OutcomeSystem(known, turned, line).hidden()), learnt


def main(count: int, first: int = 0, *, outcomes: bool = False) -> int:
    attacked = learnt = 0
    for seed in range(first, first + count):
        with TemporaryDirectory() as folder:
            attacks = attack_turned_out if outcomes else attack_everything
            hidden, secrets = attacks(seed, (5, 11)[seed % 2], Path(folder))
        attacked += hidden
        learnt += len(secrets)
        if secrets:
            print(f"population {seed}: {secrets}", flush=True)
    print(f"{count} populations, {attacked:,} withheld counts attacked, {learnt} learnt")
    return int(learnt > 0)


if __name__ == "__main__":
    numbers = [int(one) for one in sys.argv[1:] if one != "--outcomes"]
    sys.exit(main(*numbers, outcomes="--outcomes" in sys.argv))
