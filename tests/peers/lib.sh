# lib.sh -- what the peers' scripts share; scripts/peers.sh says how they run.
#
#     $MORTISE    the command          $WORK     an empty directory, kept
#     $PEERS      has node_modules/    $HERE     tests/peers
# shellcheck shell=sh

fail() {
    echo "$*" >&2
    exit 1
}

# deploy ALLOWED...: where the http plugin may go.
deploy() {
    {
        printf 'apiVersion: mortise/v1\nkind: Deployment\n'
        printf 'metadata: {name: peers}\ntrust: {dir: "%s/trust.d"}\n' "$TESTS"
        printf 'plugins:\n  path: ["%s/plugins"]\n' "$TESTS"
        printf '  config:\n    http:\n'
        printf '      allow:\n'
        printf '        - "%s"\n' "$@"
    } >"$WORK/mortise.yaml"
    export MORTISE_DEPLOYMENT="$WORK/mortise.yaml"
}

# run NAME NODE: a graph of one node `a` (YAML, flow style), executed.  What it
# came to is in $WORK/NAME.json, without blanks.
run() {
    printf '%s\n' 'apiVersion: mortise/v1' 'kind: Graph' "metadata: {name: $1}" \
        'start: a' 'nodes:' "  a: {type: tool, next: END, $2}" \
        >"$WORK/$1.yaml"
    (
        cd "$WORK" || exit
        "$MORTISE" run "$1.yaml" --id "$1" >"$1.out" 2>&1 || :
        "$MORTISE" show "$1" --json | tr -d ' \n' >"$1.json"
    )
    cases=$((${cases:-0} + 1))
}

# says NAME TEXT...: each of these stands in what the run came to.
says() {
    name=$1
    shift
    for text; do
        grep -qF -- "$text" "$WORK/$name.json" || {
            cat "$WORK/$name.out" "$WORK/$name.json"
            fail "$name: no '$text'"
        }
    done
}
