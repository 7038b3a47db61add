#!/bin/sh
# messages.sh -- every text that Mortise prints about a problem, to be read in one
# go: the explanation of each code, then the texts in the sources.
#
#     scripts/messages.sh build/mortise [DIR...]    (default: all)
#
# The second part has a line for each call that reports something: the place, and
# the string literals of the call.  Literals that the compiler joins are one text;
# ` | ` stands between the others, so the code of a finding comes before its text.
# A text that a call gets in a variable is not found.
set -eu
m=$1
shift
[ $# -gt 0 ] || set -- core lang services server cli testkit tools plugins

"$m" explain | while read -r code _; do
    "$m" explain "$code"
    echo
done

find "$@" -name '*.c' | LC_ALL=C sort | while read -r file; do
    LC_ALL=C awk '
    BEGIN {
        calls = "(mortise_diag_add|mortise_diag_help|mortise_fail|" \
                "mortise_fail_if_invalid|mortise_fail_attempt|" \
                "mortise_cli_print_remark|mortise_cli_fail_usage|mortise_doctor_report) *[(]"
    }
    # Add what a line has of a call; what is behind its end is left for the next.
    function add(s,   c, esc) {
        while (s != "") {
            c = substr(s, 1, 1)
            if (c == "\"") { # a literal, to its end
                match(s, /^"([^"\\]|\\.)*"/)
                if (RLENGTH < 0)
                    return ""
                text = text (joined || text == "" ? "" : " | ") \
                       substr(s, 2, RLENGTH - 2)
                joined = 1
                s = substr(s, RLENGTH + 1)
                continue
            }
            if (c == "(")
                depth++
            if (c == ")" && --depth == 0) {
                if (text != "")
                    print FILENAME ":" line ": " text
                return substr(s, 2)
            }
            if (c !~ /[ \t]/)
                joined = 0
            s = substr(s, 2)
        }
        return ""
    }
    {
        s = $0
        if (s ~ /^[ \t]*(\/?\*|#)/) # a comment, or a macro
            next
        for (;;) {
            if (depth == 0) {
                if (!match(s, "(^|[^a-z_])" calls))
                    next
                s = substr(s, RSTART + RLENGTH)
                depth = 1
                line = FNR
                text = ""
                joined = 0
            }
            s = add(s)
            if (s == "")
                next
        }
    }' "$file"
done
