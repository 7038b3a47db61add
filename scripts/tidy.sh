#!/bin/sh
# tidy.sh -- clang-tidy over some files.  Any finding fails.
#
#     scripts/tidy.sh CHECKS FLAG... -- FILE...
#
# CHECKS are added to those of .clang-tidy.  FLAGs are the compiler's.  What
# clang-tidy prints to stderr, counts of what it does not show, is left out.
set -eu

checks=$1
shift
flags=
while [ "$1" != -- ]; do
    flags="$flags $1"
    shift
done
shift
# shellcheck disable=SC2086
clang-tidy --quiet --warnings-as-errors='*' ${checks:+"--checks=$checks"} "$@" -- \
    $flags 2>/dev/null || {
    echo "clang-tidy: failed in: $*" >&2
    exit 1
}
