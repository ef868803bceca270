#!/bin/sh
# Installs the programs that the tests with the live kernel need and this machine lacks. For root on Debian or Ubuntu (.ci/run calls it).
# Ends with 0 where all are there, with 1 where one is missing, and says which.
set -u
PATH="$PATH:/usr/sbin:/sbin"
headers=${HEADERS:-/usr/include/bpf/bpf_helpers.h}

# PROGRAM PACKAGE
needed="ip iproute2
tc iproute2
iperf3 iperf3
clang clang
cc gcc
unshare util-linux
chrt util-linux
setpriv util-linux"

# "what" or "package" of all that is missing, a line each.
missing() {
    echo "$needed" | while read -r program package; do
        command -v "$program" >/dev/null 2>&1 || if [ "$1" = what ]; then echo "$program"; else echo "$package"; fi
    done
    [ -e "$headers" ] || if [ "$1" = what ]; then echo "$headers"; else echo libbpf-dev; fi
}

packages=$(missing package | sort -u | tr '\n' ' ')
[ -n "$packages" ] || { echo "kernel tests: all programs are there"; exit 0; }
if ! command -v apt-get >/dev/null 2>&1 || [ "$(id -u)" -ne 0 ]; then
    echo "kernel tests: not root on Debian, so nothing is installed; missing packages: $packages" >&2
    exit 1
fi
echo "kernel tests: installing $packages"
# shellcheck disable=SC2086
if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null; }; then
    echo "kernel tests: apt-get could not install $packages" >&2
fi
left=$(missing what | tr '\n' ' ')
[ -z "$left" ] || { echo "kernel tests: still missing: $left" >&2; exit 1; }
