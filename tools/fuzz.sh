#!/bin/sh
# Runs every libFuzzer target of a build for some seconds each, from the seeds in fuzz/corpus/NAME.
# New inputs and crashes are kept in BUILD/corpus/NAME, never in the tree.
#   tools/fuzz.sh BUILD SECONDS
set -eu
# Weighing inputs by rare features takes half of the time, and freed memory that is kept for long a fifth.
build=$1
seconds=$2
status=0
ran=0
export ASAN_OPTIONS="${ASAN_OPTIONS:-quarantine_size_mb=4:malloc_context_size=4}"
for program in "$build"/fuzz/fuzz_*; do
    if [ ! -f "$program" ] || [ ! -x "$program" ]; then continue; fi
    name=${program##*/fuzz_}
    found=$build/corpus/$name
    mkdir -p "$found/crashes"
    echo "fuzz: $name for $seconds s"
    if "$program" -entropic=0 -max_total_time="$seconds" -print_final_stats=1 -verbosity=0 -rss_limit_mb=4096 \
        -timeout=20 -artifact_prefix="$found/crashes/" "$found" "fuzz/corpus/$name"; then
        echo "fuzz: $name: no crash"
    else
        echo "fuzz: $name: FAILED, the input is in $found/crashes/"
        status=1
    fi
    ran=$((ran + 1))
done
echo "fuzz: $ran target(s) run"
[ "$ran" -gt 0 ] || status=1
exit $status
