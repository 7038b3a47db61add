#!/bin/sh
# test.sh -- run test programs one after another: a line for each, and all that
# it printed for one that failed.
#
#     MORTISE_BUILD=build UNDER="valgrind -q" tools/test.sh build/tests/test_...
set -u

# Check gives a test 4 s, which a busy machine needs for a dozen processes.
# What is to end in time says so itself.
CK_DEFAULT_TIMEOUT=${CK_DEFAULT_TIMEOUT:-60}
export CK_DEFAULT_TIMEOUT

failed=
for t in "$@"; do
    log=$t.log
    # shellcheck disable=SC2086
    if ${UNDER:-} "$t" >"$log" 2>&1; then
        printf '  %-5s %s: %s\n' OK "${t##*/}" \
            "$(sed -n 's/^\(100%.*\)/\1/p' "$log" | tail -n 1)"
    else
        printf '  %-5s %s\n' FAIL "${t##*/}"
        cat "$log"
        failed="$failed ${t##*/}"
    fi
done
[ -z "$failed" ] || {
    echo "failed:$failed" >&2
    exit 1
}
