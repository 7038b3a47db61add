#!/bin/sh
# written.sh -- does scripts/writers.sh find who writes what is another's?
#
#     sh tests/rooms/written.sh
#
# A room in which all is well; and then one thing is wrong at a time.
set -eu

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

mkdir -p "$tmp/core/run/state"
header() { # header MARK [FIELD]: the last of the fields has this mark
    set -- "$1" "${2:-const char *words;}"
    cat >"$tmp/core/run/state/state.h" <<EOT
struct thing {
    /* By one.c: */
    unsigned a, *list; /* two; things */
    char name[4];
    $1
    $2
};
void fill(char *);
EOT
}

# What other.c does beside what it may.
look() {
    printf '#include "core/run/state/state.h"\nvoid one(struct thing *t) { %s }\n' \
        't->a = 1; t->list = 0; fill(t->name);' >"$tmp/core/run/one.c"
    printf '#include "core/run/state/state.h"\nvoid two(struct thing *t) { %s %s }\n' \
        't->words = ""; *t->list = t->a;' "$1" >"$tmp/core/run/other.c"
    sh scripts/writers.sh "$tmp" core/run/state/state.h core/run thing 2>"$tmp/said"
}

refuses() { # refuses CODE [WORDS]
    if look "$1" || ! grep -Eq "${2:-read-only|const|discard}" "$tmp/said"; then
        echo "writers.sh lets this pass: $1" >&2
        exit 1
    fi
}

header '/* By other.c: */'
look ''
refuses 't->a++;'
refuses 't->list = 0;'
refuses 'fill(t->name);'
refuses 'unsigned *p = &t->a; *p = 1;'
header '/* By one.c and other.c: */'
look ''
header '/* By one.c: */'
refuses ''
header '/* By other.c: */' 'const char *more,
           *words;'
refuses '' 'end where their line does'
header '/* By other.c: */'
sed -i '/By one.c/d' "$tmp/core/run/state/state.h"
refuses '' 'nobody is said to write'
