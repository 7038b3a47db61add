#!/bin/sh
# planted.sh -- does scripts/rooms.sh find what it is there to find?
#
#     sh tests/rooms/planted.sh
#
# A house of two rooms in which all is well; and then one thing is wrong at a
# time, and has to be said.
set -eu

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
: "${CC:=cc}"

# A new house: low/ with two files that call each other, high/ that calls it.
build() {
    rm -rf "$tmp/house" "$tmp/objects"
    mkdir -p "$tmp/house/low" "$tmp/house/high"
    printf '# from the ground up\nlow 2\nhigh\ntable low/kinds.c\n' >"$tmp/house/ROOMS"
    echo 'int low(int); int other(int);' >"$tmp/house/low/low.h"
    echo 'int high(int);' >"$tmp/house/high/high.h"
    cat >"$tmp/house/low/low.c" <<EOT
#include "low/low.h"
int low(int i) { return i > 0 ? other(i - 1) : 0; }
EOT
    cat >"$tmp/house/low/other.c" <<EOT
#include "low/low.h"
int other(int i) { return low(i); }
EOT
    cat >"$tmp/house/low/kinds.c" <<EOT
#include "high/high.h"
int (*const kinds[])(int) = {high};
EOT
    cat >"$tmp/house/high/high.c" <<EOT
#include "high/high.h"
#include "low/low.h"
int high(int i) { return low(i); }
EOT
}

look() {
    (cd "$tmp/house" && find . -name '*.c') | while read -r c; do
        mkdir -p "$tmp/objects/${c%/*}"
        # shellcheck disable=SC2086
        $CC -I"$tmp/house" -c -o "$tmp/objects/${c%.c}.o" "$tmp/house/$c"
    done
    sh scripts/rooms.sh "$tmp/house" "$tmp/objects" 2>"$tmp/said"
}

wants() { # wants WORDS: it fails, and says so
    if look; then
        echo "rooms.sh lets this pass: $1" >&2
        exit 1
    fi
    grep -qF "$1" "$tmp/said" || {
        echo "rooms.sh does not say: $1; but:" >&2
        cat "$tmp/said" >&2
        exit 1
    }
}

build
look || { cat "$tmp/said" >&2; exit 1; }

build # a call that goes up
echo 'int high(int); int up(int); int up(int i) { return high(i); }' \
    >>"$tmp/house/low/low.c"
wants 'low/low.c (low) uses high of high/high.c (high), which lies above it'

build # an include that does, and nothing is called
echo '#include "high/high.h"' >>"$tmp/house/low/other.c"
wants 'low/other.c (low) includes something of high/high.h (high)'

build # one more in the circle
sed -i 's/return low(i)/return third(i)/; s/^int other/int third(int); &/' \
    "$tmp/house/low/other.c"
echo 'int low(int); int third(int); int third(int i) { return low(i); }' \
    >"$tmp/house/low/third.c"
wants 'low has 3 files that call each other in a circle, and may have 2'

build # a circle that is smaller than it may be, where it may be large
sed -i 's/^low 2/low 7/' "$tmp/house/ROOMS"
wants 'ROOMS allows low a circle of 7; it has one of 2'

port() { # what low/ asks for in low/port.h, high/ defines
    build
    echo 'port low/port.h' >>"$tmp/house/ROOMS"
    echo 'int up(int); /* no port is high(int) */' >"$tmp/house/low/port.h"
    echo '#include "low/port.h"' | tee -a "$tmp/house/low/low.c" \
        >>"$tmp/house/high/high.c"
    echo 'int up(int i) { return i; }' >>"$tmp/house/high/high.c"
    echo 'int ask(int); int ask(int i) { return up(i); }' \
        >>"$tmp/house/low/low.c"
}

port # a call through it
look || { cat "$tmp/said" >&2; exit 1; }

port # a call that goes up beside it
echo 'int high(int); int more(int); int more(int i) { return high(i); }' \
    >>"$tmp/house/low/low.c"
wants 'low/low.c (low) uses high of high/high.c (high), which lies above it'

port # a call from below it
sed -i '1i base' "$tmp/house/ROOMS"
mkdir -p "$tmp/house/base"
echo 'int up(int); int base(int); int base(int i) { return up(i); }' \
    >"$tmp/house/base/base.c"
wants 'base/base.c (base) uses up of low/port.h (low), which lies above it'
rm -r "$tmp/house/base"

port # a port of which nothing is above it
sed -i 's/return up(i)/return low(i)/' "$tmp/house/low/low.c"
wants 'ROOMS says that low/port.h is a port, but nothing'

build # a name that might be anybody's
sed -i '1i prefix lo' "$tmp/house/ROOMS"
sed -i 's/\bhigh(/lohigh(/' "$tmp/house/high/high.c"
wants 'low/other.c defines other, which does not begin with lo'
