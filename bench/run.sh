#!/bin/sh
# The benchmarks: makes the inputs once, then measures each figure beside its peer (bench/measure.py).
#   bench/run.sh BUILD_DIR          a release build
#   BENCH_MB=1000                   size of the inputs in MB
#   BENCH_RUNS=5                    runs of which the median is taken
#   BENCH_THREADS=2                 threads that read: the floors are for two
#   BENCH_ONLY=fix,gzip             only these rows: fix ingest scan gzip threads commands write lanes store
#                                   perfetto otf2 sizes join flame svg tiles page report query imports
#                                   capture python
#   BENCH_DIR=build/bench           inputs and results.md
#   HEDDLE_SHARED=../shared         real traces; where they are absent, heddle synth makes some
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:?usage: bench/run.sh BUILD_DIR}" && pwd)
heddle=$build/src/cli/heddle
dir=${BENCH_DIR:-$root/build/bench}
shared=${HEDDLE_SHARED:-$root/../shared}
megabytes=${BENCH_MB:-1000}
mkdir -p "$dir"

# make FILE COMMAND...: the command makes FILE.part.json, which then gets its name; nothing if FILE is there.
make() {
    target=$1
    shift
    if [ -s "$target" ]; then return; fi
    echo "bench: making ${target##*/} (once)" >&2
    "$@"
    mv "$target.part.json" "$target"
}

synth() { "$heddle" synth --quiet -o "$1.part.json" --events "$2" --crossings "$(($2 / 1000))" --seed "$3" >/dev/null; }

# How many events make so many MB.
events_for() {
    make "$dir/probe.json" synth "$dir/probe.json" 100000 1
    echo $(($1 * 1000000 / ($(wc -c <"$dir/probe.json") / 100000)))
}

# scale NAME TRACE COPIES: COPIES make 1000 MB.
scale() {
    copies=$((($3 * megabytes + 500) / 1000))
    if [ "$copies" -eq 0 ]; then copies=1; fi
    file=$dir/$1_x$copies.json
    [ -s "$file" ] || echo "bench: scaling takes about 100 s for 1,000 MB, in Python" >&2
    make "$file" python3 "$shared/tools/scale_trace.py" "$shared/data/kineto/$2.json.gz" "$file.part.json" "$copies"
    inputs="$inputs $1=$file"
}

unpack() { gzip -dc "$shared/data/kineto/$1.json.gz" >"$2.part.json"; }
pack() { gzip -c "$1" >"$1.gz.part.json"; }

inputs=
if [ -d "$shared/data/kineto" ] && [ -r "$shared/tools/scale_trace.py" ]; then
    scale mtia mtia_rank_0 20
    scale df df_index_resolver 19
    small=df=$dir/df.json
    make "$dir/df.json" unpack df_index_resolver "$dir/df.json"
else
    file=$dir/synth_$megabytes.json
    make "$file" synth "$file" "$(events_for "$megabytes")" 1
    make "$dir/synth_50.json" synth "$dir/synth_50.json" "$(events_for 50)" 2
    inputs=synth=$file
    small=synth=$dir/synth_50.json
fi
for input in $inputs; do
    make "${input#*=}.gz" pack "${input#*=}"
done

# shellcheck disable=SC2086 # a list of names
exec python3 "$root/bench/measure.py" "$build" "$dir" "$small" $inputs
