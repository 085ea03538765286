#!/bin/sh
# The archive of `make dist-aarch64` under qemu-user: the unit tests in C that start no other program, then the command itself
# out of the archive. What qemu cannot show is listed in docs/capture.md.
#   tests/tree/dist_aarch64.sh BUILD OUT
set -eu
cd "$(dirname "$0")/../.."
build=$1
out=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

meson configure "$build" -Dtests=true
ninja -C "$build" build.ninja
tools/build_for.py meson "$build" --suite base --suite trace --suite format --suite pass --no-suite slow --no-suite data
# Meson runs programs of the build under qemu, but not what scripts start.
programs=$(meson introspect --tests "$build" | python3 -c 'import json, sys
for t in json.load(sys.stdin):
    suites = {s.split(":")[-1] for s in t["suite"]}
    if suites & {"base", "trace", "format", "pass"} and not suites & {"slow", "data"} and "python" not in t["cmd"][0]:
        print(t["name"])')
# shellcheck disable=SC2086 # a list of names
meson test -C "$build" --no-rebuild --print-errorlogs --timeout-multiplier 5 $programs
meson configure "$build" -Dtests=false

tar -xf "$out"/heddle-*.tar.zst -C "$work"
heddle() {
    qemu-aarch64 -L /usr/aarch64-linux-gnu "$work"/heddle-*/bin/heddle "$@"
}
heddle version
tests/capture/check_portable.py 2.17 "$work"/heddle-*/lib/libheddle-capture.so "$work"/heddle-*/lib/heddle/*.so
tests/capture/check_portable.py 2.28 "$work"/heddle-*/bin/heddle "$work"/heddle-*/lib/*.so
heddle synth --steps 2 --crossings 8 -o "$work/in.json"
heddle fix -q "$work/in.json" "$work/fixed.json"
heddle convert -q "$work/fixed.json" "$work/fixed.heddle"
heddle convert -q "$work/fixed.heddle" "$work/back.json"
heddle convert -q "$work/fixed.json" "$work/copied.json"
cmp "$work/copied.json" "$work/back.json"
heddle check -q "$work/back.json"
echo "the archive for aarch64: ok"
