#!/bin/sh
# Builds build/wasm/engine.html, the web UI with the engine, which `heddle view --save` puts traces into. The compiler is
# Zig's clang with wasi-libc, of a Python package; libzstd, ISA-L and SQLite are built from Debian's source packages, in
# the versions of the installed -dev packages, so that answers are those of the command. Memory is dlmalloc's, out of
# Debian's wasi-libc: Zig's own rounds sizes up to powers of two, and grows the memory for each large block.
#   tools/wasm.sh
# Exit status 77: what it is made of cannot be fetched here.
set -eu
cd "$(dirname "$0")/.."
unreachable() {
    echo "wasm: $1 cannot be fetched" >&2
    exit 77
}
tools/setup.sh wasm || unreachable "a compiler for WebAssembly"
tools=$PWD/build/wasm-tools
libs=$tools/libs
zig=$tools/zig/ziglang/zig
# Each object is compiled for one thread; what wasi-libc only emulates is in libraries of its own.
target="-target wasm32-wasi -msimd128 -D_WASI_EMULATED_MMAN -D_WASI_EMULATED_SIGNAL -D_WASI_EMULATED_PROCESS_CLOCKS -D_WASI_EMULATED_GETPID"

mkdir -p "$tools/bin" "$libs/include" "$libs/lib/pkgconfig"
# Meson wants to know the linker by its answer.
cat >"$tools/bin/cc" <<EOF
#!/bin/sh
case " \$* " in *" -Wl,--version "*) echo "LLD 17.0.0 (compatible with GNU linkers)"; exit ;; esac
exec "$zig" cc $target "\$@"
EOF
chmod +x "$tools/bin/cc"

version_of() {
    dpkg-query -W -f '${source:Version}' "$1"
}
isal=$(version_of libisal-dev)
zstd=$(version_of libzstd-dev)
sqlite=$(version_of libsqlite3-dev)
built="libisal $isal libzstd $zstd sqlite3 $sqlite dlmalloc $(cat tools/pinned/zig.txt)"

if [ "$(cat "$libs/built" 2>/dev/null)" != "$built" ] || [ ! -s "$libs/sources" ]; then
    work=$tools/work
    log=$tools/log
    rm -rf "$work"
    mkdir -p "$work"
    quiet() {
        "$@" >>"$log" 2>&1 || { tail -n 20 "$log" >&2; echo "wasm: failed: $*" >&2; exit 1; }
    }
    # The system's own sources, asked for source packages; what apt knows of the system stays as it is.
    mkdir -p "$work/sources" "$work/lists/partial" "$work/cache/archives/partial"
    for list in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/ubuntu.sources /etc/apt/sources.list; do
        if [ -s "$list" ]; then sed "s/^Types:.*/Types: deb-src/; s/^deb /deb-src /" "$list" >"$work/sources/$(basename "$list")"; fi
    done
    apt() {
        quiet apt-get -q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$work/sources" \
            -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root "$@"
    }
    cd "$work"
    (apt update) || unreachable "Debian's list of source packages"
    # A mirror may lack the source of a security update: another revision of the same release is taken then.
    source_of() {
        if (apt source "$1=$2") 2>/dev/null; then return; fi
        for other in $(apt-cache -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$work/sources" \
            -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" showsrc "$1" | sed -n 's/^Version: //p'); do
            if [ "$other" != "$2" ] && [ "${other%%[-+]*}" = "${2%%[-+]*}" ] && (apt source "$1=$other") 2>/dev/null; then return; fi
        done
        (apt source "$1=$2") || unreachable "the source package $1"
    }
    source_of libisal "$isal"
    source_of libzstd "$zstd"
    source_of sqlite3 "$sqlite"
    (apt source wasi-libc) || unreachable "the source package wasi-libc"
    sed -n '/BEGIN PGP SIGNATURE/,/END PGP SIGNATURE/d; s/^Source: //p; s/^Version: //p' ./*.dsc | paste -d ' ' - - >"$libs/sources"

    # compile ARCHIVE FLAGS -- FILES
    compile() {
        archive=$1 flags=
        shift
        while [ "$1" != -- ]; do flags="$flags $1"; shift; done
        shift
        objects=
        for file in "$@"; do
            object=$(echo "$file" | tr / _).o
            # shellcheck disable=SC2086 # a list of flags
            quiet "$tools/bin/cc" -O2 -g0 -w $flags -c "$file" -o "$object"
            objects="$objects $object"
        done
        rm -f "$libs/lib/$archive"
        # shellcheck disable=SC2086 # a list of names
        quiet "$zig" ar rcs "$libs/lib/$archive" $objects
    }

    cd "$work"/libisal-*/
    # The portable functions under the names of the fast ones; three are declared there with other types than they have,
    # which WebAssembly does not call.
    sed -i 's/adler32_base(uint32_t init, const unsigned char \*buf, uint64_t len)/adler32_base(uint32_t init, uint8_t *buf, uint32_t len)/
            s/return adler32_base(init, buf, len)/return adler32_base(init, (uint8_t *)buf, (uint32_t)len)/
            s/uint8_t \* next_in, uint8_t \* end_in,$/uint8_t * next_in, uint64_t end_in, uint64_t input_size,/
            s/struct deflate_icf \*match_lookup, struct level_buf \*level_buf)/struct deflate_icf *match_lookup)/
            s/set_long_icf_fg_base(next_in, end_in, match_lookup, level_buf)/set_long_icf_fg_base(next_in, end_in, input_size, match_lookup)/
            s/^void gen_icf_map_\(l*h1\)/uint64_t gen_icf_map_\1/
            s/^\tgen_icf_map_h1_base/\treturn gen_icf_map_h1_base/
            /gen_icf_map_lh1/,$ s/uint64_t input_size)/uint32_t input_size)/' igzip/igzip_base_aliases.c
    compile libisal.a -Iinclude -Iigzip -Icrc -- igzip/adler32_base.c igzip/encode_df.c igzip/flatten_ll.c igzip/huff_codes.c \
        igzip/hufftables_c.c igzip/igzip.c igzip/igzip_base.c igzip/igzip_base_aliases.c igzip/igzip_icf_base.c igzip/igzip_icf_body.c \
        igzip/igzip_inflate.c igzip/proc_heap_base.c crc/crc_base.c crc/crc_base_aliases.c crc/crc64_base.c
    mkdir -p "$libs/include/isa-l"
    cp include/*.h "$libs/include/isa-l/"
    cp /usr/include/isa-l.h "$libs/include/"
    cd "$work"/libzstd-*/lib
    compile libzstd.a -DZSTD_DISABLE_ASM -I. -Icommon -- common/*.c compress/*.c decompress/*.c
    cp ./*.h "$libs/include/"
    cd "$work"/sqlite3-*/
    quiet ./configure
    quiet make sqlite3.c
    compile libsqlite3.a -DSQLITE_OS_OTHER=1 -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_ENABLE_COLUMN_METADATA -DSQLITE_ENABLE_MATH_FUNCTIONS \
        -DSQLITE_ENABLE_FTS3 -DSQLITE_ENABLE_FTS4 -DSQLITE_ENABLE_FTS5 -DSQLITE_SOUNDEX -DSQLITE_MAX_VARIABLE_NUMBER=250000 -- sqlite3.c
    cp sqlite3.h "$libs/include/"
    cp "/usr/include/xxhash.h" "$libs/include/"
    cd "$work"/wasi-libc-*/
    cd dlmalloc/src
    # An object, since a library's functions do not replace those of Zig's C library.
    quiet "$tools/bin/cc" -O2 -g0 -w -fno-builtin -DHAVE_MMAP=0 -DMORECORE_CANNOT_TRIM=1 "-DABORT=__builtin_unreachable()" -DLACKS_TIME_H=1 \
        -DNO_MALLINFO=1 -DNO_MALLOC_STATS=1 -DMALLOC_ALIGNMENT=16 -DDEFAULT_GRANULARITY=16777216 -c malloc.c -o "$libs/lib/dlmalloc.o"

    # package NAME VERSION LINKED
    package() {
        printf 'Name: %s\nDescription: built by tools/wasm.sh\nVersion: %s\nCflags: -I%s\nLibs: %s\n' "$1" "$2" "$libs/include" "$3" \
            >"$libs/lib/pkgconfig/$1.pc"
    }
    for name in libisal libzstd sqlite3; do package $name "$(pkg-config --modversion $name)" "-L$libs/lib -l${name#lib}"; done
    package dlmalloc 2.8.6 "$libs/lib/dlmalloc.o"
    cd "$tools/../.."
    rm -rf "$work"
    echo "$built" >"$libs/built"
