#!/bin/sh
# Builds in build/dist-libs what heddle needs as static libraries and Debian has none of that fit: ISA-L, of which there
# is only a shared one, and libmicrohttpd without TLS, which would take GnuTLS along. Both from Debian's source packages, in
# the versions of the installed -dev packages, whose headers are used.
set -eu
cd "$(dirname "$0")/.."
out=$PWD/build/dist-libs
work=$out/work

if ! command -v apt-get >/dev/null; then echo "static_libs: needs the source packages of Debian or Ubuntu" >&2; exit 1; fi
version_of() {
    dpkg-query -W -f '${source:Version}' "$1"
}
isal=$(version_of libisal-dev)
microhttpd=$(version_of libmicrohttpd-dev)
built="libisal $isal libmicrohttpd $microhttpd"
if [ "$(cat "$out/built" 2>/dev/null)" = "$built" ]; then exit 0; fi

rm -rf "$out"
mkdir -p "$work/sources" "$work/lists/partial" "$work/cache/archives/partial" "$out/lib/pkgconfig"
log=$out/log
quiet() {
    "$@" >>"$log" 2>&1 || { tail -n 20 "$log" >&2; echo "static_libs: failed: $*" >&2; exit 1; }
}

# The system's own sources, asked for source packages; what apt knows of the system stays as it is.
for list in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/ubuntu.sources /etc/apt/sources.list; do
    if [ -s "$list" ]; then sed 's/^Types:.*/Types: deb-src/; s/^deb /deb-src /' "$list" >"$work/sources/$(basename "$list")"; fi
done
apt() {
    quiet apt-get -q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$work/sources" \
        -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root "$@"
}
cd "$work"
apt update
apt source "libisal=$isal" "libmicrohttpd=$microhttpd"

jobs=$(nproc)
cd "$work"/libisal-*/
quiet make -j "$jobs" -f Makefile.unx lib
cp bin/isa-l.a "$out/lib/libisal.a"
cd "$work"/libmicrohttpd-*/
quiet ./configure CFLAGS=-O2 --disable-shared --with-pic --disable-https --disable-curl --disable-doc --disable-examples \
    --disable-tools --disable-dependency-tracking
quiet make -j "$jobs" -C src/microhttpd
cp src/microhttpd/.libs/libmicrohttpd.a "$out/lib/"

for name in libisal libmicrohttpd; do
    printf 'Name: %s\nDescription: built by tools/static_libs.sh\nVersion: %s\nLibs: -L%s -l%s\nLibs.private: -lpthread\n' \
        "$name" "$(pkg-config --modversion "$name")" "$out/lib" "${name#lib}" >"$out/lib/pkgconfig/$name.pc"
done
rm -rf "$work"
echo "$built" >"$out/built"
