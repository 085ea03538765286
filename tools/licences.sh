#!/bin/sh
# Writes what is linked into the archive and the wheel: licences/ with the licence of each library, sources with their
# versions, and sbom.cdx.json. `make wasm` has written the part about the viewer's engine in build/wasm.
#   tools/licences.sh OUT MACHINE
set -eu
cd "$(dirname "$0")/.."
out=$1
machine=$2
licences=$out/licences
mkdir -p "$licences"
for package in libexpat1-dev libisal-dev libzstd-dev libxxhash-dev libmicrohttpd-dev libsqlite3-dev libdw-dev libelf-dev zlib1g-dev libbz2-dev \
    liblzma-dev libotf2-trace-dev; do
    cp "/usr/share/doc/$package/copyright" "$licences/$package"
    dpkg-query -W -f '${source:Package} ${source:Version}\n' $package
done >"$out/sources"
if [ "$machine" != "$(uname -m)" ]; then cp "build/dist-libs-$machine/sources" "$out/sources"; fi
sort -u -o "$out/sources" "$out/sources" build/wasm/sources
# Those of the packages above are there already.
cp build/wasm/licences/compiler_rt build/wasm/licences/musl build/wasm/licences/wasi-libc "$licences/"
for package in preact @preact/signals @preact/signals-core; do
    cp "src/view/web/node_modules/$package/LICENSE" "$licences/$(echo $package | tr -d @ | tr / -)"
done
# The texts that these refer to.
for text in $(grep -oh '/usr/share/common-licenses/[A-Z][A-Za-z0-9.-]*[A-Za-z0-9]' "$licences"/* | sort -u); do
    if [ -e "$text" ]; then cp -L "$text" "$licences/"; fi
done
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)
tools/sbom.py "$version" "$out/sources" src/view/web/node_modules >"$out/sbom.cdx.json"
cat >"$licences/README" <<END
These are the licences of the libraries in the command, in the libraries libheddle*.so and in the viewer's engine,
share/heddle/engine.html, in the words of the packages that they come from. ../sources names the source packages with their
versions, and ../sbom.cdx.json is the SBOM (CycloneDX). \`make dist\` in Heddle's source builds all of it anew, with other
versions of these libraries too.
END
