#!/bin/sh
# cli-doc.sh -- docs/cli.md from the command's own help texts, so that the page
# and the program cannot disagree (tests/system/test_docs.c compares them).
#
#     scripts/cli-doc.sh build/mortise >docs/cli.md
set -eu
m=$1

cat <<'EOT'
# The command line

The output of `mortise --help` and `mortise COMMAND --help`. (In the source, `make docs` writes this page from the texts in
`cli/`.)

EOT
echo '```'
"$m" --help
echo '```'
"$m" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\( [a-z-]*\)\{0,1\}\)  .*/\1/p' |
    while read -r command; do
        printf '\n## mortise %s\n\n```\n' "$command"
        # shellcheck disable=SC2086
        "$m" $command --help
        echo '```'
    done
