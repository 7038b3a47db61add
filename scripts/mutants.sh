#!/bin/sh
# mutants.sh -- prove the tests of promises: builds that break one each must turn
# them red, and for the right reason.
#
#     scripts/mutants.sh BUILD [NAME...]
#
# Each tests/mutants/NAME.patch begins with words on what it breaks, and a line
# "red SUITE: WORDS" for each suite that must notice and say so.  It is applied
# to a copy of the tree in BUILD/mutants/NAME; what BUILD holds is copied too,
# so that only what the patch touches is built again.  NAME.log stays there.
set -eu

build=$1
shift
wanted=$*
status=0
mkdir -p "$build/mutants"
all=$(cd "$build/mutants" && pwd)

# copy NAME: the tree, without what git ignores but with what is built.
copy() {
    mkdir -p "$all/$1/build" "$all/$1/tmp"
    git ls-files -z --cached --others --exclude-standard |
        xargs -0 sh -c 'for f; do
            [ ! -e "$f" ] || printf "%s\0" "$f"; done' sh |
        xargs -0 cp -a --parents -t "$all/$1"
    find "$build" -mindepth 1 -maxdepth 1 ! -name mutants ! -name wire \
        ! -name asan ! -name tsan -exec cp -a -t "$all/$1/build" {} +
}

# suites PATCH: their names.
suites() {
    sed -n 's/^red \([a-z_]*\): .*/\1/p' "$1"
}

# breed NAME PATCH: the mutant, built.
breed() {
    copy "$1"
    (cd "$all/$1" && GIT_CEILING_DIRECTORIES=$all git apply "$2" &&
        make --no-print-directory B=build ONLY="$(suites "$2")" programs)
}

# judge NAME PATCH SUITE: does it turn red, and say why?
judge() {
    if (cd "$all/$1" && TMPDIR=$all/$1/tmp MORTISE_BUILD=build \
            "build/tests/test_$3" >"$all/$1.out" 2>&1); then
        verdict="GREEN in $3, which proves nothing"
    elif grep -q "$(sed -n "s/^red $3: //p" "$2")" "$all/$1.out"; then
        verdict=
    else
        verdict="red in $3, but not for what it breaks"
    fi
    cat "$all/$1.out" >>"$all/$1.log"
    rm "$all/$1.out"
}

for patch in tests/mutants/*.patch; do
    name=$(basename "$patch" .patch)
    case " $wanted " in
    "  " | *" $name "*) ;;
    *) continue ;;
    esac
    rm -rf "${all:?}/$name"
    if ! breed "$name" "$patch" >"$all/$name.log" 2>&1; then
        echo "$name: does not apply or build, see $all/$name.log" >&2
        status=1
        continue
    fi
    for suite in $(suites "$patch"); do
        judge "$name" "$patch" "$suite"
        if [ -z "$verdict" ]; then
            echo "$name: red in $suite, as it must be"
        else
            echo "$name: $verdict, see $all/$name.log" >&2
            status=1
        fi
    done
    rm -rf "${all:?}/$name"
done
exit $status
