#!/bin/sh
# entries-doc.sh -- the table of entries in docs/format.md, made from their rows.
#
#     scripts/entries-doc.sh core/run/record/entries.def docs/format.md >build/format.md
#
# Prints the page with the table between the two comments replaced.  The
# preprocessor reads the rows; `make docs` keeps the result, `make check` compares.
set -eu
export LC_ALL=C

table=$(mktemp)
trap 'rm -f "$table"' EXIT

rows=$(${CC:-cc} -E -P -x c - <<EOT
#define ENTRY_OF_RUN(type, number, name, fields, words, remark, ...) \
    ROW number @ name @ fields @ words @ remark @
#define ENTRY_OF_EXEC ENTRY_OF_RUN
#define ENTRY_MARK(type, number, name, fields, words, remark) \
    ROW number @ name @ fields @ words @ remark @
#include "$1"
EOT
)

printf '%s\n' "$rows" | tr '\n' ' ' | sed 's/ROW/\
/g' | awk -F ' @ ?' '
# One string of the several that stand beside each other.
function text(s) {
    gsub(/" +"/, "", s)
    gsub(/^ *"|" *$/, "", s)
    return s
}

# What a letter of journal.c stands for, given its word.
function field(letter, word) {
    if (letter == "f") return "u32"
    if (letter == "n") return "node"
    if (letter == "g") return "generation"
    if (letter == "a") return "attempt"
    if (letter == "k") return "*step*"
    if (letter == "m") return "blob method"
    if (letter == "x") return "u32 status, u32 how many asks preceded it"
    if (letter == "y") return "16 bytes"
    if (letter == "w") return "writes"
    if (letter == "s") return "blob actor"
    if (letter == "i") return "blob id"
    return kind[letter] (word == "" ? "" : " " word)
}

BEGIN {
    kind["t"] = kind["u"] = "u64"
    kind["h"] = "u8"
    kind["v"] = kind["o"] = "value"
    kind["d"] = "digest"
    kind["e"] = "edges"
}

NF > 4 {
    n = split(text($4), words, "[|]")
    letters = text($3)
    out = ""
    w = 0
    for (i = 1; i <= length(letters); i++) {
        c = substr(letters, i, 1)
        out = out (i > 1 ? ", " : "") field(c, c in kind ? words[++w] : "")
    }
    if (w < n) {
        printf "%s: %d words for %d fields\n", text($2), n, w >"/dev/stderr"
        exit 1
    }
    gsub(/ /, "", $1)
    printf "| %s | %s | %s%s |\n", $1, text($2), out, text($5)
}' >"$table"

awk -v rows="$table" '
/^<!-- entries: made by/ {
    print
    print "| type | entry | fields |\n|---|---|---|"
    while ((getline line <rows) > 0)
        print line
    skip = 1
}
/^<!-- entries: end/ { skip = 0 }
!skip' "$2"
