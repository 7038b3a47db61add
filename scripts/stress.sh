#!/bin/sh
# stress.sh -- run test programs many times on a machine that is busy with them.
#
#     MORTISE_BUILD=build STRESS=20 scripts/stress.sh build/tests/test_...
#
# It runs four programs at once for each processor.  A suite waits about half of
# its time, so each processor has twice as much to do as it can.  A test that
# depends on the time that something takes fails here sooner or later.
#
# Each round runs all programs (test.sh), whatever failed before.  The last line
# says how many rounds failed.
set -u

TESTS_AT_ONCE=${TESTS_AT_ONCE:-$(($(nproc) * 4))}
export TESTS_AT_ONCE

failed=0
for round in $(seq "${STRESS:-20}"); do
    printf 'round %d of %d\n' "$round" "${STRESS:-20}"
    sh "$(dirname "$0")/test.sh" "$@" || failed=$((failed + 1))
done
printf 'stress: %d of %d rounds failed\n' "$failed" "${STRESS:-20}"
[ "$failed" = 0 ]
