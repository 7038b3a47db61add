#!/bin/sh
# stress.sh -- run test programs many times while every processor is kept busy.
#
#     MORTISE_BUILD=build STRESS=20 scripts/stress.sh build/tests/test_...
#
# A test that depends on the time that something takes fails here sooner or
# later.  Each round runs all programs (test.sh), whatever failed before.  The
# last line says how many rounds failed.
set -u

busy=
stop() {
    # shellcheck disable=SC2086
    [ -z "$busy" ] || kill $busy
    busy=
}
trap stop EXIT
trap 'exit 130' INT TERM

for _ in $(seq "$(nproc)"); do
    (while :; do :; done) &
    busy="$busy $!"
done

failed=0
for round in $(seq "${STRESS:-20}"); do
    printf 'round %d of %d\n' "$round" "${STRESS:-20}"
    sh "$(dirname "$0")/test.sh" "$@" || failed=$((failed + 1))
done
printf 'stress: %d of %d rounds failed\n' "$failed" "${STRESS:-20}"
[ "$failed" = 0 ]
