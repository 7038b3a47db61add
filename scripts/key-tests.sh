#!/bin/sh
# key-tests.sh -- which test guards which key: KEY, a tab, PROGRAM:TEST, from
# the `key:` lines above the tests.
exec awk '
/^(\/\*| \*) key: / {
    sub(/^.*key: /, "")
    sub(/ *\*\/$/, "")
    m = split($0, more, /, */)
    for (i = 1; i <= m; i++)
        keys[++n] = more[i]
}
/^START_TEST\(/ {
    name = substr($0, 12)
    sub(/\).*/, "", name)
    file = FILENAME
    sub(/.*\//, "", file)
    sub(/\.c$/, "", file)
    for (i = 1; i <= n; i++)
        printf "%s\t%s:%s\n", keys[i], file, name
    n = 0
}' tests/unit/*/test_*.c tests/*/test_*.c
