#!/bin/sh
# Builds in build/dist-libs what heddle needs as static libraries and Debian has none of that fit: ISA-L, of which there
# is only a shared one, and libmicrohttpd without TLS, which would take GnuTLS along. Both from Debian's source packages, in
# the versions of the installed -dev packages, whose headers are used.
#   tools/static_libs.sh            for this machine, in build/dist-libs
#   tools/static_libs.sh aarch64    for another, in build/dist-libs-aarch64, with what Debian has for it in root/ there
set -eu
cd "$(dirname "$0")/.."
cross=${1:-}
out=$PWD/build/dist-libs${cross:+-$cross}
work=$out/work
case $cross in
"") types=deb-src ;;
aarch64) types="deb deb-src" host=aarch64-linux-gnu debian=arm64 ;;
*) echo "static_libs: not for $cross: aarch64 is the one there is" >&2; exit 1 ;;
esac

if ! command -v apt-get >/dev/null; then echo "static_libs: needs the source packages of Debian or Ubuntu" >&2; exit 1; fi
version_of() {
    dpkg-query -W -f '${source:Version}' "$1"
}
isal=$(version_of libisal-dev)
microhttpd=$(version_of libmicrohttpd-dev)
# Its Python, with headers, for the wheel.
python=$(basename "$(readlink -f /usr/bin/python3)")
built="libisal $isal libmicrohttpd $microhttpd${cross:+ $python}"
if [ "$(cat "$out/built" 2>/dev/null)" = "$built" ]; then exit 0; fi

rm -rf "$out"
mkdir -p "$work/sources" "$work/lists/partial" "$work/cache/archives/partial" "$out/lib/pkgconfig"
log=$out/log
quiet() {
    "$@" >>"$log" 2>&1 || { tail -n 20 "$log" >&2; echo "static_libs: failed: $*" >&2; exit 1; }
}

# The system's own sources, asked for source packages; what apt knows of the system stays as it is.
for list in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/ubuntu.sources /etc/apt/sources.list; do
    for type in $types; do
        if [ -s "$list" ]; then sed "s/^Types:.*/Types: $type/; s/^deb /$type /" "$list" >"$work/sources/$type-$(basename "$list")"; fi
    done
done
apt() {
    quiet apt-get -q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$work/sources" \
        -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root \
        ${cross:+-o APT::Architecture=$debian -o APT::Architectures::=$debian -o Dir::State::status=/dev/null} "$@"
}
cd "$work"
apt update
apt source "libisal=$isal" "libmicrohttpd=$microhttpd"

# For another machine what this one has installed; its .pc files say where it is.
if [ "$cross" ]; then
    apt download libexpat1-dev libisal-dev libmicrohttpd-dev libsqlite3-dev libzstd-dev libxxhash-dev libdw-dev libelf-dev zlib1g-dev libbz2-dev liblzma-dev \
        libotf2-trace-dev libopen-trace-format2-dev libcmocka-dev libcmocka0 \
        "lib$python-dev" "$python-minimal" "lib$python-minimal" "lib$python-stdlib" libexpat1 zlib1g
    for package in ./*.deb; do dpkg-deb -x "$package" "$out/root"; done
    dpkg-deb -W --showformat='${source:Package} ${source:Version}\n' ./*.deb | grep -v -e '^cmocka ' -e '^python' | sort -u >"$out/sources"
    find "$out/root" -xtype l -delete
    sed -i "s#^prefix=/usr#prefix=$out/root/usr#; s#^libdir=.*#libdir=$out/root/usr/lib/$host#" "$out/root/usr/lib/$host/pkgconfig/"*.pc
    cat >"$out/cross.ini" <<END
[binaries]
c = ['$host-gcc', '-isystem$out/root/usr/include', '-B$out/root/usr/lib/$host/']
exe_wrapper = ['qemu-$cross', '-L', '/usr/$host', '-E', 'LD_LIBRARY_PATH=$out/root/usr/lib/$host']
[built-in options]
pkg_config_path = ['$out/lib/pkgconfig', '$out/root/usr/lib/$host/pkgconfig']
END
fi

jobs=$(nproc)
cd "$work"/libisal-*/
quiet make -j "$jobs" -f Makefile.unx ${cross:+host_cpu=$cross CC=$host-gcc AR=$host-ar} lib
cp bin/isa-l.a "$out/lib/libisal.a"
cd "$work"/libmicrohttpd-*/
quiet ./configure CFLAGS=-O2 ${cross:+--host=$host} --disable-shared --with-pic --disable-https --disable-curl --disable-doc --disable-examples \
    --disable-tools --disable-dependency-tracking
quiet make -j "$jobs" -C src/microhttpd
cp src/microhttpd/.libs/libmicrohttpd.a "$out/lib/"

for name in libisal libmicrohttpd; do
    printf 'Name: %s\nDescription: built by tools/static_libs.sh\nVersion: %s\nLibs: -L%s -l%s\nLibs.private: -lpthread\n' \
        "$name" "$(pkg-config --modversion "$name")" "$out/lib" "${name#lib}" >"$out/lib/pkgconfig/$name.pc"
done
rm -rf "$work"
echo "$built" >"$out/built"
