#!/bin/sh
# writers.sh -- are fields written by the files that the header says?
#
#     scripts/writers.sh TREE HEADER ROOM STRUCT...
#     scripts/writers.sh . core/run/state/state.h core/run exec
#
# In TREE/HEADER, a comment in a STRUCT that begins with "By
# FILE:" (or "By FILE and FILE:") says who writes the fields up to the next such
# comment; "By all:" leaves it open.  Each file of TREE/ROOM is compiled with a HEADER
# in which the fields of others are const: so the compiler finds whoever writes
# one, be it through a pointer.  CC and CFLAGS are what headers need.
set -eu
export LC_ALL=C

tree=$1
header=$2
room=$3
shift 3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
: "${CC:=cc}" "${CFLAGS:=}"

# The header as FILE may see it.
seen_by() {
    awk -v file="$1" -v structs=" $* " '
$1 == "struct" && $3 == "{" && index(structs, " " $2 " ") { open = 1; by = "" }
/^};/ { open = 0 }
open && $1 == "/*" && $2 == "By" && match($0, /[^:]*\.c:|By all:/) {
    by = substr($0, RSTART, RLENGTH - 1) " "
}
open && /^    [a-z]/ && !/;/ {
    print "#error \"fields end where their line does:" $0 "\""
}
open && /^    [a-z].*;/ && !index(by, " " file " ") && by !~ /By all / {
    if (by == "")
        print "#error \"nobody is said to write:" $0 "\""
    end = index($0, ";")
    rest = substr($0, end + 1)
    $0 = substr($0, 1, end - 1)
    match($0, /^ *(const )?((struct|enum) )?[a-z_0-9]+ /)
    type = substr($0, 1, RLENGTH)
    n = split(substr($0, RLENGTH + 1), names, ", ")
    for (i = 1; i <= n; i++)
        if (match(names[i], /^\*+/))
            print type substr(names[i], 1, RLENGTH) "const " \
                substr(names[i], RLENGTH + 1) ";"
        else
            print "const " type names[i] ";"
    $0 = rest
}
{ print }' "$tree/$header"
}

bad=0
mkdir -p "$tmp/${header%/*}"
for c in $(cd "$tree/$room" && find . -name '*.c' | sed 's|^\./||'); do
    seen_by "$c" "$@" >"$tmp/$header"
    # shellcheck disable=SC2086
    $CC -std=gnu11 $CFLAGS -Werror -fsyntax-only -I"$tmp" \
        -I"$tree" -I"$tree/sdk" "$tree/$room/$c" || bad=1
done
exit $bad
