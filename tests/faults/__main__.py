"""All steps of all commands: `python -m tests.faults`, or some of them by name."""

import sys
import tempfile
from pathlib import Path

from tests.faults.check import check, expected_of
from tests.faults.harness import cases
from tests.faults.points import Fault

FAULTS: tuple[Fault, ...] = ("killed", "full")


def main(names: list[str]) -> int:
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name, case in cases(place).items():
            if names and name not in names:
                continue
            expected, steps = expected_of(case, place)
            for fault in FAULTS:
                wrong = 0
                for at, step in enumerate(steps, 1):
                    try:
                        check(case, expected, at, fault, place)
                    except AssertionError as error:
                        wrong += 1
                        print(f"{name}: {fault} {at} ({step}): {str(error)[:600]}", flush=True)  # noqa: T201
                print(f"{name}: {fault} at {len(steps)} steps, {wrong} failures", flush=True)  # noqa: T201
                failures += wrong
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
