#!/bin/sh
# Formats the C sources of the tree in place; with --check it changes nothing and fails if something would change.
set -eu
cd "$(dirname "$0")/.."
mode=-i
if [ "${1:-}" = --check ]; then mode="--dry-run --Werror"; fi
# shellcheck disable=SC2086 # two words
find include src tests fuzz bench -name '*.[ch]' -print0 | xargs -0 -r clang-format --style=file $mode
