#!/bin/sh
# Makes build/dist/heddle-VERSION-linux-x86_64.tar.zst and .tar.gz from build/static, where Meson has built with
# -Dprefer_static=true and -Dportable=true. What is in it runs from any folder.
#   tools/dist.sh BUILD OUT [MACHINE]
set -eu
cd "$(dirname "$0")/.."
build=$1
out=$2
root=$PWD

machine=${3:-$(uname -m)}

version=$(meson introspect --projectinfo "$build" | sed 's/.*"version": "\([^"]*\)".*/\1/')
name=heddle-$version-linux-$machine
rm -rf "$out"
mkdir -p "$out"
DESTDIR=$root/$out/$name meson install -C "$build" --no-rebuild --strip --quiet >"$out/log" 2>&1 || { cat "$out/log" >&2; exit 1; }
rm "$out/log"
cd "$out/$name"

# Of the libraries, those that are whole: archives would need those of all that they are made of, and what takes
# libdw is a program only.
for archive in lib/libheddle*.a; do
    case $archive in *-capture.a) ;; *) rm "$archive" ;; esac
done
if [ ! -e lib/libheddle-symbolize.so ]; then rm -r include/heddle/symbolize.h include/heddle/capture; fi

# The acceptance test on a GPU, with its program, for machines without a compiler.
mkdir -p tests/gpu
cp "$root"/tests/gpu/*.py "$root/$build/tests/gpu/gpu_program" "$root/$build/tests/gpu/libnull-tracer.so" tests/gpu/
rm tests/gpu/test_run.py

mkdir -p share/doc/heddle share/heddle
cp "$root/LICENSE" "$root/README.md" "$root/CHANGELOG.md" share/doc/heddle/
cp -r "$root/docs" "$root/examples" share/doc/heddle/
cp "$root/build/wasm/engine.html" share/heddle/
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 0)
export SOURCE_DATE_EPOCH
"$root/tools/licences.sh" "$PWD/share/doc/heddle" "$machine"
cp share/doc/heddle/sbom.cdx.json "../$name.cdx.json"

cd ..
# The same tree makes the same archive.
pack() {
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cf - "$name"
}
pack | zstd -q -19 -T0 -o "$name.tar.zst"
pack | gzip -9n >"$name.tar.gz"
ls -l "$name.tar.zst" "$name.tar.gz" | awk '{printf "%.1f MB  %s\n", $5 / 1e6, out "/" $NF}' out="$out"
