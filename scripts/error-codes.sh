#!/bin/sh
# error-codes.sh [DIR...] -- the codes that the sources give errors in a run, or of
# an operation that a command calls, one a line.  `mortise explain` knows them all
# (tests/system/test_cli_explain.c).
#
# What makes an error is told by its name, what is a code by where it stands: as
# the first text there, behind a class, behind "code", anywhere in what is assigned
# to a code; and by its family, wherever it stands.  Words that stand in such a
# place and are none are left out by name.
set -eu
makes='(_fail_(attempt|for_good|refused)|note_failure|store_failure|set_failed|end_early'
makes="$makes|mortise_call_set_error|[a-z]_fail|STAGE_JUDGES)\\([^;{\"]*"
class='"(permanent|transient|timeout|cancelled)", *'
reason='struct reason [a-z_]+ *= *\{ *'
assigned='\.?code (=[^;"]*|= [a-z =A-Z_]*\? "[a-z]*" : )'
member='"code\\?(",|":) *\\?'
defined='#define MORTISE_(MODEL|MEMORY)_[A-Z_]+ +'
called='(\<fail\(o, *|sizeof o->code, *"%s",[^;"]*)'
code='"[a-z_]+(\.[a-z_]+)?\\?"'

[ $# -gt 0 ] || set -- core/run core/engine services cli/oneshot.c \
    cli/question.c testkit/answers.c plugins sdk
text=$(mktemp)
trap 'rm -f "$text"' EXIT
cat $(find "$@" -name '*.[ch]' -o -name '*.def') |
    grep -v '^#include' | sed 's,^ \* .*,,' | tr '\n' ' ' >"$text"
{
    grep -oE "($makes|$class|$reason|$assigned|$member|$defined|$called)$code" \
        "$text" | grep -oE '"[a-z_.]+\\?"$' || :
    # Both arms of a choice: all that one statement assigns to a code.
    grep -oE "[a-z]code = [^;]*;|\\<code = [^;]*;|o->code, \"%s\",[^;]*;" \
        "$text" | grep -oE "[?:] *$code" | grep -oE "$code" || :
    # Tables of ends: the first text of each row.
    grep -oE '\<ends\[\] = \{[^;]*;' "$text" | grep -oE "\{ *$code" |
        grep -oE "$code" || :
    grep -oE '"(http|mcp|model|memory|discovery|registry|exec|timeout)\.[a-z_]+"' "$text" || :
} | tr -d '"\\' | sort -u |
    grep -vxE 'arguments|class|code|message|permanent|search|transient'
