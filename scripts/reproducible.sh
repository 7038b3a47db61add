#!/bin/sh
# reproducible.sh -- the same source and key make the same files: two builds in two
# directories, one after the other, with other umasks, time zones and languages.
#
#     scripts/reproducible.sh build/mortise        makes the key; prints what differs
set -eu
mortise=$(readlink -f "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$mortise" key new "$dir/packages" -W >/dev/null

# What git knows, as it is now; and the date of the last commit.
epoch=$(git log -1 --format=%ct)
build() { # build NAME UMASK TZ LANG
    mkdir "$dir/$1"
    git ls-files -z | tar -c --null -T - | tar -x -C "$dir/$1"
    (
        umask "$2"
        export CCACHE_DISABLE=1 TZ="$3" LC_ALL="$4" SOURCE_DATE_EPOCH="$epoch"
        cd "$dir/$1"
        make install B=out SIGN_KEY="$dir/packages.key" PREFIX=/usr \
            DESTDIR="$dir/root-$2" >"$dir/$1.log" 2>&1
    ) || { tail -n 20 "$dir/$1.log" >&2; exit 1; }
}
build one 022 UTC C
build 'another place' 027 Asia/Tokyo C.UTF-8

files() { # files UMASK
    (cd "$dir/root-$1" && find . ! -type d -printf '%p %m %l\n' | sort)
}
files 022 >"$dir/one.files"
files 027 >"$dir/other.files"
diff "$dir/one.files" "$dir/other.files"
diff -r --no-dereference "$dir/root-022" "$dir/root-027"
! grep -rl "$dir" "$dir/root-022" || exit 1
echo "  $(wc -l <"$dir/one.files") files are the same in both builds"
