#!/bin/sh
# errors-doc.sh -- docs/errors.md from what `mortise explain` says, so that the
# page and the program cannot disagree (tests/system/test_docs.c compares them).
#
#     tools/errors-doc.sh build/mortise >docs/errors.md
set -eu
m=$1

cat <<'EOT'
# Codes

The output of `mortise explain CODE` for all codes. (In the source, `make docs` writes this page from the tables that
`core/cli/explain.c` names.)
EOT
"$m" explain | while read -r code _; do
    echo
    # Outside of examples, what Markdown would take for its own is escaped.
    "$m" explain "$code" | sed '1s/^/## /; /^    /!s/[*<_]/\\&/g'
done
