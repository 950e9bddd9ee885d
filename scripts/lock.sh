#!/bin/sh
# Pins every package with its hashes: requirements/run.txt for the program, dev.txt for its tests,
# docs.txt for its documentation, and oldest.txt for its tests with the oldest versions that
# pyproject.toml allows.
#
# One lock serves Python 3.11 and newer on Linux and macOS, with the same version of each package on
# all of them, because the figures in a report must not depend on the auditor's Python.
set -eu
cd "$(dirname "$0")/.."

if ! command -v uv >/dev/null 2>&1; then
    echo "lock: uv is not installed; install it with 'python3 -m pip install uv' and rerun." >&2
    exit 1
fi

pin() {
    uv pip compile --quiet --universal --python-version 3.11 \
        --generate-hashes --no-emit-index-url --no-annotate --no-header "$@"
}

pin --upgrade --fork-strategy fewest pyproject.toml requirements/run.in --output-file requirements/run.txt
# The tests and the documentation use exactly the package versions that the program uses.
for extra in dev docs; do
    pin --upgrade --fork-strategy fewest pyproject.toml requirements/run.in --extra $extra \
        --constraint requirements/run.txt --output-file requirements/$extra.txt
done
pin --resolution lowest-direct pyproject.toml requirements/run.in --extra dev \
    --output-file requirements/oldest.txt
