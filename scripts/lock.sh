#!/bin/sh
# Pins every package with its hashes: requirements/run.txt for the program, dev.txt for its tests.
#
# One lock serves Python 3.11 and newer on Linux and macOS, with one version of each package for
# all of them: the numbers in a report must not depend on which Python the auditor has.
set -eu
cd "$(dirname "$0")/.."

if ! command -v uv >/dev/null 2>&1; then
    echo "lock: uv is not installed; run 'python3 -m pip install uv' and try again." >&2
    exit 1
fi

pin() {
    uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest \
        --upgrade --generate-hashes --no-emit-index-url --no-annotate --no-header "$@"
}

pin pyproject.toml requirements/run.in --output-file requirements/run.txt
# The tests run with exactly the packages that the program runs with.
pin pyproject.toml requirements/run.in --extra dev --constraint requirements/run.txt \
    --output-file requirements/dev.txt
