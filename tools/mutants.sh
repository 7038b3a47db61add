#!/bin/sh
# mutants.sh -- prove the tests that prove durability: builds that break one
# promise each must turn them red.
#
#     tools/mutants.sh BUILD
#
# Each tests/mutants/NAME.patch begins with words on what it breaks and a line
# "red: SUITE...", the suites that must all notice.  It is applied to a copy of
# the tree in BUILD/mutants/NAME; what BUILD holds is copied too, so that only
# what the patch touches is built again.
set -eu

build=$1
status=0

# copy NAME: the tree, without what git ignores but with what is built.
copy() {
    tree=$build/mutants/$1
    rm -rf "$tree"
    mkdir -p "$tree/build"
    git ls-files -z --cached --others --exclude-standard | xargs -0 sh -c 'for f; do
        [ ! -e "$f" ] || printf "%s\0" "$f"; done' sh |
        xargs -0 cp -a --parents -t "$tree"
    find "$build" -mindepth 1 -maxdepth 1 ! -name mutants ! -name wire \
        ! -name asan ! -name tsan -exec cp -a -t "$tree/build" {} +
}

# say NAME WORDS: a mutant that is not as it must be.
bad() {
    echo "$1: $2" >&2
    status=1
}

for patch in tests/mutants/*.patch; do
    name=$(basename "$patch" .patch)
    suites=$(sed -n 's/^red: //p' "$patch")
    copy "$name"
    log=$build/mutants/$name.log
    here=$(cd "$tree/.." && pwd)
    if ! (cd "$tree" && GIT_CEILING_DIRECTORIES=$here \
              git apply "$patch") >"$log" 2>&1; then
        bad "$name" "the patch does not apply, see $log"
        continue
    fi
    if ! make -C "$tree" --no-print-directory B=build ONLY="$suites" \
            programs >>"$log" 2>&1; then
        bad "$name" "does not build, see $log"
        continue
    fi
    green=
    for suite in $suites; do
        if (cd "$tree" && MORTISE_BUILD=build build/tests/test_"$suite") \
                >>"$log" 2>&1; then
            green="$green $suite"
        fi
    done
    if [ -n "$green" ]; then
        bad "$name" "GREEN in$green, which proves nothing; see $log"
    else
        echo "$name: red in $suites, as it must be"
    fi
done
exit $status
