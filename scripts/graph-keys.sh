#!/bin/sh
# graph-keys.sh -- tests/graph_keys.md: every key of the language and its tests.
#
#     scripts/graph-keys.sh build >tests/graph_keys.md
#
# The keys come from the loader's own tables (tests/keys/list.c), the tests from
# the comments above them: a line ` * key: limits.visits, node.max_visits` says
# that the test fails when the loader ignores one of these (scripts/ignore-keys.sh
# shows that it does).  Fails when an available key has no test, or a test names
# a key that does not exist.
set -eu
export LC_ALL=C

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

"$1"/tests/keys/list >"$tmp/keys"
sh scripts/key-tests.sh >"$tmp/tests"

awk -F '\t' '
FNR == NR { state[$1] = $2; order[n++] = $1; next }
!($1 in state) || state[$1] != "here" {
    printf "%s: \"%s\" is no key that has a meaning here\n", $2, $1 >"/dev/stderr"
    bad = 1
    next
}
{ tests[$1] = tests[$1] (tests[$1] == "" ? "" : ", ") "`" $2 "`" }

function say(want, i) {
    for (i = 0; i < n; i++)
        if (state[order[i]] == want)
            printf "| `%s` |\n", order[i]
}

END {
    print "# Keys of the language, and the tests that guard them"
    print ""
    print "Made by `make docs`; do not edit.  Each test fails when the loader"
    print "ignores the key (`make mutants` shows it)."
    print ""
    print "| key | tests |\n|---|---|"
    for (i = 0; i < n; i++) {
        k = order[i]
        if (state[k] != "here")
            continue
        printf "| `%s` | %s |\n", k, tests[k]
        if (tests[k] == "") {
            printf "no test of the key \"%s\"\n", k >"/dev/stderr"
            bad = 1
        }
    }
    print "\n## Checked, and without a meaning beyond that\n\n| key |\n|---|"
    say("checked")
    print "\n## Refused: of a later build\n\n| key |\n|---|"
    say("later")
    exit bad
}' "$tmp/keys" "$tmp/tests"
