#!/bin/sh
# Installs what the playground's build and its tests in a browser need and this machine lacks. .ci/run calls it.
# Ends with 0 where all is there, with 1 where something is missing, and says what.
set -u

has_std() {
    [ -d "$(rustc --print sysroot 2>/dev/null)/lib/rustlib/wasm32-unknown-unknown/lib" ] || [ -d "$(/usr/bin/rustc --print sysroot 2>/dev/null)/lib/rustlib/src/rust/library/std" ]
}

has_std || { command -v rustup >/dev/null 2>&1 && timeout 120 rustup target add wasm32-unknown-unknown >/dev/null 2>&1; }
packages=""
has_std || packages="rustc-web rust-web-src libstd-rust-web-dev lld-22"
command -v chromium >/dev/null 2>&1 || packages="$packages chromium"
command -v chromedriver >/dev/null 2>&1 || packages="$packages chromium-driver"
command -v npm >/dev/null 2>&1 || packages="$packages npm"
if [ -n "$packages" ] && command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" -eq 0 ]; then
    echo "web: installing $packages"
    # shellcheck disable=SC2086
    if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null; }; then
        echo "web: apt-get could not install $packages" >&2
    fi
fi
left=""
has_std || left="the standard library of wasm32-unknown-unknown (rustup target add wasm32-unknown-unknown, or Debian's rustc-web rust-web-src lld-22)"
command -v chromium >/dev/null 2>&1 || left="$left chromium"
command -v chromedriver >/dev/null 2>&1 || left="$left chromium-driver"
command -v npm >/dev/null 2>&1 || left="$left npm"
[ -z "$left" ] || { echo "web: missing: $left" >&2; exit 1; }
echo "web: all that the playground needs is there"
