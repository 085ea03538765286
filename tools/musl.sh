#!/bin/sh
# Builds build/musl/src/cli/heddle: the command with another C library than glibc, musl, to compare what both say
# (tests/tree/musl.py). Only what decides about results is in it: the formats but OTF2, the reports, SQL. Libraries are
# Debian's static archives, which are compiled for glibc; functions that musl does not have are in shim.c.
#   tools/musl.sh
set -eu
cd "$(dirname "$0")/.."
tools/setup.sh musl
tools/static_libs.sh
libs=$PWD/build/musl-libs
system=/usr/lib/$(gcc -print-multiarch)
mkdir -p "$libs/pkgconfig"

cat >"$libs/shim.c" <<'END'
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#define SHIM(type, name, ...) type name(__VA_ARGS__); type name(__VA_ARGS__)
SHIM(void *, __memcpy_chk, void *to, const void *from, size_t size, size_t room) { return size > room ? NULL : memcpy(to, from, size); }
SHIM(void *, __memset_chk, void *to, int byte, size_t size, size_t room) { return size > room ? NULL : memset(to, byte, size); }
SHIM(void, arc4random_buf, void *to, size_t size) { if (getrandom(to, size, 0) < 0) memset(to, 0, size); }
int fcntl64(int fd, int command, void *argument);
int fcntl64(int fd, int command, void *argument) { return fcntl(fd, command, argument); }
int __fprintf_chk(FILE *file, int flag, const char *format, ...);
int __fprintf_chk(FILE *file, int flag, const char *format, ...)
{
    va_list args;
    (void)flag;
    va_start(args, format);
    int size = vfprintf(file, format, args);
    va_end(args);
    return size;
}
END
musl-gcc -O2 -c "$libs/shim.c" -o "$libs/shim.o"

# describe PACKAGE ARCHIVE: only these are found, and no header of glibc comes before one of musl.
describe() {
    printf 'Name: %s\nDescription: for musl\nVersion: %s\nLibs: %s\n' "$1" "$(pkg-config --modversion "$1")" "$2" >"$libs/pkgconfig/$1.pc"
}
describe libisal "$PWD/build/dist-libs/lib/libisal.a"
describe libzstd "$system/libzstd.a"
describe expat "$system/libexpat.a"
describe sqlite3 "$system/libsqlite3.a"
cat >"$libs/native.ini" <<END
[binaries]
c = ['musl-gcc']
[properties]
pkg_config_libdir = '$libs/pkgconfig'
[built-in options]
c_args = ['-idirafter', '/usr/include/$(gcc -print-multiarch)', '-idirafter', '/usr/include', '-Wno-maybe-uninitialized']
c_link_args = ['-static', '$libs/shim.o']
END
if [ ! -f build/musl/build.ninja ]; then
    meson setup build/musl --native-file "$libs/native.ini" -Doptimization=1 -Db_ndebug=false -Dprefer_static=true \
        -Ddefault_library=static -Dotf2=disabled -Dview=disabled -Dsymbols=disabled -Dmpi=disabled -Dline_editing=disabled \
        -Dpage=disabled -Dtests=false -Dbench=false -Dman=false >"$libs/log"
fi
ninja -C build/musl --quiet src/cli/heddle
