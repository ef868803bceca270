#!/usr/bin/env bash
# Instructions per packet-hop of the benches D1 and D2, shortened: a figure that does not depend on how busy the machine is.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v valgrind > /dev/null; then
    echo "valgrind is missing: install it with 'sudo apt-get install valgrind' (Debian, Ubuntu) or your package manager" >&2
    exit 1
fi

cargo build --quiet --release -p farloop-scenario --example run
run="${CARGO_TARGET_DIR:-target}/release/examples/run"
profile=$(mktemp)
trap 'rm -f "$profile"' EXIT

# measure NAME DURATION
measure() {
    local report hops instructions
    report=$(valgrind --tool=callgrind --callgrind-out-file="$profile" "$run" "benches/$1.toml" "run.duration=$2" 2> /dev/null)
    hops=$(sed -n 's/^\([0-9]*\) packet-hops.*/\1/p' <<< "$report")
    instructions=$(sed -n 's/^\(summary\|totals\): *\([0-9]*\).*/\2/p' "$profile" | head -n 1)
    awk -v case="${1^^}" -v t="$2" -v i="$instructions" -v h="$hops" \
        'BEGIN { printf "%s, %s: %.0f instructions per packet-hop (%d hops)\n", case, t, i / h, h }'
}

# Long enough for D1 that most of it is steady: its first ACKs come after 50 ms.
measure d1 100ms
measure d2 300us
