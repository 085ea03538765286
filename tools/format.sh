#!/bin/sh
# Formats the C sources of the tree in place; with --check it changes nothing and fails if something would change.
set -eu
cd "$(dirname "$0")/.."
# What git knows or would take, so nothing that was fetched.
sources() {
    git ls-files -z --cached --others --exclude-standard -- include src python tests fuzz bench | grep -zE '\.[ch]$'
}
mode=-i
if [ "${1:-}" = --check ]; then
    mode="--dry-run --Werror"
    # What clang-format leaves alone: comments.
    if sources | LC_ALL=C.UTF-8 xargs -0 grep -nE '^.{121}|^/\* (-{5}|-.*-{5})'; then
        echo "a line has at most 120 characters; a section head is /* ---- text ---- */" >&2
        exit 1
    fi
fi
# shellcheck disable=SC2086 # two words
sources | xargs -0 -r clang-format --style=file $mode
