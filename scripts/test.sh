#!/bin/sh
# test.sh -- run test programs: two at once for each processor, since about half
# of their time they wait.
#
#     MORTISE_BUILD=build UNDER="valgrind -q" scripts/test.sh build/tests/test_...
#
# It prints one line for each program as soon as that program ends, with the
# seconds that it took.  Under the
# line of a program that failed it prints each failed test with its reason.  The
# other programs still run.  The last line names the programs that failed.
#
# TESTS_AT_ONCE=1 runs them one after another.  The whole output of test_X is in
# test_X.log, beside the program.
set -u

# These limits find tests that hang.  They are generous because a busy machine
# may need a minute for a dozen processes; a test that must end sooner checks
# that itself.
CK_DEFAULT_TIMEOUT=${CK_DEFAULT_TIMEOUT:-60}
CK_TIMEOUT_MULTIPLIER=${CK_TIMEOUT_MULTIPLIER:-5}
export CK_DEFAULT_TIMEOUT CK_TIMEOUT_MULTIPLIER

# The failed tests of a log, or its end if no test reported a failure: then the
# program crashed, or a sanitizer stopped it.  A log may have any bytes in it (-a).
reasons() { # reasons LOG
    grep -aE '^[^ ]+:[0-9]+:[FE]:' "$1" || tail -n 40 "$1"
}

# Print one result.  The lock keeps the lines of programs that end at the same
# moment apart, and counts them.
report() { # report STATUS NAME TEXT LOG
    exec 9>"$TALLY/lock"
    flock 9
    echo "$2" >>"$TALLY/$1"
    printf '  %-5s %*d of %d  %s: %s (%d s)\n' "$1" "${#TOTAL}" \
        "$(cat "$TALLY"/OK "$TALLY"/FAIL 2>/dev/null | wc -l)" "$TOTAL" \
        "$2" "$3" "$(($(date +%s) - began))"
    if [ "$1" = FAIL ]; then
        reasons "$4" | sed 's/^/          /'
        printf '          all output: %s\n' "$4"
    fi
    exec 9>&-
}

if [ $# = 0 ]; then
    echo "test.sh: name the test programs to run" >&2
    exit 2
fi

if [ "$1" = --one ]; then
    log=$2.log
    name=${2##*/}
    began=$(date +%s)
    # shellcheck disable=SC2086
    ${UNDER:-} "$2" >"$log" 2>&1
    status=$?
    sum=$(grep -aE '^[0-9]+%: Checks' "$log" | tail -n 1)
    if [ $status = 0 ]; then
        report OK "$name" "${sum:-passed}" "$log"
    else
        report FAIL "$name" "${sum:-exit status $status}" "$log"
    fi
    exit 0
fi

TOTAL=$#
TALLY=$(mktemp -d)
trap 'rm -rf "$TALLY"' EXIT
trap 'exit 130' INT TERM
export TOTAL TALLY
: >"$TALLY/OK"
: >"$TALLY/FAIL"
printf '%s\n' "$@" |
    xargs -n 1 -P "${TESTS_AT_ONCE:-$(($(nproc) * 2))}" sh "$0" --one

passed=$(wc -l <"$TALLY/OK")
[ "$passed" = "$TOTAL" ] && exit 0
printf '%d of %d suites passed; failed:' "$passed" "$TOTAL" >&2
sed 's/^test_/ /' "$TALLY/FAIL" | tr -d '\n' >&2
[ "$((passed + $(wc -l <"$TALLY/FAIL")))" = "$TOTAL" ] ||
    printf '; the rest did not run' >&2
echo >&2
exit 1
