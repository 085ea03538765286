#!/bin/sh
# Makes the Debian packages in build/deb, of a copy of the files that git knows, and asks lintian about them.
set -eu
cd "$(dirname "$0")/.."
out=$PWD/build/deb
rm -rf "$out"
mkdir -p "$out/heddle"
git ls-files -z | tar --null -T - -cf - | tar -xf - -C "$out/heddle"
ln -s "$PWD/src/view/web/node_modules" "$out/heddle/src/view/web/node_modules"
cd "$out/heddle"
# -d: tools/setup.sh has seen to what is needed, some of which may come from elsewhere than Debian.
dpkg-buildpackage -us -uc -b -d >"$out/log" 2>&1 || { tail -n 30 "$out/log" >&2; exit 1; }
cd "$out"
rm -rf heddle
lintian --fail-on error --tag-display-limit 0 --allow-root --suppress-tags initial-upload-closes-no-bugs ./*.changes
ls -l ./*.deb | awk '{printf "%.1f MB  build/deb/%s\n", $5 / 1e6, substr($NF, 3)}'
