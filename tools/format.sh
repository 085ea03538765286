#!/bin/sh
# Formats the C sources of the tree in place; with --check it changes nothing and fails if something would change.
set -eu
cd "$(dirname "$0")/.."
mode=-i
if [ "${1:-}" = --check ]; then
    mode="--dry-run --Werror"
    # What clang-format leaves alone: comments.
    if LC_ALL=C.UTF-8 grep -rnE --exclude-dir=node_modules --include='*.[ch]' '^.{121}|^/\* (-{5}|-.*-{5})' include src tests fuzz bench; then
        echo "a line has at most 120 characters; a section head is /* ---- text ---- */" >&2
        exit 1
    fi
fi
# shellcheck disable=SC2086 # two words
find include src tests fuzz bench -name '*.[ch]' -print0 | xargs -0 -r clang-format --style=file $mode
