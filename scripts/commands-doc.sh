#!/bin/sh
# commands-doc.sh -- the commands in docs/control.md, made from their rows.
#
#     scripts/commands-doc.sh core/run/command docs/control.md >build/control.md
#
# Prints the page with what is between the two comments replaced.  The
# preprocessor reads the rows; `make docs` keeps the result, `make check` compares.
set -eu
export LC_ALL=C

made=$(mktemp)
trap 'rm -f "$made"' EXIT

# rows LIST <<MACROS: what they make of the list, a line for each ROW.
rows() {
    { cat && echo "#include \"$1\""; } | ${CC:-cc} -E -P -x c - |
        tr '\n' ' ' | sed 's/ROW */\
/g' | sed 1d
}

{
    rows "$1/command_members.def" <<EOT |
#define MEMBER_TEXT(name, ...) ROW name
#define MEMBER_JSON MEMBER_TEXT
#define MEMBER_FLAG MEMBER_TEXT
EOT
        awk '{ all = all ", " $1 "?" }
            END { printf "A command is `{kind%s}`:\n\n", all }'
    printf '| `kind` | members |\n|---|---|\n'
    rows "$1/run_commands.def" <<EOT |
#define RUN_COMMAND(name, number, members, ...) ROW name @ members
EOT
        awk -F ' *@ *' '{
            gsub(/" +"/, "", $2)
            gsub(/^ *"|" *$/, "", $2)
            gsub(/\\\\/, "\\", $2)
            gsub(/\\"/, "\"", $2)
            printf "| `%s` | %s |\n", $1, $2
        }' | sed 's/ *|$/ |/'
} >"$made"

awk -v made="$made" '
/^<!-- commands: made by/ {
    print
    while ((getline line <made) > 0)
        print line
    skip = 1
}
/^<!-- commands: end/ { skip = 0 }
!skip' "$2"
