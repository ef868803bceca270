#!/bin/sh
# cargo with what `make web` needs: the standard library of wasm32-unknown-unknown, of the pinned toolchain, else Debian's sources of it.
# Ends with 3 where there is neither, and says so in one line.
set -u
cd "$(dirname "$0")/.." || exit 1

sysroot=$(rustc --print sysroot 2>/dev/null)
if [ -d "$sysroot/lib/rustlib/wasm32-unknown-unknown/lib" ]; then
    exec cargo "$@"
fi
# rustc-web, rust-web-src and lld of Debian: the sources stand where the compiler looks for them, and are built with the rest.
web=${WEB_RUSTC:-/usr/bin/rustc}
linker=$(command -v wasm-ld)
for found in /usr/lib/llvm-*/bin/wasm-ld; do
    [ -n "$linker" ] || [ ! -x "$found" ] || linker=$found
done
if [ -n "$linker" ] && "$web" --version >/dev/null 2>&1 && [ -d "$("$web" --print sysroot)/lib/rustlib/src/rust/library/std" ]; then
    RUSTC="$web" RUSTC_BOOTSTRAP=1 CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER="$linker" exec cargo -Z build-std=std,panic_abort "$@"
fi
echo "web: no standard library for wasm32-unknown-unknown: run scripts/web-tools.sh, or 'rustup target add wasm32-unknown-unknown'" >&2
exit 3
