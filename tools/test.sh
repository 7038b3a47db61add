#!/bin/sh
# test.sh -- run test programs, three at once for two processors, since about
# half of their time they wait: a line for each as it ends, and all that the
# failed ones printed behind the last.
#
#     MORTISE_BUILD=build UNDER="valgrind -q" tools/test.sh build/tests/test_...
#
# TESTS_AT_ONCE=1 runs them one after another.
set -u

# Check gives a test 4 s, which a busy machine needs for a dozen processes; and
# what a suite says instead is said for a machine that does nothing else.  These
# find what hangs: what is to end in time says so itself.
CK_DEFAULT_TIMEOUT=${CK_DEFAULT_TIMEOUT:-60}
CK_TIMEOUT_MULTIPLIER=${CK_TIMEOUT_MULTIPLIER:-5}
export CK_DEFAULT_TIMEOUT CK_TIMEOUT_MULTIPLIER

if [ "$1" = --one ]; then
    log=$2.log
    # shellcheck disable=SC2086
    if ${UNDER:-} "$2" >"$log" 2>&1; then
        printf '  %-5s %s: %s\n' OK "${2##*/}" \
            "$(sed -n 's/^\(100%.*\)/\1/p' "$log" | tail -n 1)"
        exit 0
    fi
    printf '  %-5s %s\n' FAIL "${2##*/}"
    mv "$log" "$log.failed"
    exit 1
fi

for t in "$@"; do
    rm -f "$t.log.failed"
done
printf '%s\n' "$@" |
    xargs -n 1 -P "${TESTS_AT_ONCE:-$((($(nproc) * 3 + 1) / 2))}" sh "$0" --one && exit 0

failed=
for t in "$@"; do
    if [ -e "$t.log.failed" ]; then
        cat "$t.log.failed"
        failed="$failed ${t##*/}"
    fi
done
echo "failed:$failed" >&2
exit 1
