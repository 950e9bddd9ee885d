#!/bin/sh
# Prepares .venv, or .venv-docs; prints nothing if it is ready already.
#
#   sh scripts/setup.sh run    what the program needs (requirements/run.txt)
#   sh scripts/setup.sh dev    afterwards: what its tests need as well (requirements/dev.txt)
#   sh scripts/setup.sh docs   in .venv-docs: the program and what builds its documentation
#
# Installs whatever is missing: the virtual environment, the pinned packages, the program itself
# (editable) and the system libraries for PDF output; for the tests, also a browser and
# poppler-utils. If a system package cannot be installed, setup prints a warning and continues.
set -eu
cd "$(dirname "$0")/.."

kind=${1:-run}
lock=requirements/$kind.txt
venv=.venv
[ "$kind" != docs ] || venv=.venv-docs
stamp=$venv/ready-$kind
log=$(mktemp)
trap 'rm -f "$log"' EXIT

say() { echo "setup: $*" >&2; }
fail() {
    say "$@"
    exit 1
}

# quietly WHAT COMMAND...: print WHAT, run the command, and show the end of its output if it fails.
quietly() {
    say "$1"
    shift
    "$@" >"$log" 2>&1 || {
        tail -n 20 "$log" >&2
        return 1
    }
}

[ -f "$lock" ] || fail "there is no lock file $lock; use 'run', 'dev' or 'docs'."

# ------------------------------------------------------------------ system packages

can_be_root() { [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null 2>&1; }

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif [ -t 0 ]; then
        sudo "$@"
    else
        sudo -n "$@"
    fi
}

apt_updated=no
apt_install() {
    command -v apt-get >/dev/null 2>&1 && can_be_root || return 1
    if [ "$apt_updated" = no ]; then
        apt_updated=yes
        # Offline, the lists from last time may still be enough.
        quietly "updating the list of system packages" as_root apt-get update -qq || true
    fi
    quietly "installing $* with apt-get" \
        as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -qq -y --no-install-recommends "$@"
}

missing_libraries() {
    DYLD_FALLBACK_LIBRARY_PATH=${DYLD_FALLBACK_LIBRARY_PATH:-/opt/homebrew/lib:/usr/local/lib:/usr/lib} \
        "$venv/bin/python" -I recourse_audit/render/libraries.py | tr '\n' ' '
}

install_libraries() {
    missing=$1
    if command -v apt-get >/dev/null 2>&1; then
        case $missing in *pango*)
            apt_install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz0b || return 0
            ;;
        esac
        # Separate from Pango, because not every Debian or Ubuntu has this package.
        case $missing in *subset*) apt_install libharfbuzz-subset0 || true ;; esac
        case $(missing_libraries) in *font*) apt_install fonts-dejavu-core || true ;; esac
    elif command -v brew >/dev/null 2>&1; then
        quietly "installing pango with brew" brew install pango || true
    fi
}

ensure_libraries() {
    missing=$(missing_libraries)
    [ -n "$missing" ] || return 0
    install_libraries "$missing"
    missing=$(missing_libraries)
    case $missing in
    *pango* | *font*)
        say "warning: PDFs cannot be made on this machine (everything else works); install Pango and" \
            "a font: libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz0b libharfbuzz-subset0" \
            "fonts-dejavu-core on Debian and Ubuntu, 'brew install pango' on macOS."
        ;;
    *subset*)
        say "warning: making PDFs is slower than necessary; install libharfbuzz-subset0" \
            "(part of harfbuzz on other systems)."
        ;;
    esac
}

# ------------------------------------------------------------------ Python

is_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        is_new_enough "$PYTHON" || fail "PYTHON=$PYTHON is not a Python 3.11 or newer."
        echo "$PYTHON"
        return
    fi
    # python3.13 may exist but not run (as a version manager's shim), so each one is tried.
    for candidate in python3.13 python3.12 python3.11 python3 python; do
        if is_new_enough "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    fail "no Python 3.11 or newer was found; install one, or set PYTHON=/path/to/python."
}

version_of() { "$1" -c 'import sys; print(sys.version)' 2>/dev/null; }

can_make_venv() { "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }

make_venv() {
    python=$1
    release=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
    # Debian puts this part of the standard library into a separate package.
    can_make_venv "$python" || apt_install "$release-venv" || true
    can_make_venv "$python" ||
        fail "$release cannot create virtual environments; install the package $release-venv."
    quietly "creating $venv with $release" "$python" -m venv --clear "$venv" ||
        fail "$venv could not be created; see the lines above."
}

# Changes with everything the environment depends on; $PWD, because a moved environment is broken.
key_of() {
    cat "$lock" pyproject.toml scripts/setup.sh | cksum
    echo "$PWD"
    version_of "$venv/bin/python"
}

is_ready() { [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(key_of)" ]; }

fits() {
    is_new_enough "$venv/bin/python" && [ -f "$venv/made-in" ] &&
        [ "$(cat "$venv/made-in")" = "$PWD" ] || return 1
    [ -z "${PYTHON:-}" ] || [ "$(version_of "$PYTHON")" = "$(version_of "$venv/bin/python")" ]
}

pip() { "$venv/bin/python" -m pip --disable-pip-version-check --no-input "$@"; }

if ! fits; then
    python=$(find_python)
    make_venv "$python"
    echo "$PWD" >"$venv/made-in"
fi

if ! is_ready; then
    # Wheels only: building from source would pull in packages that no lock file pins.
    quietly "installing the packages in $lock (the first time takes a minute or two)" \
        pip install --require-hashes --only-binary :all: -r "$lock" ||
        fail "the packages in $lock could not be installed; see the lines above."
    # Not for dev: under `make -j` the program may already be running.
    if [ "$kind" != dev ]; then
        quietly "installing recourse-audit" \
            pip install --no-deps --no-build-isolation -e . ||
            fail "recourse-audit could not be installed; see the lines above."
    fi
    key_of >"$stamp"
fi

# The libraries belong to the machine, not to the environment: check again until all are there.
if [ ! -f "$venv/has-libraries" ]; then
    ensure_libraries
    [ -n "$(missing_libraries)" ] || : >"$venv/has-libraries"
fi

has_browser() {
    for name in chromium chromium-browser google-chrome; do
        command -v "$name" >/dev/null 2>&1 && return 0
    done
    return 1
}

if [ "$kind" = dev ]; then
    has_browser || apt_install chromium || true
    has_browser || say "warning: the tests of pages need Chromium; install the package chromium."
    command -v pdftotext >/dev/null 2>&1 || apt_install poppler-utils ||
        say "warning: the tests of letters need pdftotext; install the package poppler-utils."
fi