fi

cat >"$tools/cross.ini" <<END
[binaries]
c = '$tools/bin/cc'
ar = ['$zig', 'ar']
pkgconfig = 'pkg-config'
[properties]
pkg_config_libdir = '$libs/lib/pkgconfig'
needs_exe_wrapper = true
[built-in options]
c_args = ['-I$libs/include', '-Wno-unused-command-line-argument']
[host_machine]
system = 'wasi'
cpu_family = 'wasm32'
cpu = 'wasm32'
endian = 'little'
END
if [ ! -f build/wasm/build.ninja ]; then
    meson setup build/wasm --cross-file "$tools/cross.ini" -Dbuildtype=release -Doptimization=2 -Ddefault_library=static -Dotf2=disabled \
        -Dxctrace=disabled -Dline_editing=disabled -Dview=disabled -Dpage=disabled -Dsymbols=disabled -Dmpi=disabled -Dtests=false -Dbench=false \
        -Dman=false >"$tools/log"
fi
ninja -C build/wasm --quiet src/wasm/engine.wasm
# What is linked in, with its versions and licences: as tools/licences.sh writes it.
licences=build/wasm/licences
mkdir -p $licences
{
    cat "$libs/sources"
    dpkg-query -W -f '${source:Package} ${source:Version}\n' libxxhash-dev
    version=$(sed -n 's/^ziglang==\([^ ]*\).*/\1/p' tools/pinned/zig.txt)
    for library in compiler_rt libc/musl libc/wasi; do echo "$library ziglang-$version pkg:pypi/ziglang@$version#lib/$library"; done
} >build/wasm/sources
for package in libisal-dev libzstd-dev libsqlite3-dev libxxhash-dev; do cp -L "/usr/share/doc/$package/copyright" "$licences/$package"; done
cat "$tools"/zig/ziglang/lib/libc/wasi/LICENSE* >"$licences/wasi-libc"
cp "$tools/zig/ziglang/lib/libc/musl/COPYRIGHT" "$licences/musl"
cp "$tools/zig/ziglang/LICENSE" "$licences/compiler_rt"
node src/view/web/engine.mjs build/wasm/src/wasm/engine.wasm "$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)" build/wasm
