#!/bin/sh
# A damaged trace, repaired: makes one, checks it, fixes it, checks it again, and converts it.
#   tools/demo.sh [HEDDLE]      files go to build/demo/
# At the end the viewer shows it, until a key is pressed, or for DEMO_SECONDS; without a terminal it only shows that it
# answers.
set -eu
cd "$(dirname "$0")/.."
heddle=${1:-build/release/src/cli/heddle}
out=build/demo
before=$out/before.json
after=$out/after.json
store=$out/after.heddle
perfetto=$out/after.pftrace
flame=$out/flame.svg

# Options of `heddle synth`; the same seed gives the same trace.
synth_options="--crossings 40 --damage all --seed 7"

step() {
    printf '\n== %s\n' "$1"
    shift
    printf '$ heddle %s\n' "$*"
    # 1 from `check` means that it found something, which is what the demo is about; only 2 and above, or a failure
    # that left no output, stop it.
    status=0
    "$heddle" "$@" || status=$?
    if [ "$status" -gt 1 ]; then exit "$status"; fi
}

mkdir -p "$out"
rm -f "$before" "$after" "$store" "$perfetto" "$flame"
# shellcheck disable=SC2086 # a list of options
step "A training run as a profiler wrote it: slices cross, and the file is damaged" synth -o "$before" $synth_options
[ -s "$before" ] || exit 1
step "What is wrong with it" check "$before"
step "The repair" fix "$before" "$after"
[ -s "$after" ] || exit 1
step "What is wrong with it now" check "$after"
step "The same trace as a store, which opens in milliseconds" convert "$after" "$store"
step "And for the Perfetto viewer" convert "$store" "$perfetto"
step "Which code the GPU runs for" flame "$store" -o "$flame"

cat <<END

== The files
  before   $PWD/$before
  after    $PWD/$after
  store    $PWD/$store
  Perfetto $PWD/$perfetto
  flame    $PWD/$flame (open it in a browser)

Open each in a viewer to see the difference: drag the file into https://ui.perfetto.dev (it stays on your machine), or
into chrome://tracing. Before the repair, slices that cross are dropped or drawn over others; after it, each is in
its lane.
END

# The viewer. DEMO_SECONDS=0 leaves it out.
if [ "${DEMO_SECONDS:-}" = 0 ]; then exit 0; fi
printf '\n== The viewer\n$ heddle view %s\n' "$store"
address=$out/address
rm -f "$address"
"$heddle" view -q "$store" >"$address" &
page=$!
trap 'kill "$page" 2>/dev/null || true' EXIT
tries=100
while [ ! -s "$address" ]; do
    tries=$((tries - 1))
    if [ "$tries" = 0 ] || ! kill -0 "$page" 2>/dev/null; then
        echo "The viewer could not be started; the files above are complete." >&2
        exit 1
    fi
    sleep 0.1
done
url=$(cat "$address")
echo "It is at $url"
if [ -n "${DEMO_SECONDS:-}" ]; then
    echo "It stops after $DEMO_SECONDS seconds (DEMO_SECONDS)."
    sleep "$DEMO_SECONDS"
elif [ -t 0 ]; then
    echo "Any key stops it."
    before=$(stty -g)
    stty -icanon -echo
    dd bs=1 count=1 >/dev/null 2>&1 || true
    stty "$before"
else
    /usr/bin/python3 - "$url" <<'END'
import sys, urllib.request
page = urllib.request.urlopen(sys.argv[1]).read()
session = urllib.request.urlopen(sys.argv[1] + "api/session").read()
print(f"It answers: the page has {len(page)} bytes, the session {len(session)}. Without a terminal it stops here.")
END
fi
