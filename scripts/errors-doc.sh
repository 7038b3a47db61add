#!/bin/sh
# errors-doc.sh -- docs/errors.md from what `mortise explain` says, so that the
# page and the program cannot disagree (tests/system/test_docs.c compares them).
#
#     scripts/errors-doc.sh build/mortise >docs/errors.md
set -eu
m=$1

cat <<'EOT'
# Codes

The output of `mortise explain CODE` for all codes. (In the source, `make docs` writes this page from the tables that
`cli/explain.c` names.)
EOT
"$m" explain | while read -r code _; do
    echo
    # Outside of examples and `code`, escape what Markdown would interpret.  Code
    # may begin on one line and end on the next.
    "$m" explain "$code" | LC_ALL=C awk '
    NR == 1 { $0 = "## " $0 }
    /^$/ { inside = 0 }
    /^    / { print; next }
    {
        n = split($0, part, "`")
        out = ""
        for (i = 1; i <= n; i++) {
            if (i > 1) {
                inside = !inside
                out = out "`"
            }
            if (!inside)
                gsub(/[*<_]/, "\\\\&", part[i])
            out = out part[i]
        }
        print out
    }'
done
