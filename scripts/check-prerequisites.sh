#!/bin/sh
# Checks for what a build needs and cannot install by itself; one line for each thing that is missing.
# PYTHON names the interpreter (default: python3).
set -u
python=${PYTHON:-python3}
missing=0

need() {
    echo "farloop needs $1" >&2
    missing=1
}

# at_least FOUND MAJOR MINOR
at_least() {
    major=${1%%.*}
    rest=${1#*.}
    minor=${rest%%.*}
    [ "$major" -gt "$2" ] || { [ "$major" -eq "$2" ] && [ "$minor" -ge "$3" ]; }
}

rust_help="install it with: curl -sSf https://sh.rustup.rs | sh"
if ! command -v cargo >/dev/null 2>&1; then
    need "cargo 1.88 or newer, found none; $rust_help"
else
    found=$(cargo --version 2>/dev/null | cut -d' ' -f2)
    at_least "${found:-0.0}" 1 88 || need "cargo 1.88 or newer, found ${found:-one that does not run}; $rust_help"
fi

python_help="install it with: sudo apt install python3 python3-venv (or name another interpreter: make PYTHON=...)"
if ! command -v "$python" >/dev/null 2>&1; then
    need "Python 3.11 or newer, found no $python; $python_help"
else
    found=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
    if ! at_least "${found:-0.0}" 3 11; then
        need "Python 3.11 or newer, $python is ${found:-one that does not run}; $python_help"
    elif ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
        need "Python's venv module; install it with: sudo apt install python3-venv"
    fi
fi

command -v cc >/dev/null 2>&1 || need "a C linker (cc); install it with: sudo apt install build-essential"

exit $missing
