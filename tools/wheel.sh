#!/bin/sh
# Makes the wheel of `import heddle` in build/wheel: everything is linked in, as in `make dist`, so that it runs wherever
# its manylinux tag says. auditwheel finds that tag, and refuses what needs a library of this machine.
#   tools/wheel.sh OUT            for this machine
#   tools/wheel.sh OUT aarch64    for another, with what tools/static_libs.sh has put in build/dist-libs-aarch64
set -eu
cd "$(dirname "$0")/.."
out=$1
cross=${2:-}
tools=build/wheel-tools
glibc=$PWD/build/glibc-2.28${cross:+-$cross}
libs=$PWD/build/dist-libs${cross:+-$cross}

if ! cmp -s tools/pinned/wheel.txt "$tools/.heddle-lock"; then
    echo "wheel: installing what it is built with, in $tools"
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check -r tools/pinned/wheel.txt
    cp tools/pinned/wheel.txt "$tools/.heddle-lock"
fi
PATH=$PWD/$tools/bin:$PATH
PKG_CONFIG_PATH=$libs/lib/pkgconfig
# The same tree makes the same wheel.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 315532800)
export PATH PKG_CONFIG_PATH SOURCE_DATE_EPOCH
if [ "$cross" ]; then
    unset CC PKG_CONFIG_PATH
    export _PYTHON_HOST_PLATFORM="linux-$cross" # the wheel's tag
    set -- -Csetup-args=--cross-file="$PWD/tools/$cross-linux-gnu.ini" -Csetup-args=--cross-file="$libs/cross.ini"
else
    export CC="${CC:-gcc}"
    set --
fi

rm -rf "$out" build/wheel-doc
mkdir -p "$out/raw"
tools/licences.sh build/wheel-doc "${cross:-$(uname -m)}"
pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir "$out/raw" "$@" \
    -Cbuild-dir="build/wheel-build${cross:+-$cross}" -Csetup-args=-Dprefer_static=true -Csetup-args=-Dline_editing=disabled -Csetup-args=-Dportable=true -Csetup-args="-Dc_link_args=-B$glibc/ -L$glibc" -Cinstall-args=--strip .
auditwheel repair --wheel-dir "$out" "$out"/raw/*.whl >"$out/audit" 2>&1 || { cat "$out/audit" >&2; exit 1; }
rm -r "$out/raw" build/wheel-doc
for wheel in "$out"/*.whl; do
    case $wheel in *manylinux*) ;; *) cat "$out/audit" >&2; exit 1 ;; esac
    # Libraries that were put in would lie in a folder of their own.
    if python3 -m zipfile -l "$wheel" | grep -q 'heddle_trace\.libs/'; then
        echo "wheel: $wheel has libraries of this machine in it" >&2
        exit 1
    fi
done
ls -l "$out"/*.whl | awk '{printf "%.1f MB  %s\n", $5 / 1e6, $NF}'
