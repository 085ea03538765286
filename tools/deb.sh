#!/bin/sh
# Makes Debian's packages of the tree as it is in OUT: debian/ says which. The tree itself is left as it is.
#   tools/deb.sh OUT
set -eu
cd "$(dirname "$0")/.."
out=$1
rm -rf "$out"
mkdir -p "$out/heddle"
{
    git ls-files -z --cached --others --exclude-standard
    for built in src/view/web/node_modules build/wasm/engine.html build/wasm/sources build/wasm/licences; do
        if [ -e $built ]; then printf '%s\0' $built; fi
    done
} | tar --null --ignore-failed-read -T - -cf - | tar -xf - -C "$out/heddle"
# The release's number stands in one place; debian/changelog has its date.
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)
head -n 1 debian/changelog | grep -qF "($version)" || { echo "deb: debian/changelog is not of $version" >&2; exit 1; }
cd "$out/heddle"
DEB_BUILD_OPTIONS="noautodbgsym nocheck parallel=$(nproc)" dpkg-buildpackage -b -us -uc >../log 2>&1 || { tail -n 40 ../log >&2; exit 1; }
cd ..
lintian --tag-display-limit 0 --allow-root --fail-on error heddle_*.changes >lintian || { cat lintian >&2; exit 1; }
ls -l ./*.deb | awk '{printf "%.1f MB  %s\n", $5 / 1e6, $NF}'
