#!/bin/sh
# json_schema.sh -- the official JSON Schema test suite, draft 2020-12.
#
# What npm has of the suite ends with draft 7.  Debian has all of it inside a
# Perl module, which is unpacked here and not installed.
set -eu
. "$HERE/lib.sh"

package=libtest-json-schema-acceptance-perl
suite=$PEERS/$package/usr/share/perl5/auto/share/dist/Test-JSON-Schema-Acceptance

fetch() {
    rm -rf "$PEERS/$package" "$PEERS/$package"_*.deb
    (cd "$PEERS" && apt-get -qq download "$package") 2>/dev/null
}

[ -d "$suite/tests/draft2020-12" ] || {
    fetch || { apt-get -qq update && fetch; } || fail "no package $package"
    dpkg-deb -x "$PEERS/$package"_*.deb "$PEERS/$package"
}
"$TESTS/tests/peers/json_schema" "$suite"
