#!/bin/sh
# abi.sh -- what we promised those who link us, or whom we load, still holds.
#
#     scripts/abi.sh BUILD abi         compare with tests/abi/*.abi, and prove
#                                    that the comparison would notice
#     scripts/abi.sh BUILD abi-accept  what is there now is the promise
#
# There are two promises: libmortise.so, as abidiff sees it through mortise.h,
# and tests/abi/witness.c, which mentions what abidiff cannot reach by itself.
# Any change, a compatible one included, is red until it was accepted: whoever
# reviews the diff of tests/abi/ sees what the change does to others.
#
#     CC, CFLAGS_ABI: the compiler, and the flags that our sources need
set -eu

build=$1
todo=$2
out=$build/abi
rm -rf "$out"
mkdir -p "$out"

fail() {
    echo "abi: $*" >&2
    exit 1
}

# witness [BROKEN-DIR]: the witness, as the headers there or ours have it.
witness() {
    {
        echo "enum w_constants {"
        sed -n '/MORTISE_VERSION/d;s/^#define MORTISE_\([A-Z0-9_]*\) \{1,\}-\{0,1\}[0-9].*/    W_\1 = MORTISE_\1,/p' \
            sdk/mortise/plugin.h sdk/mortise/guardrail.h core/mortise.h
        echo "};"
    } >"$out/constants.h"
    # shellcheck disable=SC2086
    $CC -std=c11 -g -O0 -fPIC -shared -fvisibility=hidden ${1:+-I$1} \
        -I. -Isdk "-I$out" -o "$out/witness.so" tests/abi/witness.c
}

# describe SO HEADER... >XML: without what depends on this machine.
describe() {
    so=$1
    shift
    # shellcheck disable=SC2046
    abidw --drop-private-types --exported-interfaces-only --no-architecture \
        --no-show-locs --no-corpus-path --no-comp-dir-path --no-elf-needed \
        --no-parameter-names --type-id-style hash \
        $(printf ' --header-file %s' "$@") "$so"
}

# differs NAME: bits 4 and 8 of abidiff's code say that the ABI changed; 1 and 2
# that it could not tell, which is as bad.
differs() {
    code=0
    abidiff "tests/abi/$1.abi" "$out/$1.abi" >"$out/$1.report" 2>&1 || code=$?
    [ $((code & 3)) = 0 ] || fail "abidiff failed: $(cat "$out/$1.report")"
    [ $((code & 12)) != 0 ]
}

# Each struct and enum of the headers stands in the witness.
witness_is_whole() {
    for name in $(sed -n 's/^} \(mortise_[a-z_]*\);$/\1/p' \
        sdk/mortise/plugin.h sdk/mortise/guardrail.h; sed -n 's/^enum \(mortise_[a-z_]*\) {$/\1/p' \
        core/mortise.h); do
        grep -qw "$name" tests/abi/witness.c ||
            fail "tests/abi/witness.c does not mention $name"
    done
}

describe_all() {
    witness
    describe "$out/witness.so" sdk/mortise/plugin.h \
        sdk/mortise/guardrail.h ./core/mortise.h \
        "$out/constants.h" >"$out/witness.abi"
    describe "$build"/lib/libmortise.so.*.*.* ./core/mortise.h \
        >"$out/libmortise.abi"
    grep -q class-decl "$out/libmortise.abi" ||
        fail "libmortise.so has no debug information: build it with -g"
}

# ---- the proof: a header that breaks a promise turns it red -----------------

# edited FILE SED-SCRIPT >FILE; it must have changed something.  The header's
# own assertions, which are the first to notice, are taken out.
edited() {
    sed -e '/^MORTISE_STATIC_ASSERT/d' -e "$2" "$1"
    sed -e '/^MORTISE_STATIC_ASSERT/d' "$1" >"$out/plain"
    sed -e "$2" "$out/plain" | cmp -s - "$out/plain" &&
        fail "the proof changes nothing any more: $2"
    return 0
}

red_or_fail() {
    differs "$1" || fail "$1 stayed green: $2"
    echo "abi: red, as it must be: $2"
}

prove_witness() { # prove_witness HEADER WHERE SED-SCRIPT WORDS
    rm -rf "$out/broken"
    mkdir -p "$out/broken/mortise" "$out/broken/core"
    edited "$1" "$3" >"$out/broken/$2"
    witness "$out/broken"
    describe "$out/witness.so" "$out/broken/$2" sdk/mortise/plugin.h \
        sdk/mortise/guardrail.h ./core/mortise.h tests/abi/witness.c >"$out/witness.abi"
    red_or_fail witness "$4"
}

# The library with one object compiled against the mortise.h in $out/broken/core,
# and linked with the map there.
other_library() {
    # shellcheck disable=SC2086
    $CC -iquote "$out/broken" $CFLAGS_ABI -g -O0 -c -o "$out/broken/api.o" \
        core/api/api.c
    # shellcheck disable=SC2046
    $CC -shared -Wl,--version-script="$out/broken/core/mortise.map" \
        -Wl,-soname,libmortise.so.0 -o "$out/broken/lib.so" \
        "$out/broken/api.o" \
        $(find "$build/core" "$build/lang" "$build/services" "$build/server" \
            -name '*.o' ! -path "$build/core/api/api.o")
    describe "$out/broken/lib.so" "$out/broken/core/mortise.h" >"$out/libmortise.abi"
}

prove_library() { # prove_library FILE SED-SCRIPT WORDS
    rm -rf "$out/broken"
    mkdir -p "$out/broken/core"
    cp core/mortise.h core/mortise.map "$out/broken/core"
    other_library
    ! differs libmortise || fail "the proof is red without a reason"
    edited "core/$1" "$2" >"$out/broken/core/$1"
    other_library
    red_or_fail libmortise "$3"
}

prove() {
    prove_witness sdk/mortise/plugin.h mortise/plugin.h \
        '/uint32_t visit; /d' "a field of mortise_request is gone"
    prove_witness sdk/mortise/plugin.h mortise/plugin.h \
        's/^    mortise_status (\*reconcile)/    void (*extra)(void);\n&/' \
        "a field is put into the middle of mortise_executor"
    prove_witness sdk/mortise/plugin.h mortise/plugin.h \
        's/int32_t (\*cancelled)/int64_t (*cancelled)/' \
        "a function of the host's table returns another type"
    prove_witness sdk/mortise/plugin.h mortise/plugin.h \
        's/\(MORTISE_S_STALE *\)-9/\1-10/' "a status has another number"
    prove_witness core/mortise.h core/mortise.h \
        's/\(MORTISE_RUN_PAUSED = \)4/\14 + 100/' "a run status has another number"
    prove_library mortise.h 's/^    const char \*tenant; .*/    int extra;\n&/' \
        "a field is put into the middle of a struct that callers fill"
    prove_library mortise.map '/mortise_inbox;/d' "a function is gone"
}

# ---- what to do -----------------------------------------------------------------

witness_is_whole
describe_all
if [ "$todo" = abi-accept ]; then
    cp "$out/witness.abi" "$out/libmortise.abi" tests/abi/
    exit 0
fi
for name in libmortise witness; do
    if differs $name; then
        cat "$out/$name.report"
        fail "$name changed: if it may, make abi-accept and commit tests/abi"
    fi
done
prove
