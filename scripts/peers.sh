#!/bin/sh
# peers.sh -- our programs with those of others: `make check-peers`.
#
#     MORTISE_BUILD=build scripts/peers.sh [NAME...]
#
# tests/peers/ has a package.json, for peers that come with npm, and a script
# NAME.sh for each peer.  As many scripts run at the same time as there are
# processors.  A script exits with 0 if everything went well; its last line says
# what it did.  Its environment has
#
#     MORTISE   the command                  PEERS   with node_modules/ in it
#     TESTS     with tests/peers/NAME, if    HERE    tests/peers
#               there is a NAME.c            WORK    an empty directory for it
set -u
cd "$(dirname "$0")/.." || exit

build=$(realpath "${MORTISE_BUILD:-build}")
HERE=$PWD/tests/peers
PEERS=$build/peers
MORTISE=$build/mortise
TESTS=$build
export HERE PEERS MORTISE TESTS WORK XDG_STATE_HOME
unset MORTISE_DEPLOYMENT http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY

if [ "${1:-}" = --one ]; then
    name=$2
    WORK=$build/tests/peers/$name.work
    rm -rf "$WORK"
    mkdir -p "$WORK"
    XDG_STATE_HOME=$WORK/state # without the plugins that another build recorded
    if sh "$HERE/$name.sh" >"$WORK.log" 2>&1; then
        printf '  OK    %s: %s\n' "$name" "$(tail -n 1 "$WORK.log")"
        exit 0
    fi
    printf '  FAIL  %s\n%s\n' "$name" "$(cat "$WORK.log")"
    exit 1
fi

missing=
for c in node npm openssl rustc; do
    command -v $c >/dev/null || missing="$missing $c"
done
[ -z "$missing" ] || {
    echo "peers: missing:$missing; apt-get install nodejs npm openssl rustc" >&2
    exit 1
}

# Install again if the lock file has changed.
if ! cmp -s "$HERE/package-lock.json" "$PEERS/installed"; then
    mkdir -p "$PEERS"
    cp "$HERE/package.json" "$HERE/package-lock.json" "$HERE/.npmrc" "$PEERS"
    npm ci --silent --prefix "$PEERS" || exit
    cp "$HERE/package-lock.json" "$PEERS/installed"
fi

[ $# -gt 0 ] || set -- $(cd "$HERE" && ls ./*.sh | sed 's|^\./||; s|\.sh$||; /^lib$/d')
printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} sh scripts/peers.sh --one {} || {
    echo "peers: some failed, see above" >&2
    exit 1
}
