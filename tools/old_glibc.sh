#!/bin/sh
# Makes build/glibc-2.28 (RHEL 8, Debian 10), which programs are linked against in place of this machine's glibc, so that
# they run from that release on: the names and versions of its symbols, and its startup code. Zig has those of every release;
# nothing else of Zig is used. The compiler gets the folder by -B (startup code) and -L (libraries).
#   tools/old_glibc.sh            for this machine, in build/glibc-2.28
#   tools/old_glibc.sh aarch64    for another, in build/glibc-2.28-aarch64
set -eu
cd "$(dirname "$0")/.."
glibc=2.28
zig=ziglang==0.13.0.post1
cross=${1:-}
machine=${cross:-$(uname -m)}
tool=${cross:+$cross-linux-gnu-}
out=$PWD/build/glibc-$glibc${cross:+-$cross}
if [ "$(cat "$out/built" 2>/dev/null)" = "$zig" ]; then exit 0; fi

echo "old_glibc: installing Zig for the symbols of glibc $glibc"
rm -rf "$out"
work=$out/work
mkdir -p "$work"
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: "$zig"

# Linking an empty program makes all of it, in Zig's cache; without -fno-lto there would be LLVM's code in the objects.
echo 'int main(void) { return 0; }' >"$work/empty.c"
ZIG_GLOBAL_CACHE_DIR=$work/cache ZIG_LOCAL_CACHE_DIR=$work/cache \
    "$work/venv/bin/python" -m ziglang cc -target "$machine-linux-gnu.$glibc" -O2 -fno-lto "$work/empty.c" -o "$work/empty"
for name in Scrt1.o libc_nonshared.a libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libld.so.2; do
    found=$(find "$work/cache" -name "$name")
    if [ ! -f "$found" ]; then echo "old_glibc: Zig has made no $name, or several: $found" >&2; exit 1; fi
    cp "$found" "$out/"
done
# Paths in debugging information, and in archives, would make other programs in another folder.
mkdir "$work/objects"
# shellcheck disable=SC2046 # names without blanks, unless the checkout's has some
cp $("${tool}ar" t "$out/libc_nonshared.a") "$work/objects/"
rm "$out/libc_nonshared.a"
"${tool}strip" -g "$out/Scrt1.o" "$work/objects"/*.o
"${tool}ar" rcsD "$out/libc_nonshared.a" "$work/objects"/*.o
echo "GROUP ( $out/libc.so.6 $out/libc_nonshared.a AS_NEEDED ( $out/libld.so.2 ) )" >"$out/libc.so"
for name in m.so.6 dl.so.2 pthread.so.0 rt.so.1; do ln -s "lib$name" "$out/lib${name%.so.*}.so"; done
rm -rf "$work"
echo "$zig" >"$out/built"
