#!/bin/sh
# ignore-keys.sh -- prove the tests of keys: ignored by the loader, each key
# must turn every test red that says it guards it.
#
#     scripts/ignore-keys.sh BUILD [KEY...]
#
# The programs in BUILD/tests/keys read files through tests/lib/ignoring.c; the
# tests of the command line run the one that is called mortise.
set -u

build=$1
shift
status=0
names=$(mktemp)
trap 'rm -f "$names"' EXIT
sh scripts/key-tests.sh >"$names"

# red KEY PROGRAM TEST: does it fail when the key is ignored?
red() {
    program=$build/tests/keys/$2
    MORTISE_BUILD=$build MORTISE_IGNORE=$1 CK_DEFAULT_TIMEOUT=4 \
        timeout 300 "$program" 2>&1 |
        grep -q "^tests/[^:]*:[0-9]*:[FE]:[^:]*:$3:"
}

while IFS='	' read -r key guard; do
    case " $* " in
    "  " | *" $key "*) ;;
    *) continue ;;
    esac
    if red "$key" "${guard%%:*}" "${guard#*:}"; then
        echo "$key: red in $guard, as it must be"
    else
        echo "$key: GREEN in $guard, which proves nothing" >&2
        status=1
    fi
done <"$names"
exit $status
