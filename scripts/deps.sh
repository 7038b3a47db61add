#!/bin/sh
# deps.sh -- name the Debian packages that Mortise is built from and that are not
# here, then print the compiler flags they need as makefile variables.
#
#     scripts/deps.sh [--install] "PKG-CONFIG NAMES"
#     scripts/deps.sh [--install] --tests           of the tests alone
#
# With --install it installs them; otherwise it changes nothing, and fails if one is
# missing without which nothing can be built.  Messages go to stderr; stdout is
# build/deps.mk or build/test-deps.mk.
set -eu

installs=
if [ "$1" = --install ]; then
    installs=yes
    shift
fi

# What to look for -> the Debian package that brings it.  CROSS is the machine that CC
# makes programs for, if it is another; it needs libraries of its own, and runs no
# tests.
CC=${CC:-cc} PKG_CONFIG=${PKG_CONFIG:-pkg-config} missing= of=
case ${CROSS:-} in
'') ;;
aarch64) of=:arm64 ;;
x86_64) of=:amd64 ;;
arm) of=:armhf ;;
*) of=:$CROSS ;;
esac
want() { # want PACKAGE TEST...
    pkg=$1
    shift
    "$@" >/dev/null 2>&1 || missing="$missing $pkg"
}
have_header() {
    printf '#include <%s>\n' "$1" | $CC -E -x c - >/dev/null 2>&1
}
have_pc() {
    $PKG_CONFIG --exists "$1"
}
# The headers of one may be here for another machine's library.
have_lib() { # have_lib HEADER LIBRARY
    printf '#include <%s>\nint main(void) { return 0; }\n' "$1" |
        $CC -x c - -o /dev/null "-l$2" >/dev/null 2>&1
}

if [ "$1" = --tests ]; then
    want check       have_pc check
    want locales     test -e /usr/share/i18n/locales/de_DE
    want minisign    sh -c 'command -v minisign'
    want tzdata      test -e /usr/share/zoneinfo/Europe/Berlin
    required=$missing
    missing=
else
    want gcc             sh -c 'command -v cc'
    want g++             sh -c 'command -v c++'
    want pkg-config      sh -c 'command -v pkg-config'
    want libc6-dev$of    have_header stdio.h
    want libyaml-dev$of  have_pc yaml-0.1
    want libsodium-dev$of have_pc libsodium
    want libuv1-dev$of   have_pc libuv
    want libjansson-dev$of have_pc jansson
    want libpcre2-dev$of have_pc libpcre2-8
    want libre2-dev$of   have_pc re2
    want libleveldb-dev$of have_lib leveldb/c.h leveldb
    want libsqlite3-dev$of have_pc sqlite3
    want libcurl4-openssl-dev$of have_pc libcurl
    want libseccomp-dev$of have_pc libseccomp
    want libhnswlib-dev  test -e /usr/include/hnswlib/hnswlib.h
    required=$missing
    missing=
    # What one plugin needs and nothing else: without it that plugin is not built.
    want libpocketsphinx-dev$of have_pc pocketsphinx
    want libsphinxbase-dev$of have_pc sphinxbase
    want pocketsphinx-en-us  test -e /usr/share/pocketsphinx/model/en-us/en-us.lm.bin
    want flite1-dev$of       have_lib flite/flite.h flite
fi
optional=$missing

# install PACKAGE...
install() {
    sudo=
    if [ "$(id -u)" != 0 ]; then
        sudo=sudo
        command -v sudo >/dev/null || {
            echo "mortise: not root and no sudo; as root:" \
                 "apt-get install $*" >&2
            return 1
        }
    fi
    echo "mortise: installing with apt-get: $*" >&2
    $sudo apt-get update -qq >&2
    $sudo env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "$@" >&2
}

if [ -n "$required" ]; then
    echo "mortise: missing Debian packages:$required" >&2
    if [ -z "$installs" ]; then
        echo "mortise: 'make deps' installs them; or, as root:" \
             "apt-get install$required$optional" >&2
        exit 1
    fi
    # shellcheck disable=SC2086
    install $required || exit 1
fi
without=
if [ -n "$optional" ]; then
    # shellcheck disable=SC2086
    if [ -z "$installs" ] || ! install $optional; then
        echo "mortise: without$optional the plugin voice is not built" \
             "('make deps' installs them)" >&2
        without=voice
    fi
fi

if [ "$1" = --tests ]; then
    libs=$($PKG_CONFIG --libs check)
    echo "CHECK_LIBS := $libs"
    exit
fi
# shellcheck disable=SC2086
cflags=$($PKG_CONFIG --cflags $1) libs=$($PKG_CONFIG --libs $1)
echo "DEP_CFLAGS := $cflags"
echo "DEP_LIBS := $libs -lleveldb -lre2 -lstdc++ -ldl -lm -pthread"
echo "override WITHOUT += $without"
