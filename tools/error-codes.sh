#!/bin/sh
# error-codes.sh -- the codes that the sources give errors in a run, one a line.
# `mortise explain` knows them all (tests/system/test_cli_explain.c).
#
# What makes an error is told by its name, what is a code by where it stands: as
# the first text there, behind a class, behind "code".  Words that stand in such
# a place and are none are left out by name.
set -eu
makes='(_fail_(attempt|for_good|refused)|note_failure|set_failed|end_early'
makes="$makes|mortise_call_error|[a-z]_fail|STAGE_JUDGES)\\([^;{\"]*"
class='"(permanent|transient|timeout|cancelled)", *'
reason='struct reason [a-z_]+ *= *\{ *'
assigned='code (=[^;"]*|= [a-z =A-Z_]*\? "[a-z]*" : )'
member='"code\\?(",|":) *\\?'
defined='#define MORTISE_MODEL_[A-Z_]+ +'

cat $(find core/run core/engine plugins sdk -name '*.[ch]' -o -name '*.def') |
    sed 's,^ \* .*,,' | tr '\n' ' ' |
    grep -oE "($makes|$class|$reason|$assigned|$member|$defined)\
\"[a-z_]+(\\.[a-z_]+)?\\\\?\"" |
    grep -oE '"[a-z_.]+\\?"$' | tr -d '"\\' | sort -u |
    grep -vxE 'arguments|class|code|message|permanent|transient'
