#!/bin/sh
# without.sh -- what changes in a build without some services
# (make WITHOUT=services/NAME).
#
#     scripts/without.sh check SERVICE...            fail if another part includes one
#     scripts/without.sh plugins SERVICE...          the plugins that need one
#     scripts/without.sh suites SERVICE... PLUGIN... the suites that need one
#     scripts/without.sh manifest FILE SERVICE...    the manifest without their methods
#
# A SERVICE is a directory, services/NAME.  A plugin needs a service if its manifest
# lists a method of it, unless the file `optional` beside the manifest names the
# service.
set -eu
export LC_ALL=C

# The methods of services, as one regular expression.
methods() {
    for s in "$@"; do
        sed -n 's|.*{\.name = "\([a-z_.]*/[0-9]*\)".*|\1|p' "$s"/*.c
    done | sed 's/\./\\./g' | paste -sd '|'
}
is_optional() { # is_optional DIR SERVICE
    [ -e "$1/optional" ] && grep -qx "$2" "$1/optional"
}

what=$1
shift
case $what in
check)
    kept=$(find core lang services server cli testkit tools -name '*.[ch]' | sort)
    for s in "$@"; do
        kept=$(printf '%s\n' "$kept" | grep -v "^$s/")
    done
    for s in "$@"; do
        # shellcheck disable=SC2086
        user=$(grep -l "^#include \"$s/" $kept | head -1)
        [ -z "$user" ] || echo "$s cannot be left out: $user needs it"
    done
    ;;
plugins)
    for m in plugins/*/*/*.plugin.yaml; do
        dir=${m%/*}
        for s in "$@"; do
            ! is_optional "$dir" "$s" &&
                grep -qE "(^|[^a-z_.])($(methods "$s"))" "$m" && echo "${dir##*/}" && break
        done || :
    done
    ;;
suites)
    # What shows in a suite that it needs one: an include, a method, a plugin; and
    # for child runs the keys of a node.
    show=
    for s in "$@"; do
        case $s in
        services/*)
            all=$(methods "$s")
            show="$show|$all|\"$s/"
            [ "$s" != services/spawn ] || show="$show|subagents|reports: true"
            for p in $(grep -lE "(^|[^a-z_.])($all)" tests/plugins/*.plugin.yaml); do
                p=${p##*/} p=${p%.plugin.yaml}
                show="$show|\"$p\"|[^a-z_]$p/"
            done
            ;;
        *) show="$show|\"$s\"|[^a-z_]$s/" ;;
        esac
    done
    grep -lE "${show#|}" tests/unit/*/test_*.c tests/*/test_*.c |
        sed 's|.*/test_||; s|\.c$||'
    # These look at all plugins, examples and pages.
    echo docs embed pages typos cli_configs
    ;;
manifest)
    file=$1
    shift
    all=$(methods "$@")
    sed -z -E "s#,[[:space:]]*($all)##g; s#\[($all),[[:space:]]*#[#g" "$file"
    ;;
esac
