#!/bin/sh
# rust.sh -- a plugin in Rust, made by whatever rustc there is: begun, built, signed,
# called, run, killed and resumed as tests/system/test_newcomer.c does in C.
set -eu
. "$HERE/lib.sh"

cd "$HERE/../.."
NEWCOMER=rust MORTISE_BUILD=$TESTS "$TESTS/tests/test_newcomer" ||
    fail "test_newcomer"
echo "$(rustc --version): built, signed, killed and resumed"
